//! What a packed block holds: which chunk has which Batches.

use super::super::block::View;
use super::super::sessions::{number, take};
use super::Placed;
use annals_core::{Seq, SessionId};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

const MAGIC: [u8; 4] = *b"\xFFAnd";
/// The bytes before the chunks' places.
const HEADER: usize = 36;

/// Tells for a packed block which of its chunks holds which Batches.
///
/// ```text
/// magic FF 41 6E 64 | length u32 | crc32c u32 | raw_start u64 | raw_length u32 | packed_length u32
///     | chunks u32 | sessions u32
///     | chunks x where it begins behind the directory u32
///     | sessions x (session 16 bytes, spans before its last u32)
///     | spans x (first Seq u64, chunk u16)
/// ```
/// A span is what one chunk holds of one Session. The checksum covers everything behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// Where each chunk begins in the packed block.
    chunks: Vec<u32>,
    /// Where the last one ends.
    end: u32,
    sessions: BTreeMap<SessionId, Vec<(Seq, u16)>>,
}

impl Directory {
    /// A Batch goes into a chunk.
    pub(super) fn add(&mut self, session: SessionId, first: Seq, chunk: usize) {
        let Ok(chunk) = u16::try_from(chunk) else { return };
        let spans = self.sessions.entry(session).or_default();
        if spans.last().is_none_or(|(_, last)| *last != chunk) {
            spans.push((first, chunk));
        }
    }

    /// The next chunk begins `at` bytes behind the directory.
    pub(super) fn begin_chunk(&mut self, at: usize) {
        self.chunks.push(at as u32);
    }

    /// Writes the directory of a block, whose chunks take `packed` bytes.
    pub(super) fn write(&self, out: &mut Vec<u8>, raw: Range<usize>, packed: usize) {
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

    /// The directory at the start of `bytes`, and where its block lies as far as it tells.
    pub(super) fn parse(bytes: &[u8]) -> Option<(Self, Placed)> {
        let mut rest = bytes.strip_prefix(&MAGIC)?;
        let mut next = || take(&mut rest).map(u32::from_le_bytes);
        let (length, sum) = (next()?, next()?);
        let whole = bytes.get(..length as usize).filter(|whole| whole.len() >= HEADER)?;
        if crc32c::crc32c(&whole[12..]) != sum {
            return None;
        }
        let mut rest = &whole[12..];
        let start = number(&mut rest)?;
        let mut next = || take(&mut rest).map(u32::from_le_bytes);
        let (raw, packed, chunks, sessions) = (next()?, next()?, next()?, next()?);
        let at = |at: u32| length.checked_add(at);
        let mut directory = Self { end: at(packed)?, ..Self::default() };
        for _ in 0..chunks {
            directory.chunks.push(at(u32::from_le_bytes(take(&mut rest)?))?);
        }
        let mut before = 0;
        let mut counts = Vec::new();
        for _ in 0..sessions {
            let session = SessionId(take(&mut rest)?);
            let behind = u32::from_le_bytes(take(&mut rest)?);
            counts.push((session, behind.checked_sub(before)?));
            before = behind;
        }
        for (session, count) in counts {
            let mut span = || Some((Seq(number(&mut rest)?), u16::from_le_bytes(take(&mut rest)?)));
            let spans = (0..count).map(|_| span()).collect::<Option<Vec<_>>>()?;
            directory.sessions.insert(session, spans);
        }
        Some((directory, Placed { start, raw, at: 0, len: length.checked_add(packed)? }))
    }

    /// Where the blocks of a packed segment lie, as their directories tell.
    pub(super) fn places(bytes: &[u8]) -> Vec<Placed> {
        let found = memchr::memmem::find_iter(bytes, &MAGIC);
        let told = found.filter_map(|at| {
            let (_, placed) = Self::parse(&bytes[at..])?;
            Some(Placed { at: u32::try_from(at).ok()?, ..placed })
        });
        told.collect()
    }

    /// Where in the packed block the chunk lies that holds `seq` of a Session, if any does.
    pub fn chunk_of(&self, session: SessionId, seq: Seq) -> Option<Range<u32>> {
        let spans = self.sessions.get(&session)?;
        let behind = spans.partition_point(|(first, _)| *first <= seq);
        let (_, chunk) = spans.get(behind.checked_sub(1)?)?;
        let chunk = usize::from(*chunk);
        let end = self.chunks.get(chunk + 1).copied().unwrap_or(self.end);
        Some(*self.chunks.get(chunk)?..end).filter(|range| !range.is_empty())
    }

    /// About how many bytes it takes in memory.
    fn weight(&self) -> usize {
        let spans: usize = self.sessions.values().map(|spans| 64 + spans.len() * 16).sum();
        64 + self.chunks.len() * 4 + spans
    }
}

/// The directories that were read last.
#[derive(Debug)]
pub struct Directories {
    held: Mutex<Held>,
    /// About how many bytes they may take.
    room: usize,
}

#[derive(Debug, Default)]
struct Held {
    directories: HashMap<(u64, u32), Arc<Directory>>,
    weight: usize,
}

impl Directories {
    /// Room for so many bytes.
    pub fn new(room: u64) -> Self {
        Self { held: Mutex::default(), room: usize::try_from(room).unwrap_or(usize::MAX) }
    }

    /// The directory of a block; `None` when it is damaged.
    pub fn get(&self, view: &View, number: u32) -> io::Result<Option<Arc<Directory>>> {
        let key = (view.outline.id, number);
        let lock = || self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = lock().directories.get(&key) {
            return Ok(Some(found.clone()));
        }
        let Some(directory) = view.directory(number)?.map(Arc::new) else { return Ok(None) };
        let mut held = lock();
        if held.weight + directory.weight() > self.room {
            // Who reads all over a long log fills it again soon.
            *held = Held::default();
        }
        held.weight += directory.weight();
        held.directories.insert(key, directory.clone());
        Ok(Some(directory))
    }
}
