//! Prompts, runs and permission questions of the sessions that run here.

use crate::hosting::{HostedEntry, HostedSessions, PermissionShown, QuestionShown};
use crate::operation::{AsJson, Nothing, Question};
use crate::problem::ApiProblem;
use annals_core::{InputId, PermissionId, SessionId};
use annals_host::{RunOptions, editing};
use annals_runtime::NewInput;
use annals_runtime::permission::{Answered, PermissionAnswer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Who answered, for a process that asked in a terminal.
const ANSWERED_BY: &str = "annals serve";

/// When a prompt joins.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PromptDelivery {
    /// Before the next request to the model.
    #[default]
    Steer,
    /// When the session is idle.
    Queue,
}

/// A prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptGiven {
    /// Its id: sending the same prompt twice under one id admits it once. One is made without it.
    id: Option<InputId>,
    /// What the model reads.
    text: String,
    /// When it joins.
    #[serde(default)]
    delivery: PromptDelivery,
}

/// A session to start.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionGiven {
    /// Where it works; the server's directory without it.
    directory: Option<PathBuf>,
    /// The agent; the one that is configured without it.
    agent: Option<String>,
    /// The model; the one that is configured without it.
    model: Option<String>,
    /// Its first prompt.
    prompt: Option<PromptGiven>,
}

/// What was admitted, and where.
#[derive(Debug, Serialize, JsonSchema)]
pub struct InputTaken {
    /// The session. For an imported one, the fork that continues it.
    session: SessionId,
    /// The id of the prompt; null when there was none.
    input: Option<InputId>,
    /// Whether it had been admitted before: nothing was appended then.
    known: bool,
}

/// Whether a session runs here.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunState {
    /// The session; for an imported one that is continued here, the fork that continues it.
    session: SessionId,
    /// Whether this server has it open.
    hosted: bool,
    /// Whether a turn runs here now.
    running: bool,
    /// How the last run here ended: idle, elsewhere, empty, stopped or failed; null when none has.
    ended: Option<&'static str>,
    /// What went wrong, and what to do.
    error: Option<String>,
    /// The permission questions that wait.
    permissions: Vec<PermissionShown>,
    /// The questions of models that wait.
    questions: Vec<QuestionShown>,
}

/// The permission questions that wait.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PermissionList {
    /// Of all sessions that this server runs, by session; then those that other processes ask in a terminal.
    permissions: Vec<PermissionShown>,
}

/// An answer to a permission question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionGiven {
    /// What is allowed.
    answer: PermissionChoice,
    /// What the model reads when it is refused: it then continues. Without it a refusal ends the turn.
    feedback: Option<String>,
}

/// What is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PermissionChoice {
    /// This call.
    Once,
    /// This and its like for the rest of the session.
    Always,
    /// Nothing.
    Reject,
}

/// A permission question was answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PermissionTaken {
    /// Its name.
    permission: PermissionId,
}

/// What an interruption did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Interrupted {
    /// Whether anything ran here.
    interrupted: bool,
}

impl From<PromptGiven> for NewInput {
    fn from(given: PromptGiven) -> Self {
        let input = match given.delivery {
            PromptDelivery::Steer => Self::steer(given.text),
            PromptDelivery::Queue => Self::queue(given.text),
        };
        Self { id: given.id, ..input }
    }
}

/// `POST /v1/sessions`
pub async fn create(asked: Question<SessionGiven>) -> Result<AsJson<InputTaken>, ApiProblem> {
    let SessionGiven { directory, agent, model, prompt } = asked.given;
    if let Some(prompt) = &prompt {
        has_words(prompt)?;
    }
    let hosted = asked.service.hosted()?;
    let options = RunOptions { directory, agent, model, ..RunOptions::default() };
    let entry = hosted.create(&options).await?;
    let taken = match prompt {
        Some(prompt) => Some(entry.admit(prompt.into()).await?),
        None => None,
    };
    asked.service.store.expire();
    let (input, known) = taken.unzip();
    Ok(AsJson(InputTaken { session: entry.id(), input, known: known.unwrap_or_default() }))
}

/// `POST /v1/sessions/{session}/inputs`
pub async fn admit(asked: Question<PromptGiven>) -> Result<AsJson<InputTaken>, ApiProblem> {
    let session = asked.session()?;
    let hosted = asked.service.hosted()?;
    has_words(&asked.given)?;
    let entry = hosted.open(session).await?;
    let (input, known) = entry.admit(asked.given.into()).await?;
    asked.service.store.expire();
    Ok(AsJson(InputTaken { session: entry.id(), input: Some(input), known }))
}

fn has_words(prompt: &PromptGiven) -> Result<(), ApiProblem> {
    if prompt.text.trim().is_empty() {
        return Err(ApiProblem::bad_request("the prompt is empty"));
    }
    if prompt.id.as_ref().is_some_and(|id| id.as_str().is_empty()) {
        return Err(ApiProblem::bad_request("the id of the prompt is empty; leave it out to have one made"));
    }
    Ok(())
}

/// `GET /v1/sessions/{session}/run`
pub async fn run(asked: Question<Nothing>) -> Result<AsJson<RunState>, ApiProblem> {
    let session = asked.session()?;
    asked.reader().head(session).await?;
    let Some(entry) = asked.service.hosted()?.known(session).await else {
        let (permissions, questions) = (Vec::new(), Vec::new());
        let (hosted, running, ended, error) = (false, false, None, None);
        return Ok(AsJson(RunState { session, hosted, running, ended, error, permissions, questions }));
    };
    let (ended, error) = entry.ended().unzip();
    Ok(AsJson(RunState {
        session: entry.id(),
        hosted: true,
        running: !entry.is_idle(),
        ended,
        error: error.flatten(),
        permissions: entry.questions(PermissionShown::of),
        questions: entry.user_questions().shown(),
    }))
}

/// `GET /v1/permissions`
pub async fn permissions(asked: Question<Nothing>) -> Result<AsJson<PermissionList>, ApiProblem> {
    let hosted = asked.service.hosted()?;
    let entries = hosted.all().await;
    let mut permissions: Vec<PermissionShown> =
        entries.iter().flat_map(|entry| entry.questions(PermissionShown::of)).collect();
    // A sub-agent's question is asked by the session that started it.
    let running = entries.iter().filter(|entry| !entry.is_idle()).map(|entry| entry.id());
    let here = permissions.iter().map(|one| one.session).chain(running).collect();
    permissions.extend(hosted.asked_elsewhere().newest(&*asked.store.catalogue().await?, &here).await?);
    Ok(AsJson(PermissionList { permissions }))
}

/// Answers a question that another process asked: it takes the answer from the log.
async fn answer_elsewhere(
    hosted: &HostedSessions,
    session: SessionId,
    permission: &PermissionId,
    answer: PermissionAnswer,
) -> Result<bool, ApiProblem> {
    let reader = hosted.reader();
    let files = editing::captured_files(reader.folder().clone());
    let editor = editing::editor(hosted.context(), reader, session, files).await?;
    let answered = Answered { answer, by: ANSWERED_BY.to_owned() };
    let recorded = editor.answer_permission(permission, &answered).await.map_err(ApiProblem::unreadable)?;
    Ok(recorded.is_some())
}

/// `POST /v1/sessions/{session}/permissions/{permission}`
pub async fn answer(asked: Question<PermissionGiven>) -> Result<AsJson<PermissionTaken>, ApiProblem> {
    let session = asked.session()?;
    let permission = PermissionId::from(asked.argument("permission"));
    let PermissionGiven { answer, feedback } = &asked.given;
    let answer = match (answer, feedback) {
        (PermissionChoice::Once, None) => PermissionAnswer::Once,
        (PermissionChoice::Always, None) => PermissionAnswer::Always,
        (PermissionChoice::Reject, feedback) => PermissionAnswer::Reject { feedback: feedback.clone() },
        (_, Some(_)) => return Err(ApiProblem::bad_request("feedback belongs to reject alone")),
    };
    let hosted = asked.service.hosted()?;
    // A sub-agent's question is asked by the session that started it; both names find it.
    let entries = match hosted.known(session).await {
        Some(entry) => vec![entry],
        None => hosted.all().await,
    };
    let asks = |entry: &HostedEntry| {
        entry.questions(|asked| {
            asked.asked.permission == permission && (entry.id() == session || asked.asked.session == session)
        })
    };
    let found = entries.iter().find(|entry| entries.len() == 1 || asks(entry).contains(&true));
    let is_here = found.is_some_and(|entry| entry.answer(&permission, Answered::by_user(answer.clone())));
    // What is asked here waits here, until its answer is recorded.
    let runs_here = entries.iter().any(|entry| entry.id() == session && !entry.is_idle());
    if !is_here && (runs_here || !answer_elsewhere(hosted, session, &permission, answer).await?) {
        return Err(ApiProblem::not_found(format!("no question {permission} waits in this session")));
    }
    Ok(AsJson(PermissionTaken { permission }))
}

/// `POST /v1/sessions/{session}/interrupt`
pub async fn interrupt(asked: Question<Nothing>) -> Result<AsJson<Interrupted>, ApiProblem> {
    let session = asked.session()?;
    let hosted = asked.service.hosted()?;
    asked.reader().head(session).await?;
    let interrupted = match hosted.known(session).await {
        Some(entry) => entry.interrupt().await,
        None => false,
    };
    Ok(AsJson(Interrupted { interrupted }))
}
