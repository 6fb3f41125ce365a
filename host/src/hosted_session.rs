//! One session that a program runs for its clients.

use crate::configured::{Chosen, RunOptions, configured};
use crate::context::HostContext;
use crate::error::HostError;
use crate::existing_session::{ExistingSession, continued};
use crate::host::Host;
use crate::opening::open;
use annals_inspect::reader::Reader;
use annals_runtime::bus::{Listening, Notice};
use annals_runtime::host::{Elsewhere, QuestionSender, RunEnd, RunGoal, WaitingQuestion, run_leased};
use annals_runtime::{Admitted, NewInput, Session};
use annals_store::OpenMode;
use std::path::Path;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long running work may take to stop when the session is closed.
const PUT_AWAY: Duration = Duration::from_secs(5);

/// Permission questions as they arrive, each with the means to answer it. A question that is dropped is rejected.
pub type Questions = mpsc::UnboundedReceiver<WaitingQuestion>;

/// A session that a server or an editor protocol runs: with a runtime of its own, whose agent, model, tools, MCP servers, permission rules and
/// redaction are those of the configuration in the session's directory.
///
/// ```no_run
/// use annals_config::Environment;
/// use annals_host::{HostContext, HostedSession, HostProgram, RunOptions, StoreChoice};
/// use annals_runtime::NewInput;
/// use annals_runtime::permission::{Answered, PermissionAnswer};
/// use std::path::PathBuf;
///
/// # async fn serve() -> Result<(), annals_host::HostError> {
/// // Once in the process.
/// let program = HostProgram { name: "my-server", version: "1.0.0", build: None };
/// let context = HostContext::new(program, StoreChoice::of(None, None)?, Environment::of_process());
///
/// // For each session.
/// let options = RunOptions { directory: Some(PathBuf::from("/work/shop")), ..RunOptions::default() };
/// let (hosted, mut questions) = HostedSession::open(&context, &options, None).await?;
/// let _listening = hosted.observe(|notice| println!("{notice:?}"));
/// tokio::spawn(async move {
///     while let Some(question) = questions.recv().await {
///         question.answer(Answered::by_user(PermissionAnswer::Once));
///     }
/// });
/// hosted.admit(NewInput::steer("explain this project")).await?;
/// let ended = hosted.run().await?;
/// println!("{ended:?}");
/// if let Some(warning) = hosted.close().await {
///     eprintln!("{warning}");
/// }
///
/// // At the end.
/// context.close().await
/// # }
/// ```
pub struct HostedSession {
    host: Host,
    session: Session,
    chosen: Chosen,
}

impl HostedSession {
    /// A session that exists, or a new one in the directory that `options` name, in the store of the context; and its permission
    /// questions. An imported session is continued in a fork.
    ///
    /// # Errors
    /// When the configuration is wrong, there is no such agent or model, its key is missing, the directory is gone, or the store cannot
    /// be written. Nothing is created then.
    pub async fn open(
        context: &HostContext,
        options: &RunOptions,
        found: Option<ExistingSession>,
    ) -> Result<(Self, Questions), HostError> {
        let reader = match &found {
            Some(found) => found.reader.clone(),
            None => context.store(OpenMode::Create).await?,
        };
        Self::open_in(context, reader, options, found).await
    }

    /// The same in a store that the program has open to write.
    pub async fn open_in(
        context: &HostContext,
        reader: Reader,
        options: &RunOptions,
        found: Option<ExistingSession>,
    ) -> Result<(Self, Questions), HostError> {
        let found = match found {
            Some(found) => Some(continued(found).await?.in_directory(options.directory.as_deref(), context)?),
            None => None,
        };
        let (put, questions) = QuestionSender::channel();
        let (parts, chosen) = configured(context, options, found.as_ref(), put)?;
        let host = Host::open(context, reader, parts)?.signing(&chosen.signing, context);
        let session = open(&host, found.as_ref(), &chosen).await?;
        Ok((Self { host, session, chosen }, questions))
    }

    /// The runtime over the store.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Where it is read.
    pub fn reader(&self) -> &Reader {
        &self.host.reader
    }

    /// The session: for its view, and to change it (model, agent, title, pins, undo).
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// What it started with.
    pub fn chosen(&self) -> &Chosen {
        &self.chosen
    }

    /// The directory in which it works.
    pub fn directory(&self) -> &Path {
        Path::new(&self.chosen.directory)
    }

    /// Calls `hears` with all that happens in this session and its sub-agents: events once they are durable, and pieces of answers before.
    /// It must not wait. It is called until the result is dropped.
    pub fn observe(&self, hears: impl Fn(&Notice) + Send + Sync + 'static) -> Listening {
        self.host.runtime.bus().observe(hears)
    }

    /// Admits a prompt. It joins at the next boundary of a run: of the one that is running, or of the next one.
    pub async fn admit(&self, input: NewInput) -> Result<Admitted, HostError> {
        Ok(self.session.admit(input).await?)
    }

    /// Answers what was admitted. While another process runs the session, that one answers; this waits until it is done. To be called
    /// again after each prompt that is admitted to an idle session.
    ///
    /// # Errors
    /// When the store's folder cannot be written. A run that fails is an answer.
    pub async fn run(&self) -> Result<RunEnd, HostError> {
        self.run_for(RunGoal::Answer).await
    }

    /// Runs the session for another purpose, such as a compaction.
    pub async fn run_for(&self, goal: RunGoal) -> Result<RunEnd, HostError> {
        let (ended, _) = run_leased(&self.host.leases, &self.session, goal, true, &Elsewhere::default()).await?;
        Ok(ended)
    }

    /// Interrupts the turn and its background tasks; what arrived is kept. The run ends as [`RunEnd::Interrupted`] or [`RunEnd::Stopped`].
    pub fn interrupt(&self) {
        self.session.interrupt();
        self.session.cancel_background();
    }

    /// Stops what runs, in order, and signs what was appended, if that is configured. Returns a warning if that failed.
    pub async fn close(self) -> Option<String> {
        if tokio::time::timeout(PUT_AWAY, self.host.runtime.shut_down()).await.is_err() {
            self.host.runtime.halt().await;
        }
        self.host.sign_changed().await
    }
}
