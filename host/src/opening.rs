//! Opening the session of a run.

use crate::configured::Chosen;
use crate::error::HostError;
use crate::existing_session::ExistingSession;
use crate::host::Host;
use crate::short_id::short;
use annals_core::event::Location;
use annals_runtime::{Refusal, Session};

/// The session, with the chosen agent and model selected, ready to run.
///
/// # Errors
/// When its directory is gone, or the log refuses.
pub async fn open(host: &Host, found: Option<&ExistingSession>, chosen: &Chosen) -> Result<Session, HostError> {
    let session = open_to_prompt(host, found, chosen).await?;
    host.prepare_for(&session).await?;
    Ok(session)
}

/// The same, ready to take a prompt: what takes a while, such as servers of tools, is not started. [`Host::prepare_for`] starts it,
/// once the prompt is durable.
///
/// # Errors
/// As [`open`].
pub async fn open_to_prompt(
    host: &Host,
    found: Option<&ExistingSession>,
    chosen: &Chosen,
) -> Result<Session, HostError> {
    let Some(found) = found else {
        let new = chosen.new_session();
        host.check(&new.location)?;
        return Ok(host.runtime.create(new).await?);
    };
    let named = host.runtime.session(found.session).await?;
    if found.moves_from.is_none() {
        host.find_directory(&named).await?;
    }
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
async fn moved(host: &Host, found: &ExistingSession, session: &Session) -> Result<(), HostError> {
    let location = Location { directory: found.directory.clone(), workspace: None };
    host.prepare(&location).await?;
    match session.move_to(location).await {
        Ok(_) => {}
        Err(Refusal::OtherProject) => {
            let id = short(found.session);
            return Err(HostError::OtherProject { session: id, directory: found.directory.clone() });
        }
        Err(refusal) => return Err(refusal.into()),
    }
    let from = found.moves_from.as_deref().unwrap_or_default();
    host.say(&format!("the session worked in {from}; it continues in {}", found.directory));
    Ok(())
}
