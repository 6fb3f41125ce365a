//! The journal: every batch in the order of the store, in segment files. It is the copy that acknowledges
//! (`docs/reference/store.md#frames-and-segments`).
//!
//! States of a segment, and what a crash at each numbered step leaves:
//!
//! ```text
//! reserve ──1──► reserved.new ──2──► N.seg, header ──3──► N.seg grows ──4──► N.seg sealed ──5──► N.idx, N.pack ──6──► N.pack
//! (sealer)      (zeros, flushed)    (renamed, folder      (frames, one       (N' > N begun)     (written, verified)   (N.seg
//!                                    flushed)              flush per group)                                            removed)
//!
//! 1  nothing, or `reserved.new`: removed at the next opening
//! 2  `reserved.new` with a header: removed, nothing was acknowledged in it
//! 3  a segment without frames: writing resumes in it
//! 4  the end of the last group is missing or incomplete: it was not acknowledged; `recovery` writes a gap (torn)
//!    after a *failed* write: N.seg is never written to again, and N' begins at the first position of the failed group, so
//!    frames of N.seg from there on are outside its range and ignored
//! 5  N.seg is still there and is the one that is read; packing starts again
//! 6  both forms: the raw one is read, until packing starts again and removes it
//! ```
//!
//! - [`frame`]: one batch with its checksum; [`segment`]: a file of frames; [`packed`]: the compressed form of a sealed one.
//! - [`segment_index`]: which blocks of a segment hold which session; [`session_locator`]: which segments hold a session.
//! - [`block`]: blocks in memory, bounded, read from either form.

pub(in crate::disk) mod block;
pub(in crate::disk) mod frame;
pub(in crate::disk) mod packed;
pub(in crate::disk) mod segment;
pub(in crate::disk) mod segment_index;
pub(in crate::disk) mod session_locator;

use crate::disk::folder::files::{Access, Disk, DiskFile, write_whole};
use crate::store_id::StoreId;
use annals_core::{Batch, Seq, SessionId};
use block::{BlockCache, LoadedBlock, SegmentView};
use frame::Scan;
use packed::DirectoryCache;
use segment::Segment;
use segment_index::{BlockSpan, IndexedBlock, SegmentIndex};
use session_locator::{SealedSegment, SessionLocator};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
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
    /// The store that new segments belong to.
    store: StoreId,
    segments: RwLock<Vec<Arc<Segment>>>,
    /// The position behind the last batch that was acknowledged: what follows may be half written.
    durable_end: AtomicU64,
    /// Blocks in memory.
    blocks: BlockCache,
    /// Directories of packed blocks in memory.
    directories: DirectoryCache,
    /// Which segments hold which session.
    locator: SessionLocator,
    /// Held while a segment is packed.
    packing: Mutex<()>,
    /// A file with this many reserved bytes, created ahead of time.
    reserved: Mutex<Option<(Arc<dyn DiskFile>, u64)>>,
}

/// A Batch that was read, and its place in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredBatch {
    /// The batch.
    pub batch: Arc<Batch>,
    /// Its place.
    pub position: u64,
}

impl Journal {
    /// A journal of these segments, whose last batch is before position `next`; readers may keep `room` bytes of it
    /// in memory.
    pub fn new(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        store: StoreId,
        segments: Vec<Arc<Segment>>,
        next: u64,
        room: u64,
    ) -> Self {
        Self {
            disk,
            dir,
            store,
            segments: RwLock::new(segments),
            durable_end: AtomicU64::new(next),
            blocks: BlockCache::new(room),
            directories: DirectoryCache::new(room / 2),
            locator: SessionLocator::default(),
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

    /// The segment that grows; `None` when the newest one is packed, or there is none.
    pub fn growing(&self) -> Option<Arc<Segment>> {
        let segments = self.segments.read().unwrap_or_else(PoisonError::into_inner);
        segments.last().filter(|segment| !segment.is_packed()).cloned()
    }

    fn push(&self, segment: Arc<Segment>) {
        let mut segments = self.segments.write().unwrap_or_else(PoisonError::into_inner);
        // A segment that was begun, and in which nothing was acknowledged, is replaced under the same name.
        segments.retain(|other| other.first < segment.first);
        segments.push(segment);
    }

    /// Everything before `next` is durable and may be read.
    pub fn set_durable_end(&self, next: u64) {
        self.durable_end.fetch_max(next, Ordering::Release);
    }

    /// How far the growing segment may be read; asked before that is looked up. Else a segment that was sealed in between
    /// would be read beyond its end, where a failed write may have left whole frames that count for nothing.
    fn durable_end(&self) -> u64 {
        self.durable_end.load(Ordering::Acquire)
    }

    /// What a segment holds below `until`, and how it is read.
    fn view(&self, segment: &Segment, until: u64) -> io::Result<SegmentView> {
        segment.view(&*self.disk, &self.dir, until)
    }

    /// The block of a view, from memory or from its file.
    pub fn block(&self, view: &SegmentView, number: usize) -> io::Result<Arc<LoadedBlock>> {
        self.blocks.get(view, number)
    }

    /// Whether a block is in memory.
    pub fn is_loaded(&self, view: &SegmentView, number: usize) -> bool {
        self.blocks.holds(view, number)
    }

    /// The segment of a position, if the journal goes that far.
    pub fn at(&self, position: u64) -> io::Result<Option<SegmentView>> {
        let (durable_end, segments) = (self.durable_end(), self.segments());
        let holds = segments.iter().rev().find(|(segment, end)| segment.first <= position && position < *end);
        let until = |end: u64| if end == u64::MAX { durable_end } else { end };
        holds.map(|(segment, end)| self.view(segment, until(*end))).transpose()
    }

    /// The position behind the segment of a position; `u64::MAX` in the growing one.
    pub fn end_of(&self, position: u64) -> u64 {
        let segments = self.segments();
        segments.iter().rev().find(|(segment, _)| segment.first <= position).map_or(u64::MAX, |(_, end)| *end)
    }

    /// The segment that holds `seq` of a session's own log, if the journal knows of any.
    pub fn holding(&self, session: SessionId, seq: Seq) -> io::Result<Option<SegmentView>> {
        if let Some((segment, end)) = self.locator.known(session, seq) {
            return self.view(&segment, end).map(Some);
        }
        let durable_end = self.durable_end();
        let growing = self.segments.read().unwrap_or_else(PoisonError::into_inner).last().cloned();
        let Some(growing) = growing else { return Ok(None) };
        let view = self.view(&growing, durable_end)?;
        if let Some(part) = view.index.sessions.get(&session).filter(|part| part.from() <= seq) {
            return Ok((seq < part.to).then_some(view));
        }
        let part = |(segment, end): &SealedSegment| {
            let view = self.view(segment, *end)?;
            Ok(view.index.sessions.get(&session).map(|part| (part.from(), part.to)))
        };
        let found = self.locator.holding((session, seq), growing.first, |from, to| self.sealed(from, to), part)?;
        found.map(|(segment, end)| self.view(&segment, end)).transpose()
    }

    /// The segments from one position to another, of those that grow no more.
    fn sealed(&self, from: u64, to: u64) -> Vec<SealedSegment> {
        let sealed = self.segments().into_iter().filter(|(_, end)| *end != u64::MAX);
        sealed.filter(|(segment, end)| segment.first >= from && *end <= to).collect()
    }

    /// Gives up to `limit` Batches of a session from the one that holds `seq` on, out of one chunk of a packed segment; none
    /// when they are damaged. False when the segment is not packed, or the chunk can only be searched.
    pub fn few(&self, session: SessionId, seq: Seq, limit: usize, out: &mut Vec<StoredBatch>) -> io::Result<bool> {
        // As long as nothing was sealed there is nothing to look for.
        if self.segments.read().unwrap_or_else(PoisonError::into_inner).len() < 2 {
            return Ok(false);
        }
        let Some(view) = self.holding(session, seq)?.filter(|view| view.packed) else { return Ok(false) };
        let spans = view.index.sessions.get(&session).map_or(&[][..], |part| part.spans_from(seq));
        let placed =
            |span: &&BlockSpan| view.index.blocks.get(span.block as usize).is_some_and(IndexedBlock::is_placed);
        let Some(span) = spans.first().filter(placed) else { return Ok(false) };
        view.few(&self.directories, span.block, (session, seq), limit, out)?;
        Ok(true)
    }

    /// Searches the batch of a session's own log that holds `seq`; gives the bytes of its frame.
    pub fn find(&self, session: SessionId, seq: Seq) -> io::Result<Option<Vec<u8>>> {
        let Some(view) = self.holding(session, seq)? else { return Ok(None) };
        let spans = view.index.sessions.get(&session).map_or(&[][..], |part| part.spans_from(seq));
        let Some(span) = spans.first() else { return Ok(None) };
        let block = self.block(&view, span.block as usize)?;
        Ok(block.frame(session, seq).map(<[u8]>::to_vec))
    }

    /// Begins the segment of position `first`: reserved, its header durable. What older segments hold from there on
    /// counts no more.
    pub fn begin(&self, first: u64, bytes: u64) -> io::Result<SegmentWriter> {
        let path = segment::raw_path(&self.dir, first);
        // Held until the name is given: the next reserved file gets the same one.
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, bytes) = match reserved.take().filter(|(_, room)| *room >= bytes) {
            Some(ready) => ready,
            None => (self.room(bytes)?, bytes),
        };
        file.write_at(&segment::header(first, self.store), 0)?;
        file.sync_data()?;
        self.disk.rename(&self.dir.join(RESERVED), &path)?;
        drop(reserved);
        self.disk.sync_dir(&self.dir)?;
        let segment = Arc::new(Segment::new(first, false, path, file));
        self.push(segment.clone());
        let mut writer = SegmentWriter::resume(segment, segment::HEADER as u64, bytes);
        if first > 0 {
            writer.zeros_ahead = AHEAD_MAX;
        }
        Ok(writer)
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
        let file = self.disk.open(&self.dir.join(RESERVED), Access::Create)?;
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
            if let Scan::Frame(at, frame) = found
                && frame.position == next
                && next < end
            {
                (used, next) = (at + frame.bytes.len(), frame.next());
            }
        }
        // Damage is for recovery to mend, which sets the damaged file aside: it is not packed over.
        if next != end || !segment.header_holds(&raw) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the segment is damaged and was not packed"));
        }
        let used = &raw[..used.min(raw.len())];
        let mut index = SegmentIndex::of(segment.first, used, end);
        let cuts: Vec<u64> = index.blocks.iter().skip(1).map(|block| u64::from(block.at)).collect();
        let (packed, places) = packed::pack(used, &cuts)?;
        let (unpacked, found) = packed::unpack(&packed);
        if unpacked != used || found != places {
            return Err(io::Error::other("the packed segment does not unpack to the original"));
        }
        index.set_places(&places);
        write_whole(&*self.disk, &segment::index_path(&self.dir, segment.first), &index.encode())?;
        let path = segment::packed_path(&self.dir, segment.first);
        write_whole(&*self.disk, &path, &packed)?;
        let raw_path = segment.path();
        segment.replace(true, path.clone(), self.disk.open(&path, Access::Read)?, Some(Arc::new(index)));
        self.disk.remove(&raw_path)?;
        self.disk.sync_dir(&self.dir)
    }
}

/// Where the journal grows.
#[derive(Debug)]
pub struct SegmentWriter {
    segment: Arc<Segment>,
    at: u64,
    room: u64,
    /// Up to here the file was written to, if only zeros.
    zeroed_until: u64,
    /// How much of it is filled with zeros the next time.
    zeros_ahead: usize,
}

/// The most of a segment that is filled with zeros at a time, before frames are written there. It takes some 4 ms, and the
/// next groups the half of what they take otherwise: more makes the one who waits for it wait longer, less makes more
/// of them wait (groups of 8 KiB: one of 250).
const AHEAD_MAX: usize = 2 * 1024 * 1024;

/// How much it is in the first segment at first: who writes little pays little, and never more than as much again as was written.
const FIRST_AHEAD: usize = 64 * 1024;

/// The largest group for which that is worth while: what a larger one writes twice takes longer than it saves.
const SMALL: usize = 128 * 1024;

impl SegmentWriter {
    /// Continues in a segment whose frames end at `at`.
    pub fn resume(segment: Arc<Segment>, at: u64, room: u64) -> Self {
        Self { segment, at, room, zeroed_until: at, zeros_ahead: FIRST_AHEAD }
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
    /// Then nothing of them may be counted on: the caller begins another segment, or calls [`SegmentWriter::erase`].
    pub fn write(&mut self, frames: &[u8]) -> io::Result<()> {
        let file = self.segment.file();
        file.write_at(frames, self.at)?;
        let end = self.at + frames.len() as u64;
        // Space that is reserved only makes each flush one of the file system's own journal as well; space that was
        // written to does not. So the flush of one small group makes that of the next ones cheap.
        if end > self.zeroed_until {
            self.zeroed_until = end;
            if frames.len() <= SMALL {
                let zeros_ahead = self.room.saturating_sub(end).min(self.zeros_ahead as u64) as usize;
                file.write_at(&vec![0; zeros_ahead], end)?;
                self.zeroed_until += zeros_ahead as u64;
                self.zeros_ahead = AHEAD_MAX.min(self.zeros_ahead * 2);
            }
        }
        file.sync_data()?;
        if !file.is_linked()? {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the segment that grows was removed"));
        }
        self.at = end;
        Ok(())
    }

    /// Overwrites what a failed [`SegmentWriter::write`] may have left.
    pub fn erase(&self, bytes: usize) -> io::Result<()> {
        let file = self.segment.file();
        file.write_at(&vec![0; bytes], self.at)?;
        file.sync_data()
    }
}
