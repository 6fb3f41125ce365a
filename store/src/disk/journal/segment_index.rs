//! The index of a segment of the journal: its blocks, and which of them hold which session.

use super::frame::{self, FrameKind, Scan};
use super::segment::HEADER;
use crate::disk::sessions::{checked, number, take};
use annals_core::{Seq, SessionId, codec};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most bytes of a block, unless one frame is longer: what is read, unpacked and kept in memory at a time.
pub const BLOCK: usize = 256 * 1024;

/// A run of whole frames in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedBlock {
    /// The position of its first frame.
    pub first: u64,
    /// Where it begins in the unpacked segment.
    pub at: u32,
    /// How long it is, unpacked.
    pub len: u32,
    /// Its place and length in the packed segment, directory included; (0, 0) when that is not known.
    pub packed: (u32, u32),
}

impl IndexedBlock {
    /// Whether its place in the packed segment is known: not when its directory and the index are both damaged.
    pub fn is_placed(&self) -> bool {
        self.packed != (0, 0)
    }
}

/// A block that holds something of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSpan {
    /// The first Seq of the session in it.
    pub from: Seq,
    /// Which block of the segment.
    pub block: u32,
    /// How many batches of the session it holds.
    pub batches: u32,
}

/// What a segment holds of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPart {
    /// The Seq behind the last.
    pub to: Seq,
    /// The blocks, in order; not empty.
    pub spans: Vec<BlockSpan>,
}

impl SessionPart {
    /// The first Seq.
    pub fn from(&self) -> Seq {
        self.spans.first().map_or(self.to, |span| span.from)
    }

    /// The span that holds `seq` if any does, and those behind it.
    pub fn spans_from(&self, seq: Seq) -> &[BlockSpan] {
        let behind = self.spans.partition_point(|span| span.from <= seq);
        self.spans.get(behind.saturating_sub(1)..).unwrap_or_default()
    }
}

/// What a segment holds, so that a reader opens few blocks of few segments.
#[derive(Clone, Debug)]
pub struct SegmentIndex {
    /// Identifies an index in a cache; never written to a file.
    pub id: u64,
    /// How far it was asked to go: frames from this position on are not in it.
    pub until: u64,
    /// The position after the last frame in it.
    pub end: u64,
    /// Where that frame ends in the unpacked segment.
    pub used: u64,
    /// In order.
    pub blocks: Vec<IndexedBlock>,
    /// For each session what is in the segment.
    pub sessions: BTreeMap<SessionId, SessionPart>,
}

const MAGIC: [u8; 8] = *b"\xFFAnoutl2";

static IDS: AtomicU64 = AtomicU64::new(0);

impl SegmentIndex {
    /// The index of a segment of which nothing was read.
    pub fn new(first: u64) -> Self {
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let (blocks, sessions) = (Vec::new(), BTreeMap::new());
        Self { id, until: first, end: first, used: HEADER as u64, blocks, sessions }
    }

    /// The index of a whole unpacked segment, of the positions below `until`.
    pub fn of(first: u64, bytes: &[u8], until: u64) -> Self {
        let mut index = Self::new(first);
        index.extend(bytes.get(HEADER..).unwrap_or_default(), until);
        index.until = until;
        index
    }

    /// Adds the frames of `bytes`, which follow the indexed part of the segment. Returns whether there were any.
    pub fn extend(&mut self, bytes: &[u8], until: u64) -> bool {
        let (begin, before) = (self.used, self.end);
        for found in frame::scan(bytes, 0) {
            let Scan::Frame(at, frame) = found else { continue };
            if frame.position >= until {
                break;
            }
            // What a failed write left behind counts for nothing.
            if frame.position < self.end {
                continue;
            }
            self.push(begin + at as u64, &frame);
        }
        self.end > before
    }

    fn push(&mut self, at: u64, frame: &frame::Frame<'_>) {
        let end = at + frame.bytes.len() as u64;
        // The segment's header is packed with the first.
        let fits = |block: &&mut IndexedBlock| end - u64::from(block.at) <= (BLOCK - HEADER) as u64;
        match self.blocks.last_mut().filter(fits) {
            Some(block) => block.len = (end - u64::from(block.at)) as u32,
            None => {
                // A segment is reserved whole, and far below 4 GiB: anything beyond is left to the other copy.
                let (Ok(at), Ok(len)) = (u32::try_from(at), u32::try_from(frame.bytes.len())) else { return };
                self.blocks.push(IndexedBlock { first: frame.position, at, len, packed: (0, 0) });
            }
        }
        (self.end, self.used) = (frame.next(), end);
        if frame.kind != FrameKind::Batch {
            return;
        }
        let Ok(header) = codec::decode_header(frame.payload) else { return };
        let block = self.blocks.len() as u32 - 1;
        let span = BlockSpan { from: header.first, block, batches: 1 };
        match self.sessions.get_mut(&header.session) {
            None => drop(self.sessions.insert(header.session, SessionPart { to: header.next(), spans: vec![span] })),
            // Seqs rise within a session; one that does not is found in the other copy.
            Some(part) if header.first < part.to => {}
            Some(part) => {
                part.to = header.next();
                match part.spans.last_mut().filter(|last| last.block == block) {
                    Some(last) => last.batches += 1,
                    None => part.spans.push(span),
                }
            }
        }
    }

    /// The number of the block that holds a position, if any does.
    pub fn block_of(&self, position: u64) -> Option<usize> {
        let behind = self.blocks.partition_point(|block| block.first <= position);
        behind.checked_sub(1).filter(|_| position < self.end)
    }

    /// Sets the place of each block in the packed segment.
    pub fn set_places(&mut self, places: &[super::packed::BlockPlace]) {
        for block in &mut self.blocks {
            let (from, to) = (u64::from(block.at), u64::from(block.at) + u64::from(block.len));
            let holds = places.iter().find(|place| place.start <= from && to <= place.start + u64::from(place.raw));
            block.packed = holds.map_or((0, 0), |place| (place.at, place.len));
        }
    }

    /// The bytes of its file.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let mut number = |number: u64| out.extend_from_slice(&number.to_le_bytes());
        number(self.until);
        number(self.end);
        number(self.used);
        number(self.blocks.len() as u64);
        for IndexedBlock { first, at, len, packed } in &self.blocks {
            number(*first);
            number(u64::from(*at) | u64::from(*len) << 32);
            number(u64::from(packed.0) | u64::from(packed.1) << 32);
        }
        for (session, part) in &self.sessions {
            out.extend_from_slice(&session.0);
            out.extend_from_slice(&part.to.0.to_le_bytes());
            out.extend_from_slice(&(part.spans.len() as u64).to_le_bytes());
            for BlockSpan { from, block, batches } in &part.spans {
                out.extend_from_slice(&from.0.to_le_bytes());
                out.extend_from_slice(&block.to_le_bytes());
                out.extend_from_slice(&batches.to_le_bytes());
            }
        }
        out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
        out
    }

    /// Reads an index; `None` when it is damaged, or was written by another version.
    pub fn decode(first: u64, bytes: &[u8]) -> Option<Self> {
        let mut rest = checked(bytes)?.strip_prefix(&MAGIC)?;
        let mut index = Self::new(first);
        index.until = number(&mut rest)?;
        index.end = number(&mut rest)?;
        index.used = number(&mut rest)?;
        let halves = |both: u64| (both as u32, (both >> 32) as u32);
        for _ in 0..number(&mut rest)? {
            let first = number(&mut rest)?;
            let (at, len) = halves(number(&mut rest)?);
            let packed = halves(number(&mut rest)?);
            // Memory is made for so much when it is read.
            if len as usize > BLOCK || packed.1 as usize > super::packed::BLOCK_MAX {
                return None;
            }
            index.blocks.push(IndexedBlock { first, at, len, packed });
        }
        while !rest.is_empty() {
            let session = SessionId(take(&mut rest)?);
            let mut part = SessionPart { to: Seq(number(&mut rest)?), spans: Vec::new() };
            for _ in 0..number(&mut rest)? {
                let from = Seq(number(&mut rest)?);
                let (block, batches) = halves(number(&mut rest)?);
                part.spans.push(BlockSpan { from, block, batches });
            }
            index.sessions.insert(session, part);
        }
        Some(index)
    }
}
