//! A record of sled: a frame of the journal, compressed when that makes it smaller. sled's file takes more than twice what
//! is put into it, so every byte that a record saves is saved there twice.
//!
//! ```text
//! 01 | length of the frame u32 | LZ4 block        or the frame itself, which begins with FF
//! ```
//! The frame's own checksum covers what was unpacked; a record that does not unpack is damaged like any other.

use crate::disk::journal::frame::HEADER;
use annals_core::batch::{RECORD_MAX, STATES_MAX};
use lz4_flex::block;
use std::borrow::Cow;

const PACKED: u8 = 1;
const PREFIX: usize = 5;

/// The record of a frame.
pub fn of(frame: &[u8]) -> Cow<'_, [u8]> {
    let mut out = vec![0; PREFIX + block::get_maximum_output_size(frame.len())];
    out[0] = PACKED;
    out[1..PREFIX].copy_from_slice(&(frame.len() as u32).to_le_bytes());
    match block::compress_into(frame, &mut out[PREFIX..]) {
        Ok(length) if PREFIX + length < frame.len() => {
            out.truncate(PREFIX + length);
            Cow::Owned(out)
        }
        _ => Cow::Borrowed(frame),
    }
}

/// The frame of a record, put into `room` if it was compressed. A damaged record gives bytes that do not parse as a
/// frame.
pub fn frame<'a>(record: &'a [u8], room: &'a mut Vec<u8>) -> &'a [u8] {
    let Some((&[PACKED, l0, l1, l2, l3], packed)) = record.split_first_chunk::<PREFIX>() else { return record };
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if length > HEADER + RECORD_MAX + STATES_MAX {
        return &[];
    }
    room.resize(length, 0);
    match block::decompress_into(packed, room) {
        Ok(unpacked) if unpacked == length => room,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::{HEADER, PREFIX, RECORD_MAX};
    use crate::disk::journal::frame::{self, FrameKind};

    fn a_frame(payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        frame::write(&mut out, FrameKind::Batch, 0, 7, payload);
        out
    }

    #[test]
    fn a_record_gives_back_the_frame_that_it_was_made_of() {
        let mut state = 1u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(2000)
        .collect();
        for payload in [&b""[..], b"short", &b"again and ".repeat(70), &noise, &[b'x'; RECORD_MAX]] {
            let frame = a_frame(payload);
            let record = super::of(&frame);
            assert!(record.len() <= frame.len(), "a record is never longer than its frame");
            assert_eq!(super::frame(&record, &mut Vec::new()), frame);
        }
        assert!(super::of(&a_frame(&b"again and ".repeat(70))).len() < 150);
        assert_eq!(super::of(&a_frame(&noise)).len(), HEADER + noise.len());
    }

    #[test]
    fn no_damage_of_a_record_makes_another_frame_of_it_or_a_panic() {
        let frame = a_frame(&b"again and again, ".repeat(40));
        let record = super::of(&frame).into_owned();
        for at in 0..record.len() {
            for bit in 0..8 {
                let mut damaged = record.clone();
                damaged[at] ^= 1 << bit;
                let mut room = Vec::new();
                let found = frame::parse(super::frame(&damaged, &mut room));
                assert!(found.is_err() || found.is_ok_and(|found| found.bytes == frame), "byte {at}, bit {bit}");
            }
            let mut room = Vec::new();
            assert!(frame::parse(super::frame(&record[..at], &mut room)).is_err(), "cut off at {at}");
        }
        let mut huge = record;
        huge[1..PREFIX].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(super::frame(&huge, &mut Vec::new()).is_empty(), "no room is made for a damaged length");
    }
}
