//! Questions of models, and of MCP servers, to the user: the tool `question` waits until a client of this server answers.

use annals_core::SessionId;
use annals_host::asked::AskedPrompt;
use annals_runtime::host::WaitingPrompt;
use annals_runtime::prompt::UserQuestion;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// Distinguishes the questions of this process.
static NUMBER: AtomicU64 = AtomicU64::new(1);

/// A question of a model to the user.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QuestionShown {
    /// Its name.
    pub(crate) id: String,
    /// The session that asks: this one, or a sub-agent of it.
    pub(crate) session: SessionId,
    /// The call that waits.
    pub(crate) call: String,
    /// The question.
    pub(crate) question: String,
    /// Answers to choose from; another one may be given.
    pub(crate) options: Vec<String>,
    /// Whether several of them may be chosen.
    pub(crate) multiple: bool,
    /// Whether another process asks, in its terminal: who answers first counts.
    pub(crate) elsewhere: bool,
}

impl QuestionShown {
    fn of(id: String, asked: &UserQuestion, elsewhere: bool) -> Self {
        Self {
            id,
            session: asked.session,
            call: asked.call.as_str().to_owned(),
            question: asked.question.clone(),
            options: asked.options.clone(),
            multiple: asked.multiple,
            elsewhere,
        }
    }
}

impl From<AskedPrompt> for QuestionShown {
    fn from(prompt: AskedPrompt) -> Self {
        Self::of(prompt.name, &prompt.asked, true)
    }
}

type QuestionsById = BTreeMap<u64, (UserQuestion, oneshot::Sender<Option<String>>)>;

/// The questions of one session and its sub-agents that wait.
#[derive(Clone, Default)]
pub(crate) struct UserQuestions(Arc<Mutex<QuestionsById>>);

impl UserQuestions {
    /// Keeps what arrives until it is answered or withdrawn.
    pub(crate) async fn keep(self, mut prompts: mpsc::UnboundedReceiver<WaitingPrompt>) {
        while let Some(mut prompt) = prompts.recv().await {
            let (answer, answered) = oneshot::channel();
            let id = NUMBER.fetch_add(1, Ordering::Relaxed);
            self.waiting().insert(id, (prompt.asked.clone(), answer));
            let questions = self.clone();
            tokio::spawn(async move {
                tokio::select! {
                    // A question whose session is closed is dropped: the model decides alone.
                    answered = answered => prompt.answer(answered.ok().flatten()),
                    () = prompt.withdrawn() => {
                        questions.waiting().remove(&id);
                    }
                }
            });
        }
    }

    /// What waits, the oldest first.
    pub(crate) fn shown(&self) -> Vec<QuestionShown> {
        self.waiting().iter().map(|(id, (asked, _))| QuestionShown::of(id.to_string(), asked, false)).collect()
    }

    /// Answers a question of a session; whether it waited.
    pub(crate) fn answer(&self, session: SessionId, id: &str, answer: Option<String>) -> bool {
        let mut waiting = self.waiting();
        let Ok(id) = id.parse() else { return false };
        if waiting.get(&id).is_none_or(|(asked, _)| asked.session != session) {
            return false;
        }
        waiting.remove(&id).is_some_and(|(_, waits)| waits.send(answer).is_ok())
    }

    /// Drops all: the models that asked decide alone.
    pub(crate) fn clear(&self) {
        self.waiting().clear();
    }

    fn waiting(&self) -> MutexGuard<'_, QuestionsById> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
