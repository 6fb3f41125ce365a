use super::super::frame::{self, Kind};
use super::super::segment;
use super::{directory, pack, run, unpack, unpack_block, unpack_chunk};
use annals_core::event::SyntheticAdded;
use annals_core::{Batch, Seq, SessionId, Text, Time};

/// Batches of two Sessions in turn, as a segment holds them; where each frame begins.
fn a_segment(batches: u64) -> (Vec<u8>, Vec<u64>) {
    let (mut raw, mut at) = (segment::header(0).to_vec(), Vec::new());
    for n in 0..batches {
        let text = Text::from(format!(
            "batch {n} of a session that says the same again and again, {}",
            "and again ".repeat(20)
        ));
        let session = SessionId([(n % 2) as u8; 16]);
        let sealed = Batch::seal(session, Seq(n / 2), Time(n), None, vec![SyntheticAdded { text }.into()]).unwrap();
        at.push(raw.len() as u64);
        frame::write(&mut raw, Kind::Batch, 0, n, &sealed.encoded);
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
