//! Entry points for fuzzing: what reads the bytes of a store's files. Each takes any bytes; it panics when a rule is broken.
//!
//! Damaged bytes rarely pass a checksum, so each entry point also reads the input with its checksums corrected.

use crate::disk::journal::frame::{self, FrameKind, Gap, GapCause, Scan};
use crate::disk::journal::packed;
use crate::disk::journal::segment_index::SegmentIndex;
use annals_core::{Seq, SessionId, codec};

/// Reads bytes as a segment of the journal, and what it found as an index.
///
/// # Panics
/// When what is found overlaps, lies outside, or makes an index that cannot be read again.
pub fn segment(bytes: &[u8]) {
    for bytes in [bytes, &corrected(bytes, &frame::MAGIC, 8, 12, frame::HEADER)] {
        let mut end = 0;
        for found in frame::scan(bytes, 0) {
            let (from, to) = match found {
                Scan::Frame(at, frame) => {
                    match frame.kind {
                        FrameKind::Batch => drop(codec::decode(frame.payload)),
                        FrameKind::Gap => {
                            let gap = Gap::decode(frame.payload);
                            assert_eq!(Gap::decode(&gap.encode()), gap, "a gap frame reads as it was written");
                        }
                    }
                    (at, at + frame.bytes.len())
                }
                Scan::Bad { from, to, .. } => (from, to),
            };
            assert!(end <= from && from < to && to <= bytes.len(), "{end} {from} {to} of {}", bytes.len());
            end = to;
        }
        frame::unchecked(bytes).for_each(|(at, payload)| assert!(at + payload.len() <= bytes.len()));
        let index = SegmentIndex::of(0, bytes, u64::MAX);
        let again = SegmentIndex::decode(0, &index.encode()).map(|again| again.encode());
        assert_eq!(again, Some(index.encode()), "an index reads as it was written");
    }
}

/// Reads bytes as a packed segment, a directory, a chunk and an index, and packs them themselves.
///
/// # Panics
/// When packing loses something, or what is unpacked exceeds its bounds.
pub fn packed(bytes: &[u8]) {
    let chunks = corrected(bytes, b"\xFFAnk", 16, 20, 24);
    let blocks = corrected_directories(&chunks);
    for bytes in [bytes, &chunks, &blocks] {
        let (raw, _) = packed::unpack(bytes);
        assert!(raw.len() <= bytes.len().saturating_mul(256), "{} out of {}", raw.len(), bytes.len());
        assert_eq!(packed::unpack_block(bytes, 10..4_000).len(), 3_990);
        let session = session_in(bytes);
        if let Some(raw) = packed::unpack_chunk(bytes, &mut Vec::new()) {
            packed::run(raw, session, Seq(1)).for_each(|frame| drop(codec::decode(frame.payload)));
        }
        drop(packed::directory(bytes));
        drop(SegmentIndex::decode(0, bytes));
        drop(SegmentIndex::decode(0, &closed(bytes)));
    }
    if let Ok((packed, _)) = packed::pack(bytes, &[]) {
        assert!(packed::unpack(&packed).0 == bytes, "what was packed is unpacked whole");
    }
}

/// The frames of these batches, each in the codec of the log: an input of [`segment`].
pub fn segment_of(batches: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (position, batch) in (0..).zip(batches) {
        frame::write(&mut out, FrameKind::Batch, 1, position, batch);
    }
    let gap = Gap { cause: GapCause::Lost, whose: None, count: 3 };
    frame::write(&mut out, FrameKind::Gap, 1, batches.len() as u64, &gap.encode());
    out
}

/// The same as a packed segment: an input of `packed`.
///
/// # Errors
/// When it is too long.
pub fn packed_of(batches: &[Vec<u8>]) -> std::io::Result<Vec<u8>> {
    let mut raw = vec![0; crate::disk::journal::segment::HEADER];
    raw.extend(segment_of(batches));
    Ok(packed::pack(&raw, &[])?.0)
}

/// Some session that may occur in the bytes.
fn session_in(bytes: &[u8]) -> SessionId {
    let found = bytes.get(32..).and_then(|rest| rest.first_chunk());
    SessionId(found.copied().unwrap_or_default())
}

/// Bytes in which the checksum behind each magic is right: a length at `length`, the checksum at `sum`, which covers all but
/// itself of `header` bytes and of what follows them.
fn corrected(bytes: &[u8], magic: &[u8], length: usize, sum: usize, header: usize) -> Vec<u8> {
    let mut out = bytes.to_vec();
    // From the end, since a checksum covers what follows it.
    let places: Vec<_> = memchr::memmem::find_iter(bytes, magic).collect();
    for at in places.into_iter().rev() {
        let Some(size) = out.get(at + length..).and_then(|rest| rest.first_chunk()) else { continue };
        let end = at + header + u32::from_le_bytes(*size) as usize;
        let Some(whole) = out.get(at..end) else { continue };
        let right = crc32c::crc32c_append(crc32c::crc32c(&whole[..sum]), &whole[sum + 4..]);
        out[at + sum..at + sum + 4].copy_from_slice(&right.to_le_bytes());
    }
    out
}

/// Bytes in which the checksums of directories are right. Their length counts the header.
fn corrected_directories(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let places: Vec<_> = memchr::memmem::find_iter(bytes, b"\xFFAnd").collect();
    for at in places.into_iter().rev() {
        let Some(size) = out.get(at + 4..).and_then(|rest| rest.first_chunk()) else { continue };
        let end = at.saturating_add(u32::from_le_bytes(*size) as usize);
        let Some(whole) = out.get(at..end).filter(|whole| whole.len() >= 12) else { continue };
        let right = crc32c::crc32c(&whole[12..]);
        out[at + 8..at + 12].copy_from_slice(&right.to_le_bytes());
    }
    out
}

/// Bytes that end in the checksum of what is before it.
fn closed(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes[..bytes.len().saturating_sub(4)].to_vec();
    out.extend_from_slice(&crc32c::crc32c(&out).to_le_bytes());
    out
}
