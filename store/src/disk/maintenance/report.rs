//! What opening a store tells: every place that was damaged, mended, cut off or rebuilt
//! (`docs/reference/store.md#recovery`).

use crate::disk::folder::relative::Unexpected;
use crate::displaced::Displaced;
use crate::log::Position;
use crate::store_id::StoreId;
use annals_core::{Digest, Seq, SessionId};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no store, and the command only looks: record something first, or name another folder.
    #[error("there is no store in {}; a command that writes makes one, or name another folder", dir.display())]
    NoStore {
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// The folder holds other things: name an empty one.
    #[error("{} is not a store and not empty; nothing was touched; name another folder", dir.display())]
    Foreign {
        /// Which folder.
        dir: PathBuf,
    },
    /// Another process owns the store: ask it over its socket.
    #[error("another process owns the store in {}", dir.display())]
    Locked {
        /// Which store.
        dir: PathBuf,
    },
    /// Another version wrote the store.
    #[error(
        "the store in {} has format {found:?}, this version reads format {supported}; nothing was touched; open it \
         with the version that wrote it, export its sessions, and import them here", dir.display()
    )]
    Format {
        /// Which store.
        dir: PathBuf,
        /// What its file `FORMAT` says.
        found: String,
        /// What this version reads.
        supported: u32,
    },
    /// The file `FORMAT` cannot be used although the folder holds a log: repair the store, which writes the file again.
    #[error("the file FORMAT of the store in {} is {state}; nothing was touched; `annals doctor --repair --yes` restores it", dir.display())]
    FormatFile {
        /// Which store.
        dir: PathBuf,
        /// What is wrong with it.
        state: FormatFile,
    },
    /// The folder is a symbolic link to nothing: make what it points to, or name another folder.
    #[error("{} is a symbolic link to {}, which does not exist", dir.display(), to.display())]
    Dangling {
        /// The link.
        dir: PathBuf,
        /// What it says.
        to: PathBuf,
    },
    /// Another store, or none, is where this process opened one before.
    #[error(transparent)]
    Displaced(#[from] Displaced),
    /// Something in the folder is not what belongs there: remove it.
    #[error(transparent)]
    Unexpected(Unexpected),
    /// The disk refused.
    #[error("{}: {source}{}", path.display(), crate::log::advice(source))]
    Io {
        /// At which path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl OpenError {
    /// What the disk said about a path.
    pub(in crate::disk) fn at(path: &Path, source: io::Error) -> Self {
        match source.get_ref().and_then(|error| error.downcast_ref::<Unexpected>()) {
            Some(unexpected) => Self::Unexpected(unexpected.clone()),
            None => match Displaced::of(&source) {
                Some(displaced) => Self::Displaced(displaced),
                None => Self::Io { path: path.to_owned(), source },
            },
        }
    }
}

/// What is wrong with the file `FORMAT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatFile {
    /// Its checksum does not match.
    Damaged,
    /// It is not there, or is not a regular file.
    Missing,
}

impl fmt::Display for FormatFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Damaged => "damaged",
            Self::Missing => "missing",
        })
    }
}

/// What opening found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpeningReport {
    /// Whether the store was made by this call.
    pub created: bool,
    /// The id of the store that this one was copied from, if this call found that it is a copy and gave it an id of its own.
    pub copied_from: Option<StoreId>,
    /// How many Batches sled lacked and got from the journal.
    pub caught_up: u64,
    /// Everything that somebody should know, in the order of the store.
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

/// Something somebody should know about the state of a store.
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
        /// Where a copy lies.
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
    /// A file in the journal's folder is no segment of this store.
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
        /// Why.
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
        /// Where the damaged segment lies now.
        set_aside: PathBuf,
    },
    /// A Batch was damaged in one copy and was taken from the other.
    #[error("session {session}, event {seq}: damaged in {damaged}, restored from the other copy")]
    Mended {
        /// Whose.
        session: SessionId,
        /// The first Seq of the Batch.
        seq: Seq,
        /// The copy that was damaged.
        damaged: Copy,
    },
    /// A Batch is damaged in the journal, and was read from sled; others behind it may be too. Repair the store to have the
    /// journal mended.
    #[error(
        "session {session}, event {seq}: damaged in the journal, read from sled; to repair it: annals doctor --repair"
    )]
    Hurt {
        /// Whose.
        session: SessionId,
        /// The first Seq of the Batch.
        seq: Seq,
    },
    /// Batches are damaged in every copy.
    #[error("{}", lost(*position, *count, *whose))]
    Lost {
        /// The place in the store of the first.
        position: Position,
        /// How many.
        count: u64,
        /// Whose it was, and from which Seq on, if that can be told.
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
    /// A Batch does not continue its Session. It was left out.
    #[error("session {session}, event {seq}: the batch at position {} does not continue the session and was skipped", position.0)]
    Unchained {
        /// Whose.
        session: SessionId,
        /// Its first Seq.
        seq: Seq,
        /// Its place in the store.
        position: Position,
    },
    /// sled was behind, damaged or could not be opened, and was filled again from the journal.
    #[error("sled was rebuilt from the journal ({batches} batches): {reason}")]
    SledRebuilt {
        /// Why.
        reason: String,
        /// How many Batches it holds now.
        batches: u64,
        /// Where the old one lies now, if there was one.
        set_aside: Option<PathBuf>,
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

/// How many remarks of one kind are shown one by one.
const SHOWN: usize = 3;

/// Remarks as lines for a person: a few of each kind, then how many more there are.
pub fn summary(remarks: &[Remark]) -> Vec<String> {
    let mut kinds: Vec<(&'static str, Vec<&Remark>)> = Vec::new();
    for remark in remarks {
        match kinds.iter_mut().find(|(kind, _)| *kind == remark.kind()) {
            Some((_, found)) => found.push(remark),
            None => kinds.push((remark.kind(), vec![remark])),
        }
    }
    let mut lines = Vec::new();
    for (kind, found) in kinds {
        // One more is shown rather than counted.
        let shown = if found.len() <= SHOWN + 1 { found.len() } else { SHOWN };
        lines.extend(found.iter().take(shown).map(ToString::to_string));
        if found.len() > shown {
            lines.push(format!("and {} more {kind}", thousands(found.len() - shown)));
        }
    }
    lines
}

/// A number with commas between its thousands.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl Remark {
    /// What many of its kind are called.
    fn kind(&self) -> &'static str {
        match self {
            Self::Torn { .. } | Self::TailIgnored { .. } => "unfinished writes",
            Self::Header { .. } | Self::SegmentDamaged { .. } | Self::Damaged { .. } => "damaged places in segments",
            Self::Stray { .. } => "files that are not part of the store",
            Self::Mended { .. } => "batches that were restored from the other copy",
            Self::Hurt { .. } => "batches that are damaged in the journal and were read from sled",
            Self::Lost { .. } => "lost places",
            Self::Unread { .. } => "files that cannot be read",
            Self::Unchained { .. } => "batches that do not continue their sessions",
            Self::SledRebuilt { .. } | Self::SledOut { .. } | Self::SledBlobs | Self::CopyUnchecked { .. } => {
                "remarks about the second copy"
            }
            Self::Reread { .. } => "files that were read again",
            Self::Blob { .. } => "damaged blobs",
            Self::Moved { .. } => "moves of the store",
            Self::FormatRestored { .. } => "repairs of the file FORMAT",
        }
    }

    /// Whether something acknowledged could be missing.
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Unchained { .. } | Self::Blob { .. })
    }
}
