//! A session that is to be continued.

use crate::context::HostContext;
use crate::editing;
use crate::error::HostError;
use crate::short_id::short;
use annals_core::{AgentName, ModelName, SessionId};
use annals_inspect::reader::Reader;
use annals_store::exchange::has_key;
use std::path::Path;

/// A Session that is there already.
pub struct ExistingSession {
    /// Where it is read.
    pub reader: Reader,
    /// Which it is.
    pub session: SessionId,
    /// The agent that is selected in it.
    pub agent: AgentName,
    /// The model that is selected in it.
    pub model: ModelName,
    /// Where it works, or is to work from now on.
    pub directory: String,
    /// Where it worked, if it is to work elsewhere from now on.
    pub moves_from: Option<String>,
    /// Whether another program recorded it, or the session that it is a fork of.
    pub is_imported: bool,
}

impl ExistingSession {
    /// A session of a store.
    ///
    /// # Errors
    /// When there is none, or the log cannot be read.
    pub async fn of(reader: Reader, session: SessionId) -> Result<Self, HostError> {
        let until = reader.until(session, None).await?;
        let info = reader.bounded(session, until).await?.session;
        let directory = info.location.map(|location| location.directory).unwrap_or_default();
        let is_imported = reader.created(session).await?.is_some_and(|created| created.origin.is_some());
        Ok(Self { reader, session, agent: info.agent, model: info.model, directory, moves_from: None, is_imported })
    }

    /// The same where it is to work.
    ///
    /// # Errors
    /// When there is no such directory.
    pub fn in_directory(mut self, wanted: Option<&Path>, context: &HostContext) -> Result<Self, HostError> {
        if let Some(wanted) = wanted {
            let there = working_directory(context, Some(wanted))?;
            if there != self.directory {
                self.moves_from = Some(std::mem::replace(&mut self.directory, there));
            }
        }
        if !Path::new(&self.directory).is_dir() {
            let session = short(self.session);
            return Err(HostError::NoDirectory { session, directory: self.directory });
        }
        Ok(self)
    }
}

/// A directory, relative to the current one, as a log names it; without one, the current one.
///
/// # Errors
/// When the directory does not exist, or its name is not UTF-8.
pub fn working_directory(context: &HostContext, named: Option<&Path>) -> Result<String, HostError> {
    let wanted =
        named.map_or_else(|| context.environment.directory.clone(), |it| context.environment.directory.join(it));
    let bad = |why: String| HostError::BadDirectory { directory: wanted.clone(), why };
    let found = std::fs::canonicalize(&wanted).map_err(|error| bad(error.to_string()))?;
    if !found.is_dir() {
        return Err(bad("it is not a directory".to_owned()));
    }
    found.into_os_string().into_string().map_err(|_| bad("its name is not UTF-8".to_owned()))
}

/// The session in which `found` is continued: itself, or the fork that takes what is added to an imported one, if it was made
/// already.
///
/// # Errors
/// [`HostError::NoKey`] when its key is not in the store.
pub async fn continued(found: ExistingSession) -> Result<ExistingSession, HostError> {
    let found = match editing::local_fork(&found.reader, found.session).await? {
        Some(fork) => ExistingSession::of(found.reader, fork).await?,
        None => found,
    };
    // An imported one is continued by a fork anyway.
    if !found.is_imported && !has_key(&**found.reader.log(), found.session).await? {
        return Err(HostError::NoKey { session: short(found.session) });
    }
    Ok(found)
}
