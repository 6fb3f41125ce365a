//! A frame: the unit of the journal and, byte for byte, of sled (`docs/reference/store.md#frames-and-segments`).
//!
//! ```text
//! magic FF 41 6E 6C | format u8 | kind u8 | in_group u16 | length u32 | crc32c u32 | position u64 | payload
//! ```
//! Numbers are little-endian; the checksum covers everything but itself. No UTF-8 text holds the byte `FF`, so a
//! reader that looks for the next frame behind a damaged one is not misled by what a user wrote.

use annals_core::batch::{RECORD_MAX, STATES_MAX};
use annals_core::{Seq, SessionId, codec};
use bytes::BufMut;

/// The first bytes of every frame.
pub const MAGIC: [u8; 4] = *b"\xFFAnl";

/// The bytes before the payload.
pub const HEADER: usize = 24;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// An encoded batch.
    Batch,
    /// A position whose batch is gone (see [`Gap`]): it keeps positions dense.
    Gap,
}

/// A frame whose checksum holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What it holds.
    pub kind: FrameKind,
    /// Which one it is in the group that was made durable together, from 0 (it stops counting at 65,535).
    pub in_group: u16,
    /// Its place in the store.
    pub position: u64,
    /// The encoded batch, or the encoded [`Gap`].
    pub payload: &'a [u8],
    /// The bytes of the frame.
    pub bytes: &'a [u8],
}

impl Frame<'_> {
    /// The position behind it: a [`Gap`] may cover many.
    pub fn next(&self) -> u64 {
        let count = match self.kind {
            FrameKind::Batch => 1,
            FrameKind::Gap => Gap::decode(self.payload).count,
        };
        self.position.saturating_add(count)
    }
}

/// Why bytes do not parse as a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// They do not begin like one.
    #[error("no frame begins here")]
    Magic,
    /// They end before the frame does.
    #[error("the frame is cut off")]
    CutOff,
    /// The checksum, or a field that the checksum covers, is wrong.
    #[error("the checksum of the frame does not match")]
    Checksum,
    /// The checksum holds, but a later version wrote it.
    #[error("the frame has format {0}; this version reads format {format}", format = codec::FORMAT)]
    Format(u8),
}

/// Writes a frame behind `out`.
pub fn write(out: &mut impl BufMut, kind: FrameKind, in_group: u16, position: u64, payload: &[u8]) {
    let mut header = [0; HEADER];
    let kind = match kind {
        FrameKind::Batch => 1,
        FrameKind::Gap => 2,
    };
    header[..4].copy_from_slice(&MAGIC);
    header[4..6].copy_from_slice(&[codec::FORMAT, kind]);
    header[6..8].copy_from_slice(&in_group.to_le_bytes());
    // Payloads are at most RECORD_MAX + STATES_MAX long, which `Batch::pack` guarantees.
    header[8..12].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[16..].copy_from_slice(&position.to_le_bytes());
    let sum = crc32c::crc32c_append(checksum(&header), payload);
    header[12..16].copy_from_slice(&sum.to_le_bytes());
    out.put_slice(&header);
    out.put_slice(payload);
}

/// The checksum of a frame of at least [`HEADER`] bytes, without its own field.
fn checksum(frame: &[u8]) -> u32 {
    let (before, rest) = frame.split_at(12);
    crc32c::crc32c_append(crc32c::crc32c(before), rest.split_at(4).1)
}

/// Reads the frame at the start of `bytes`.
///
/// # Errors
/// When there is no frame, or its checksum does not match.
pub fn parse(bytes: &[u8]) -> Result<Frame<'_>, FrameError> {
    let Some((header, _)) = bytes.split_first_chunk::<HEADER>() else {
        return Err(if bytes.starts_with(&MAGIC) { FrameError::CutOff } else { FrameError::Magic });
    };
    let [m0, m1, m2, m3, format, kind, g0, g1, l0, l1, l2, l3, c0, c1, c2, c3, position @ ..] = *header;
    if [m0, m1, m2, m3] != MAGIC {
        return Err(FrameError::Magic);
    }
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if length > RECORD_MAX + STATES_MAX {
        return Err(FrameError::Checksum);
    }
    let frame = bytes.get(..HEADER + length).ok_or(FrameError::CutOff)?;
    if checksum(frame) != u32::from_le_bytes([c0, c1, c2, c3]) {
        return Err(FrameError::Checksum);
    }
    if format != codec::FORMAT {
        return Err(FrameError::Format(format));
    }
    let kind = match kind {
        1 => FrameKind::Batch,
        2 => FrameKind::Gap,
        _ => return Err(FrameError::Checksum),
    };
    Ok(Frame {
        kind,
        in_group: u16::from_le_bytes([g0, g1]),
        position: u64::from_le_bytes(position),
        payload: &frame[HEADER..],
        bytes: frame,
    })
}

/// Why a position holds no batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapCause {
    /// A write that was never acknowledged was cut off.
    Torn,
    /// It was damaged in every copy.
    Lost,
}

/// What is written at a position whose batch is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The cause.
    pub cause: GapCause,
    /// The session of the batch and its first event, if known.
    pub whose: Option<(SessionId, Seq)>,
    /// How many positions it covers, from that of its frame on; 1 where it is known whose batch it was.
    pub count: u64,
}

impl Gap {
    /// The payload of its frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![match self.cause {
            GapCause::Torn => 1,
            GapCause::Lost => 2,
        }];
        if let Some((session, first)) = self.whose {
            out.extend_from_slice(&session.0);
            out.extend_from_slice(&first.0.to_le_bytes());
        } else if self.count > 1 {
            out.extend_from_slice(&self.count.to_le_bytes());
        }
        out
    }

    /// Reads the payload of a gap frame; an odd one reads as lost.
    pub fn decode(payload: &[u8]) -> Self {
        let cause = if payload.first() == Some(&1) { GapCause::Torn } else { GapCause::Lost };
        let whose = payload.get(1..17).zip(payload.get(17..25)).and_then(|(session, first)| {
            Some((SessionId(session.try_into().ok()?), Seq(u64::from_le_bytes(first.try_into().ok()?))))
        });
        let count = payload.get(1..).filter(|rest| rest.len() == 8).and_then(|rest| rest.try_into().ok());
        Self { cause, whose, count: count.map_or(1, u64::from_le_bytes).max(1) }
    }
}

/// Iterates over the frames in bytes that another checksum covers: the start of each, and its payload. Ends at the first
/// bytes that do not parse as a frame. Callers [`parse`] what they use.
pub fn unchecked(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (header, rest) = bytes.get(at..)?.split_first_chunk::<HEADER>()?;
        let begin = at;
        let [m0, m1, m2, m3, _, _, _, _, l0, l1, l2, l3, ..] = *header;
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        at += HEADER + length;
        ([m0, m1, m2, m3] == MAGIC).then_some((begin, rest.get(..length)?))
    })
}

/// What a scan finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan<'a> {
    /// A frame, and where it begins.
    Frame(usize, Frame<'a>),
    /// Bytes that do not parse as a frame. If no frame follows them, the range ends at the last byte that is not
    /// zero.
    Bad {
        /// Where they begin.
        from: usize,
        /// Where they end.
        to: usize,
        /// Whether a frame follows.
        followed: bool,
    },
}

/// Goes through the frames of `bytes` from `at` on, and finds the next one behind every damaged place.
pub fn scan(bytes: &[u8], mut at: usize) -> impl Iterator<Item = Scan<'_>> {
    std::iter::from_fn(move || {
        let rest = bytes.get(at..)?;
        if let Ok(frame) = parse(rest) {
            let begin = at;
            at += frame.bytes.len();
            return Some(Scan::Frame(begin, frame));
        }
        let from = at;
        if let Some(next) = next_frame(bytes, at + 1) {
            at = next;
            return Some(Scan::Bad { from, to: next, followed: true });
        }
        at = bytes.len().saturating_add(1);
        let used = without_zeros(rest);
        (used > 0).then_some(Scan::Bad { from, to: from + used, followed: false })
    })
}

/// Where the next frame begins, at `from` or later.
fn next_frame(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    memchr::memmem::find_iter(rest, &MAGIC).map(|at| from + at).find(|at| parse(&bytes[*at..]).is_ok())
}

/// The length without the zeros at the end: space that was reserved and never written.
fn without_zeros(bytes: &[u8]) -> usize {
    const ZEROS: [u8; 4096] = [0; 4096];
    let blocks = bytes.chunks(ZEROS.len()).rposition(|block| block != &ZEROS[..block.len()]);
    let Some(block) = blocks.map(|at| at * ZEROS.len()) else { return 0 };
    let end = bytes.len().min(block + ZEROS.len());
    bytes[block..end].iter().rposition(|byte| *byte != 0).map_or(block, |at| block + at + 1)
}

#[cfg(test)]
mod tests;
