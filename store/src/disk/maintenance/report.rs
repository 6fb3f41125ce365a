//! What opening a store reports: every place that was damaged, restored, cut off or rebuilt
//! (`docs/reference/store.md#recovery`).

use super::open_error::FormatFile;
use crate::disk::erasing::ErasedCopies;
use crate::disk::filling::FilledTexts;
use crate::log::Position;
use crate::store_id::StoreId;
use annals_core::{Digest, Seq, SessionId};
use std::fmt;
use std::path::PathBuf;

/// What opening found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpeningReport {
    /// Whether the store was made by this call.
    pub created: bool,
    /// The id of the store that this one was copied from, if this call found that it is a copy and gave it an id of its own.
    pub copied_from: Option<StoreId>,
    /// How many batches sled lacked and got from the journal.
    pub caught_up: u64,
    /// What was erased, if a pending erasure was finished by this call.
    pub erased: Option<ErasedCopies>,
    /// What was filled in, if a pending filling was finished by this call.
    pub filled: Option<FilledTexts>,
    /// Everything that a user should know, in the order of the store.
    pub remarks: Vec<Remark>,
}

impl OpeningReport {
    /// Whether something acknowledged could be missing.
    pub fn lost_something(&self) -> bool {
        self.remarks.iter().any(Remark::is_loss)
    }
}

/// Which copy of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copy {
    /// The journal.
    Journal,
    /// sled.
    Sled,
}

impl fmt::Display for Copy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Journal => "the journal",
            Self::Sled => "sled",
        })
    }
}

/// Something that a user should know about the state of a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Remark {
    /// A write that was never acknowledged was cut off, as after a power cut. Nothing acknowledged is missing.
    #[error("an unfinished write of {bytes} bytes at {}, byte {at}, was set aside in {}", segment.display(), set_aside.display())]
    Torn {
        /// Which segment.
        segment: PathBuf,
        /// Where it begins.
        at: u64,
        /// How long it is.
        bytes: u64,
        /// The copy of it.
        set_aside: PathBuf,
    },
    /// A write that was never acknowledged ends the journal, and was ignored by a reader.
    #[error("{}: an unfinished write of {bytes} bytes at the end is ignored; the next command that writes sets it aside", segment.display())]
    TailIgnored {
        /// Which segment.
        segment: PathBuf,
        /// How long it is.
        bytes: u64,
    },
    /// A segment is damaged, and was left as it is by a reader.
    #[error("{}: {}; to repair it: annals doctor --repair", segment.display(), damage(*missing, *in_sled))]
    SegmentDamaged {
        /// Which segment.
        segment: PathBuf,
        /// How many positions cannot be read.
        missing: u64,
        /// How many of them were read from sled.
        in_sled: u64,
    },
    /// A file in the journal's folder does not belong to this store.
    #[error("{}: {reason}: {}", file.display(), set_aside.as_ref().map_or("ignored".to_owned(), |place| format!("moved to {}", place.display())))]
    Stray {
        /// Which file.
        file: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
        /// Where it is now, if it was moved.
        set_aside: Option<PathBuf>,
    },
    /// A reader could not read the second copy.
    #[error("the second copy (sled) was not checked: {reason}")]
    CopyUnchecked {
        /// The reason.
        reason: String,
    },
    /// A part of a segment that holds nothing of the log (its header) was damaged and written again.
    #[error("{}: a damaged header was written again", segment.display())]
    Header {
        /// Which segment.
        segment: PathBuf,
    },
    /// A segment was damaged and was written again with what could be found.
    #[error("{}, bytes {from}..{to}, was damaged; the segment was written again, the damaged one is {}", segment.display(), set_aside.display())]
    Damaged {
        /// Which segment.
        segment: PathBuf,
        /// The first damaged byte.
        from: u64,
        /// The first byte behind it.
        to: u64,
        /// Where the damaged segment is now.
        set_aside: PathBuf,
    },
    /// A Batch was damaged in one copy and was taken from the other.
    #[error("session {session}, event {seq}: damaged in {damaged}, restored from the other copy")]
    Mended {
        /// The session.
        session: SessionId,
        /// The first Seq of the batch.
        seq: Seq,
        /// The copy that was damaged.
        damaged: Copy,
    },
    /// A batch is damaged in the journal and was read from sled; later ones may be damaged too. Repair the store.
    #[error(
        "session {session}, event {seq}: damaged in the journal, read from sled; to repair it: annals doctor --repair"
    )]
    Hurt {
        /// The session.
        session: SessionId,
        /// The first Seq of the batch.
        seq: Seq,
    },
    /// Batches are damaged in every copy.
    #[error("{}", lost(*position, *count, *whose))]
    Lost {
        /// The place in the store of the first.
        position: Position,
        /// How many.
        count: u64,
        /// Whose it was, and from which Seq on, if known.
        whose: Option<(SessionId, Seq)>,
    },
    /// A file of the journal cannot be read: sled gets what it holds when it can be read again. Look after the disk, then open
    /// the store again.
    #[error("{} cannot be read ({reason}); sled is filled from it once it can be; check the disk", segment.display())]
    Unread {
        /// Which segment.
        segment: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// A Batch does not continue its session. It was left out.
    #[error("session {session}, event {seq}: the batch at position {} does not continue the session and was skipped", position.0)]
    Unchained {
        /// The session.
        session: SessionId,
        /// Its first Seq.
        seq: Seq,
        /// Its place in the store.
        position: Position,
    },
    /// sled was behind, damaged or could not be opened, and was filled again from the journal.
    #[error("sled was rebuilt from the journal ({batches} batches): {reason}")]
    SledRebuilt {
        /// The reason.
        reason: String,
        /// How many batches it holds now.
        batches: u64,
        /// Where the old one is now, if there was one.
        set_aside: Option<PathBuf>,
    },
    /// Texts that the log says are erased are still there: removing them failed.
    #[error("erased texts are still in the store ({reason}); the next command that writes tries again")]
    EraseUnfinished {
        /// The reason.
        reason: String,
    },
    /// Texts that an import brought for withheld ones are not filled in yet.
    #[error("imported texts are not filled in ({reason}); the next command that writes tries again")]
    FillUnfinished {
        /// The reason.
        reason: String,
    },
    /// sled could not be opened or filled (a full disk, say). The journal serves, slower, until sled can be used again.
    #[error(
        "sled cannot be used ({reason}); reading from the journal instead, which is slower; free disk space and try again"
    )]
    SledOut {
        /// What it said.
        reason: String,
    },
    /// The list of heads, or the checkpoint, was missing or damaged: the whole journal was read instead.
    #[error("{what} was missing or damaged; the whole journal was read instead; nothing is lost")]
    Reread {
        /// Which file.
        what: &'static str,
    },
    /// A blob's file does not hold what its name says. It reads as missing until it is put again.
    #[error("blob {blob} is damaged; it reads as missing")]
    Blob {
        /// Which.
        blob: Digest,
    },
    /// The folder was moved while the store was open. Everything was written to where it is now.
    #[error(
        "the store was moved from {} {}while it was open; everything was written to where it is now", from.display(),
        to.as_ref().map(|to| format!("to {} ", to.display())).unwrap_or_default()
    )]
    Moved {
        /// Where it was opened.
        from: PathBuf,
        /// Where it is now, if that can be found out.
        to: Option<PathBuf>,
    },
    /// The file `FORMAT` was damaged or missing, and was written again.
    #[error("the file FORMAT was {state}, and was written again ({})", origin(*from, *id))]
    FormatRestored {
        /// What was wrong with it.
        state: FormatFile,
        /// The id of the store.
        id: StoreId,
        /// How many segments have that id; 0 when the store got a new one.
        from: usize,
    },
    /// sled wrote a file that it does not flush: the store's settings should make that impossible.
    #[error("the folder `blobs` of sled is not empty; its content is not durable by itself (the journal is)")]
    SledBlobs,
}

/// Where the id of a restored store comes from.
fn origin(segments: usize, id: StoreId) -> String {
    match segments {
        0 => format!("no segment names the store; its new id is {id}"),
        1 => format!("id {id}, from 1 segment"),
        _ => format!("id {id}, from {segments} segments"),
    }
}

fn damage(missing: u64, in_sled: u64) -> String {
    match missing {
        0 => "a header is damaged".to_owned(),
        _ => format!("{missing} batches are missing or damaged, {in_sled} of them were read from sled"),
    }
}

fn lost(position: Position, count: u64, whose: Option<(SessionId, Seq)>) -> String {
    if count > 1 {
        let last = position.0.saturating_add(count - 1);
        return format!("positions {} to {last}: {count} batches are damaged in every copy and lost", position.0);
    }
    let whose = whose.map(|(session, seq)| format!(" (session {session}, event {seq})")).unwrap_or_default();
    format!("position {}: the batch there{whose} is damaged in every copy and lost", position.0)
}

impl Remark {
    /// Whether something acknowledged could be missing.
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Unchained { .. } | Self::Blob { .. })
    }
}
