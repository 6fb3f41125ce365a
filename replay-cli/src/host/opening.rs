//! Which Session a run is of: a new one here, the last one here, or one that is named.

use super::{Chosen, Host, HostError};
use crate::desk::Desk;
use crate::error::CliError;
use crate::reader::Reader;
use crate::undoing;
use annals_core::{AgentName, ModelName, SessionId};
use annals_projections::CatalogueEntry;
use annals_runtime::{NewSession, Session};
use annals_store::OpenMode;
use std::path::PathBuf;

/// A Session that is there already.
pub struct Found {
    /// Reads it.
    pub reader: Reader,
    /// Which.
    pub session: SessionId,
    /// The agent that is selected in it.
    pub agent: AgentName,
    /// The model that is selected in it.
    pub model: ModelName,
    /// Where it works.
    pub directory: String,
}

/// The current directory, as a log names it.
///
/// # Errors
/// When it is gone, or its name is no text.
pub fn here(desk: &Desk) -> Result<String, HostError> {
    let bad = |why: String| HostError::BadDirectory { why };
    let found = std::fs::canonicalize(&desk.environment.directory).map_err(|error| bad(error.to_string()))?;
    found
        .into_os_string()
        .into_string()
        .map_err(|name| bad(format!("{} is no UTF-8 text", PathBuf::from(name).display())))
}

/// The Session that is named, or the last one of this directory; `None` for a new one.
///
/// # Errors
/// When there is none.
pub async fn find(go_on: bool, name: Option<&str>, desk: &Desk) -> Result<Option<Found>, CliError> {
    let (reader, session) = match (go_on, name) {
        (false, None) => return Ok(None),
        (_, Some(name)) => desk.change(name).await?,
        (true, None) => {
            let directory = here(desk)?;
            let nothing = || HostError::NothingToContinue { directory: directory.clone().into() };
            let reader = match desk.store(OpenMode::Existing).await {
                Err(CliError::NoStore { .. }) => return Err(nothing().into()),
                reader => reader?,
            };
            let catalogue = reader.catalogue().await?;
            let own = |entry: &CatalogueEntry| {
                entry.directory == directory && entry.parent.is_none() && entry.origin.is_none()
            };
            let here = catalogue.sessions.iter().filter(|(_, entry)| own(entry));
            let last = here.max_by_key(|(id, entry)| (entry.updated, **id)).map(|(id, _)| *id);
            (reader, last.ok_or_else(nothing)?)
        }
    };
    Ok(Some(described(reader, session).await?))
}

/// The session in which `found` is continued: itself, or the fork that takes what is added to an imported one, if it was made
/// already.
///
/// # Errors
/// When the log cannot be read.
pub async fn continued(found: Found) -> Result<Found, CliError> {
    match undoing::local_fork(&found.reader, found.session).await? {
        Some(fork) => described(found.reader, fork).await,
        None => Ok(found),
    }
}

async fn described(reader: Reader, session: SessionId) -> Result<Found, CliError> {
    let until = reader.until(session, None).await?;
    let info = reader.look(session, until).await?.session;
    let directory = info.location.map(|location| location.directory).unwrap_or_default();
    Ok(Found { reader, session, agent: info.agent, model: info.model, directory })
}

/// The Session, with the chosen agent and model selected.
///
/// # Errors
/// When its directory is gone, or the log refuses.
pub async fn open(host: &Host, found: Option<&Found>, chosen: &Chosen) -> Result<Session, CliError> {
    let Some(found) = found else {
        let new = NewSession::at(chosen.directory.clone(), chosen.agent.clone(), chosen.model.clone());
        host.prepare(&new.location).await?;
        return Ok(host.runtime.create(new).await.map_err(HostError::from)?);
    };
    let local = host.session(found.session).await?.local().await.map_err(HostError::from)?;
    let session = local.session;
    if local.made {
        host.say(&format!("continued in a fork: {} (an imported session stays as its source)", session.id()));
    }
    if found.agent != chosen.agent {
        session.switch_agent(chosen.agent.clone()).await.map_err(HostError::from)?;
    }
    if found.model != chosen.model {
        session.switch_model(chosen.model.clone()).await.map_err(HostError::from)?;
    }
    Ok(session)
}
