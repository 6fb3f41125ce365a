//! A session that an editor works with.

use super::connection::{Editor, RpcError};
use super::options::SelectableOptions;
use super::requests::PromptBlock;
use super::updates::{OwnInputs, THOUGHT, Updates, chunk};
use super::{permissions, prompt, replay};
use annals_config::Config;
use annals_core::SessionId;
use annals_core::event::Finish;
use annals_host::advice::{about_empty, advice};
use annals_host::{ApprovalMode, Chosen, HostContext, HostError, HostedSession, Questions};
use annals_inspect::reader::Reader;
use annals_providers::wire::is_sent;
use annals_runtime::bus::{Listening, Notice};
use annals_runtime::host::{RunEnd, RunGoal};
use annals_runtime::ports::{Clock, Ids, SeededIds, SystemClock};
use annals_runtime::settings::Definitions;
use annals_runtime::{NewInput, RunError, Session};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{RwLock, mpsc, oneshot};
use tokio::task::JoinHandle;

/// How long a turn that is interrupted may take to settle before it is cut off.
const SETTLED: Duration = Duration::from_secs(5);

/// The command that compacts.
const COMPACT: &str = "compact";

/// A session of an editor. It is open until [`AcpSession::close`].
pub(super) struct AcpSession {
    /// What the editor calls it.
    name: String,
    session: Session,
    chosen: Chosen,
    config: Config,
    selection: Arc<SelectableOptions>,
    editor: Editor,
    /// `None` once it is closed.
    hosted: RwLock<Option<HostedSession>>,
    heard: mpsc::UnboundedSender<HeardNotice>,
    own: OwnInputs,
    cancelled: AtomicBool,
    /// Held by the prompt that runs the session.
    running: tokio::sync::Mutex<()>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    _listening: Listening,
}

enum HeardNotice {
    Notice(Notice),
    /// Everything before it was sent; how the last answer ended is given back.
    Sent(oneshot::Sender<Option<Finish>>),
}

impl AcpSession {
    /// Shows a session in an editor, which calls it `name`.
    pub(super) async fn start(
        (hosted, questions): (HostedSession, Questions),
        name: Option<String>,
        context: &HostContext,
        editor: Editor,
        approval: ApprovalMode,
    ) -> Result<Arc<Self>, HostError> {
        let (session, chosen) = (hosted.session().clone(), hosted.chosen().clone());
        let name = name.unwrap_or_else(|| session.id().to_string());
        let directory = PathBuf::from(&chosen.directory);
        let config = context.environment.config(&directory)?;
        let selection = Arc::new(SelectableOptions::of(&config, chosen.agent.clone(), chosen.model.clone()));
        let own = OwnInputs::default();
        let (heard, hears) = mpsc::unbounded_channel();
        let listening = {
            let heard = heard.clone();
            // Once it is closed, no one hears it.
            hosted.observe(move |notice| drop(heard.send(HeardNotice::Notice(notice.clone()))))
        };
        let cost = session.view().await?.usage.cost;
        let updates = Updates::new(
            editor.clone(),
            (session.id(), name.clone()),
            directory.clone(),
            session.blobs(),
            own.clone(),
            selection.clone(),
        );
        let asking = asks(questions, editor.clone(), name.clone(), directory, approval);
        let tasks = vec![tokio::spawn(send_updates(updates.with_cost(cost), hears)), tokio::spawn(asking)];
        Ok(Arc::new(Self {
            name,
            session,
            chosen,
            config,
            selection,
            editor,
            hosted: RwLock::new(Some(hosted)),
            heard,
            own,
            cancelled: AtomicBool::new(false),
            running: tokio::sync::Mutex::default(),
            tasks: Mutex::new(tasks),
            _listening: listening,
        }))
    }

    /// What the editor calls it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What can be selected, for the answer that opens the session.
    pub(super) fn selectable(&self) -> Value {
        json!({"modes": self.selection.modes(), "configOptions": self.selection.options()})
    }

    /// Sends which commands there are.
    pub(super) fn announce(&self) {
        let templates = self.chosen.expander.templates().map(|(name, does)| {
            json!({"name": name, "description": if does.is_empty() { &name } else { &does }, "input": {"hint": "arguments"}})
        });
        let compact =
            json!({"name": COMPACT, "description": "Replace the history by a summary; the log keeps everything"});
        let commands: Vec<Value> = templates.chain([compact]).collect();
        self.update(&json!({"sessionUpdate": "available_commands_update", "availableCommands": commands}));
    }

    fn update(&self, update: &Value) {
        self.editor.update(&self.name, update);
    }

    /// Sends the conversation so far.
    pub(super) async fn replay(&self, reader: &Reader) -> Result<(), RpcError> {
        let directory = Path::new(&self.chosen.directory);
        let (id, blobs) = (self.session.id(), self.session.blobs());
        let sent = replay::send(reader, id, directory, &*blobs, |update| self.update(update)).await;
        sent.map_err(RpcError::internal)
    }

    /// Selects an agent by the name of its mode.
    pub(super) async fn set_mode(&self, mode: &str) -> Result<(), RpcError> {
        let unknown = || RpcError::invalid(format!("no agent {mode:?} can be selected"));
        let agent = self.selection.mode(mode).ok_or_else(unknown)?;
        if agent != self.selection.agent() {
            self.session.switch_agent(agent).await.map_err(RpcError::internal)?;
            self.everything_sent().await;
        }
        Ok(())
    }

    /// Selects a model; returns the options.
    pub(super) async fn set_model(&self, model: &str) -> Result<Value, RpcError> {
        let unknown = || RpcError::invalid(format!("no model {model:?} is offered"));
        let model = self.selection.named(model).ok_or_else(unknown)?;
        if model != self.selection.model() {
            self.session.switch_model(model).await.map_err(RpcError::internal)?;
            self.everything_sent().await;
        }
        Ok(self.selection.options())
    }

    /// Answers a prompt; returns why the turn ended.
    pub(super) async fn prompt(&self, blocks: Vec<PromptBlock>) -> Result<Value, RpcError> {
        let hosted = self.hosted.read().await;
        let Some(hosted) = hosted.as_ref() else { return Err(RpcError::invalid("the session is closed")) };
        self.cancelled.store(false, Ordering::Relaxed);
        let directory = Path::new(&self.chosen.directory);
        let read = prompt::read(blocks, directory);
        if read.text.trim() == format!("/{COMPACT}") && !self.chosen.expander.is_template(&read.text) {
            let _running = self.running.lock().await;
            let ended = hosted.run_for(RunGoal::Compaction).await.map_err(RpcError::internal)?;
            return self.concluded(ended).await;
        }
        self.admit(hosted, read).await?;
        self.run(hosted).await
    }

    async fn admit(&self, hosted: &HostedSession, read: prompt::ReadPrompt) -> Result<(), RpcError> {
        let profile = self.config.model(&self.selection.model());
        let expanded = self.chosen.expander.expand(read.text.trim(), profile.as_ref()).await;
        let mut remarks = expanded.remarks;
        let mut attachments = expanded.attachments;
        for one in read.attachments {
            match profile.as_ref().is_none_or(|profile| is_sent(profile, &one.mime)) {
                true => attachments.push(one),
                false => remarks.push(format!("an attachment is left out: the model takes no {}", one.mime)),
            }
        }
        if expanded.text.is_empty() && attachments.is_empty() {
            return Err(RpcError::invalid("the prompt is empty"));
        }
        for remark in remarks {
            self.update(&chunk(THOUGHT, &format!("{remark}\n")));
        }
        if let Some(agent) = &expanded.agent {
            self.set_mode(agent).await?;
        }
        if let Some(model) = &expanded.model {
            self.set_model(model.as_str()).await?;
        }
        let ids = SeededIds::from_entropy().map_err(RpcError::internal)?;
        let input = ids.input(SystemClock::local().now());
        self.own.lock().unwrap_or_else(PoisonError::into_inner).insert(input.clone());
        let new = NewInput { attachments, ..NewInput::steer(expanded.text).named(input.as_str()) };
        hosted.admit(new).await.map_err(RpcError::internal)?;
        Ok(())
    }

    /// Runs the session until nothing waits. A prompt that joined the turn of another one ends with it.
    async fn run(&self, hosted: &HostedSession) -> Result<Value, RpcError> {
        let _running = self.running.lock().await;
        let mut ended = RunEnd::Idle;
        while self.waits().await? {
            ended = hosted.run().await.map_err(RpcError::internal)?;
            if !matches!(ended, RunEnd::Idle | RunEnd::Elsewhere | RunEnd::Empty(_)) {
                break;
            }
        }
        self.concluded(ended).await
    }

    async fn waits(&self) -> Result<bool, RpcError> {
        let view = self.session.view().await.map_err(RpcError::internal)?;
        Ok(!view.inbox.pending.is_empty() || view.session.running)
    }

    /// Why a turn ended, once everything of it was sent.
    async fn concluded(&self, ended: RunEnd) -> Result<Value, RpcError> {
        let finish = self.everything_sent().await;
        let cancelled = self.cancelled.swap(false, Ordering::Relaxed);
        let reason = match (&ended, finish) {
            (RunEnd::Failed(_), _) if cancelled => "cancelled",
            (RunEnd::Failed(error @ (RunError::StepLimit(_) | RunError::Repeated { .. })), _) => {
                let view = self.session.view().await.map_err(RpcError::internal)?;
                self.update(&chunk(THOUGHT, &advice(error, &view)));
                "max_turn_requests"
            }
            (RunEnd::Failed(error), _) => {
                let view = self.session.view().await.map_err(RpcError::internal)?;
                return Err(RpcError::internal(advice(error, &view)));
            }
            (RunEnd::Interrupted | RunEnd::Stopped | RunEnd::Left, _) if cancelled => "cancelled",
            (_, Some(Finish::ContentFilter)) => "refusal",
            (_, Some(Finish::Length)) => "max_tokens",
            (RunEnd::Empty(empty), _) => {
                self.update(&chunk(THOUGHT, about_empty(*empty)));
                "end_turn"
            }
            _ => "end_turn",
        };
        Ok(json!({"stopReason": reason}))
    }

    /// Waits until everything that happened was sent.
    async fn everything_sent(&self) -> Option<Finish> {
        let (sender, sent) = oneshot::channel();
        self.heard.send(HeardNotice::Sent(sender)).ok()?;
        sent.await.ok().flatten()
    }

    /// Interrupts the turn.
    pub(super) async fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        if let Some(hosted) = self.hosted.read().await.as_ref() {
            hosted.interrupt();
        }
    }

    /// Stops what runs and closes the session.
    pub(super) async fn close(&self) {
        self.cancel().await;
        let settled = tokio::time::timeout(SETTLED, self.hosted.write()).await;
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let hosted = match settled {
            Ok(mut hosted) => hosted.take(),
            // What asks and does not end is cut off with its question.
            Err(_) => {
                tasks.iter().for_each(JoinHandle::abort);
                self.hosted.write().await.take()
            }
        };
        if let Some(hosted) = hosted
            && let Some(warning) = hosted.close().await
        {
            tracing::warn!(session = self.name, "{warning}");
        }
        tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Sends what is heard, in order.
async fn send_updates(mut updates: Updates, mut hears: mpsc::UnboundedReceiver<HeardNotice>) {
    while let Some(heard) = hears.recv().await {
        match heard {
            HeardNotice::Notice(notice) => updates.notice(&notice),
            HeardNotice::Sent(sent) => drop(sent.send(updates.finish())),
        }
    }
}

/// Asks the questions of a session in the editor, several at once.
async fn asks(mut questions: Questions, editor: Editor, name: String, directory: PathBuf, approval: ApprovalMode) {
    while let Some(waiting) = questions.recv().await {
        if let Some(answered) = approval.answer() {
            waiting.answer(answered);
            continue;
        }
        let (editor, name, directory) = (editor.clone(), name.clone(), directory.clone());
        tokio::spawn(async move { permissions::ask(&editor, &name, &directory, waiting).await });
    }
}

/// The id of a session, as it was named to an editor.
pub(super) fn id_of(name: &str) -> Result<SessionId, RpcError> {
    name.parse().map_err(|_| RpcError::unknown_session(name))
}
