//! The host: everything around a `Runtime` when a user works with it. Ports over the store, the services of a
//! location, answers to permission questions, and output.
//!
//! ```text
//! configuration, options ─► HostParts ─► Host (Runtime over the store) ─► run_interactive: inputs, notices, questions, signals
//!                                                                             └─► Frontend: the screen, or JSON lines
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
pub use question::ApprovalMode;
pub use run_loop::run_interactive;
pub use screen::Screen;
pub use signals::{Signal, Signals};

use crate::command_context::CommandContext;
use crate::diagnostics::Diagnostics;
use crate::error::CliError;
use crate::layout::plain;
use crate::remarks::Remarks;
use crate::signing::AutomaticSigner;
use crate::style::Emphasis;
use annals_config::SigningSettings;
use annals_core::SessionId;
use annals_core::event::Location;
use annals_inspect::reader::Reader;
use annals_runtime::Session;
use annals_runtime::host::{HostParts, StoreHost};
use annals_tools::local::EDITS;
use std::ops::Deref;
use std::path::Path;
use tokio::sync::OnceCell;

/// A runtime over the store, and where its remarks are printed.
pub struct Host {
    over_store: StoreHost,
    /// Reads the same log.
    pub reader: Reader,
    remarks: Remarks,
    diagnostics: Diagnostics,
    signer: Option<AutomaticSigner>,
    /// Set once the temporary files of killed processes were removed.
    tidied: OnceCell<()>,
}

impl Deref for Host {
    type Target = StoreHost;

    fn deref(&self) -> &StoreHost {
        &self.over_store
    }
}

impl Host {
    /// A runtime over the store that `reader` reads.
    ///
    /// # Errors
    /// When the system gives no entropy for ids.
    pub fn open(cli: &CommandContext, reader: Reader, parts: HostParts) -> Result<Self, CliError> {
        cli.diagnostics.keep_in(reader.store());
        let (log, saved, store) = (reader.log().clone(), reader.saved().cloned(), reader.folder().clone());
        let over_store = StoreHost::open(log, saved, store, parts).map_err(HostError::from)?;
        let (remarks, diagnostics) = (cli.remarks.clone(), cli.diagnostics.clone());
        Ok(Self { over_store, reader, remarks, diagnostics, signer: None, tidied: OnceCell::new() })
    }

    /// The same, which signs sessions once they are idle, if that is configured.
    #[must_use]
    pub fn signing(self, settings: &SigningSettings, cli: &CommandContext) -> Self {
        Self { signer: AutomaticSigner::configured(settings, cli), ..self }
    }

    /// Signs what this process appended, if that is configured. Returns a warning for the user if that failed.
    pub async fn sign_changed(&self) -> Option<String> {
        match &self.signer {
            Some(signer) => signer.sign_changed(&self.reader).await,
            None => None,
        }
    }

    /// A Session of the store, and the right to run it, unless another process has it.
    ///
    /// # Errors
    /// When there is no such session, its directory is gone, or the store's folder cannot be written.
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
        for remark in self.prepare_location(location).await {
            self.remarks.say(Emphasis::Warn, &plain(&remark));
        }
        Ok(())
    }

    /// Removes temporary files of edits that were cut off with their process.
    async fn tidy(&self) {
        let edits = self.reader.folder().join(EDITS);
        match tokio::task::spawn_blocking(move || annals_tools::remove_leftovers(&edits)).await {
            Ok(Ok(removed)) => tracing::debug!(removed, "temporary files of killed processes removed"),
            Ok(Err(error)) => tracing::warn!(%error, "temporary files of killed processes could not be looked for"),
            Err(error) => tracing::warn!(%error, "temporary files of killed processes could not be looked for"),
        }
    }
}
