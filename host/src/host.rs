//! A runtime over the store, as the configuration describes it.

use crate::context::HostContext;
use crate::error::HostError;
use crate::live::LiveSender;
use crate::project::root;
use crate::remarks::HostRemarks;
use crate::short_id::short;
use crate::signing::AutomaticSigner;
use annals_config::{ConfigError, Environment, RememberedRules, SigningSettings};
use annals_core::SessionId;
use annals_core::event::{Location, Rule};
use annals_inspect::reader::Reader;
use annals_runtime::Session;
use annals_runtime::host::{HostParts, StoreHost};
use annals_tools::local::EDITS;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// A runtime over the store, and who receives its remarks.
pub struct Host {
    over_store: StoreHost,
    /// Reads the same log.
    pub reader: Reader,
    remarks: Arc<dyn HostRemarks>,
    environment: Environment,
    signer: Option<AutomaticSigner>,
    _live: LiveSender,
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
    pub fn open(context: &HostContext, reader: Reader, parts: HostParts) -> Result<Self, HostError> {
        let (log, saved, store) = (reader.log().clone(), reader.saved().cloned(), reader.folder().clone());
        let over_store = StoreHost::open(log, saved, store, parts)?;
        let live = LiveSender::start(reader.folder(), over_store.runtime.bus());
        let (remarks, environment) = (context.remarks.clone(), context.environment.clone());
        Ok(Self { over_store, reader, remarks, environment, signer: None, _live: live, tidied: OnceCell::new() })
    }

    /// The same, which signs sessions once they are idle, if that is configured.
    #[must_use]
    pub fn signing(self, settings: &SigningSettings, context: &HostContext) -> Self {
        Self { signer: AutomaticSigner::configured(settings, context), ..self }
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
    pub async fn session(&self, session: SessionId) -> Result<Session, HostError> {
        let session = self.runtime.session(session).await?;
        self.find_directory(&session).await?;
        self.prepare_for(&session).await?;
        Ok(session)
    }

    /// Fails when the directory of a session is gone.
    pub(crate) async fn find_directory(&self, session: &Session) -> Result<(), HostError> {
        match &session.view().await?.session.location {
            Some(location) if !Path::new(&location.directory).is_dir() => {
                let directory = location.directory.clone();
                Err(HostError::NoDirectory { session: short(session.id()), directory })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Prepares the location of a session, before it runs.
    ///
    /// # Errors
    /// When its directory is gone.
    pub async fn prepare_for(&self, session: &Session) -> Result<(), HostError> {
        match &session.view().await?.session.location {
            Some(location) => self.prepare(location).await,
            None => Ok(()),
        }
    }

    /// Says something in addition to the answer.
    pub(crate) fn say(&self, text: &str) {
        self.remarks.remark(text);
    }

    /// Writes rules for the project of a directory into the user's configuration.
    ///
    /// # Errors
    /// If the file is not a valid configuration, or cannot be written.
    pub fn remember(&self, directory: &str, rules: &[Rule]) -> Result<RememberedRules, ConfigError> {
        annals_config::remember(&self.environment.places()?, &root(Path::new(directory)), rules)
    }

    /// Prepares a location: it runs git, which takes time. Prints remarks for the user.
    ///
    /// # Errors
    /// When there is no such directory.
    pub async fn prepare(&self, location: &Location) -> Result<(), HostError> {
        self.check(location)?;
        self.tidied.get_or_init(|| self.tidy()).await;
        for remark in self.prepare_location(location).await {
            self.remarks.warn(&remark);
        }
        Ok(())
    }

    /// Fails when there is no such directory.
    ///
    /// # Errors
    /// [`HostError::BadDirectory`].
    pub fn check(&self, location: &Location) -> Result<(), HostError> {
        match Path::new(&location.directory).is_dir() {
            true => Ok(()),
            false => {
                let directory = location.directory.clone();
                Err(HostError::BadDirectory { directory: directory.into(), why: "it is not a directory".into() })
            }
        }
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
