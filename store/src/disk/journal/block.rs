//! Blocks of the journal in memory: read, unpacked, checked, and kept while they are likely to be read again.

use super::StoredBatch;
use super::frame::{self, FrameKind, Scan};
use super::packed::{self, BlockDirectory, DirectoryCache};
use super::segment_index::{IndexedBlock, SegmentIndex};
use crate::disk::folder::files::{DiskFile, read_file};
use annals_core::{Seq, SessionId, codec};
use std::cell::RefCell;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// A segment as it can be read at one moment: it stays readable when the segment is packed meanwhile.
#[derive(Clone, Debug)]
pub struct SegmentView {
    /// What it holds.
    pub index: Arc<SegmentIndex>,
    /// Its file.
    pub file: Arc<dyn DiskFile>,
    /// Whether that is packed.
    pub packed: bool,
}

/// A block that was read.
#[derive(Debug)]
pub struct LoadedBlock {
    /// Zeros where it could not be unpacked.
    bytes: Vec<u8>,
    /// Made by the first thread that needs it, so that reading ahead and searching it run at the same time.
    index: OnceLock<FrameIndex>,
}

/// The frames of a block whose checksums hold.
#[derive(Debug, Default)]
struct FrameIndex {
    /// By position.
    places: Vec<IndexedFrame>,
    /// The batches among them, by session and Seq.
    order: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct IndexedFrame {
    position: u64,
    /// The position behind it.
    until: u64,
    session: SessionId,
    first: Seq,
    next: Seq,
    frame: (u32, u32),
}

/// How many bytes the index takes for each frame.
const INDEXED: usize = size_of::<IndexedFrame>() + size_of::<u32>();

impl SegmentView {
    fn read(&self, number: usize) -> io::Result<LoadedBlock> {
        let Some(block) = self.index.blocks.get(number).copied() else { return Ok(LoadedBlock::of(Vec::new())) };
        let IndexedBlock { at, len, packed: place, .. } = block;
        let (at, len) = (at as usize, len as usize);
        if !self.packed {
            return Ok(LoadedBlock::of(read(&*self.file, at as u64, len)?));
        }
        // Each chunk says where it belongs, so chunks are found without a directory as well.
        let bytes = match block.is_placed() {
            true => read(&*self.file, u64::from(place.0), place.1 as usize)?,
            false => read_file(&*self.file)?,
        };
        Ok(LoadedBlock::of(packed::unpack_block(&bytes, at..at + len)))
    }

    /// How many frames a block holds at most.
    fn frames_in(&self, number: usize) -> usize {
        let SegmentIndex { blocks, end, .. } = &*self.index;
        let (first, len) = blocks.get(number).map_or((*end, 0), |block| (block.first, block.len as usize));
        let behind = blocks.get(number + 1).map_or(*end, |next| next.first);
        // One frame may keep many positions whose batches are gone.
        usize::try_from(behind.saturating_sub(first)).unwrap_or(usize::MAX).min(len / frame::HEADER)
    }

    /// The directory of a packed block; `None` when it is damaged.
    pub fn directory(&self, number: u32) -> io::Result<Option<BlockDirectory>> {
        let Some(IndexedBlock { packed: (at, len), .. }) = self.index.blocks.get(number as usize).copied() else {
            return Ok(None);
        };
        // Mostly the whole of it: it is a small part of its block.
        let bytes = read(&*self.file, u64::from(at), (len as usize).min(DIRECTORY))?;
        if let Some(directory) = packed::directory(&bytes) {
            return Ok(Some(directory));
        }
        Ok(packed::directory(&read(&*self.file, u64::from(at), len as usize)?))
    }

    /// Returns up to `limit` batches of a session, from the one that contains `seq` on, that are in the same chunk of a packed
    /// block: for readers that need a few batches, not the whole block. `None` when they are damaged.
    pub fn few(
        &self,
        directories: &DirectoryCache,
        number: u32,
        (session, seq): (SessionId, Seq),
        limit: usize,
        out: &mut Vec<StoredBatch>,
    ) -> io::Result<()> {
        let Some(directory) = directories.get(self, number)? else { return Ok(()) };
        let block = self.index.blocks.get(number as usize).map_or(0, |block| block.packed.0);
        let Some((at, len)) = directory.chunk_of(session, seq) else { return Ok(()) };
        ROOM.with_borrow_mut(|(packed, raw)| {
            packed.resize(packed.len().max(len as usize), 0);
            let read = self.file.read_at(&mut packed[..len as usize], u64::from(block) + u64::from(at))?;
            if let Some(raw) = packed::unpack_chunk(&packed[..read], raw) {
                let decoded = packed::run(raw, session, seq).take(limit).map_while(|frame| {
                    let batch = codec::decode(frame.payload).ok()?;
                    Some(StoredBatch { batch: Arc::new(batch), position: frame.position })
                });
                out.extend(decoded);
            }
            Ok(())
        })
    }
}

thread_local! {
    /// Where a chunk is read and unpacked.
    static ROOM: RefCell<(Vec<u8>, Vec<u8>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

/// How many bytes of a packed block are read to find its directory.
const DIRECTORY: usize = 8 * 1024;

fn read(file: &dyn DiskFile, at: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let read = file.read_at(&mut bytes, at)?;
    bytes.truncate(read);
    Ok(bytes)
}

impl LoadedBlock {
    fn of(bytes: Vec<u8>) -> Self {
        Self { bytes, index: OnceLock::new() }
    }

    fn index(&self) -> &FrameIndex {
        self.index.get_or_init(|| {
            let mut index = FrameIndex::default();
            for found in frame::scan(&self.bytes, 0) {
                let Scan::Frame(at, frame) = found else { continue };
                if index.places.last().is_some_and(|last| frame.position < last.until) {
                    continue;
                }
                let header = match frame.kind {
                    FrameKind::Batch => codec::decode_header(frame.payload).ok(),
                    FrameKind::Gap => None,
                };
                if header.is_some() {
                    index.order.push(index.places.len() as u32);
                }
                let (session, first, next) =
                    header.map_or((SessionId([0; 16]), Seq::ZERO, Seq::ZERO), |h| (h.session, h.first, h.next()));
                let frame_at = (at as u32, (at + frame.bytes.len()) as u32);
                let (position, until) = (frame.position, frame.next());
                index.places.push(IndexedFrame { position, until, session, first, next, frame: frame_at });
            }
            let FrameIndex { places, order } = &mut index;
            let key = |at: &u32| places.get(*at as usize).map(|place| (place.session, place.first));
            if !order.is_sorted_by_key(key) {
                order.sort_unstable_by_key(key);
            }
            index
        })
    }

    fn bytes_of(&self, place: &IndexedFrame) -> Option<&[u8]> {
        self.bytes.get(place.frame.0 as usize..place.frame.1 as usize)
    }

    /// Decoding needs no second look at the checksum: these bytes did not leave the memory since.
    fn decode(&self, place: &IndexedFrame) -> Option<StoredBatch> {
        let batch = codec::decode(self.bytes_of(place)?.get(frame::HEADER..)?).ok()?;
        Some(StoredBatch { batch: Arc::new(batch), position: place.position })
    }

    /// The index in the order of the batch of a session that holds `seq`.
    fn holding(&self, session: SessionId, seq: Seq) -> Option<usize> {
        let FrameIndex { places, order } = self.index();
        let place = |at: &u32| places.get(*at as usize);
        let behind = order.partition_point(|at| place(at).is_some_and(|p| (p.session, p.first) <= (session, seq)));
        let at = behind.checked_sub(1)?;
        let found = place(order.get(at)?)?;
        (found.session == session && seq < found.next).then_some(at)
    }

    /// The frame of the batch of a session that holds `seq`.
    pub fn frame(&self, session: SessionId, seq: Seq) -> Option<&[u8]> {
        let at = self.holding(session, seq)?;
        let FrameIndex { places, order } = self.index();
        self.bytes_of(places.get(*order.get(at)? as usize)?)
    }

    /// Up to `limit` Batches of a session from the one that holds `seq` on, as far as they follow each other.
    pub fn run(&self, session: SessionId, mut seq: Seq, limit: usize, out: &mut Vec<StoredBatch>) {
        let Some(at) = self.holding(session, seq) else { return };
        let FrameIndex { places, order } = self.index();
        let run = order.get(at..).unwrap_or_default().iter().filter_map(|at| places.get(*at as usize));
        for place in run.take(limit) {
            if place.session != session || !(place.first <= seq && seq < place.next) {
                return;
            }
            let Some(stored) = self.decode(place) else { return };
            seq = place.next;
            out.push(stored);
        }
    }

    /// The frames of the batches at some positions, each with its place in its session.
    pub fn frames(&self, positions: std::ops::Range<u64>) -> impl Iterator<Item = ((SessionId, Seq), &[u8])> {
        let batches = self.index().places.iter();
        // A gap has no Seqs.
        let batches = batches.filter(move |place| place.next > place.first && positions.contains(&place.position));
        batches.filter_map(|place| Some(((place.session, place.first), self.bytes_of(place)?)))
    }

    fn covering(&self, position: u64) -> Option<&IndexedFrame> {
        let places = &self.index().places;
        let behind = places.partition_point(|place| place.position <= position);
        places.get(behind.checked_sub(1)?).filter(|place| position < place.until)
    }

    /// The position behind the whole frame that covers a position, if one does.
    pub fn chunk_end(&self, position: u64) -> Option<u64> {
        self.covering(position).map(|place| place.until)
    }

    /// The batch at a position, if one is there, and the position behind its frame; `None` when the frame is damaged.
    pub fn at(&self, position: u64) -> Option<(Option<StoredBatch>, u64)> {
        let place = self.covering(position)?;
        Some((self.decode(place), place.until))
    }
}

/// Which block: its index, its number in it, its length (that of the last block of a growing segment grows).
type BlockKey = (u64, u32, u32);

/// The blocks in memory, the ones used last first to stay.
#[derive(Debug)]
pub struct BlockCache {
    cached: Mutex<CachedBlocks>,
    loaded: Condvar,
    /// How many bytes they may take.
    room: usize,
}

#[derive(Debug, Default)]
struct CachedBlocks {
    slots: Vec<CachedBlock>,
    clock: u64,
    bytes: usize,
}

#[derive(Debug)]
struct CachedBlock {
    key: BlockKey,
    /// `None` while it is read.
    block: Option<Arc<LoadedBlock>>,
    /// How many bytes it takes with its index, made or not.
    bytes: usize,
    used: u64,
}

impl BlockCache {
    /// A cache of `room` bytes; the block that was read last is always kept.
    pub fn new(room: u64) -> Self {
        Self { cached: Mutex::default(), loaded: Condvar::new(), room: usize::try_from(room).unwrap_or(usize::MAX) }
    }

    fn lock(&self) -> MutexGuard<'_, CachedBlocks> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(view: &SegmentView, number: usize) -> BlockKey {
        let len = view.index.blocks.get(number).map_or(0, |block| block.len);
        (view.index.id, number as u32, len)
    }

    /// Whether a block is in memory or on its way there.
    pub fn holds(&self, view: &SegmentView, number: usize) -> bool {
        let key = Self::key(view, number);
        self.lock().slots.iter().any(|slot| slot.key == key)
    }

    /// A block, from memory or read now.
    pub fn get(&self, view: &SegmentView, number: usize) -> io::Result<Arc<LoadedBlock>> {
        let key = Self::key(view, number);
        let mut cached = self.lock();
        loop {
            cached.clock += 1;
            let now = cached.clock;
            match cached.slots.iter_mut().find(|slot| slot.key == key) {
                Some(CachedBlock { block: Some(block), used, .. }) => {
                    *used = now;
                    return Ok(block.clone());
                }
                Some(_) => cached = self.loaded.wait(cached).unwrap_or_else(PoisonError::into_inner),
                None => {
                    cached.slots.push(CachedBlock { key, block: None, bytes: 0, used: now });
                    break;
                }
            }
        }
        drop(cached);
        // Dropped on every path, so that no reader waits for a block that is not being read.
        let reading = LoadingBlock { blocks: self, key };
        let block = Arc::new(view.read(number)?);
        reading.done(block.clone(), block.bytes.len().saturating_add(view.frames_in(number).saturating_mul(INDEXED)));
        Ok(block)
    }
}

struct LoadingBlock<'a> {
    blocks: &'a BlockCache,
    key: BlockKey,
}

impl LoadingBlock<'_> {
    fn done(&self, block: Arc<LoadedBlock>, bytes: usize) {
        let mut cached = self.blocks.lock();
        cached.bytes += bytes;
        if let Some(slot) = cached.slots.iter_mut().find(|slot| slot.key == self.key) {
            (slot.block, slot.bytes) = (Some(block), bytes);
        }
        while cached.bytes > self.blocks.room {
            let ready =
                cached.slots.iter().enumerate().filter(|(_, slot)| slot.block.is_some() && slot.key != self.key);
            let Some((oldest, _)) = ready.min_by_key(|(_, slot)| slot.used) else { break };
            let gone = cached.slots.swap_remove(oldest);
            cached.bytes -= gone.bytes;
        }
    }
}

impl Drop for LoadingBlock<'_> {
    fn drop(&mut self) {
        self.blocks.lock().slots.retain(|slot| slot.key != self.key || slot.block.is_some());
        self.blocks.loaded.notify_all();
    }
}
