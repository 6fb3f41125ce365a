//! What sessions have read, so that a file that was changed by others in the meantime is not overwritten.
//!
//! What this process saw is kept in memory; what the session saw before is read from its log (`past.rs`) when a `write`
//! meets a file of which memory knows nothing.

use super::file_content::FileContent;
use annals_core::{Digest, SessionId, SessionKey};
use annals_guard::redaction::is_kept_for_secrets;
use annals_runtime::tools::Past;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// How many readings are remembered. What is forgotten is read again.
const REMEMBERED: usize = 20_000;

/// The content of each file when a session last read or wrote it.
#[derive(Debug, Default)]
pub(super) struct SeenFiles {
    stamps: Mutex<BTreeMap<(SessionId, PathBuf), Stamp>>,
    changing: Mutex<()>,
    /// The sessions whose log was asked.
    recalled: Mutex<BTreeSet<SessionId>>,
    /// The keys of sessions, by which results name contents; `None` where the log has none.
    keys: Mutex<BTreeMap<SessionId, Option<SessionKey>>>,
}

/// What a file was like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stamp {
    /// Exactly this.
    Content(Digest),
    /// What the log says of it: the hash of the content, keyed.
    Recorded(SessionKey, Digest),
    /// Too long to be hashed: length in bytes and time of change.
    Large(u64, Option<SystemTime>),
}

/// What a session knows of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKnowledge {
    /// It has not read it.
    Unread,
    /// It has read what is there now.
    Current,
    /// It was changed since.
    Changed,
}

impl SeenFiles {
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

    /// Looks up the key of a session in its log, once.
    pub(super) async fn learn_key(&self, past: &Past, session: SessionId) {
        if self.keys.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&session) {
            return;
        }
        let key = past.session_key(session).await.unwrap_or_else(|error| {
            tracing::warn!(%session, %error, "the key of the session could not be looked up");
            None
        });
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).insert(session, key);
    }

    /// The hash of a content, as results name it in the log: keyed, so that only who has the key of the session could test a guess
    /// of the content. A file that is kept for secrets has none there.
    pub(super) fn recorded(&self, session: SessionId, path: &Path, stamp: &Stamp) -> Option<String> {
        let Stamp::Content(content) = stamp else { return None };
        let key = self.keys.lock().unwrap_or_else(PoisonError::into_inner).get(&session).copied().flatten()?;
        (!is_kept_for_secrets(&path.to_string_lossy())).then(|| key.file_hash(content).to_string())
    }

    /// Whether the log of a session is yet to be asked what it read of a file.
    pub(super) fn is_to_be_recalled(&self, session: SessionId, path: &Path) -> bool {
        let recalled = self.recalled.lock().unwrap_or_else(PoisonError::into_inner).contains(&session);
        let seen = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        !recalled && !seen.contains_key(&(session, path.into()))
    }

    /// Adds what a session saw before this process; what was seen since counts more.
    pub(super) fn recall(&self, session: SessionId, files: impl IntoIterator<Item = (PathBuf, Stamp)>) {
        self.recalled.lock().unwrap_or_else(PoisonError::into_inner).insert(session);
        let mut seen = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        for (path, stamp) in files {
            if seen.len() >= REMEMBERED {
                break;
            }
            seen.entry((session, path)).or_insert(stamp);
        }
    }

    /// What a session knows of a file that is now like this.
    pub(super) fn known(&self, session: SessionId, path: &Path, now: &Stamp) -> FileKnowledge {
        let seen = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.get(&(session, path.into())) {
            None => FileKnowledge::Unread,
            Some(before) if before.is_the_same(now) => FileKnowledge::Current,
            Some(_) => FileKnowledge::Changed,
        }
    }
}

impl Stamp {
    /// Of a file that was read.
    pub(super) fn of(content: &FileContent) -> Self {
        match content {
            FileContent::Whole(bytes) => Self::bytes(bytes),
            FileContent::Large { length, changed } => Self::Large(*length, *changed),
        }
    }

    /// Whether a file that is now like this was the same before.
    fn is_the_same(&self, now: &Self) -> bool {
        match (self, now) {
            (Self::Recorded(key, recorded), Self::Content(content)) => key.file_hash(content) == *recorded,
            _ => self == now,
        }
    }

    /// Of these bytes.
    pub(super) fn bytes(bytes: &[u8]) -> Self {
        Self::Content(Digest(*blake3::hash(bytes).as_bytes()))
    }
}
