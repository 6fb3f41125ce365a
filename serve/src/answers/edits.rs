//! Changes of sessions that need no model: forks, undos, pins. As `annals fork`, `revert` and `pin`.

use crate::hosting::HostedSessions;
use crate::operation::{AsJson, Question};
use crate::problem::ApiProblem;
use annals_core::event::Location;
use annals_core::{Seq, SessionId};
use annals_host::{editing, working_directory};
use annals_inspect::message_ref::MessageRef;
use annals_inspect::pins::pin_event;
use annals_inspect::reader::Reader;
use annals_runtime::{Extent, MessagePlace, RevertFiles, SessionEditor};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where a fork begins.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkGiven {
    /// How many events it inherits; all without it. A cut inside of a batch means its end.
    at: Option<u64>,
    /// Its directory; that of the session without it.
    directory: Option<PathBuf>,
}

/// A fork.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ForkMade {
    /// The new session.
    session: SessionId,
    /// The session that it was made of.
    from: SessionId,
    /// How many events it inherits.
    cut: Seq,
    /// Its title.
    title: Option<String>,
}

/// An undo: one of `to`, `commit` and `clear`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevertGiven {
    /// Stage an undo of the message that contains this event, and of everything after it.
    to: Option<u64>,
    /// Apply the staged undo. A new prompt does as well.
    #[serde(default)]
    commit: bool,
    /// Drop the staged undo, and bring the files back.
    #[serde(default)]
    clear: bool,
    /// With `to`: whether files are restored where they were captured (true).
    files: Option<bool>,
}

/// What an undo did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RevertDone {
    /// The session that was changed. For an imported one, the fork that takes changes.
    session: SessionId,
    /// The present state of the undo.
    state: RevertState,
    /// The event that says so; null when no undo was staged.
    seq: Option<Seq>,
    /// The first message that is undone.
    first_removed: Option<Seq>,
    /// How many files it changed.
    files: usize,
    /// Why files stay as they are; null when they do not, or when that was asked for.
    files_stay: Option<String>,
}

/// The state after an undo.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RevertState {
    /// It is prepared: the model still sees the messages.
    Staged,
    /// It is applied.
    Committed,
    /// It is dropped.
    Cleared,
    /// There was none.
    NothingStaged,
}

/// A message to pin.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinGiven {
    /// An event of the message.
    seq: u64,
    /// Whether it is pinned from now on (true), or no longer.
    pinned: Option<bool>,
}

/// A message was pinned or unpinned.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PinDone {
    /// The session that was changed. For an imported one, the fork that takes changes.
    session: SessionId,
    /// The message.
    message: Seq,
    /// Whether it is pinned.
    pinned: bool,
    /// The event that says so.
    seq: Seq,
}

/// `POST /v1/sessions/{session}/fork`
pub async fn fork(asked: Question<ForkGiven>) -> Result<AsJson<ForkMade>, ApiProblem> {
    let hosted = asked.service.hosted()?;
    let past = asked.past(asked.given.at).await?;
    let from = past.session;
    let directory = asked.given.directory.as_deref();
    let directory = directory.map(|directory| working_directory(hosted.context(), Some(directory))).transpose()?;
    let there = asked.reader().bounded(from, past.until).await?.session.location;
    let moved = directory.map(|directory| Location { directory, workspace: None });
    let editor = editor(hosted, from).await?;
    let fork = editor.fork_into(past.until, moved.filter(|to| Some(to) != there.as_ref())).await?;
    let title = fork.view().await.map_err(ApiProblem::unreadable)?.session.title.as_deref().map(str::to_owned);
    asked.service.store.expire();
    Ok(AsJson(ForkMade { session: fork.id(), from, cut: past.until, title }))
}

/// `POST /v1/sessions/{session}/revert`
pub async fn revert(asked: Question<RevertGiven>) -> Result<AsJson<RevertDone>, ApiProblem> {
    let (hosted, named) = (asked.service.hosted()?, asked.session()?);
    let done = match asked.given {
        RevertGiven { to: Some(to), commit: false, clear: false, files } => {
            stage(hosted, named, Seq(to), files.unwrap_or(true)).await?
        }
        RevertGiven { to: None, commit, clear, files: None } if commit != clear => end(hosted, named, commit).await?,
        _ => return Err(ApiProblem::bad_request("give one of to (with files, if wanted), commit and clear")),
    };
    asked.service.store.expire();
    Ok(AsJson(done))
}

async fn stage(hosted: &HostedSessions, named: SessionId, to: Seq, files: bool) -> Result<RevertDone, ApiProblem> {
    let reader = hosted.reader();
    let session = editing::local_fork(reader, named).await?.unwrap_or(named);
    let message = message(reader, session, to).await?;
    let extent = if files { Extent::ConversationAndFiles } else { Extent::Conversation };
    // Planned before an imported session is forked: what cannot be undone makes no fork.
    let first = editor(hosted, session).await?;
    first.plan_revert(MessagePlace::Seq(message), extent).await?;
    let editor = editing::local(&first).await?.session;
    let plan = editor.plan_revert(MessagePlace::Seq(message), extent).await?;
    let seq = editor.stage(&plan).await?;
    let (files, files_stay) = match &plan.files {
        RevertFiles::Restored(plan) => (plan.recorded.files.len(), None),
        RevertFiles::Untouched => (0, None),
        RevertFiles::ConversationOnly { why } => (0, Some(why.clone())),
    };
    let first_removed = Some(plan.first_removed);
    Ok(RevertDone {
        session: editor.id(),
        state: RevertState::Staged,
        seq: Some(seq),
        first_removed,
        files,
        files_stay,
    })
}

async fn end(hosted: &HostedSessions, named: SessionId, commit: bool) -> Result<RevertDone, ApiProblem> {
    let session = editing::local_fork(hosted.reader(), named).await?.unwrap_or(named);
    let editor = editor(hosted, session).await?;
    let view = editor.view().await.map_err(ApiProblem::unreadable)?;
    let staged = view.session.revert.clone();
    let (seq, state) = match commit {
        true => (editor.commit_revert().await?, RevertState::Committed),
        false => (editor.clear_revert().await?, RevertState::Cleared),
    };
    let state = if seq.is_some() { state } else { RevertState::NothingStaged };
    let (first_removed, files) = staged.map(|staged| (staged.first_removed, staged.files.len())).unzip();
    Ok(RevertDone { session, state, seq, first_removed, files: files.unwrap_or_default(), files_stay: None })
}

/// `POST /v1/sessions/{session}/pins`
pub async fn pin(asked: Question<PinGiven>) -> Result<AsJson<PinDone>, ApiProblem> {
    let (hosted, named) = (asked.service.hosted()?, asked.session()?);
    let reader = hosted.reader();
    let session = editing::local_fork(reader, named).await?.unwrap_or(named);
    let message = message(reader, session, Seq(asked.given.seq)).await?;
    let pinned = asked.given.pinned.unwrap_or(true);
    let view = reader.view(session, reader.head(session).await?.next).await?;
    let event = pin_event(&view, message, pinned)?;
    let (session, seq) = editing::append(hosted.context(), reader, session, event).await?;
    asked.service.store.expire();
    Ok(AsJson(PinDone { session, message, pinned, seq }))
}

/// The message that contains an event.
async fn message(reader: &Reader, session: SessionId, event: Seq) -> Result<Seq, ApiProblem> {
    let view = reader.view(session, reader.head(session).await?.next).await?;
    Ok(MessageRef::Event(event).find(reader, session, &view).await?)
}

async fn editor(hosted: &HostedSessions, session: SessionId) -> Result<SessionEditor, ApiProblem> {
    let files = editing::captured_files(hosted.reader().folder().clone());
    Ok(editing::editor(hosted.context(), hosted.reader(), session, files).await?)
}
