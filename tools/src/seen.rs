//! What Sessions have read, so that a file which somebody else changed meanwhile is not overwritten unseen.
//!
//! This stands in memory, not in the log: after a restart every file counts as not read, which costs a `read` before a
//! `write` and nothing else.

use super::kept::Content;
use annals_core::{Digest, SessionId};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// How many readings are remembered. What is forgotten is read again.
const REMEMBERED: usize = 20_000;

/// The content of each file when a Session last read or wrote it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    stamps: Mutex<BTreeMap<(SessionId, PathBuf), Stamp>>,
    changing: Mutex<()>,
}

/// What a file was like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// Exactly this.
    Content(Digest),
    /// Too long to be hashed: length in bytes and time of change.
    Large(u64, Option<SystemTime>),
}

/// What a Session knows of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It has not read it.
    Unread,
    /// It has read what is there now.
    Current,
    /// Somebody changed it since.
    Changed,
}

impl Seen {
    /// Held while a file is read, changed and written: of two edits that a model makes at once, none is lost.
    pub(super) fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A Session has read or written a file.
    pub(super) fn note(&self, session: SessionId, path: &Path, stamp: Stamp) {
        let mut seen = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= REMEMBERED {
            seen.pop_first();
        }
        seen.insert((session, path.into()), stamp);
    }

    /// What a Session knows of a file that is now like this.
    pub(super) fn known(&self, session: SessionId, path: &Path, now: &Stamp) -> Known {
        let seen = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get(&(session, path.into())) {
            None => Known::Unread,
            Some(before) if before == now => Known::Current,
            Some(_) => Known::Changed,
        }
    }
}

impl Stamp {
    /// Of a file that was read.
    pub(super) fn of(content: &Content) -> Self {
        match content {
            Content::Whole(bytes) => Self::bytes(bytes),
            Content::Large { length, changed } => Self::Large(*length, *changed),
        }
    }

    /// Of these bytes.
    pub(super) fn bytes(bytes: &[u8]) -> Self {
        Self::Content(Digest(*blake3::hash(bytes).as_bytes()))
    }
}
