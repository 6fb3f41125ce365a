//! One session that this server runs.

use super::user_questions::UserQuestions;
use crate::problem::ApiProblem;
use annals_core::{InputId, PermissionId, SessionId};
use annals_host::advice::advice;
use annals_host::{HostedSession, Questions};
use annals_runtime::host::{RunEnd, WaitingPrompt, WaitingQuestion};
use annals_runtime::permission::{Answered, PermissionQuestion};
use annals_runtime::ports::{Clock, Ids, SeededIds, SystemClock};
use annals_runtime::{Admitted, NewInput, Session};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

/// How long a turn that is interrupted may take to settle before it is cut off.
const SETTLED: Duration = Duration::from_secs(5);

/// A session that this server runs.
pub struct HostedEntry {
    id: SessionId,
    shared: Arc<EntryState>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    user_questions: UserQuestions,
}

/// What the tasks of an entry share.
struct EntryState {
    /// `None` once it is closed.
    hosted: tokio::sync::RwLock<Option<HostedSession>>,
    session: Session,
    wanted: Notify,
    run: Mutex<LastRun>,
    questions: Mutex<BTreeMap<PermissionId, AskedPermission>>,
}

/// Whether it runs, and how it ended before.
struct LastRun {
    runs: bool,
    used: Instant,
    ended: Option<(&'static str, Option<String>)>,
}

/// A permission question that waits for its answer.
pub struct AskedPermission {
    /// The question.
    pub asked: PermissionQuestion,
    answer: oneshot::Sender<Answered>,
}

impl HostedEntry {
    /// Runs a session whenever a prompt was admitted to it.
    pub(crate) fn start(
        hosted: HostedSession,
        questions: Questions,
        prompts: mpsc::UnboundedReceiver<WaitingPrompt>,
    ) -> Arc<Self> {
        let session = hosted.session().clone();
        let state = Arc::new(EntryState {
            session: session.clone(),
            hosted: tokio::sync::RwLock::new(Some(hosted)),
            wanted: Notify::new(),
            run: Mutex::new(LastRun { runs: false, used: Instant::now(), ended: None }),
            questions: Mutex::default(),
        });
        let user_questions = UserQuestions::default();
        let tasks = vec![
            tokio::spawn(runs(state.clone())),
            tokio::spawn(asks(state.clone(), questions)),
            tokio::spawn(user_questions.clone().keep(prompts)),
        ];
        Arc::new(Self { id: session.id(), shared: state, tasks: Mutex::new(tasks), user_questions })
    }

    /// The session. For an imported one, the fork that continues it.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Admits a prompt, and lets the session run. Returns its id, and whether it was known already.
    pub(crate) async fn admit(&self, input: NewInput) -> Result<(InputId, bool), ApiProblem> {
        let id = match input.id.clone() {
            Some(id) => id,
            None => new_id()?,
        };
        let hosted = self.shared.hosted.read().await;
        let Some(hosted) = hosted.as_ref() else {
            return Err(ApiProblem::conflict("the session is being closed; try again"));
        };
        let admitted = hosted.admit(NewInput { id: Some(id.clone()), ..input }).await?;
        self.shared.run().used = Instant::now();
        self.shared.wanted.notify_one();
        Ok((id, admitted == Admitted::Known))
    }

    /// Interrupts what runs; whether anything did.
    pub(crate) async fn interrupt(&self) -> bool {
        let ran = !self.is_idle();
        if let Some(hosted) = self.shared.hosted.read().await.as_ref() {
            hosted.interrupt();
        }
        ran
    }

    /// Whether nothing runs, in the background neither.
    pub(crate) fn is_idle(&self) -> bool {
        !self.shared.run().runs && !self.shared.session.is_running() && self.shared.session.background().is_empty()
    }

    /// How its last run ended, in the words of `annals run --json`, and what to do about it.
    pub(crate) fn ended(&self) -> Option<(&'static str, Option<String>)> {
        self.shared.run().ended.clone()
    }

    pub(crate) fn last_used(&self) -> Instant {
        self.shared.run().used
    }

    /// The questions that wait.
    pub(crate) fn questions<T>(&self, show: impl FnMut(&AskedPermission) -> T) -> Vec<T> {
        self.shared.questions().values().map(show).collect()
    }

    /// The questions of models that wait.
    pub(crate) fn user_questions(&self) -> &UserQuestions {
        &self.user_questions
    }

    /// Answers a question; whether one of this name waits.
    pub(crate) fn answer(&self, permission: &PermissionId, answered: Answered) -> bool {
        let asked = self.shared.questions().remove(permission);
        asked.is_some_and(|asked| asked.answer.send(answered).is_ok())
    }

    /// Stops what runs and closes the session.
    pub(crate) async fn close(&self) {
        if let Some(hosted) = self.shared.hosted.read().await.as_ref() {
            hosted.interrupt();
        }
        self.shared.questions().clear();
        self.user_questions.clear();
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let settled = tokio::time::timeout(SETTLED, self.shared.hosted.write()).await;
        tasks.iter().for_each(JoinHandle::abort);
        let hosted = match settled {
            Ok(mut hosted) => hosted.take(),
            Err(_) => self.shared.hosted.write().await.take(),
        };
        if let Some(hosted) = hosted
            && let Some(warning) = hosted.close().await
        {
            tracing::warn!(session = %self.id, "{warning}");
        }
    }
}

impl EntryState {
    fn run(&self) -> MutexGuard<'_, LastRun> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn questions(&self) -> MutexGuard<'_, BTreeMap<PermissionId, AskedPermission>> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a prompt waits, or a turn was cut off.
    async fn waits(&self) -> bool {
        let view = self.session.view().await;
        view.is_ok_and(|view| !view.inbox.pending.is_empty() || view.session.running)
    }
}

/// An id for a prompt that has none.
fn new_id() -> Result<InputId, ApiProblem> {
    let ids = SeededIds::from_entropy().map_err(ApiProblem::unreadable)?;
    Ok(ids.input(SystemClock::local().now()))
}

/// Runs the session whenever a prompt waits.
async fn runs(state: Arc<EntryState>) {
    loop {
        state.wanted.notified().await;
        while state.waits().await {
            state.run().runs = true;
            let hosted = state.hosted.read().await;
            let Some(hosted) = hosted.as_ref() else { return };
            let ended = hosted.run().await;
            let (word, message, goes_on) = match &ended {
                Ok(RunEnd::Failed(error)) => {
                    let message = match state.session.view().await {
                        Ok(view) => advice(error, &view),
                        Err(_) => error.to_string(),
                    };
                    ("failed", Some(message), false)
                }
                Ok(ended) => {
                    (ended.as_str(), None, matches!(ended, RunEnd::Idle | RunEnd::Empty(_) | RunEnd::Elsewhere))
                }
                Err(error) => ("failed", Some(error.to_string()), false),
            };
            *state.run() = LastRun { runs: false, used: Instant::now(), ended: Some((word, message)) };
            if !goes_on {
                break;
            }
        }
    }
}

/// Keeps the questions that wait for their answers.
async fn asks(state: Arc<EntryState>, mut questions: Questions) {
    while let Some(mut waiting) = questions.recv().await {
        let (answer, answered) = oneshot::channel();
        let (permission, asked) = (waiting.asked.permission.clone(), waiting.asked.clone());
        state.questions().insert(permission.clone(), AskedPermission { asked, answer });
        let state = state.clone();
        tokio::spawn(async move {
            tokio::select! {
                answered = answered => answer_with(waiting, answered.ok()),
                () = waiting.withdrawn() => {
                    state.questions().remove(&permission);
                }
            }
        });
    }
}

/// Answers a question. One whose session is closed is dropped, which rejects it.
fn answer_with(waiting: WaitingQuestion, answered: Option<Answered>) {
    if let Some(answered) = answered {
        waiting.answer(answered);
    }
}
