//! Questions of models to the user, answered over HTTP.

use crate::hosting::QuestionShown;
use crate::operation::{AsJson, Nothing, Question};
use crate::problem::ApiProblem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The questions of models that wait.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UserQuestionList {
    /// Of all sessions that this server runs, by session; then those that other processes ask in a terminal.
    questions: Vec<QuestionShown>,
}

/// An answer to a question of a model.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserAnswerGiven {
    /// What the model reads; several options are joined by a comma. Null: the model decides without the user.
    answer: Option<String>,
}

/// A question of a model was answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UserAnswerTaken {
    /// Its name.
    question: String,
}

/// `GET /v1/questions`
pub async fn waiting(asked: Question<Nothing>) -> Result<AsJson<UserQuestionList>, ApiProblem> {
    let hosted = asked.service.hosted()?;
    let mut questions: Vec<QuestionShown> = Vec::new();
    for entry in hosted.all().await {
        questions.extend(entry.user_questions().shown());
    }
    questions.extend(hosted.prompts_elsewhere().list().await.into_iter().map(QuestionShown::from));
    Ok(AsJson(UserQuestionList { questions }))
}

/// `POST /v1/sessions/{session}/questions/{question}`
pub async fn answer(asked: Question<UserAnswerGiven>) -> Result<AsJson<UserAnswerTaken>, ApiProblem> {
    let session = asked.session()?;
    let question = asked.argument("question").to_owned();
    let answer = asked.given.answer.clone();
    let hosted = asked.service.hosted()?;
    let entries = hosted.all().await;
    let is_here = entries.iter().any(|entry| entry.user_questions().answer(session, &question, answer.clone()));
    if !is_here && !hosted.prompts_elsewhere().answer(session, &question, answer).await {
        return Err(ApiProblem::not_found(format!("no question {question} of a model waits in this session")));
    }
    Ok(AsJson(UserAnswerTaken { question }))
}
