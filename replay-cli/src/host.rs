//! The host: everything around a [`Runtime`] when a user works with it. Ports over the store, the services of a
//! location, answers to permission questions, and output.
//!
//! ```text
//! configuration, options ─► Equipment ─► Host (Runtime over the store) ─► conduct: inputs, notices, questions, signals
//!                                                                               └─► Show: a person's screen, or JSON lines
//! ```

mod advice;
pub mod chat;
pub mod closing;
mod configured;
mod edge;
mod frontend;
mod idle;
mod interaction;
mod lines;
mod meter;
pub mod opening;
mod parts;
mod question;
mod run_loop;
mod screen;
mod screen_questions;
mod screen_tasks;
mod screen_tools;
mod signals;

pub use crate::host_error::HostError;
pub use advice::{about_empty, advice};
pub use chat::ChatCommand;
pub use configured::{Chosen, Options, configured};
pub use frontend::Frontend;
pub use idle::{idle, leave};
pub use interaction::Interaction;
pub use lines::{TypedLine, TypedLines};
pub use parts::HostParts;
pub use question::{ApprovalMode, reply};
pub use run_loop::run_interactive;
pub use screen::Screen;
pub use signals::{Signal, Signals};

use crate::command_context::CommandContext;
use crate::diagnostics::Diagnostics;
use crate::error::CliError;
use crate::layout::plain;
use crate::remarks::Remarks;
use crate::style::Emphasis;
use annals_core::SessionId;
use annals_core::event::Location;
use annals_inspect::reader::Reader;
use annals_runtime::host::{Leases, LocationCache, QuestionSender};
use annals_runtime::ports::{OutputFolder, SeededIds, SystemClock, keep_swept, sweep};
use annals_runtime::subagents::{Subagents, TaskTool};
use annals_runtime::tools::{Tool, ToolRegistry};
use annals_runtime::{Ports, Runtime, Session};
use annals_store::disk::StorePath;
use annals_tools::local::{EDITS, OUTPUTS};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

/// A runtime over the store.
pub struct Host {
    /// Runs Sessions.
    pub runtime: Runtime,
    /// Reads the same log.
    pub reader: Reader,
    places: Arc<LocationCache>,
    /// Its folder.
    store: StorePath,
    remarks: Remarks,
    outputs: Arc<OutputFolder>,
    clock: Arc<SystemClock>,
    /// Whether what earlier processes left was removed; then, the task that keeps removing what expires.
    tidied: OnceCell<AbortOnDrop>,
    diagnostics: Diagnostics,
    /// The right to run its sessions.
    pub leases: Leases,
}

/// A task that ends with this.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Host {
    /// A runtime over the store that `reader` reads. Permission questions go to `questions`.
    ///
    /// # Errors
    /// When the system gives no entropy for ids.
    pub fn open(
        cli: &CommandContext,
        reader: Reader,
        parts: HostParts,
        questions: QuestionSender,
    ) -> Result<Self, CliError> {
        let store = reader.folder().clone();
        cli.diagnostics.keep_in(reader.store());
        let application = ToolRegistry::default();
        let HostParts { provider, definitions, mut settings, services_at, subagents } = parts;
        let places = Arc::new(LocationCache::new(application.clone(), services_at, store.clone()));
        settings.views = reader.saved().cloned();
        let (outputs, clock) = (Arc::new(OutputFolder::at(store.join(OUTPUTS))), Arc::new(SystemClock::local()));
        let ports = Ports {
            log: reader.log().clone(),
            provider,
            clock: clock.clone(),
            ids: Arc::new(SeededIds::from_entropy()?),
            outputs: outputs.clone(),
            approver: Arc::new(questions),
            locations: places.clone(),
            definitions,
        };
        let runtime = Runtime::new(ports, settings);
        if !subagents.is_empty() {
            let task: Arc<dyn Tool> = Arc::new(TaskTool::of(&runtime, Subagents::new(subagents)));
            application.register([task]).map_err(HostError::from)?.detach();
        }
        let (remarks, diagnostics) = (cli.remarks.clone(), cli.diagnostics.clone());
        let (leases, tidied) = (Leases::of_store(store.clone()), OnceCell::new());
        Ok(Self { runtime, reader, places, store, remarks, diagnostics, leases, outputs, clock, tidied })
    }

    /// A Session of the store, and the right to run it, unless another process has it.
    ///
    /// # Errors
    /// When there is no such Session, its directory is gone, or the store's folder cannot be written.
    pub async fn session(&self, session: SessionId) -> Result<Session, CliError> {
        let session = self.runtime.session(session).await?;
        let view = session.view().await?;
        if let Some(location) = &view.session.location {
            if !Path::new(&location.directory).is_dir() {
                let directory = location.directory.clone();
                return Err(HostError::NoDirectory { session: closing::short(session.id()), directory }.into());
            }
            self.prepare(location).await?;
        }
        Ok(session)
    }

    /// Prints a remark in addition to the answer.
    pub(crate) fn say(&self, text: &str) {
        self.remarks.say(Emphasis::Dim, &plain(text));
    }

    /// Prepares a location: it runs git, which takes time. Prints remarks for the user.
    ///
    /// # Errors
    /// When there is no such directory.
    pub async fn prepare(&self, location: &Location) -> Result<(), CliError> {
        if !Path::new(&location.directory).is_dir() {
            let directory = location.directory.clone();
            return Err(
                HostError::BadDirectory { directory: directory.into(), why: "it is not a directory".into() }.into()
            );
        }
        self.tidied.get_or_init(|| self.tidy()).await;
        self.places.prepare(location).await;
        for remark in self.places.remarks(location).await {
            self.remarks.say(Emphasis::Warn, &plain(&remark));
        }
        Ok(())
    }

    /// Removes what earlier processes left: output files that have expired, and temporary files of edits that were cut off.
    /// Output files are looked at again every hour.
    async fn tidy(&self) -> AbortOnDrop {
        let edits = self.store.join(EDITS);
        match tokio::task::spawn_blocking(move || annals_tools::remove_leftovers(&edits)).await {
            Ok(Ok(removed)) => tracing::debug!(removed, "temporary files of killed processes removed"),
            Ok(Err(error)) => tracing::warn!(%error, "temporary files of killed processes could not be looked for"),
            Err(error) => tracing::warn!(%error, "temporary files of killed processes could not be looked for"),
        }
        sweep(&*self.outputs, &*self.clock).await;
        let (outputs, clock) = (self.outputs.clone(), self.clock.clone());
        AbortOnDrop(tokio::spawn(async move { keep_swept(&*outputs, &*clock).await }))
    }
}
