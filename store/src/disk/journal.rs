//! The journal: every Batch in the order of the store, in segments. The first copy, and the one that acknowledges.

use super::files::{Disk, DiskFile, How, write_whole};
use super::frame::{self, Found, Kind};
use super::segment::{self, Segment, Summary};
use annals_core::{Batch, Seq, SessionId, codec};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The name of a segment until its first position is known. Opening removes what a stopped process left of it.
const RESERVED: &str = "reserved.new";

/// The segments of a store, oldest first. The last one grows.
#[derive(Debug)]
pub struct Journal {
    /// Where its files go.
    pub disk: Arc<dyn Disk>,
    /// Its folder.
    pub dir: PathBuf,
    segments: RwLock<Vec<Arc<Segment>>>,
    /// The segment that was searched last, unpacked.
    loaded: Mutex<Option<Arc<Loaded>>>,
    /// Held while a segment is packed.
    packing: Mutex<()>,
    /// A file with room for so many bytes, reserved ahead of time.
    reserved: Mutex<Option<(Arc<dyn DiskFile>, u64)>>,
}

/// A Batch that was read, and its place in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The Batch.
    pub batch: Arc<Batch>,
    /// Its place.
    pub position: u64,
}

/// A segment in memory.
#[derive(Debug)]
pub struct Loaded {
    first: u64,
    bytes: Vec<u8>,
    /// Where each position's frame lies.
    by_position: BTreeMap<u64, (usize, usize)>,
    by_seq: BTreeMap<(SessionId, Seq), u64>,
}

impl Loaded {
    fn new(first: u64, bytes: Vec<u8>, end: u64) -> Self {
        let mut loaded = Self { first, bytes: Vec::new(), by_position: BTreeMap::new(), by_seq: BTreeMap::new() };
        for found in frame::scan(&bytes, segment::HEADER) {
            let Found::Frame(at, frame) = found else { continue };
            if frame.position >= end {
                continue;
            }
            loaded.by_position.insert(frame.position, (at, at + frame.bytes.len()));
            if frame.kind == Kind::Batch
                && let Ok(header) = codec::decode_header(frame.payload)
            {
                loaded.by_seq.insert((header.session, header.first), frame.position);
            }
        }
        loaded.bytes = bytes;
        loaded
    }

    /// The frame at a position.
    pub fn frame(&self, position: u64) -> Option<frame::Frame<'_>> {
        let (from, to) = self.by_position.get(&position)?;
        frame::parse(self.bytes.get(*from..*to)?).ok()
    }

    /// The Batch of a Session that holds `seq`.
    fn holding(&self, session: SessionId, seq: Seq) -> Option<frame::Frame<'_>> {
        let (_, position) = self.by_seq.range((session, Seq::ZERO)..=(session, seq)).next_back()?;
        let frame = self.frame(*position)?;
        codec::decode_header(frame.payload).is_ok_and(|header| seq < header.next()).then_some(frame)
    }
}

impl Journal {
    /// A journal of these segments.
    pub fn new(disk: Arc<dyn Disk>, dir: PathBuf, segments: Vec<Arc<Segment>>) -> Self {
        Self {
            disk,
            dir,
            segments: RwLock::new(segments),
            loaded: Mutex::new(None),
            packing: Mutex::default(),
            reserved: Mutex::default(),
        }
    }

    /// The segments, oldest first, each with the position behind its last one (`u64::MAX` for the growing one).
    pub fn segments(&self) -> Vec<(Arc<Segment>, u64)> {
        let segments = self.segments.read().unwrap_or_else(PoisonError::into_inner);
        let ends = segments.iter().skip(1).map(|next| next.first).chain([u64::MAX]);
        segments.iter().cloned().zip(ends).collect()
    }

    fn push(&self, segment: Arc<Segment>) {
        let mut segments = self.segments.write().unwrap_or_else(PoisonError::into_inner);
        // A segment that was begun, and in which nothing was acknowledged, is replaced under the same name.
        segments.retain(|other| other.first < segment.first);
        segments.push(segment);
    }

    /// The segment of a position, unpacked, if it holds that position.
    pub fn load_at(&self, position: u64) -> io::Result<Option<Arc<Loaded>>> {
        let segments = self.segments();
        let Some((segment, end)) =
            segments.iter().rev().find(|(segment, end)| segment.first <= position && position < *end)
        else {
            return Ok(None);
        };
        self.load(segment, *end, |loaded| loaded.by_position.contains_key(&position)).map(Some)
    }

    fn load(&self, segment: &Segment, end: u64, enough: impl Fn(&Loaded) -> bool) -> io::Result<Arc<Loaded>> {
        let mut cache = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = cache.as_ref().filter(|loaded| loaded.first == segment.first && enough(loaded)) {
            return Ok(loaded.clone());
        }
        let loaded = Arc::new(Loaded::new(segment.first, segment.load()?, end));
        *cache = Some(loaded.clone());
        Ok(loaded)
    }

    /// Forgets what was searched last: the segment changed.
    pub fn forget(&self) {
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Searches the Batch of a Session's own log that holds `seq`; gives its frame as it stands.
    pub fn find(&self, session: SessionId, seq: Seq) -> io::Result<Option<Vec<u8>>> {
        for (segment, end) in self.segments().iter().rev() {
            if *end != u64::MAX {
                let range = self.summary(segment, *end)?.sessions.get(&session);
                if range.is_none_or(|(from, to)| seq < *from || *to <= seq) {
                    continue;
                }
            }
            let loaded = self.load(segment, *end, |loaded| loaded.holding(session, seq).is_some())?;
            if let Some(frame) = loaded.holding(session, seq) {
                return Ok(Some(frame.bytes.to_vec()));
            }
        }
        Ok(None)
    }

    /// What a segment that grows no more holds: from its summary, or from itself when that is missing or damaged.
    fn summary<'a>(&self, segment: &'a Segment, end: u64) -> io::Result<&'a Summary> {
        if let Some(summary) = segment.summary.get() {
            return Ok(summary);
        }
        let told = super::files::read_whole(&*self.disk, &segment::summary_path(&self.dir, segment.first));
        let summary = match told.ok().as_deref().and_then(Summary::decode).filter(|summary| summary.end == end) {
            Some(summary) => summary,
            None => Summary::of(&segment.load()?, end),
        };
        Ok(segment.summary.get_or_init(|| summary))
    }

    /// Begins the segment of position `first`: reserved, its header durable. What older segments hold from there on
    /// counts no more.
    pub fn begin(&self, first: u64, bytes: u64) -> io::Result<Writer> {
        let path = segment::raw_path(&self.dir, first);
        // Held until the name is given: the next reserved file gets the same one.
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, bytes) = match reserved.take().filter(|(_, room)| *room >= bytes) {
            Some(ready) => ready,
            None => (self.room(bytes)?, bytes),
        };
        file.write_at(&segment::header(first), 0)?;
        file.sync_data()?;
        self.disk.rename(&self.dir.join(RESERVED), &path)?;
        drop(reserved);
        self.disk.sync_dir(&self.dir)?;
        let segment = Arc::new(Segment::new(first, false, path, file));
        self.push(segment.clone());
        self.forget();
        Ok(Writer { segment, at: segment::HEADER as u64, room: bytes })
    }

    /// Reserves the next segment ahead of time.
    pub fn reserve(&self, bytes: u64) -> io::Result<()> {
        // Held all the while: there is one reserved file, and it has one name.
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        if reserved.is_none() {
            *reserved = Some((self.room(bytes)?, bytes));
        }
        Ok(())
    }

    fn room(&self, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.disk.open(&self.dir.join(RESERVED), How::Create)?;
        file.allocate(bytes)?;
        file.sync_data()?;
        Ok(file)
    }

    /// Packs a segment that grows no more, and checks the packed form before the other one goes.
    pub fn seal(&self, segment: &Segment, end: u64) -> io::Result<()> {
        let _packing = self.packing.lock().unwrap_or_else(PoisonError::into_inner);
        if segment.is_packed() {
            return Ok(());
        }
        let raw = segment.load()?;
        let (mut used, mut next) = (segment::HEADER, segment.first);
        for found in frame::scan(&raw, segment::HEADER) {
            if let Found::Frame(at, frame) = found
                && frame.position == next
                && next < end
            {
                (used, next) = (at + frame.bytes.len(), next + 1);
            }
        }
        // Damage is for recovery to mend, which sets the damaged file aside: it is not packed over.
        if next != end || !segment.header_holds(&raw) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the segment is damaged and was not packed"));
        }
        let used = &raw[..used.min(raw.len())];
        let packed = super::packed::pack(used)?;
        if super::packed::unpack(&packed) != used {
            return Err(io::Error::other("the packed segment does not unpack to what it was made from"));
        }
        let summary = segment::summary_path(&self.dir, segment.first);
        write_whole(&*self.disk, &summary, &Summary::of(used, end).encode())?;
        let path = segment::packed_path(&self.dir, segment.first);
        write_whole(&*self.disk, &path, &packed)?;
        let raw_path = segment.path();
        segment.replace(true, path.clone(), self.disk.open(&path, How::Read)?);
        self.disk.remove(&raw_path)?;
        self.disk.sync_dir(&self.dir)
    }
}

/// Where the journal grows.
#[derive(Debug)]
pub struct Writer {
    segment: Arc<Segment>,
    at: u64,
    room: u64,
}

impl Writer {
    /// Goes on in a segment whose frames end at `at`.
    pub fn resume(segment: Arc<Segment>, at: u64, room: u64) -> Self {
        Self { segment, at, room }
    }

    /// Whether `bytes` more fit.
    pub fn fits(&self, bytes: usize) -> bool {
        self.at + bytes as u64 <= self.room
    }

    /// Whether more than half of the room is used.
    pub fn is_half_full(&self) -> bool {
        self.at > self.room / 2
    }

    /// Makes frames durable.
    ///
    /// # Errors
    /// Then nothing of them may be counted on: the caller begins another segment, or calls [`Writer::erase`].
    pub fn write(&mut self, frames: &[u8]) -> io::Result<()> {
        let file = self.segment.file();
        file.write_at(frames, self.at)?;
        file.sync_data()?;
        self.at += frames.len() as u64;
        Ok(())
    }

    /// Overwrites what a failed [`Writer::write`] may have left.
    pub fn erase(&self, bytes: usize) -> io::Result<()> {
        let file = self.segment.file();
        file.write_at(&vec![0; bytes], self.at)?;
        file.sync_data()
    }
}
