use super::super::frame::{self, FrameKind};
use super::super::segment;
use super::{BLOCK_MAX, CHUNK_MAX, checksum, directory, pack, run, unpack, unpack_block, unpack_chunk};
use crate::conformance::material::KEY;
use crate::store_id::StoreId;
use annals_core::event::SyntheticAdded;
use annals_core::{Batch, NoBlobs, Seq, SessionId, Text, Time};

/// Batches of two sessions in turn, as a segment holds them; where each frame begins.
fn a_segment(batches: u64) -> (Vec<u8>, Vec<u64>) {
    let (mut raw, mut at) = (segment::header(0, StoreId([7; 16])).to_vec(), Vec::new());
    for n in 0..batches {
        let text = Text::from(format!(
            "batch {n} of a session that says the same again and again, {}",
            "and again ".repeat(20)
        ));
        let session = SessionId([(n % 2) as u8; 16]);
        let events = vec![SyntheticAdded { text }.into()];
        let sealed = Batch::seal(&KEY, &NoBlobs, session, Seq(n / 2), Time(n), None, events).unwrap();
        at.push(raw.len() as u64);
        frame::write(&mut raw, FrameKind::Batch, 0, n, &sealed.encoded);
    }
    (raw, at)
}

#[test]
fn what_was_packed_is_unpacked_whole_and_block_by_block() {
    let (raw, frames) = a_segment(200);
    let cuts = [frames[70], frames[150]];
    let (packed, placed) = pack(&raw, &cuts).unwrap();
    assert!(packed.len() < raw.len() / 2, "{} of {}", packed.len(), raw.len());
    assert_eq!(unpack(&packed), (raw.clone(), placed.clone()));
    assert_eq!(placed.iter().map(|block| block.start).collect::<Vec<_>>(), [0, cuts[0], cuts[1]]);
    for block in &placed {
        let part = block.start as usize..block.start as usize + block.raw as usize;
        // The segment's header is in no block.
        let part = part.start.max(segment::HEADER)..part.end;
        let bytes = &packed[block.at as usize..(block.at + block.len) as usize];
        assert_eq!(unpack_block(bytes, part.clone()), raw[part]);
    }
}

#[test]
fn a_directory_leads_to_the_chunk_of_each_batch() {
    let (raw, frames) = a_segment(100);
    let (packed, placed) = pack(&raw, &frames[50..51]).unwrap();
    for (number, block) in placed.iter().enumerate() {
        let bytes = &packed[block.at as usize..(block.at + block.len) as usize];
        let directory = directory(bytes).unwrap();
        for n in 0..100u64 {
            let (session, seq) = (SessionId([(n % 2) as u8; 16]), Seq(n / 2));
            let within = (n >= 50) == (number == 1);
            let chunk = directory.chunk_of(session, seq);
            let mut room = Vec::new();
            let raw = chunk.and_then(|(at, len)| unpack_chunk(&bytes[at as usize..(at + len) as usize], &mut room));
            let found = raw.and_then(|raw| run(raw, session, seq).next());
            assert_eq!(found.map(|frame| frame.position), within.then_some(n), "batch {n} in block {number}");
        }
    }
}

#[test]
fn a_damaged_byte_costs_one_chunk_and_reads_as_zeros() {
    let (raw, _) = a_segment(60);
    let (packed, placed) = pack(&raw, &[]).unwrap();
    let directory_ends = packed.windows(4).position(|four| four == super::MAGIC).unwrap();
    for at in (0..packed.len()).step_by(37) {
        let mut bytes = packed.clone();
        bytes[at] ^= 0x10;
        let (mut found, blocks) = unpack(&bytes);
        found.resize(raw.len(), 0);
        let lost = found.iter().zip(&raw).filter(|(found, raw)| found != raw).count();
        assert!(lost <= super::CHUNK, "{lost} bytes are lost by one at {at}");
        assert!(found.iter().zip(&raw).all(|(found, raw)| found == raw || *found == 0), "no byte is another one");
        assert_eq!(blocks == placed, at >= directory_ends, "a damaged directory is not believed");
        assert_eq!(directory(&bytes).is_some(), at >= directory_ends);
    }
}

/// What a damaged or a malicious length may be.
fn lengths(of: usize) -> [u32; 7] {
    [0, 1, of as u32 - 1, of as u32 + 1, 0x0100_0000, 0x7FFF_FFFF, u32::MAX]
}

#[test]
fn no_length_in_a_directory_is_believed_beyond_what_a_block_can_have_even_when_its_checksum_holds() {
    let (raw, _) = a_segment(60);
    let (packed, _) = pack(&raw, &[]).unwrap();
    let whole = packed.windows(4).position(|four| four == super::MAGIC).unwrap();
    // Every short number in it, aligned or not: its own length, those of its block, of its lists, places, spans.
    for at in (4..8).step_by(4).chain(12..whole - 4) {
        for length in lengths(whole) {
            let mut bytes = packed.clone();
            bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
            let end = u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
            let sum = crc32c::crc32c(bytes.get(12..end).unwrap_or_default());
            bytes[8..12].copy_from_slice(&sum.to_le_bytes());
            let (found, _) = unpack(&bytes);
            assert_eq!(found, raw, "the chunks tell for themselves");
            let Some(directory) = directory(&bytes) else { continue };
            for n in 0..60u64 {
                let chunk = directory.chunk_of(SessionId([(n % 2) as u8; 16]), Seq(n / 2));
                assert!(chunk.is_none_or(|(at, len)| at as usize + len as usize <= BLOCK_MAX), "byte {at}: {chunk:?}");
            }
        }
    }
}

#[test]
fn no_length_in_a_chunk_is_believed_beyond_what_it_can_have_even_when_its_checksum_holds() {
    let (raw, _) = a_segment(60);
    let (packed, _) = pack(&raw, &[]).unwrap();
    let begin = packed.windows(4).position(|four| four == super::MAGIC).unwrap();
    let end = begin + 4 + packed[begin + 4..].windows(4).position(|four| four == super::MAGIC).unwrap();
    // Where it goes, its length unpacked, its length packed.
    for at in [4, 8, 12, 16] {
        for length in lengths(end - begin) {
            let mut bytes = packed.clone();
            bytes[begin + at..begin + at + 4].copy_from_slice(&length.to_le_bytes());
            let size = u32::from_le_bytes(bytes[begin + 16..begin + 20].try_into().unwrap()) as usize;
            let whole = bytes.get(begin..begin.saturating_add(super::HEADER + size)).unwrap_or(&packed[begin..end]);
            let sum = checksum(whole);
            bytes[begin + 20..begin + 24].copy_from_slice(&sum.to_le_bytes());
            let (found, _) = unpack(&bytes);
            assert!(found.len() <= bytes.len() * 256, "{} bytes of {} at {at}", found.len(), bytes.len());
            let mut room = Vec::new();
            let chunk = unpack_chunk(&bytes[begin..], &mut room).map(<[u8]>::len);
            assert!(chunk.is_none_or(|length| length <= CHUNK_MAX) && room.len() <= CHUNK_MAX);
            assert_eq!(unpack_block(&bytes, 32..raw.len()).len(), raw.len() - 32);
        }
    }
}

#[test]
fn no_length_in_an_outline_is_believed_beyond_what_a_block_can_have_even_when_its_checksum_holds() {
    use super::super::segment_index::SegmentIndex;
    let (raw, _) = a_segment(60);
    let (_, places) = pack(&raw, &[]).unwrap();
    let mut index = SegmentIndex::of(0, &raw, 60);
    index.set_places(&places);
    let decoded = |index: &SegmentIndex| SegmentIndex::decode(0, &index.encode()).map(|index| index.blocks);
    assert_eq!(decoded(&index).as_ref(), Some(&index.blocks));
    let mut long = index.clone();
    long.blocks[0].len = u32::MAX;
    assert_eq!(decoded(&long), None, "made anew from the segment");
    index.blocks[0].packed.1 = u32::MAX;
    assert_eq!(decoded(&index), None, "made anew from the segment");
}
