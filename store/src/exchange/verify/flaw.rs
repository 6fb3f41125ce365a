//! What is wrong with a log or a file.

use annals_core::{BlobHash, Digest, Seq, SessionId};
use serde::Serialize;
use std::fmt;

/// The batch of a file that has the digest that was kept elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeptPlace {
    /// The session whose export it is in.
    pub session: SessionId,
    /// Its line, from 1.
    pub line: u64,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "flaw", rename_all = "kebab-case")]
pub enum Flaw {
    /// The line is not what the format says.
    Line {
        /// What was found.
        reason: String,
    },
    /// The batch cannot be read.
    Unreadable {
        /// What was found.
        reason: String,
    },
    /// The batch's content does not have the digest that it carries.
    Digest {
        /// Who wrote it.
        session: SessionId,
        /// Its first Seq.
        seq: Seq,
        /// The digest that it carries.
        expected: Digest,
        /// The digest of its content.
        found: Digest,
    },
    /// A text is not the one that the store has the commitment to.
    Text {
        /// Who wrote it.
        session: SessionId,
        /// The event.
        seq: Seq,
        /// The RFC 6901 pointer of the text in the export form of the event.
        place: String,
    },
    /// The batch does not name the digest of the batch before it.
    Prev {
        /// The digest of the batch before it.
        expected: Option<Digest>,
        /// What it names.
        found: Option<Digest>,
    },
    /// The batch does not begin where the one before it ends.
    Seq {
        /// Where that ends.
        expected: Seq,
        /// Where it begins.
        found: Seq,
    },
    /// A Session begins where none may, or does not begin where one must.
    Begin {
        /// What does not fit.
        reason: String,
    },
    /// The key of a session is missing, or not the one whose hash the session's first event holds: its texts cannot be proved.
    Key {
        /// What does not fit.
        reason: String,
    },
    /// A blob is missing, altered, or not where it belongs.
    Blob {
        /// Which.
        blob: BlobHash,
        /// The hash of its content, when there is some.
        found: Option<Digest>,
        /// What does not fit.
        reason: String,
    },
    /// The end is not the one that the header, or the log, names: something was cut off or added.
    Head {
        /// The Seq that was to be reached.
        expected: Seq,
        /// The digest that was to be reached.
        expected_digest: Digest,
        /// The Seq that was reached.
        found: Seq,
        /// The digest that was reached.
        found_digest: Option<Digest>,
    },
    /// The header names other ancestors than those that follow.
    Ancestors,
    /// An earlier export of the file has another batch of the session at this place: the two do not continue each other.
    Other {
        /// The digest of that batch.
        expected: Digest,
        /// The digest of this one.
        found: Digest,
    },
    /// The digest that was kept elsewhere is that of no batch.
    Kept {
        /// That digest.
        expected: Digest,
    },
    /// The digest that was kept elsewhere is in the export of another session than the first one of the file, which is what
    /// commands show of it.
    KeptElsewhere {
        /// That digest.
        expected: Digest,
        /// Where it is.
        place: KeptPlace,
    },
}

impl Flaw {
    /// One word, the same that `tests/verify_log.py` prints (`fixtures/FORMAT.md`, section 5).
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Line { .. } => "line",
            Self::Unreadable { .. } => "unreadable",
            Self::Digest { .. } => "digest",
            Self::Text { .. } => "text",
            Self::Prev { .. } => "prev",
            Self::Seq { .. } => "seq",
            Self::Begin { .. } => "begin",
            Self::Key { .. } => "key",
            Self::Blob { .. } => "blob",
            Self::Head { .. } => "head",
            Self::Ancestors => "ancestors",
            Self::Other { .. } => "other",
            Self::Kept { .. } | Self::KeptElsewhere { .. } => "kept",
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = |digest: &Option<Digest>| digest.map_or("none".into(), |digest| digest.to_string());
        match self {
            Self::Line { reason } => write!(f, "not a line of the format: {reason}"),
            Self::Unreadable { reason } => write!(f, "the batch cannot be read: {reason}"),
            Self::Digest { expected, found, .. } => {
                write!(f, "content altered: recorded digest {expected}, actual digest {found}")
            }
            Self::Text { session, seq, place } => {
                write!(f, "session {session}, event {seq}: the text at {place} does not match its commitment")
            }
            Self::Prev { expected, found } => write!(
                f,
                "chain broken: the batch before has digest {}, this one refers to {}",
                digest(expected),
                digest(found)
            ),
            Self::Seq { expected, found } => write!(f, "the next event is {found}, expected {expected}"),
            Self::Begin { reason } | Self::Key { reason } => f.write_str(reason),
            Self::Blob { blob, found: Some(found), reason } => write!(f, "blob {blob}: {reason}; found {found}"),
            Self::Blob { blob, found: None, reason } => write!(f, "blob {blob}: {reason}"),
            Self::Head { expected, expected_digest, found, found_digest } => write!(
                f,
                "the head is {expected_digest} ({expected} events), but the log ends with {found} events and digest {}",
                digest(found_digest)
            ),
            Self::Ancestors => f.write_str("the header lists other ancestors than those that follow"),
            Self::Other { expected, found } => write!(
                f,
                "two exports of the session contradict each other: an earlier one in this file has batch {expected} here, this one {found}"
            ),
            Self::Kept { expected } => write!(f, "the digest that you kept, {expected}, is not in this log"),
            Self::KeptElsewhere { expected, place: KeptPlace { session, line } } => write!(
                f,
                "the digest that you kept, {expected}, is in session {session} (line {line}), not in the first session of the file"
            ),
        }
    }
}
