//! The key that signs, and signing without a command (`docs/reference/signing.md#automatically`).

use crate::context::HostContext;
use crate::error::{HostError, SigningError};
use annals_config::SigningSettings;
use annals_inspect::reader::Reader;
use annals_inspect::signing::{NewCheckpoint, sign};
use annals_runtime::ProcessRecorder;
use annals_store::SessionHead;
use annals_store::disk::StoreId;
use annals_store::signing::checkpoint::origin_of;
use annals_store::signing::folder::TreeFolder;
use annals_store::signing::key_file::{SigningKey, random};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The file of the key that signs: the one that is configured, else the user's usual SSH key.
///
/// # Errors
/// When none is configured and the usual one does not exist.
pub fn key_file(settings: &SigningSettings, context: &HostContext) -> Result<PathBuf, HostError> {
    if let Some(key) = &settings.key {
        return Ok(key.clone());
    }
    let home = context.environment.places()?.home.ok_or(HostError::NoPlace)?;
    let usual = home.join(".ssh/id_ed25519");
    match usual.exists() {
        true => Ok(usual),
        false => Err(SigningError::NoKey { usual }.into()),
    }
}

/// Signs what this process appended to its sessions, once they are idle. Never asks for a passphrase.
#[derive(Debug)]
pub struct AutomaticSigner {
    key: Result<PathBuf, HostError>,
    /// `None` if the process that owns the store does not say which it is.
    store: Option<StoreId>,
    process: Arc<ProcessRecorder>,
    /// The last warning: a chat does not repeat it.
    warned: Mutex<Option<String>>,
}

impl AutomaticSigner {
    /// The signer that is configured for the store that was opened last; `None` if nothing is signed automatically.
    pub fn configured(settings: &SigningSettings, context: &HostContext) -> Option<Self> {
        settings.automatically.then(|| Self {
            key: key_file(settings, context),
            store: context.store_id(),
            process: context.process_recorder(),
            warned: Mutex::default(),
        })
    }

    /// Signs the sessions that this process appended to, as far as they have grown. Returns a warning of one line if that failed and
    /// the warning before was another one. Costs what is new in these sessions, and reading the list of all signed heads.
    pub async fn sign_changed(&self, reader: &Reader) -> Option<String> {
        let warning = self.sign(reader).await.err();
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = *warned != warning;
        warned.clone_from(&warning);
        warning.filter(|_| is_new)
    }

    async fn sign(&self, reader: &Reader) -> Result<(), String> {
        let warning = |reason: &str| {
            let reason: Vec<&str> = reason.lines().map(str::trim).collect();
            format!("the session is stored, but not signed: {}", reason.join(" "))
        };
        let key = self.key.as_ref().map_err(|error| warning(&error.to_string()))?;
        let key = SigningKey::load(key).map_err(|error| warning(&error.to_string()))?;
        self.sign_with(&key, reader).await.map_err(|error| warning(&error.to_string()))
    }

    async fn sign_with(&self, key: &SigningKey, reader: &Reader) -> Result<(), HostError> {
        let mut sessions = Vec::new();
        for session in self.process.sessions() {
            sessions.push(SessionHead { session, head: reader.head(session).await? });
        }
        if sessions.is_empty() {
            return Ok(());
        }
        let store = self.store.ok_or(SigningError::UnknownStore)?;
        let new = NewCheckpoint {
            log: &**reader.log(),
            folder: &TreeFolder::new(reader.folder(), store),
            origin: origin_of(store),
            sessions,
            signer: key.allowed_signer(),
        };
        let signed = sign(new, &mut random, |head| key.sign_unattended(&head.origin, &head.to_string())).await;
        let signed = signed.map_err(SigningError::from)?;
        tracing::debug!(size = signed.size, new = signed.new_heads, "sessions signed");
        Ok(())
    }
}
