//! What an undo removes from a session, and why it leaves files as they are.

use crate::reader::{FindError, Reader};
use annals_core::event::StepEvent;
use annals_core::{Event, InputId, Record, Seq, SessionId};
use annals_projections::{SessionView, Transcript};

/// What an undo removes from the conversation.
#[derive(Clone, Debug)]
pub struct RevertPreview {
    /// The event of the first message that goes.
    pub first_removed: Seq,
    /// The messages that go: those of the transcript that no earlier undo removed.
    pub messages: Transcript,
    /// Waiting inputs that go with them.
    pub inputs: Vec<InputId>,
}

impl RevertPreview {
    /// What an undo of the message at `first_removed` and of everything after it removes.
    pub fn of(view: &SessionView, first_removed: Seq) -> Self {
        let mut messages = view.transcript.clone();
        messages.items.retain(|item| item.seq >= first_removed && !view.transcript.is_removed(item.seq));
        let pending = view.inbox.pending.iter().filter(|pending| pending.seq > first_removed);
        let inputs = pending.map(|pending| pending.input.clone()).collect();
        Self { first_removed, messages, inputs }
    }
}

/// Why an undo that was to restore files restores none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnrestoredFiles {
    /// This agent recorded the session, or what it inherits: its files were never captured here.
    Imported(String),
    /// The undone steps captured no files.
    NotCaptured,
    /// The undone steps captured files.
    Captured,
}

/// Why an undo from `first_removed` to the end of the view restores no files.
pub async fn unrestored_files(
    reader: &Reader,
    session: SessionId,
    view: &SessionView,
    first_removed: Seq,
) -> Result<UnrestoredFiles, FindError> {
    let origin = match &view.session.origin {
        Some(origin) => Some(origin.clone()),
        None => reader.created(session).await?.and_then(|created| created.origin),
    };
    // Files of a recording are captured here.
    if let Some(origin) = origin.filter(|origin| !origin.is_recording()) {
        return Ok(UnrestoredFiles::Imported(origin.agent));
    }
    let mut captured = false;
    let visit = |record: &Record<'_>| match record.event {
        Event::Step(StepEvent::Started(started)) => captured |= started.files.is_some(),
        Event::Step(StepEvent::Ended(ended)) => captured |= ended.files.is_some() || !ended.changed.is_empty(),
        _ => {}
    };
    reader.each(session, first_removed, view.cut().next, visit).await?;
    Ok(if captured { UnrestoredFiles::Captured } else { UnrestoredFiles::NotCaptured })
}
