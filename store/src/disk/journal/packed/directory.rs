//! What a packed block holds: which chunk has which batches.

use super::super::block::SegmentView;
use super::{BLOCK_MAX, BlockPlace};
use crate::disk::sessions::{number, take};
use annals_core::{Seq, SessionId};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

const MAGIC: [u8; 4] = *b"\xFFAnd";
/// The bytes before the chunks' places.
const HEADER: usize = 36;

/// What a directory is made from.
#[derive(Clone, Debug, Default)]
pub struct DirectoryContents {
    /// Where each chunk begins behind the directory.
    pub chunks: Vec<u32>,
    /// For each session the chunks that hold something of it, each with the first Seq.
    pub sessions: BTreeMap<SessionId, Vec<(Seq, u16)>>,
}

/// The directory of a packed block: which chunk contains which batches.
///
/// ```text
/// magic FF 41 6E 64 | length u32 | crc32c u32 | raw_start u64 | raw_length u32 | packed_length u32
///     | chunks u32 | sessions u32
///     | chunks x where it begins behind the directory u32
///     | sessions x (session 16 bytes, spans before its last u32)
///     | spans x (first Seq u64, chunk u16)
/// ```
/// A span is what one chunk holds of one session. The checksum covers everything behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockDirectory {
    /// Sorted; each with its first Seq and its spans.
    sessions: Vec<(SessionId, Seq, Range<u32>)>,
    /// For each span how far its first event is after that of its session.
    firsts: Vec<u32>,
    /// For each span the place of its chunk in the packed block.
    places: Vec<(u32, u32)>,
}

impl DirectoryContents {
    /// A Batch goes into a chunk.
    pub fn add(&mut self, session: SessionId, first: Seq, chunk: usize) {
        let Ok(chunk) = u16::try_from(chunk) else { return };
        let spans = self.sessions.entry(session).or_default();
        // Seqs rise within a session; one that does not is found in the other copy.
        if spans.last().is_none_or(|(before, last)| *last != chunk && first > *before) {
            spans.push((first, chunk));
        }
    }

    /// Writes the directory of a block, whose chunks take `packed` bytes.
    pub fn write(&self, out: &mut Vec<u8>, raw: Range<usize>, packed: usize) {
        let begin = out.len();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&(raw.start as u64).to_le_bytes());
        for number in [raw.len(), packed, self.chunks.len(), self.sessions.len()] {
            out.extend_from_slice(&(number as u32).to_le_bytes());
        }
        self.chunks.iter().for_each(|at| out.extend_from_slice(&at.to_le_bytes()));
        let mut spans = 0u32;
        for (session, its) in &self.sessions {
            spans += its.len() as u32;
            out.extend_from_slice(&session.0);
            out.extend_from_slice(&spans.to_le_bytes());
        }
        for (first, chunk) in self.sessions.values().flatten() {
            out.extend_from_slice(&first.0.to_le_bytes());
            out.extend_from_slice(&chunk.to_le_bytes());
        }
        let length = (out.len() - begin) as u32;
        out[begin + 4..begin + 8].copy_from_slice(&length.to_le_bytes());
        let sum = crc32c::crc32c(&out[begin + 12..]);
        out[begin + 8..begin + 12].copy_from_slice(&sum.to_le_bytes());
    }
}

impl BlockDirectory {
    /// The directory at the start of `bytes`, and the place of its block as far as it says.
    pub(in crate::disk) fn parse(bytes: &[u8]) -> Option<(Self, BlockPlace)> {
        let mut rest = bytes.strip_prefix(&MAGIC)?;
        let (length, sum) = (short(&mut rest)?, short(&mut rest)?);
        let size = Some(length as usize).filter(|length| (HEADER..=BLOCK_MAX).contains(length))?;
        let whole = bytes.get(..size)?;
        if crc32c::crc32c(&whole[12..]) != sum {
            return None;
        }
        let mut rest = &whole[12..];
        let start = number(&mut rest)?;
        let (raw, packed) = (short(&mut rest)?, short(&mut rest)?);
        let (chunks, sessions) = (short(&mut rest)?, short(&mut rest)?);
        let len = length.checked_add(packed).filter(|len| *len as usize <= BLOCK_MAX)?;
        let begins = (0..chunks).map(|_| short(&mut rest)?.checked_add(length));
        let begins: Vec<u32> = begins.chain([Some(len)]).collect::<Option<_>>()?;
        let mut directory = Self::default();
        let mut before = 0;
        for _ in 0..sessions {
            let (session, behind) = (SessionId(take(&mut rest)?), short(&mut rest)?);
            directory.sessions.push((session, Seq::ZERO, before..behind));
            before = behind;
        }
        for (_, base, spans) in &mut directory.sessions {
            for span in spans.clone() {
                let first = Seq(number(&mut rest)?);
                if span == spans.start {
                    *base = first;
                }
                let chunk = usize::from(u16::from_le_bytes(take(&mut rest)?));
                let (at, end) = (*begins.get(chunk)?, *begins.get(chunk + 1)?);
                directory.firsts.push(u32::try_from(first.0.checked_sub(base.0)?).ok()?);
                directory.places.push((at, end.min(len).checked_sub(at)?));
            }
        }
        Some((directory, BlockPlace { start, raw, at: 0, len }))
    }

    /// The places of the blocks of a packed segment, from their directories.
    pub(in crate::disk) fn places(bytes: &[u8]) -> Vec<BlockPlace> {
        let found = memchr::memmem::find_iter(bytes, &MAGIC);
        let places = found.filter_map(|at| {
            let (_, placed) = Self::parse(&bytes[at..])?;
            Some(BlockPlace { at: u32::try_from(at).ok()?, ..placed })
        });
        places.collect()
    }

    /// Where in the packed block the chunk begins that holds `seq` of a session, if any does, and how long it is.
    pub fn chunk_of(&self, session: SessionId, seq: Seq) -> Option<(u32, u32)> {
        let at = self.sessions.binary_search_by_key(&session, |(session, ..)| *session).ok()?;
        let (_, base, spans) = self.sessions.get(at)?;
        let behind = u32::try_from(seq.0.checked_sub(base.0)?).unwrap_or(u32::MAX);
        let spans = spans.start as usize..spans.end as usize;
        let before = self.firsts.get(spans.clone())?.partition_point(|first| *first <= behind);
        self.places.get(spans)?.get(before.checked_sub(1)?).copied()
    }

    /// About how many bytes it takes in memory.
    fn weight(&self) -> usize {
        128 + self.sessions.len() * 32 + self.firsts.len() * 12
    }
}

/// The next short number.
fn short(rest: &mut &[u8]) -> Option<u32> {
    take(rest).map(u32::from_le_bytes)
}

/// The directories that were read last.
#[derive(Debug)]
pub struct DirectoryCache {
    cached: Mutex<CachedDirectories>,
    /// About how many bytes they may take.
    room: usize,
}

#[derive(Debug, Default)]
struct CachedDirectories {
    directories: HashMap<(u64, u32), Arc<BlockDirectory>>,
    weight: usize,
}

impl DirectoryCache {
    /// A cache of `room` bytes.
    pub fn new(room: u64) -> Self {
        Self { cached: Mutex::default(), room: usize::try_from(room).unwrap_or(usize::MAX) }
    }

    /// The directory of a block; `None` when it is damaged.
    pub fn get(&self, view: &SegmentView, number: u32) -> io::Result<Option<Arc<BlockDirectory>>> {
        let key = (view.index.id, number);
        let lock = || self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().directories.get(&key) {
            return Ok(Some(found.clone()));
        }
        let Some(directory) = view.directory(number)?.map(Arc::new) else { return Ok(None) };
        let mut cached = lock();
        if cached.weight + directory.weight() > self.room {
            // Reads all over a long log fill it again soon.
            *cached = CachedDirectories::default();
        }
        cached.weight += directory.weight();
        cached.directories.insert(key, directory.clone());
        Ok(Some(directory))
    }
}
