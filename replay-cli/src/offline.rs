//! A runtime that only undoes: over the store's log, with the files that hosts of the store keep.

use crate::error::CliError;
use annals_core::event::Location;
use annals_core::{Event, Seq, SessionId, Time};
use annals_inspect::reader::Reader;
use annals_runtime::permission::FixedApprover;
use annals_runtime::ports::{ManualClock, MemoryOutputs, ScriptedProvider, SeededIds};
use annals_runtime::settings::{FixedDefinitions, LocationServices, Locations, Settings};
use annals_runtime::{Local, Ports, Runtime};
use annals_store::Draft;
use annals_store::disk::StorePath;
use annals_tools::worktree::{files_kept_in, files_once_kept_in};
use std::path::Path;
use std::sync::Arc;

/// Where captures of files are looked for.
#[derive(Clone, Debug)]
pub enum Captures {
    /// Where hosts of this store have kept some.
    Kept(StorePath),
    /// In this folder, made where there are none.
    In(StorePath),
}

impl Locations for Captures {
    fn at(&self, location: &Location) -> LocationServices {
        let directory = Path::new(&location.directory);
        let files = match self {
            Self::Kept(store) => files_once_kept_in(store.clone(), directory),
            Self::In(folder) => files_kept_in(folder.clone(), directory),
        };
        LocationServices { files: Some(files), ..LocationServices::default() }
    }
}

/// A runtime over what `reader` reads, whose clock stands at `now`. It takes no turns: no model is defined.
///
/// # Errors
/// When the system gives no randomness for ids.
pub fn runtime(reader: &Reader, now: Time) -> Result<Runtime, CliError> {
    with_captures(reader, now, Captures::Kept(reader.folder().clone()))
}

/// The same with captures of files from elsewhere.
///
/// # Errors
/// See [`runtime`].
pub fn with_captures(reader: &Reader, now: Time, captures: Captures) -> Result<Runtime, CliError> {
    let views = reader.saved().cloned();
    let clock = Arc::new(ManualClock::at(now));
    let ports = Ports {
        log: reader.log().clone(),
        provider: Arc::new(ScriptedProvider::new([])),
        clock: clock.clone(),
        ids: Arc::new(SeededIds::from_entropy()?),
        outputs: Arc::new(MemoryOutputs::new(clock)),
        approver: Arc::new(FixedApprover::allowing("annals")),
        locations: Arc::new(captures),
        definitions: Arc::new(FixedDefinitions::default()),
    };
    Ok(Runtime::new(ports, Settings { views, ..Settings::default() }))
}

/// The session that takes a change of `session`: itself, or a fork of it if it is imported.
///
/// # Errors
/// When there is no such session, or the log refuses.
pub async fn local(runtime: &Runtime, session: SessionId) -> Result<Local, CliError> {
    let refused = |refusal| CliError::Refused { session, refusal };
    runtime.session(session).await.map_err(refused)?.local().await.map_err(refused)
}

/// The fork that takes changes of an imported session, if it was made already.
///
/// # Errors
/// When there is no such session, or the log cannot be read.
pub async fn local_fork(reader: &Reader, session: SessionId) -> Result<Option<SessionId>, CliError> {
    Ok(annals_runtime::local_fork(&**reader.log(), session).await?)
}

/// Appends a fact to a session, or to a fork of it if it is imported: the place where commands append to a session that is there
/// already. Gives the session that took it, and where.
///
/// # Errors
/// When there is no such session, or the log refuses.
pub async fn append(reader: &Reader, now: Time, session: SessionId, fact: Event) -> Result<(SessionId, Seq), CliError> {
    let at = now.max(reader.head(session).await?.at);
    let session = local(&runtime(reader, at)?, session).await?.session.id();
    let expected = reader.head(session).await?.next;
    let draft = Draft { session, expected, at, events: vec![fact], digest: None };
    Ok((session, reader.log().append(draft).await?.batch.first))
}

/// ` in a fork: ID` if what was asked of `named` was done in a fork of it.
pub fn in_fork(named: SessionId, done: SessionId) -> String {
    if named == done { String::new() } else { format!(" in a fork: {done}") }
}
