mod json;
mod seal;

use crate::event::{ContextAdmitted, Event, SyntheticAdded};
use crate::text::Text;
use crate::{Batch, Blobs, Digest, SealError, Seq, SessionId, SessionKey, Time};
use alloc::string::String;
use alloc::vec::Vec;

const SESSION: SessionId = SessionId([7; 16]);
pub(super) const KEY: SessionKey = SessionKey([0x0f; 32]);
const PREV: Option<Digest> = Some(Digest([0xab; 32]));

/// A store that has a text for every hash.
struct Anything;

impl Blobs for Anything {
    fn text(&self, _: &Digest) -> Option<String> {
        Some("anything".into())
    }
}

fn seal(events: Vec<Event>) -> crate::Sealed {
    seal_with(&Anything, events)
}

fn seal_with(blobs: &dyn Blobs, mut events: Vec<Event>) -> crate::Sealed {
    events.iter_mut().for_each(|event| event.set_key(KEY));
    Batch::seal(&KEY, blobs, SESSION, Seq(41), Time(1_780_488_000_000), PREV, events).unwrap()
}

fn said(text: impl Into<Text>) -> Event {
    SyntheticAdded { text: text.into() }.into()
}

#[test]
fn records_stand_densely_from_the_first_seq_and_next_follows_the_last() {
    let batch = seal(alloc::vec![said("a"), said("b"), said("c")]).batch;
    let places: Vec<u64> = batch.records().map(|record| record.seq.0).collect();
    assert_eq!(places, [41, 42, 43]);
    assert_eq!(batch.next(), Seq(44));
    assert!(batch.records().all(|record| record.session == SESSION && record.at == Time(1_780_488_000_000)));
    assert_eq!(batch.records().next_back().map(|record| record.event), Some(&said("c")));
}

#[test]
fn a_batch_needs_an_event() {
    assert_eq!(Batch::seal(&KEY, &Anything, SESSION, Seq(0), Time(0), None, Vec::new()), Err(SealError::Empty));
}

#[test]
fn the_blobs_of_a_batch_are_named_in_order_with_repetitions() {
    let long = "x".repeat(9_000);
    let sealed = seal(alloc::vec![said("short"), said(long.as_str()), said("y".repeat(9_000)), said(long.as_str())]);
    let named: Vec<Digest> = sealed.batch.blobs().iter().map(|blob| blob.blob).collect();
    assert_eq!(named, [Digest::of(long.as_bytes()), Digest::of("y".repeat(9_000).as_bytes()), named[0]]);
}

#[test]
fn a_message_and_its_advance_chain_as_one_digest() {
    let message: Event = ContextAdmitted { keys: Vec::new(), text: "now".into() }.into();
    let together = seal(alloc::vec![message.clone(), said("x")]).batch;
    let first = seal(alloc::vec![message]).batch;
    let prev = Some(first.digest);
    let second = Batch::seal(&KEY, &Anything, SESSION, first.next(), first.at, prev, alloc::vec![said("x")]).unwrap();
    assert_ne!(together.digest, second.batch.digest, "a digest also says which facts landed together");
}
