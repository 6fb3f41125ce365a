//! The rules of appending: every backend applies them to a [`Draft`] before it writes
//! (`docs/reference/store.md#eventlog`).
//!
//! A backend holds its own lock around these calls: they decide against the [`Head`] that they are given.

use crate::log::{AppendError, Draft, EventLog, Head, ReadError};
use annals_core::canonical::CanonicalError;
use annals_core::event::{SessionEvent, SessionForked};
use annals_core::{Batch, Blobs, Digest, Event, SealError, Sealed, Seq, SessionId, SessionKey};

/// The end of a session's log is lost: nothing may be chained to what is not there.
pub const LOST_END: &str = "its last batches are damaged in every copy; to continue, fork it before the damage";

/// Without its key nothing can be appended to a session.
pub const NO_KEY: &str = "its key is not in this store; to continue in a fork: annals fork SESSION";

/// A batch has one key.
const ERASED_WITHIN: &str = "texts.erased starts a new key, and is the first event of its batch";

/// Every reason that [`AppendError::Misplaced`] gives.
pub const MISPLACED: &[&str] = &[
    LOST_END,
    NO_KEY,
    "a session begins with the first event of its first batch, nowhere else",
    ERASED_WITHIN,
    "the session exists; the batch would create it again",
    "session.created must be event 0",
    "session.forked must have the event number of its cut",
    "a fork inherits at least one event; create a session instead",
    "a session cannot be a fork of itself",
    "there is no such session; its first event creates or forks it",
    "its parent is not in this store, or ends before the cut",
    "the parent only inherited the events before the cut; name the session that wrote them (`fork_at`)",
];

/// Where a Draft goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Placement<'a> {
    /// It continues the session; `prev` is the digest at its head.
    Next {
        /// The digest before it.
        prev: Digest,
    },
    /// It begins a session at seq 0; there is no digest before it.
    Created,
    /// It begins a fork: [`fork_prev`] checks the parent and gives the digest before it.
    Forked(&'a SessionForked),
    /// The log is further on: if the batch that begins at `expected` is this very one ([`is_duplicate`]) it is known,
    /// otherwise this is [`conflict`].
    Behind,
}

/// Says where a Draft goes in a session that ends at `head` (`None`: there is no such session).
///
/// # Errors
/// [`AppendError::Conflict`] when the log is not there yet; [`AppendError::Misplaced`] when a session would begin twice,
/// in the middle, or not with its first event.
pub fn place(draft: &Draft, head: Option<Head>) -> Result<Placement<'_>, AppendError> {
    let misplaced = |reason| AppendError::Misplaced { session: draft.session, reason };
    if draft.events.iter().skip(1).any(Event::begins) {
        return Err(misplaced("a session begins with the first event of its first batch, nowhere else"));
    }
    if draft.events.iter().skip(1).any(|event| event.stored_key().is_some()) {
        return Err(misplaced(ERASED_WITHIN));
    }
    match (head, draft.events.first()) {
        (Some(head), _) if draft.expected < head.next => Ok(Placement::Behind),
        (Some(head), _) if draft.expected > head.next => Err(conflict(draft, head.next)),
        (Some(_), Some(event)) if event.begins() => {
            Err(misplaced("the session exists; the batch would create it again"))
        }
        (Some(head), _) => Ok(Placement::Next { prev: head.digest }),
        (None, Some(Event::Session(SessionEvent::Created(_)))) if draft.expected == Seq::ZERO => Ok(Placement::Created),
        (None, Some(Event::Session(SessionEvent::Created(_)))) => Err(misplaced("session.created must be event 0")),
        (None, Some(Event::Session(SessionEvent::Forked(fork)))) if draft.expected != fork.cut => {
            Err(misplaced("session.forked must have the event number of its cut"))
        }
        (None, Some(Event::Session(SessionEvent::Forked(fork)))) if fork.cut == Seq::ZERO => {
            Err(misplaced("a fork inherits at least one event; create a session instead"))
        }
        (None, Some(Event::Session(SessionEvent::Forked(fork)))) if fork.parent == draft.session => {
            Err(misplaced("a session cannot be a fork of itself"))
        }
        (None, Some(Event::Session(SessionEvent::Forked(fork)))) => Ok(Placement::Forked(fork)),
        (None, _) => Err(misplaced("there is no such session; its first event creates or forks it")),
    }
}

/// The digest before a fork's first batch, given the batch that holds `cut - 1` as the parent reads it.
///
/// **Invariant**: a fork's parent is the session that *wrote* that batch, so the logs that a session reads through are
/// one chain of digests and an export holds nothing that the session does not read. [`fork_at`] finds it.
///
/// # Errors
/// [`AppendError::Misplaced`] when the parent wrote no such event; [`AppendError::Diverged`] when the digest is another.
pub fn fork_prev(draft: &Draft, fork: &SessionForked, holds: Option<&Batch>) -> Result<Digest, AppendError> {
    let misplaced = |reason| AppendError::Misplaced { session: draft.session, reason };
    let batch = holds.ok_or_else(|| misplaced("its parent is not in this store, or ends before the cut"))?;
    if batch.session != fork.parent {
        return Err(misplaced(
            "the parent only inherited the events before the cut; name the session that wrote them (`fork_at`)",
        ));
    }
    if batch.digest == fork.parent_digest {
        return Ok(batch.digest);
    }
    Err(AppendError::Diverged {
        session: fork.parent,
        seq: batch.first,
        expected: fork.parent_digest,
        found: batch.digest,
    })
}

/// The first event of a fork of `session` at `cut`, whose own events have `key`. Its parent is the session that wrote the event
/// before the cut: `session`, or the ancestor that it inherits that from.
///
/// # Errors
/// [`ReadError::NoSession`]; [`ReadError::Damaged`] when the session holds nothing before the cut.
pub async fn fork_at(
    log: &dyn EventLog,
    session: SessionId,
    cut: Seq,
    key: SessionKey,
) -> Result<SessionForked, ReadError> {
    let last = Seq(cut.0.saturating_sub(1));
    let nothing = || ReadError::Damaged { session, seq: cut, reason: "there is no event before the cut".into() };
    let found = log.batch_at(session, last).await?.filter(|_| cut > Seq::ZERO).ok_or_else(nothing)?;
    let (parent, parent_digest) = (found.batch.session, found.batch.digest);
    Ok(SessionForked { parent, cut, parent_digest, title: None, origin: None, key: key.into() })
}

/// The key that seals a draft: the one that its first event brings, otherwise that of its session. `None` where a batch is imported
/// whose texts are withheld.
///
/// # Errors
/// [`AppendError::Seal`] when its first event has to bring a key and does not.
pub fn sealing_key(draft: &Draft, of_session: Option<SessionKey>) -> Result<Option<SessionKey>, AppendError> {
    let Some(stored) = draft.events.first().and_then(Event::stored_key) else { return Ok(of_session) };
    match stored.key.is_some() || draft.digest.is_some() {
        true => Ok(stored.key),
        false => Err(AppendError::Seal { session: draft.session, source: SealError::NoKey }),
    }
}

/// The key that a session ends with, given the batches that may bring one: the first, and those that erased texts, newest first.
pub fn last_key<'a>(newest_first: impl Iterator<Item = &'a Batch>) -> Option<SessionKey> {
    let brings = |batch: &&Batch| batch.events.first().is_some_and(|event| event.stored_key().is_some());
    newest_first.into_iter().find(brings)?.session_key()
}

/// Whether `existing`, the batch that begins at the Draft's Seq, is what the Draft makes in the session with this key. What was
/// withheld or erased there agrees with a text of the same length, or with one that brings a key of its own and has this commitment.
///
/// # Errors
/// When the Draft makes no batch at all.
pub fn is_duplicate(
    draft: &Draft,
    existing: &Batch,
    key: Option<&SessionKey>,
    blobs: &dyn Blobs,
) -> Result<bool, AppendError> {
    if draft.digest.is_some_and(|digest| digest != existing.digest) || draft.at != existing.at {
        return Ok(false);
    }
    let stored = |events: &[Event]| events.first().and_then(Event::stored_key).copied();
    let (brought, own) = (stored(&draft.events), stored(&existing.events));
    if brought != own {
        return Ok(false);
    }
    let key = own.map_or(key.copied(), |own| own.key);
    // The digest that an import names, and has checked, says which batch it is.
    if draft.digest.is_some() && (key.is_none() || !existing.states.is_empty()) {
        return Ok(true);
    }
    if key.is_none() || !existing.states.is_empty() {
        let Draft { session, expected: first, at, ref events, .. } = *draft;
        let (prev, digest, events) = (existing.prev, existing.digest, events.clone());
        let drafted = Batch { session, first, at, prev, events, digest, states: draft.states.clone() };
        return drafted.agrees(existing, blobs).map_err(|source| refused(session, first, source.into()));
    }
    Ok(seal(draft.clone(), existing.prev, key.as_ref(), blobs)?.batch.digest == existing.digest)
}

fn refused(session: SessionId, seq: Seq, source: SealError) -> AppendError {
    match source {
        SealError::Canonical(CanonicalError::MissingBlob(blob)) => AppendError::MissingBlob { session, seq, blob },
        SealError::Canonical(CanonicalError::NoKey) => AppendError::Misplaced { session, reason: NO_KEY },
        source => AppendError::Seal { session, source },
    }
}

/// Seals a Draft of a session with this key, and checks the digest that it was announced with. `blobs` gives the blobs that it
/// names and does not bring along. Without the key, only batches whose texts are all withheld or disclosed are taken.
///
/// # Errors
/// [`AppendError::Seal`], [`AppendError::MissingBlob`], [`AppendError::Diverged`]; [`AppendError::Misplaced`] with [`NO_KEY`].
pub fn seal(
    draft: Draft,
    prev: Option<Digest>,
    key: Option<&SessionKey>,
    blobs: &dyn Blobs,
) -> Result<Sealed, AppendError> {
    let Draft { session, expected: seq, at, events, digest, states } = draft;
    if key.is_none() && digest.is_none() {
        return Err(AppendError::Misplaced { session, reason: NO_KEY });
    }
    let batch = Batch { session, first: seq, at, prev, events, digest: Digest([0; 32]), states };
    let sealed = batch.seal_again(key, blobs).map_err(|source| refused(session, seq, source))?;
    match digest {
        Some(expected) if expected != sealed.batch.digest => {
            Err(AppendError::Diverged { session, seq, expected, found: sealed.batch.digest })
        }
        _ => Ok(sealed),
    }
}

/// Someone was faster, or the writer is ahead of the log.
pub fn conflict(draft: &Draft, actual: Seq) -> AppendError {
    AppendError::Conflict { session: draft.session, expected: draft.expected, actual }
}
