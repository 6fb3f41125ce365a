//! Which session a run is of: a new one here, the last one here, or one that is named.

use super::{Chosen, Host, HostError};
use crate::command_context::CommandContext;
use crate::editing;
use crate::error::CliError;
use crate::project::newest;
use annals_core::event::Location;
use annals_core::{AgentName, ModelName, SessionId};
use annals_inspect::reader::Reader;
use annals_projections::CatalogueEntry;
use annals_runtime::{Refusal, Session};
use annals_store::OpenMode;
use annals_store::exchange::has_key;
use std::path::Path;

/// A Session that is there already.
pub struct ExistingSession {
    pub reader: Reader,
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
    /// The same where it is to work.
    ///
    /// # Errors
    /// When there is no such directory.
    pub fn in_directory(mut self, directory: Option<&Path>, cli: &CommandContext) -> Result<Self, HostError> {
        if let Some(directory) = directory {
            let there = place(cli, Some(directory))?;
            if there != self.directory {
                self.moves_from = Some(std::mem::replace(&mut self.directory, there));
            }
        }
        if !Path::new(&self.directory).is_dir() {
            let session = super::closing::short(self.session);
            return Err(HostError::NoDirectory { session, directory: self.directory });
        }
        Ok(self)
    }
}

/// A directory, relative to the current one, as a log names it; without one, the current one.
///
/// # Errors
/// When the directory does not exist, or its name is not UTF-8.
pub fn place(cli: &CommandContext, directory: Option<&Path>) -> Result<String, HostError> {
    let wanted = directory.map_or_else(|| cli.environment.directory.clone(), |it| cli.environment.directory.join(it));
    let bad = |why: String| HostError::BadDirectory { directory: wanted.clone(), why };
    let found = std::fs::canonicalize(&wanted).map_err(|error| bad(error.to_string()))?;
    if !found.is_dir() {
        return Err(bad("it is not a directory".to_owned()));
    }
    found.into_os_string().into_string().map_err(|_| bad("its name is not UTF-8".to_owned()))
}

/// The session that is named, or the last one of `directory`, or of this one; `None` for a new one.
pub async fn find(
    go_on: bool,
    name: Option<&str>,
    directory: Option<&Path>,
    cli: &CommandContext,
) -> Result<Option<ExistingSession>, CliError> {
    let (reader, session) = match (go_on, name) {
        (false, None) => return Ok(None),
        (_, Some(name)) => cli.change(name).await?,
        (true, None) => {
            let directory = place(cli, directory)?;
            let nothing = || HostError::NothingToContinue { directory: directory.clone().into() };
            let reader = match cli.store(OpenMode::Existing).await {
                Err(CliError::NoStore { .. }) => return Err(nothing().into()),
                reader => reader?,
            };
            let catalogue = reader.catalogue().await?;
            let scope = cli.scope_around(&catalogue, Path::new(&directory));
            let own = |entry: &CatalogueEntry| entry.parent.is_none() && entry.origin.is_none() && !entry.forgotten;
            let last = newest(&catalogue, |entry| own(entry) && scope.takes(&entry.directory));
            (reader, last.ok_or_else(nothing)?)
        }
    };
    Ok(Some(described(reader, session).await?))
}

/// The session of this name.
///
/// # Errors
/// When there is none, or several.
pub async fn named(name: &str, cli: &CommandContext) -> Result<ExistingSession, CliError> {
    let (reader, session) = cli.change(name).await?;
    described(reader, session).await
}

/// The session in which `found` is continued: itself, or the fork that takes what is added to an imported one, if it was made
/// already.
///
/// # Errors
/// [`HostError::NoKey`] when its key is not in the store.
pub async fn continued(found: ExistingSession) -> Result<ExistingSession, CliError> {
    let found = match editing::local_fork(&found.reader, found.session).await? {
        Some(fork) => described(found.reader, fork).await?,
        None => found,
    };
    // An imported one is continued by a fork anyway.
    if !found.is_imported && !has_key(&**found.reader.log(), found.session).await? {
        return Err(HostError::NoKey { session: super::closing::short(found.session) }.into());
    }
    Ok(found)
}

async fn described(reader: Reader, session: SessionId) -> Result<ExistingSession, CliError> {
    let until = reader.until(session, None).await?;
    let info = reader.bounded(session, until).await?.session;
    let directory = info.location.map(|location| location.directory).unwrap_or_default();
    let is_imported = reader.created(session).await?.is_some_and(|created| created.origin.is_some());
    Ok(ExistingSession {
        reader,
        session,
        agent: info.agent,
        model: info.model,
        directory,
        moves_from: None,
        is_imported,
    })
}

/// The session, with the chosen agent and model selected.
///
/// # Errors
/// When its directory is gone, or the log refuses.
pub async fn open(host: &Host, found: Option<&ExistingSession>, chosen: &Chosen) -> Result<Session, CliError> {
    let Some(found) = found else {
        let new = chosen.new_session();
        host.prepare(&new.location).await?;
        return Ok(host.runtime.create(new).await?);
    };
    let named = match found.moves_from {
        Some(_) => host.runtime.session(found.session).await?,
        None => host.session(found.session).await?,
    };
    let local = named.local().await?;
    let session = local.session;
    if local.made {
        let with = if found.model == chosen.model { String::new() } else { format!(" with {}", chosen.model) };
        host.say(&format!("recorded by {}; continuing as a fork{with}: {}", found.model, session.id()));
    }
    if found.moves_from.is_some() {
        moved(host, found, &session).await?;
    }
    if found.agent != chosen.agent {
        session.switch_agent(chosen.agent.clone()).await?;
    }
    if found.model != chosen.model {
        session.switch_model(chosen.model.clone()).await?;
    }
    Ok(session)
}

/// Moves a session to the directory where it is to work from now on. Files stay where they are.
async fn moved(host: &Host, found: &ExistingSession, session: &Session) -> Result<(), CliError> {
    let location = Location { directory: found.directory.clone(), workspace: None };
    host.prepare(&location).await?;
    match session.move_to(location).await {
        Ok(_) => {}
        Err(Refusal::OtherProject) => {
            let id = super::closing::short(found.session);
            return Err(HostError::OtherProject { session: id, directory: found.directory.clone() }.into());
        }
        Err(refusal) => return Err(HostError::from(refusal).into()),
    }
    let from = found.moves_from.as_deref().unwrap_or_default();
    host.say(&format!("the session worked in {from}; it continues in {}", found.directory));
    Ok(())
}
