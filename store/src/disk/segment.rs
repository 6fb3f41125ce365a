//! One file of the journal: a header, then frames; while it grows in reserved space, afterwards packed.

use super::files::{Disk, DiskFile, How, read_file};
use super::frame::{self, Found, Kind};
use super::packed;
use super::sessions::{checked, number, take};
use annals_core::{Seq, SessionId, codec};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// The bytes before the first frame.
pub const HEADER: usize = 32;

const MAGIC: [u8; 8] = *b"\xFFAnnals1";

/// A segment of the journal. Its name is its first position.
#[derive(Debug)]
pub struct Segment {
    /// The position of its first frame.
    pub first: u64,
    form: RwLock<Form>,
    /// What it holds, once somebody asked: it is asked when it grows no more.
    pub(super) summary: OnceLock<Summary>,
}

#[derive(Clone, Debug)]
struct Form {
    packed: bool,
    path: PathBuf,
    file: Arc<dyn DiskFile>,
}

/// The header of a segment.
pub fn header(first: u64) -> [u8; HEADER] {
    let mut out = [0; HEADER];
    out[..8].copy_from_slice(&MAGIC);
    out[8..16].copy_from_slice(&first.to_le_bytes());
    let sum = crc32c::crc32c(&out[..28]);
    out[28..].copy_from_slice(&sum.to_le_bytes());
    out
}

/// Where a growing segment lies.
pub fn raw_path(journal: &Path, first: u64) -> PathBuf {
    journal.join(format!("{first:020}.seg"))
}

/// Where a packed segment lies.
pub fn packed_path(journal: &Path, first: u64) -> PathBuf {
    journal.join(format!("{first:020}.zst"))
}

/// Where the summary of a packed segment lies.
pub fn summary_path(journal: &Path, first: u64) -> PathBuf {
    journal.join(format!("{first:020}.idx"))
}

/// The first position and the form that a file name tells.
pub fn read_name(name: &str) -> Option<(u64, bool)> {
    let (first, form) = name.split_once('.')?;
    let packed = match form {
        "seg" => false,
        "zst" => true,
        _ => return None,
    };
    Some((first.parse().ok().filter(|_| first.len() == 20)?, packed))
}

impl Segment {
    /// A segment whose file is open.
    pub fn new(first: u64, packed: bool, path: PathBuf, file: Arc<dyn DiskFile>) -> Self {
        Self { first, form: RwLock::new(Form { packed, path, file }), summary: OnceLock::new() }
    }

    /// Opens the file of a segment.
    pub fn open(disk: &dyn Disk, journal: &Path, first: u64, packed: bool) -> io::Result<Self> {
        let path = if packed { packed_path(journal, first) } else { raw_path(journal, first) };
        let file = disk.open(&path, if packed { How::Read } else { How::Write })?;
        Ok(Self::new(first, packed, path, file))
    }

    fn form(&self) -> Form {
        self.form.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Where it lies now.
    pub fn path(&self) -> PathBuf {
        self.form().path
    }

    /// Whether it is packed.
    pub fn is_packed(&self) -> bool {
        self.form().packed
    }

    /// The file of a growing segment.
    pub fn file(&self) -> Arc<dyn DiskFile> {
        self.form().file
    }

    /// From here on it is read in another form.
    pub fn replace(&self, packed: bool, path: PathBuf, file: Arc<dyn DiskFile>) {
        *self.form.write().unwrap_or_else(PoisonError::into_inner) = Form { packed, path, file };
    }

    /// All of it, unpacked: the header, then frames. What is damaged in a packed segment reads as zeros.
    pub fn load(&self) -> io::Result<Vec<u8>> {
        let form = self.form();
        let bytes = read_file(&*form.file)?;
        Ok(if form.packed { packed::unpack(&bytes) } else { bytes })
    }

    /// Whether the header says what the name says.
    pub fn header_holds(&self, bytes: &[u8]) -> bool {
        bytes.get(..HEADER) == Some(&header(self.first)[..])
    }
}

/// What a packed segment holds of each Session, so that a search opens few of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The position behind its last one.
    pub end: u64,
    /// For each Session the first Seq it holds, and the Seq behind the last.
    pub sessions: BTreeMap<SessionId, (Seq, Seq)>,
}

const SUMMARY_MAGIC: [u8; 8] = *b"\xFFAnsumm1";

impl Summary {
    /// The summary of unpacked bytes, of what lies below position `end`.
    pub fn of(bytes: &[u8], end: u64) -> Self {
        let mut summary = Self { end, sessions: BTreeMap::new() };
        for found in frame::scan(bytes, HEADER) {
            let Found::Frame(_, frame) = found else { continue };
            if frame.kind != Kind::Batch || frame.position >= end {
                continue;
            }
            let Ok(header) = codec::decode_header(frame.payload) else { continue };
            let range = summary.sessions.entry(header.session).or_insert((header.first, header.next()));
            *range = (range.0.min(header.first), range.1.max(header.next()));
        }
        summary
    }

    /// As it stands in its file.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = SUMMARY_MAGIC.to_vec();
        out.extend_from_slice(&self.end.to_le_bytes());
        for (session, (from, to)) in &self.sessions {
            out.extend_from_slice(&session.0);
            out.extend_from_slice(&from.0.to_le_bytes());
            out.extend_from_slice(&to.0.to_le_bytes());
        }
        out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
        out
    }

    /// Reads a summary; `None` when it is damaged.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = checked(bytes)?.strip_prefix(&SUMMARY_MAGIC)?;
        let mut summary = Self { end: number(&mut rest)?, sessions: BTreeMap::new() };
        while !rest.is_empty() {
            let session = SessionId(take(&mut rest)?);
            let range = (Seq(number(&mut rest)?), Seq(number(&mut rest)?));
            summary.sessions.insert(session, range);
        }
        Some(summary)
    }
}
