//! Which message a user refers to: by the number of any event in it, or by turn.

use crate::reader::{FindError, Reader};
use annals_core::{Seq, SessionId};
use annals_projections::{Messages, SessionView, Transcript, TranscriptItem};
use std::str::FromStr;

/// A reference to a message.
///
/// ```
/// use annals_inspect::message_ref::MessageRef;
/// use annals_core::Seq;
/// assert_eq!("51".parse(), Ok(MessageRef::Event(Seq(51))));
/// assert_eq!("turn:2".parse(), Ok(MessageRef::Turn(2)));
/// assert!("2nd".parse::<MessageRef>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageRef {
    /// The message that holds this event.
    Event(Seq),
    /// The N-th user message, counted from 1, without what a committed revert removed.
    Turn(u64),
}

/// A text names no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an event number (see annals replay), or turn:N for user message N")]
pub struct NoMessageRef;

impl FromStr for MessageRef {
    type Err = NoMessageRef;

    fn from_str(text: &str) -> Result<Self, NoMessageRef> {
        match text.strip_prefix("turn:") {
            Some(turn) => turn.parse().map(Self::Turn).map_err(|_| NoMessageRef),
            None => text.parse().map(|seq| Self::Event(Seq(seq))).map_err(|_| NoMessageRef),
        }
    }
}

impl MessageRef {
    /// The event that made the message: what the log calls it by. Messages that a committed revert removed are not found.
    ///
    /// # Errors
    /// When there is no such event or turn, or the event is in no message.
    pub async fn find(self, reader: &Reader, session: SessionId, view: &SessionView) -> Result<Seq, FindError> {
        let transcript = &view.transcript;
        match self {
            Self::Turn(wanted) => transcript.user_message(wanted).ok_or_else(|| FindError::NoUserMessage {
                session,
                wanted,
                count: user_messages(transcript),
            }),
            Self::Event(seq) => {
                reader.until(session, Some(seq)).await?;
                let found = holder(seq, reader, session, transcript).await?;
                found.ok_or_else(|| FindError::NotInAMessage { session, seq, nearest: nearest(seq, transcript) })
            }
        }
    }
}

/// The message that holds an event.
async fn holder(
    seq: Seq,
    reader: &Reader,
    session: SessionId,
    transcript: &Transcript,
) -> Result<Option<Seq>, FindError> {
    let around: Vec<&TranscriptItem> =
        not_undone(transcript).filter(|item| (item.first..=item.last).contains(&seq)).collect();
    if let Some(item) = around.iter().find(|item| item.seq == seq || item.first == seq) {
        return Ok(Some(item.seq));
    }
    let Some(first) = around.iter().map(|item| item.first).min() else { return Ok(None) };
    // Messages overlap where one holds a call that is settled late: the records say whose event it is.
    let (mut messages, mut changed) = (Messages::default(), None);
    reader
        .each(session, first, seq.plus(1), |record| {
            changed = messages.apply(record);
        })
        .await?;
    let began_before = around.iter().rev().find(|item| item.seq < seq).map(|item| item.seq);
    Ok(changed.filter(|changed| around.iter().any(|item| item.seq == *changed)).or(began_before))
}

/// The message that is nearest to an event.
fn nearest(seq: Seq, transcript: &Transcript) -> Option<Seq> {
    let distance = |item: &TranscriptItem| item.first.0.saturating_sub(seq.0).max(seq.0.saturating_sub(item.last.0));
    not_undone(transcript).min_by_key(|item| distance(item)).map(|item| item.seq)
}

/// The messages that no committed revert removed.
fn not_undone(transcript: &Transcript) -> impl Iterator<Item = &TranscriptItem> {
    transcript.items.iter().filter(|item| !transcript.is_removed(item.seq))
}

fn user_messages(transcript: &Transcript) -> u64 {
    not_undone(transcript).filter(|item| item.user).count() as u64
}
