//! Edits of a stored session that need no model: pins, forks, reverts, moves, pending inputs.

use crate::context::HostContext;
use crate::error::{EditError, HostError};
use annals_core::{Event, Seq, SessionId};
use annals_guard::redaction::Redactor;
use annals_inspect::reader::Reader;
use annals_runtime::ports::{FixedClock, SeededIds};
use annals_runtime::{EditorPorts, FilesAt, Local, Refusal, SessionEditor};
use annals_store::disk::StorePath;
use annals_tools::worktree::{files_kept_in, files_once_kept_in};
use std::path::Path;
use std::sync::Arc;

/// The files that runs over this store have captured.
pub fn captured_files(store: StorePath) -> FilesAt {
    Arc::new(move |location| Some(files_once_kept_in(store.clone(), Path::new(&location.directory))))
}

/// Files whose captures are written to `folder`, which is created where it is missing.
pub fn files_captured_in(folder: StorePath) -> FilesAt {
    Arc::new(move |location| Some(files_kept_in(folder.clone(), Path::new(&location.directory))))
}

/// Opens a session for edits; their events have the present time, or that of the last event if it is later.
///
/// # Errors
/// When there is no such session, or the system has no randomness for ids.
pub async fn editor(
    context: &HostContext,
    reader: &Reader,
    session: SessionId,
    files: FilesAt,
) -> Result<SessionEditor, HostError> {
    let ports = EditorPorts {
        process: Some(context.process_recorder()),
        log: reader.log().clone(),
        files,
        clock: Arc::new(FixedClock(context.clock.now().max(reader.head(session).await?.at))),
        ids: Arc::new(SeededIds::from_entropy()?),
        views: reader.saved().cloned(),
        redactor: Some(Arc::new(Redactor::default())),
    };
    SessionEditor::open(ports, session).await.map_err(refused(session))
}

/// The session that takes a change: the edited one, or a fork of it if it is imported.
pub async fn local(editor: &SessionEditor) -> Result<Local<SessionEditor>, HostError> {
    editor.local().await.map_err(refused(editor.id()))
}

/// The fork that takes changes of an imported session, if it was created already.
///
/// # Errors
/// When there is no such session, or the log cannot be read.
pub async fn local_fork(reader: &Reader, session: SessionId) -> Result<Option<SessionId>, HostError> {
    Ok(annals_runtime::local_fork(&**reader.log(), session).await?)
}

/// Appends an event to a session, or to a fork of it if it is imported: the one place where commands append to a session
/// that exists. Returns the session that took the event, and its sequence number.
///
/// # Errors
/// When there is no such session, or the log refuses.
pub async fn append(
    context: &HostContext,
    reader: &Reader,
    session: SessionId,
    event: Event,
) -> Result<(SessionId, Seq), HostError> {
    let editor = editor(context, reader, session, captured_files(reader.folder().clone())).await?;
    let editor = local(&editor).await?.session;
    let recorded = editor.record(event).await.map_err(Refusal::from).map_err(refused(editor.id()))?;
    Ok((editor.id(), recorded))
}

/// ` in a fork: ID` if what was asked of `named` was done in a fork of it.
pub fn in_fork(named: SessionId, done: SessionId) -> String {
    if named == done { String::new() } else { format!(" in a fork: {done}") }
}

/// A refusal of an edit of `session`.
pub fn refused(session: SessionId) -> impl Fn(Refusal) -> HostError {
    move |refusal| EditError::Refused { session, refusal }.into()
}
