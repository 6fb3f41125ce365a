//! One file of the journal: a header, then frames; while it grows in reserved space, afterwards packed.

use super::block::SegmentView;
use super::frame;
use super::packed;
use super::segment_index::SegmentIndex;
use crate::disk::folder::files::{Access, Disk, DiskFile, read_file, read_until, read_whole, write_whole};
use crate::disk::folder::identity::FORMAT;
use crate::disk::sessions::{checked, number, take};
use crate::store_id::StoreId;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// The bytes before the first frame: magic, first position (8 bytes), id of the store (16), format of the store (4), 8 zeros,
/// CRC32C of all that (4).
pub const HEADER: usize = 48;

const MAGIC: [u8; 8] = *b"\xFFAnnals2";

/// What the segments of stores of format 3 and older begin with.
const FORMER_MAGIC: [u8; 8] = *b"\xFFAnnals1";

/// The length of their header: magic, first position, zeros, CRC32C of all that (4).
const FORMER_HEADER: usize = 32;

/// A segment of the journal. Its name is its first position.
#[derive(Debug)]
pub struct Segment {
    /// The position of its first frame.
    pub first: u64,
    form: RwLock<SegmentForm>,
}

#[derive(Clone, Debug)]
struct SegmentForm {
    packed: bool,
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    /// Its index, as far as one was built.
    index: Option<Arc<SegmentIndex>>,
}

/// The header of a segment.
pub fn header(first: u64, store: StoreId) -> [u8; HEADER] {
    let mut out = [0; HEADER];
    out[..8].copy_from_slice(&MAGIC);
    out[8..16].copy_from_slice(&first.to_le_bytes());
    out[16..32].copy_from_slice(&store.0);
    out[32..36].copy_from_slice(&FORMAT.to_le_bytes());
    let sum = crc32c::crc32c(&out[..HEADER - 4]);
    out[HEADER - 4..].copy_from_slice(&sum.to_le_bytes());
    out
}

/// The fields of a segment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The first position.
    pub first: u64,
    /// The store that the segment was written for.
    pub store: StoreId,
    /// The number of that store's format.
    pub format: u32,
}

/// Reads the header of a segment; `None` when it is damaged. Of a store of format 3 or older only the format is known.
pub fn read_header(bytes: &[u8]) -> Option<SegmentHeader> {
    if let Some(former) = bytes.get(..FORMER_HEADER).filter(|bytes| bytes.starts_with(&FORMER_MAGIC)) {
        return checked(former).map(|_| SegmentHeader { first: 0, store: StoreId([0; 16]), format: 3 });
    }
    let mut rest = checked(bytes.get(..HEADER)?)?.strip_prefix(&MAGIC)?;
    let (first, store) = (number(&mut rest)?, StoreId(take(&mut rest)?));
    Some(SegmentHeader { first, store, format: u32::from_le_bytes(take(&mut rest)?) })
}

/// The path of a growing segment.
pub fn raw_path(journal: &Path, first: u64) -> PathBuf {
    journal.join(format!("{first:020}.seg"))
}

/// The path of a packed segment.
pub fn packed_path(journal: &Path, first: u64) -> PathBuf {
    journal.join(format!("{first:020}.pack"))
}

/// The path of the index of a packed segment.
pub fn index_path(journal: &Path, first: u64) -> PathBuf {
    journal.join(format!("{first:020}.idx"))
}

/// The first position and the form in a file name.
pub fn read_name(name: &str) -> Option<(u64, bool)> {
    let (first, form) = name.split_once('.')?;
    let packed = match form {
        "seg" => false,
        "pack" => true,
        _ => return None,
    };
    Some((first.parse().ok().filter(|_| first.len() == 20)?, packed))
}

/// A segment with less in it is read whole.
const WORTH_AN_INDEX: u64 = 512 << 10;

/// The most that is read of the end of a closed segment: its last block, and the zeros that were written ahead.
const END_MAX: u64 = 4 << 20;

/// More than a frame may have of zeros at its end: they may be a hole.
const ZEROS_OF_FRAME: u64 = 256 << 10;

impl Segment {
    /// A segment whose file is open.
    pub fn new(first: u64, packed: bool, path: PathBuf, file: Arc<dyn DiskFile>) -> Self {
        Self { first, form: RwLock::new(SegmentForm { packed, path, file, index: None }) }
    }

    /// Opens the file of a segment; the growing one for writing, if `writes`.
    pub fn open(disk: &dyn Disk, journal: &Path, first: u64, packed: bool, writes: bool) -> io::Result<Self> {
        let path = if packed { packed_path(journal, first) } else { raw_path(journal, first) };
        let file = disk.open(&path, if packed || !writes { Access::Read } else { Access::Write })?;
        Ok(Self::new(first, packed, path, file))
    }

    fn form(&self) -> SegmentForm {
        self.form.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its path now.
    pub fn path(&self) -> PathBuf {
        self.form.read().unwrap_or_else(PoisonError::into_inner).path.clone()
    }

    /// Whether it is packed.
    pub fn is_packed(&self) -> bool {
        self.form.read().unwrap_or_else(PoisonError::into_inner).packed
    }

    /// The file of a growing segment.
    pub fn file(&self) -> Arc<dyn DiskFile> {
        self.form.read().unwrap_or_else(PoisonError::into_inner).file.clone()
    }

    /// From here on it is read in another form.
    pub fn replace(&self, packed: bool, path: PathBuf, file: Arc<dyn DiskFile>, index: Option<Arc<SegmentIndex>>) {
        *self.form.write().unwrap_or_else(PoisonError::into_inner) = SegmentForm { packed, path, file, index };
    }

    /// Writes it again under its name, with room for `room` bytes. A crash leaves the old one or the new one, in which case a packed
    /// form may be left that is not read.
    pub fn write_again(&self, disk: &dyn Disk, journal: &Path, room: u64, out: &[u8]) -> io::Result<()> {
        let path = raw_path(journal, self.first);
        let unfinished = path.with_extension("new");
        let file = disk.open(&unfinished, Access::Create)?;
        file.allocate(room.max(out.len() as u64))?;
        file.write_at(out, 0)?;
        file.sync_data()?;
        disk.rename(&unfinished, &path)?;
        disk.sync_dir(journal)?;
        if self.is_packed() {
            disk.remove(&packed_path(journal, self.first))?;
            disk.sync_dir(journal)?;
        }
        self.replace(false, path, file, None);
        Ok(())
    }

    /// What it holds below position `until`, and how that is read.
    pub fn view(&self, disk: &dyn Disk, journal: &Path, until: u64) -> io::Result<SegmentView> {
        let (packed, file, index) = {
            let form = self.form.read().unwrap_or_else(PoisonError::into_inner);
            (form.packed, form.file.clone(), form.index.clone())
        };
        let index = match index {
            Some(index) if index.until >= until => return Ok(SegmentView { index, file, packed }),
            Some(index) if !packed => grown((*index).clone(), &*file, until)?,
            _ if packed => self.packed_index(disk, journal, &*file, until)?,
            _ => grown(SegmentIndex::new(self.first), &*file, until)?,
        };
        let index = Arc::new(index);
        let mut form = self.form.write().unwrap_or_else(PoisonError::into_inner);
        // Not when it was packed meanwhile, or another reader has a longer index.
        if form.packed == packed && form.index.as_ref().is_none_or(|other| other.until < until) {
            form.index = Some(index.clone());
        }
        Ok(SegmentView { index, file, packed })
    }

    /// Saves its index, as far as position `end`, so that a reader finds its way without reading all of it: see
    /// [`Segment::closed_at`]. A short segment is read as fast without.
    ///
    /// # Errors
    /// When its file cannot be read, or the disk refuses.
    pub fn save_index(&self, disk: &dyn Disk, journal: &Path, end: u64) -> io::Result<()> {
        let index = self.view(disk, journal, end)?.index;
        let worth_it = !self.is_packed() && index.until == end && index.end == end && index.used >= WORTH_AN_INDEX;
        if worth_it { write_whole(disk, &index_path(journal, self.first), &index.encode()) } else { Ok(()) }
    }

    /// Whether it ends before position `end`, as the index says that its owner saved when it closed: then it is read by that. Its
    /// header, its last block and what is behind that are looked at; a frame before that is checked when it is read, as in a
    /// packed segment.
    pub fn closed_at(&self, disk: &dyn Disk, journal: &Path, end: u64) -> io::Result<bool> {
        let file = self.file();
        let index = read_whole(disk, &index_path(journal, self.first)).ok();
        let index = index.and_then(|bytes| SegmentIndex::decode(self.first, &bytes));
        let Some(index) = index.filter(|index| index.until == end && index.end == end && !self.is_packed()) else {
            return Ok(false);
        };
        let header = self.read_header()?.is_some_and(|header| header.first == self.first && header.format == FORMAT);
        let Some(last) = index.blocks.last().filter(|_| header) else { return Ok(false) };
        let until = file.data_end()?.saturating_add(ZEROS_OF_FRAME).min(file.len()?);
        let from = u64::from(last.at);
        let Some(length) = until.checked_sub(from).filter(|length| *length <= END_MAX) else { return Ok(false) };
        let mut bytes = vec![0; length as usize];
        let read = file.read_at(&mut bytes, from)?;
        let (mut rest, mut next) = (bytes.get(..read).unwrap_or_default(), last.first);
        while let Some(frame) = frame::parse(rest).ok().filter(|frame| frame.position == next && next < end) {
            (next, rest) = (frame.next(), rest.get(frame.bytes.len()..).unwrap_or_default());
        }
        let used = from + (read - rest.len()) as u64;
        if next != end || used != index.used || rest.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        self.form.write().unwrap_or_else(PoisonError::into_inner).index = Some(Arc::new(index));
        Ok(true)
    }

    /// The index of a packed segment: from its file, or from the segment itself when that is missing or damaged.
    fn packed_index(
        &self,
        disk: &dyn Disk,
        journal: &Path,
        file: &dyn DiskFile,
        until: u64,
    ) -> io::Result<SegmentIndex> {
        let saved = read_whole(disk, &index_path(journal, self.first)).ok();
        let saved =
            saved.and_then(|bytes| SegmentIndex::decode(self.first, &bytes)).filter(|saved| saved.until >= until);
        Ok(match saved {
            Some(index) => index,
            None => {
                let (raw, places) = packed::unpack(&read_file(file)?);
                let mut index = SegmentIndex::of(self.first, &raw, until);
                index.set_places(&places);
                index
            }
        })
    }

    /// All of it, unpacked: the header, then frames. What is damaged in a packed segment reads as zeros.
    pub fn load(&self) -> io::Result<Vec<u8>> {
        self.load_checked().map(|(bytes, _)| bytes)
    }

    /// All of it, as [`Segment::load`] gives it, and whether the parts besides frames are intact: the header, and the
    /// directories of a packed segment.
    pub fn load_checked(&self) -> io::Result<(Vec<u8>, bool)> {
        let form = self.form();
        if !form.packed {
            // Most of a young segment is reserved room.
            let end = form.file.data_end()?.saturating_add(ZEROS_OF_FRAME).min(form.file.len()?);
            let bytes = read_until(&*form.file, end)?;
            let holds = self.header_holds(&bytes);
            return Ok((bytes, holds));
        }
        let bytes = read_file(&*form.file)?;
        let (raw, places) = packed::unpack(&bytes);
        let (mut packed, mut unpacked) = (0u64, 0u64);
        let follow = places.iter().all(|place| {
            let follows = u64::from(place.at) == packed && place.start == unpacked;
            packed += u64::from(place.len);
            unpacked += u64::from(place.raw);
            follows
        });
        let holds = self.header_holds(&raw) && follow && packed == bytes.len() as u64;
        Ok((raw, holds))
    }

    /// The beginning of it, unpacked: the header, then some frames.
    pub fn begin(&self) -> io::Result<Vec<u8>> {
        let form = self.form();
        let mut bytes = vec![0; BEGINNING];
        let read = form.file.read_at(&mut bytes, 0)?;
        bytes.truncate(read);
        Ok(if form.packed { packed::unpack(&bytes).0 } else { bytes })
    }

    /// Whether the header is whole and has the position of the name. The store may have had another id when it was written.
    pub fn header_holds(&self, bytes: &[u8]) -> bool {
        read_header(bytes).is_some_and(|header| header.first == self.first && header.format == FORMAT)
    }

    /// Its header; `None` when that is damaged. Reads at most 1 MiB.
    pub fn read_header(&self) -> io::Result<Option<SegmentHeader>> {
        let form = self.form();
        let length = if form.packed { packed::BLOCK_MAX } else { HEADER };
        let mut bytes = vec![0; usize::try_from(form.file.len()?).unwrap_or(length).min(length)];
        let read = form.file.read_at(&mut bytes, 0)?;
        bytes.truncate(read);
        Ok(match form.packed {
            true => packed::start(&bytes).and_then(|raw| read_header(&raw)),
            false => read_header(&bytes),
        })
    }
}

/// How many bytes are read to see what a segment begins with: some batches of the largest size.
const BEGINNING: usize = 128 * 1024;

/// How much of a segment that is not packed is read at a time.
const PIECE: u64 = 1024 * 1024;

/// The index of a segment that may grow, brought forward.
fn grown(mut index: SegmentIndex, file: &dyn DiskFile, until: u64) -> io::Result<SegmentIndex> {
    let (len, mut size) = (file.len()?, PIECE);
    while index.end < until && index.used < len {
        let mut bytes = vec![0; size.min(len - index.used) as usize];
        let read = file.read_at(&mut bytes, index.used)?;
        if !index.extend(bytes.get(..read).unwrap_or_default(), until) {
            if index.used + size >= len {
                break;
            }
            // A damaged place may be longer than a piece.
            size = size.saturating_mul(16);
        }
    }
    index.until = until;
    Ok(index)
}
