use super::{decode, decode_header, encode, place};
use crate::batch::Batch;
use crate::commitment::SessionKey;
use crate::digest::Digest;
use crate::event::samples::{samples, variants};
use crate::event::{DecodeError, Event};
use crate::id::SessionId;
use crate::seq::Seq;
use crate::text::Blobs;
use crate::time::Time;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use proptest::prelude::*;

/// What stands before the events, field by field: 16 + 8 + 8 + 32 + 1 + 32 + 8 bytes.
const HEADER: usize = 105;

const KEY: SessionKey = SessionKey([0x0f; 32]);

/// A store that has another text for every hash.
struct Anything;

impl Blobs for Anything {
    fn text(&self, hash: &Digest) -> Option<String> {
        Some(hash.to_string())
    }
}

fn batch(mut events: Vec<Event>) -> Batch {
    events.iter_mut().for_each(|event| event.set_key(KEY));
    let (session, prev) = (SessionId([7; 16]), Some(Digest([0xab; 32])));
    Batch::seal(&KEY, &Anything, session, Seq(41), Time(1_780_488_000_000), prev, events).unwrap().batch
}

#[test]
fn a_batch_reads_back_from_its_codec_form() {
    for events in [samples(), samples().into_iter().take(1).collect()] {
        let whole = batch(events);
        assert_eq!(decode(&encode(&whole).unwrap()).unwrap(), whole);
        let first = Batch { prev: None, ..whole };
        assert_eq!(decode(&encode(&first).unwrap()).unwrap(), first);
    }
}

#[test]
fn the_layout_of_an_encoded_batch_is_pinned() {
    let event = Event::from(crate::event::InputPromoted { input: "in-1".into() });
    let (session, prev) = (SessionId([1; 16]), Some(Digest([4; 32])));
    let sealed = Batch::seal(&KEY, &Anything, session, Seq(2), Time(3), prev, alloc::vec![event]).unwrap();
    let mut expected = Vec::new();
    expected.extend([1; 16]);
    expected.extend([2, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([3, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend(sealed.batch.digest.0);
    expected.push(1);
    expected.extend([4; 32]);
    expected.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([11, 0]);
    expected.extend([12, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([4, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend(b"in-1");
    assert_eq!(sealed.encoded, expected);
    assert_eq!(super::FORMAT, 1);
}

#[test]
fn a_header_reads_without_the_events_behind_it() {
    let whole = batch(samples());
    let mut bytes = encode(&whole).unwrap();
    bytes.truncate(HEADER);
    let header = decode_header(&bytes).unwrap();
    assert_eq!(place(&bytes), Some((header.session, header.first)));
    assert_eq!(place(&bytes[..23]), None);
    assert_eq!((header.session, header.first, header.at), (whole.session, whole.first, whole.at));
    assert_eq!((header.digest, header.prev, header.count), (whole.digest, whole.prev, whole.events.len() as u64));
    assert_eq!(header.next(), whole.next());
    for until in 0..HEADER {
        assert!(decode_header(&bytes[..until]).is_err(), "{until}");
    }
}

#[test]
fn an_unknown_kind_is_an_error_that_names_its_number() {
    let mut bytes = encode(&batch(samples())).unwrap();
    bytes[HEADER..HEADER + 2].copy_from_slice(&999_u16.to_le_bytes());
    assert_eq!(decode(&bytes), Err(DecodeError::UnknownKind(999)));
    assert_eq!(DecodeError::UnknownKind(999).to_string(), "unknown event kind 999");
}

#[test]
fn a_batch_that_is_cut_off_anywhere_is_an_error() {
    let bytes = encode(&batch(samples())).unwrap();
    for until in 0..bytes.len() {
        assert!(matches!(decode(&bytes[..until]), Err(DecodeError::Malformed { .. })), "{until}");
    }
}

#[test]
fn bytes_left_over_and_batches_without_events_are_errors() {
    let whole = batch(samples().into_iter().take(1).collect());
    let mut bytes = encode(&whole).unwrap();
    bytes.push(0);
    assert_eq!(decode(&bytes).unwrap_err().to_string(), "malformed payload of batch: 1 bytes left over");
    let empty = encode(&Batch { events: Vec::new(), ..whole }).unwrap();
    assert_eq!(decode(&empty).unwrap_err().to_string(), "malformed payload of batch: no events");
}

#[test]
fn a_count_or_a_length_beyond_the_bytes_is_an_error_and_takes_no_memory() {
    let bytes = encode(&batch(samples())).unwrap();
    for at in [HEADER - 8, HEADER + 2] {
        for number in [u64::MAX, u64::MAX / 2, 1 << 40] {
            let mut damaged = bytes.clone();
            damaged[at..at + 8].copy_from_slice(&number.to_le_bytes());
            assert!(matches!(decode(&damaged), Err(DecodeError::Malformed { .. })));
        }
    }
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(prop::sample::select(variants()), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_batch_reads_back(events in events()) {
        let whole = batch(events);
        prop_assert_eq!(decode(&encode(&whole).unwrap()).unwrap(), whole);
    }

    #[test]
    fn damaged_bytes_give_an_error_or_another_batch_never_a_panic(
        events in events(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 1..=u8::MAX), 1..6),
    ) {
        let whole = batch(events);
        let mut bytes = encode(&whole).unwrap();
        let intact = bytes.clone();
        for (at, flip) in damage {
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
        }
        if let Ok(read) = decode(&bytes) {
            prop_assert_eq!(read == whole, bytes == intact);
            prop_assert_eq!(&decode(&encode(&read).unwrap()).unwrap(), &read);
            // Whatever happened to the bytes, the digest tells.
            prop_assert_eq!(read.compute_digest(&KEY, &Anything) == Ok(read.digest), bytes == intact);
        }
    }

    #[test]
    fn any_bytes_give_a_batch_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(decode(&bytes).is_err(), "random bytes are no batch");
    }
}
