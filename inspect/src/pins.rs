//! Which messages can be pinned, so that every compaction keeps them.

use annals_core::event::{MessagePinned, MessageUnpinned};
use annals_core::{Event, Seq};
use annals_projections::{Body, SessionView};

/// Why a message cannot be pinned or unpinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinError {
    /// It is pinned already.
    #[error("the message at event {0} is pinned already")]
    Pinned(Seq),
    /// It is not pinned.
    #[error("the message at event {0} is not pinned")]
    NotPinned(Seq),
    /// It is neither a prompt nor an answer, or it is not in the history.
    #[error("the message at event {0} cannot be pinned: it is not a prompt or an answer in the history")]
    OtherKind(Seq),
}

/// The event that pins a message of the history, or unpins it.
///
/// # Errors
/// When the message is pinned already, is not pinned, or is of a kind that a compaction never keeps.
pub fn pin_event(view: &SessionView, message: Seq, pin: bool) -> Result<Event, PinError> {
    let kept = |body: &Body| {
        matches!(body, Body::User { .. } | Body::Assistant(_) | Body::Synthetic { .. } | Body::Shell { .. })
    };
    let history = &view.history;
    match (history.message(message).is_some_and(|found| kept(&found.body)), history.is_pinned(message), pin) {
        (false, ..) => Err(PinError::OtherKind(message)),
        (true, true, true) => Err(PinError::Pinned(message)),
        (true, false, false) => Err(PinError::NotPinned(message)),
        (true, false, true) => Ok(MessagePinned { message }.into()),
        (true, true, false) => Ok(MessageUnpinned { message }.into()),
    }
}
