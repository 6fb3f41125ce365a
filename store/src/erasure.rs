//! Erasing texts: which ones, recorded in the log before they are removed (`docs/reference/erasure.md`).
//!
//! ```text
//! rules ─► plan (reads the log) ─► DiskLog::erase: texts.erased per session ─► closed ─► opened: every copy written again
//! ```
//! [`plan`] chooses texts of a session by rules, and with them every content hash that one of them may have gone into, in this
//! session and in all that inherit from it.

mod planning;
mod retention;

pub use planning::plan;
pub use retention::{RetainedSession, RetentionPlan, plan_retention};

use crate::disk::DiskLog;
use crate::exchange::ExportError;
use crate::log::{AppendError, Draft, EventLog, ReadError};
use annals_core::event::{SessionForgotten, TextPlace, TextsErased};
use annals_core::{BlobHash, Digest, SessionId, SessionKey, Time};
use std::collections::{BTreeMap, BTreeSet};

/// What is erased, and what that reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasurePlan {
    /// The places of texts and hashes, by the session whose log holds them.
    pub what: BTreeMap<SessionId, BTreeSet<TextPlace>>,
    /// How many of them are texts.
    pub texts: u64,
    /// Their characters.
    pub chars: u64,
    /// How many are hashes that a text may have gone into: such requests cannot be proved any more.
    pub hashes: u64,
    /// The chosen texts: to look for copies outside the log. Never recorded.
    pub erased: BTreeSet<String>,
    /// Names of tool output files in the texts of the session, and whether an erased text names it.
    pub outputs: BTreeMap<String, bool>,
    /// Digests of requests that an erased text may have gone into: cassettes name their answers so.
    pub requests: BTreeSet<String>,
    /// Directories of the session: files may have been captured there.
    pub directories: BTreeSet<String>,
    /// The agents, and their ids, that sessions of the plan were imported from: their own files still hold the texts.
    pub sources: BTreeSet<(String, String)>,
    /// Sessions that hold a chosen text of their own, inherited by this one.
    pub ancestors: BTreeSet<SessionId>,
    /// Child sessions of this one: they may hold the same words.
    pub children: BTreeSet<SessionId>,
}

/// What an erasure may reach beyond the session that is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErasureScope {
    /// Texts that the session inherits are erased in the session that wrote them.
    pub with_ancestors: bool,
    /// Blobs of erased texts are erased in all sessions of the store.
    pub everywhere: bool,
}

/// An erasure could not be planned; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum EraseError {
    /// The log could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A text could not be read.
    #[error(transparent)]
    Text(#[from] ExportError),
    /// A rule selects nothing that is still there.
    #[error("session {session}: nothing to erase; no text that is still there matches {rule}")]
    NoMatch {
        /// The session.
        session: SessionId,
        /// The rule that selects nothing, or what was asked for.
        rule: String,
    },
    /// The session only inherits the texts.
    #[error(
        "session {session} inherits {texts} of these texts from {}; to erase them there: --with-ancestors",
        listed(owners)
    )]
    Inherited {
        /// The session.
        session: SessionId,
        /// How many.
        texts: u64,
        /// Who wrote them.
        owners: BTreeSet<SessionId>,
    },
}

fn listed(sessions: &BTreeSet<SessionId>) -> String {
    sessions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl ErasurePlan {
    /// The blobs that erased texts may be.
    pub fn blobs(&self) -> BTreeSet<BlobHash> {
        self.erased.iter().map(|text| Digest::of(text.as_bytes())).collect()
    }

    /// Adds another plan to this one.
    pub fn extend(&mut self, other: Self) {
        for (session, what) in other.what {
            self.what.entry(session).or_default().extend(what);
        }
        self.texts += other.texts;
        self.chars += other.chars;
        // The hashes of one session may be reached by texts of several.
        let places: usize = self.what.values().map(BTreeSet::len).sum();
        self.hashes = (places as u64).saturating_sub(self.texts);
        self.erased.extend(other.erased);
        for (name, is_named) in other.outputs {
            *self.outputs.entry(name).or_default() |= is_named;
        }
        self.requests.extend(other.requests);
        self.directories.extend(other.directories);
        self.sources.extend(other.sources);
        self.ancestors.extend(other.ancestors);
        self.children.extend(other.children);
    }

    /// The sessions that get a `texts.erased`.
    pub fn sessions(&self) -> impl Iterator<Item = SessionId> + '_ {
        self.what.keys().copied()
    }
}

/// Who erases, why, and when.
#[derive(Clone, Debug)]
pub struct ErasureNote {
    /// Why.
    pub reason: String,
    /// Why in one session, where that is another reason.
    pub reasons: BTreeMap<SessionId, String>,
    /// Who asked for it.
    pub by: String,
    /// Now.
    pub at: Time,
    /// Whether lists leave this session out from now on.
    pub forgets: Option<SessionId>,
}

/// Records an erasure: each session of the plan gets its `texts.erased`. The texts are still there until the store is closed and
/// [`DiskLog::finish_erasure`] was called, or any process opened it again. `new_key` gives 32 random bytes at each call.
///
/// # Errors
/// When the disk refuses, or the log does: what was recorded before is erased all the same.
pub async fn record(
    log: &DiskLog,
    plan: &ErasurePlan,
    note: &ErasureNote,
    new_key: &(dyn Fn() -> SessionKey + Sync),
) -> Result<(), RecordErasureError> {
    log.begin_erasure(plan.sessions(), plan.blobs())?;
    record_texts(log, plan, note, new_key).await
}

/// Appends the `texts.erased` of a plan.
pub(crate) async fn record_texts(
    log: &dyn EventLog,
    plan: &ErasurePlan,
    note: &ErasureNote,
    new_key: &(dyn Fn() -> SessionKey + Sync),
) -> Result<(), RecordErasureError> {
    for (session, what) in &plan.what {
        let mut expected = log.head(*session).await?.ok_or(ReadError::NoSession(*session))?.next;
        let mut drafts = Vec::new();
        for what in in_batches(what) {
            let reason = note.reasons.get(session).unwrap_or(&note.reason);
            let (reason, by, key) = (reason.as_str().into(), note.by.clone(), new_key().into());
            let events = vec![TextsErased { what, reason, by, key }.into()];
            drafts.push(Draft { session: *session, expected, at: note.at, events, digest: None, states: Vec::new() });
            expected = expected.plus(1);
        }
        if let Some(last) = drafts.last_mut().filter(|_| note.forgets == Some(*session)) {
            last.events.push(SessionForgotten {}.into());
        }
        if let Some(refused) = log.append_all(drafts).await.refused {
            return Err(refused.into());
        }
    }
    Ok(())
}

/// How many bytes of places go into one event: a batch holds 64 KiB.
const PLACES: usize = 32 * 1024;

fn in_batches(what: &BTreeSet<TextPlace>) -> Vec<Vec<TextPlace>> {
    let (mut batches, mut bytes): (Vec<Vec<TextPlace>>, usize) = (Vec::new(), PLACES);
    for text in what {
        bytes += text.place.len() + 16;
        if bytes > PLACES {
            batches.push(Vec::new());
            bytes = text.place.len() + 16;
        }
        batches.last_mut().into_iter().for_each(|batch| batch.push(text.clone()));
    }
    batches
}

/// An erasure could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordErasureError {
    /// The log could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The log refused.
    #[error("the erasure could not be recorded: {0}")]
    Append(#[from] AppendError),
    /// The disk refused.
    #[error("the erasure could not be begun: {0}")]
    Io(#[from] std::io::Error),
}
