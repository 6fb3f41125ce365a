//! A sealed segment, compressed: independent chunks, so that one damaged byte costs one chunk and no more.
//!
//! ```text
//! magic FF 41 6E 7A | raw_start u64 | raw_length u32 | length u32 | crc32c u32 | zstd data
//! ```
//! The checksum covers everything but itself.

use super::sessions::{number, take};
use std::cell::RefCell;
use std::io;
use zstd::bulk::Decompressor;

const MAGIC: [u8; 4] = *b"\xFFAnz";
const HEADER: usize = 24;
/// How many bytes of a segment go into a chunk.
const CHUNK: usize = 256 * 1024;
/// The largest segment that is unpacked, in bytes: what a damaged length cannot exceed.
const RAW_MAX: u64 = 1 << 30;
/// Enough for text; more costs time and saves little.
const LEVEL: i32 = 3;

/// Where a chunk lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where it begins in the unpacked segment.
    pub start: u64,
    /// How long it is, unpacked.
    pub raw: u32,
    /// Where it begins in the packed segment.
    pub at: u32,
    /// How long it is, packed.
    pub len: u32,
}

/// Packs the used part of a segment; a chunk begins at each of `cuts` (rising), and wherever one would grow too long.
pub fn pack(raw: &[u8], cuts: &[u64]) -> io::Result<(Vec<u8>, Vec<Placed>)> {
    let mut out = Vec::with_capacity(raw.len() / 2);
    let mut placed = Vec::with_capacity(cuts.len() + 1);
    let mut start = 0usize;
    let ends = cuts.iter().filter_map(|cut| usize::try_from(*cut).ok()).chain([raw.len()]);
    for end in ends {
        for chunk in raw.get(start..end).unwrap_or_default().chunks(CHUNK) {
            let at = out.len();
            write_chunk(&mut out, start as u64, chunk)?;
            let too_long = |_| io::Error::other("the packed segment is longer than 4 GiB");
            let at = u32::try_from(at).map_err(too_long)?;
            let len = u32::try_from(out.len()).map_err(too_long)? - at;
            placed.push(Placed { start: start as u64, raw: chunk.len() as u32, at, len });
            start += chunk.len();
        }
    }
    Ok((out, placed))
}

fn write_chunk(out: &mut Vec<u8>, start: u64, chunk: &[u8]) -> io::Result<()> {
    let data = zstd::bulk::compress(chunk, LEVEL)?;
    let begin = out.len();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&start.to_le_bytes());
    out.extend_from_slice(&(chunk.len() as u32).to_le_bytes());
    out.extend_from_slice(&(data.len() as u32).to_le_bytes());
    let sum = crc32c::crc32c_append(crc32c::crc32c(&out[begin..]), &data);
    out.extend_from_slice(&sum.to_le_bytes());
    out.extend_from_slice(&data);
    Ok(())
}

/// The chunk that begins at the start of `bytes`: where it goes in the unpacked segment, and what it holds.
pub fn unpack_chunk(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    chunk(bytes).map(|(start, raw, _)| (start, raw))
}

/// Unpacks what can be unpacked; the rest reads as zeros. Says where each chunk lies.
pub fn unpack(bytes: &[u8]) -> (Vec<u8>, Vec<Placed>) {
    let (mut raw, mut placed) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memmem::find(rest, &MAGIC)) {
        at += found;
        match chunk(&bytes[at..]) {
            Some((start, data, length)) => {
                let end = start + data.len();
                raw.resize(raw.len().max(end), 0);
                raw[start..end].copy_from_slice(&data);
                if let (Ok(at), Ok(len)) = (u32::try_from(at), u32::try_from(length)) {
                    placed.push(Placed { start: start as u64, raw: data.len() as u32, at, len });
                }
                at += length;
            }
            None => at += 1,
        }
    }
    (raw, placed)
}

/// The chunk at the start of `bytes`: where it goes, what it holds, how long it is packed.
fn chunk(bytes: &[u8]) -> Option<(usize, Vec<u8>, usize)> {
    let (header, body) = bytes.split_first_chunk::<HEADER>()?;
    let mut rest = header.get(4..)?;
    let start = number(&mut rest).filter(|start| *start < RAW_MAX)?;
    let raw_length = u32::from_le_bytes(take(&mut rest)?) as usize;
    let length = u32::from_le_bytes(take(&mut rest)?) as usize;
    let sum = u32::from_le_bytes(take(&mut rest)?);
    let data = body.get(..length)?;
    if raw_length > CHUNK || crc32c::crc32c_append(crc32c::crc32c(&header[..20]), data) != sum {
        return None;
    }
    let raw = decompress(data, raw_length).ok().filter(|raw| raw.len() == raw_length)?;
    Some((usize::try_from(start).ok()?, raw, HEADER + length))
}

thread_local! {
    /// Making one takes as long as unpacking some KiB.
    static UNPACKER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

fn decompress(data: &[u8], raw_length: usize) -> io::Result<Vec<u8>> {
    UNPACKER.with_borrow_mut(|kept| {
        let unpacker = match kept {
            Some(unpacker) => unpacker,
            None => kept.insert(Decompressor::new()?),
        };
        unpacker.decompress(data, raw_length)
    })
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, pack, unpack};

    fn raw() -> Vec<u8> {
        (0..CHUNK * 2 + 1000).map(|at| (at / 7 % 251) as u8).collect()
    }

    #[test]
    fn what_was_packed_is_unpacked() {
        let (packed, placed) = pack(&raw(), &[32, 100_000]).unwrap();
        assert_eq!(unpack(&packed), (raw(), placed.clone()));
        assert_eq!(placed.iter().map(|chunk| chunk.start).take(3).collect::<Vec<_>>(), [0, 32, 100_000]);
    }

    #[test]
    fn a_damaged_byte_costs_one_chunk_and_reads_as_zeros() {
        let (mut bytes, _) = pack(&raw(), &[]).unwrap();
        bytes[40] ^= 1;
        let (found, _) = unpack(&bytes);
        assert!(found[..CHUNK].iter().all(|byte| *byte == 0));
        assert_eq!(found[CHUNK..], raw()[CHUNK..]);
    }
}
