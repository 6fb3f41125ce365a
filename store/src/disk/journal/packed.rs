//! A sealed segment, compressed: blocks, each a directory and then chunks of a few whole frames. A chunk is independent of
//! the others, so that one damaged byte costs one chunk, and a reader of one batch reads and unpacks one chunk.
//!
//! ```text
//! chunk: magic FF 41 6E 6B | raw_start u64 | raw_length u32 | length u32 | crc32c u32 | LZ4 block, or as it is
//! ```
//! The checksum covers everything but itself; what LZ4 does not make shorter is stored as it is. For the directory see
//! [`BlockDirectory`].

mod directory;

pub use directory::{BlockDirectory, DirectoryCache};

use super::frame::{self, FrameKind, Scan};
use super::segment;
use crate::disk::sessions::{number, take};
use annals_core::{Seq, SessionId, codec};
use directory::DirectoryContents;
use lz4_flex::block;
use std::io;
use std::ops::Range;

const MAGIC: [u8; 4] = *b"\xFFAnk";
const HEADER: usize = 24;
/// How many bytes of frames go into a chunk, unless one frame is longer. Larger chunks take less disk and more time to
/// read one batch.
const CHUNK: usize = 2 * 1024;
/// The longest chunk that is unpacked, in bytes: what a damaged length cannot exceed. (A block and one more frame.)
const CHUNK_MAX: usize = 512 * 1024;
/// The longest packed block that is read, in bytes, and the longest directory: what a damaged length cannot exceed.
pub const BLOCK_MAX: usize = 1024 * 1024;
/// The largest segment that is unpacked, in bytes.
const RAW_MAX: u64 = 1 << 30;

/// The place of a packed block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPlace {
    /// Where it begins in the unpacked segment.
    pub start: u64,
    /// How long it is, unpacked.
    pub raw: u32,
    /// Where it begins in the packed segment: with its directory.
    pub at: u32,
    /// How long it is, packed.
    pub len: u32,
}

/// Packs the used part of a segment; a block begins at each of `cuts` (rising), where a frame begins.
pub fn pack(raw: &[u8], cuts: &[u64]) -> io::Result<(Vec<u8>, Vec<BlockPlace>)> {
    let mut out = Vec::with_capacity(raw.len() / 2);
    let mut placed = Vec::with_capacity(cuts.len() + 1);
    let mut start = 0usize;
    let ends = cuts.iter().filter_map(|cut| usize::try_from(*cut).ok()).chain([raw.len()]);
    for end in ends {
        let at = out.len();
        write_block(&mut out, raw, start..end);
        let too_long = |_| io::Error::other("the packed segment is longer than 4 GiB");
        let at = u32::try_from(at).map_err(too_long)?;
        let len = u32::try_from(out.len()).map_err(too_long)? - at;
        placed.push(BlockPlace { start: start as u64, raw: (end - start) as u32, at, len });
        start = end;
    }
    Ok((out, placed))
}

fn write_block(out: &mut Vec<u8>, raw: &[u8], range: Range<usize>) {
    let (mut cuts, mut contents, mut chunks) = (vec![range.start], DirectoryContents::default(), Vec::new());
    let within = raw.get(..range.end).unwrap_or_default();
    for found in frame::scan(within, range.start.max(segment::HEADER)) {
        let Scan::Frame(at, frame) = found else { continue };
        let begun = cuts.last().copied().unwrap_or(range.start);
        if at > begun && at + frame.bytes.len() - begun > CHUNK {
            cuts.push(at);
        }
        if frame.kind == FrameKind::Batch
            && let Ok(header) = codec::decode_header(frame.payload)
        {
            contents.add(header.session, header.first, cuts.len() - 1);
        }
    }
    cuts.push(range.end);
    for cut in cuts.windows(2) {
        contents.chunks.push(chunks.len() as u32);
        write_chunk(&mut chunks, cut[0] as u64, within.get(cut[0]..cut[1]).unwrap_or_default());
    }
    contents.write(out, range, chunks.len());
    out.extend_from_slice(&chunks);
}

fn write_chunk(out: &mut Vec<u8>, start: u64, chunk: &[u8]) {
    let begin = out.len();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&start.to_le_bytes());
    out.extend_from_slice(&(chunk.len() as u32).to_le_bytes());
    out.resize(begin + HEADER + block::get_maximum_output_size(chunk.len()), 0);
    let length = match block::compress_into(chunk, &mut out[begin + HEADER..]) {
        Ok(length) if length < chunk.len() => length,
        _ => {
            out[begin + HEADER..begin + HEADER + chunk.len()].copy_from_slice(chunk);
            chunk.len()
        }
    };
    out.truncate(begin + HEADER + length);
    out[begin + 16..begin + 20].copy_from_slice(&(length as u32).to_le_bytes());
    let sum = checksum(&out[begin..]);
    out[begin + 20..begin + HEADER].copy_from_slice(&sum.to_le_bytes());
}

/// The checksum of a chunk, of at least [`HEADER`] bytes, without its own field.
fn checksum(chunk: &[u8]) -> u32 {
    let (header, data) = chunk.split_at(HEADER);
    crc32c::crc32c_append(crc32c::crc32c(&header[..HEADER - 4]), data)
}

/// A chunk whose checksum holds.
struct Chunk<'a> {
    /// Where it goes in the unpacked segment.
    raw: Range<usize>,
    data: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// The chunk at the start of `bytes`.
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let header = bytes.get(..HEADER)?;
        let mut rest = header.strip_prefix(&MAGIC)?;
        let start = number(&mut rest).filter(|start| *start < RAW_MAX)? as usize;
        let raw_length = u32::from_le_bytes(take(&mut rest)?) as usize;
        let length = u32::from_le_bytes(take(&mut rest)?) as usize;
        let sum = u32::from_le_bytes(take(&mut rest)?);
        // Checked before the checksum: many false chunks must not cost a checksum of megabytes each.
        if raw_length > CHUNK_MAX || length > raw_length {
            return None;
        }
        let whole = bytes.get(..HEADER + length)?;
        (checksum(whole) == sum).then(|| Self { raw: start..start + raw_length, data: &whole[HEADER..] })
    }

    /// How long it is, packed.
    fn len(&self) -> usize {
        HEADER + self.data.len()
    }

    /// Unpacks it into `out`, which has its length. Gives whether that could be done.
    fn unpack(&self, out: &mut [u8]) -> bool {
        if self.data.len() == out.len() {
            out.copy_from_slice(self.data);
            return true;
        }
        block::decompress_into(self.data, out).is_ok_and(|length| length == out.len())
    }
}

/// The chunks in `bytes`, in order; other bytes are skipped.
fn chunks(bytes: &[u8]) -> impl Iterator<Item = Chunk<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = bytes.get(at..)?;
            if let Some(chunk) = Chunk::parse(rest) {
                at += chunk.len();
                return Some(chunk);
            }
            at += 1 + memchr::memmem::find(rest.get(1..)?, &MAGIC)?;
        }
    })
}

/// The frames of the chunk at the start of `bytes`, put into `room`.
pub fn unpack_chunk<'a>(bytes: &[u8], room: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    let chunk = Chunk::parse(bytes)?;
    room.resize(room.len().max(chunk.raw.len()), 0);
    let raw = &mut room[..chunk.raw.len()];
    // The segment's own header is in its first chunk.
    let skip = if chunk.raw.start == 0 { segment::HEADER } else { 0 };
    chunk.unpack(raw).then_some(raw)?.get(skip..)
}

/// A part of a segment, out of the packed block that holds it. What is damaged reads as zeros.
pub fn unpack_block(bytes: &[u8], part: Range<usize>) -> Vec<u8> {
    let mut out = vec![0; part.len()];
    for chunk in chunks(bytes) {
        let (from, to) = (chunk.raw.start.max(part.start), chunk.raw.end.min(part.end));
        let place = from.checked_sub(part.start).zip(to.checked_sub(part.start));
        let Some(place) = place.and_then(|(from, to)| out.get_mut(from..to)) else { continue };
        if place.len() == chunk.raw.len() {
            if !chunk.unpack(place) {
                place.fill(0);
            }
        } else {
            // The segment's own header is in its first chunk, and in no block.
            let mut raw = vec![0; chunk.raw.len()];
            if chunk.unpack(&mut raw) {
                let skip = from - chunk.raw.start;
                place.copy_from_slice(&raw[skip..skip + place.len()]);
            }
        }
    }
    out
}

/// Unpacks what can be unpacked; the rest reads as zeros. Gives the place of each block whose directory is whole.
pub fn unpack(bytes: &[u8]) -> (Vec<u8>, Vec<BlockPlace>) {
    let mut raw = Vec::new();
    // LZ4 makes nothing shorter than that: who says otherwise gets no room for it.
    let longest = bytes.len().saturating_mul(256);
    for chunk in chunks(bytes).filter(|chunk| chunk.raw.end <= longest) {
        raw.resize(raw.len().max(chunk.raw.end), 0);
        let place = &mut raw[chunk.raw];
        if !(Chunk { raw: 0..place.len(), data: chunk.data }).unpack(place) {
            place.fill(0);
        }
    }
    (raw, BlockDirectory::places(bytes))
}

/// Unpacks the first chunk of a segment, which begins with its header.
pub fn start(bytes: &[u8]) -> Option<Vec<u8>> {
    let chunk = chunks(bytes).next().filter(|chunk| chunk.raw.start == 0)?;
    let mut raw = vec![0; chunk.raw.len()];
    chunk.unpack(&mut raw).then_some(raw)
}

/// Reads the directory at the start of a packed block.
pub fn directory(block: &[u8]) -> Option<BlockDirectory> {
    BlockDirectory::parse(block).map(|(directory, _)| directory)
}

/// The batches of a session in an unpacked chunk, from the one that holds `seq` on, as far as they follow each other.
pub fn run(raw: &[u8], session: SessionId, mut seq: Seq) -> impl Iterator<Item = frame::Frame<'_>> {
    let own = frame::unchecked(raw).filter_map(move |(at, payload)| {
        let (of, first) = codec::place(payload)?;
        (of == session).then_some((first, at))
    });
    let mut own = own.peekable();
    let mut begin = None;
    while let Some((_, at)) = own.next_if(|(first, _)| *first <= seq) {
        begin = Some(at);
    }
    begin.into_iter().chain(own.map(|(_, at)| at)).map_while(move |at| {
        let frame = frame::parse(raw.get(at..)?).ok().filter(|frame| frame.kind == FrameKind::Batch)?;
        let header = codec::decode_header(frame.payload).ok()?;
        let holds = header.first <= seq && seq < header.next();
        seq = header.next();
        holds.then_some(frame)
    })
}

#[cfg(test)]
mod tests;
