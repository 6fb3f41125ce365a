use super::Disclosure;
use crate::absent::{AbsentText, KnownText};
use crate::event::samples::variants;
use crate::event::{Event, SyntheticAdded};
use crate::text::{BlobRef, Blobs, INLINE_MAX, NoBlobs, Texts};
use crate::{Batch, Digest, SealError, Sealed, Seq, SessionId, SessionKey, Text, Time, codec};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use proptest::prelude::*;

const KEY: SessionKey = SessionKey([0x0f; 32]);

/// Every blob has this text.
struct Anything;

impl Blobs for Anything {
    fn text(&self, _: &Digest) -> Option<String> {
        Some("anything".into())
    }
}

fn seal(mut events: Vec<Event>) -> Sealed {
    for event in &mut events {
        event.set_key(KEY);
        event.texts(&mut |text| {
            if matches!(text, Text::Blob(_)) {
                *text = BlobRef::to("anything").into();
            }
        });
    }
    Batch::seal(&KEY, &Anything, SessionId([7; 16]), Seq(41), Time(5), None, events).unwrap()
}

fn choice(chosen: u64, number: &mut u32) -> Disclosure {
    *number += 1;
    match chosen.rotate_right(2 * *number) & 3 {
        0 => Disclosure::Keep,
        1 => Disclosure::Disclose,
        _ => Disclosure::Withhold,
    }
}

#[test]
fn the_note_of_an_absent_text_groups_digits() {
    let note = |chars| AbsentText { bytes: 0, chars, commitment: Digest([0; 32]), erased: false }.to_string();
    assert_eq!(
        [note(0), note(1), note(999)],
        ["[withheld: 0 characters]", "[withheld: 1 character]", "[withheld: 999 characters]"]
    );
    assert_eq!([note(1_204), note(1_234_567)], ["[withheld: 1,204 characters]", "[withheld: 1,234,567 characters]"]);
}

#[test]
fn a_withheld_text_is_nowhere_in_the_record_and_its_lengths_are() {
    let secret = "über the hills and far away";
    let sealed = seal(alloc::vec![SyntheticAdded { text: secret.into() }.into()]);
    let batch = sealed.batch.disclose(Some(&KEY), &NoBlobs, &mut |_| Disclosure::Withhold).unwrap();
    let again = batch.clone().seal_again(None, &NoBlobs).unwrap();
    assert_eq!(again.batch.digest, sealed.batch.digest);
    let record = String::from_utf8_lossy(&again.encoded).into_owned();
    assert!(!record.contains("hills") && again.blobs.is_empty());
    let Event::Message(crate::event::MessageEvent::SyntheticAdded(added)) = &batch.events[0] else {
        panic!("synthetic")
    };
    assert_eq!((added.text.bytes(), added.text.chars()), (28, 27));
    assert_eq!(added.text.resolve(&NoBlobs), "[withheld: 27 characters]");
}

#[test]
fn without_the_key_of_the_session_every_text_must_be_withheld_or_disclosed() {
    let sealed = seal(alloc::vec![SyntheticAdded { text: "a".into() }.into()]);
    let no_key = SealError::Canonical(crate::canonical::CanonicalError::NoKey);
    assert_eq!(sealed.batch.seal_again(None, &NoBlobs), Err(no_key));
}

#[test]
fn a_large_disclosed_text_becomes_a_blob_and_is_written_whole() {
    let large = "x".repeat(INLINE_MAX + 1);
    let sealed = seal(alloc::vec![SyntheticAdded { text: large.clone().into() }.into()]);
    let blobs: BTreeMap<_, _> = sealed.blobs.iter().cloned().collect();
    let batch = sealed.batch.disclose(Some(&KEY), &blobs, &mut |_| Disclosure::Disclose).unwrap();
    let line = batch.to_canonical().unwrap();
    assert!(line.contains(&large));
    let again = batch.seal_again(None, &NoBlobs).unwrap();
    assert_eq!((again.batch.digest, again.blobs.len()), (sealed.batch.digest, 1));
    assert_eq!(again.batch.to_canonical_with(&blobs).unwrap(), line);
}

proptest! {
    #[test]
    fn withholding_any_texts_keeps_the_digest_in_every_form(
        events in prop::collection::vec(prop::sample::select(variants()), 1..8),
        chosen: u64,
    ) {
        let sealed = seal(events);
        let (mut number, mut kept, mut absent) = (0, 0, 0);
        let batch = sealed.batch.disclose(Some(&KEY), &Anything, &mut |_| {
            let choice = choice(chosen, &mut number);
            kept += usize::from(choice == Disclosure::Keep);
            absent += usize::from(choice == Disclosure::Withhold);
            choice
        }).unwrap();
        let digest = sealed.batch.digest;
        prop_assert_eq!(batch.compute_digest(&KEY, &Anything), Ok(digest));
        prop_assert_eq!(batch.compute_digest(None, &Anything) == Ok(digest), kept == 0);
        prop_assert_eq!(batch.states.iter().filter(|state| matches!(state.known, KnownText::Absent(_))).count(), absent);
        prop_assert_eq!(batch.states.len() + kept, number as usize);
        let read = codec::decode(&codec::encode(&batch).unwrap()).unwrap();
        prop_assert_eq!(&read, &batch);
        let line = batch.to_canonical_with(&Anything).unwrap();
        let read = Batch::from_json(serde_json::from_str(&line).unwrap()).unwrap();
        prop_assert_eq!(read.to_canonical_with(&Anything).unwrap(), line);
        // Who has the rest may withhold more.
        let less = batch.disclose(Some(&KEY), &Anything, &mut |_| Disclosure::Withhold).unwrap();
        prop_assert_eq!(less.compute_digest(None, &NoBlobs), Ok(digest));
    }

    #[test]
    fn states_out_of_order_or_of_no_event_are_damage(event: u32, twice: bool) {
        let batch = seal(alloc::vec![SyntheticAdded { text: "a".into() }.into()]).batch;
        let mut batch = batch.disclose(Some(&KEY), &NoBlobs, &mut |_| Disclosure::Disclose).unwrap();
        batch.states[0].event = event;
        if twice {
            batch.states.push(batch.states[0].clone());
        }
        let read = codec::decode(&codec::encode(&batch).unwrap());
        prop_assert_eq!(read.is_ok(), event == 0 && !twice);
    }
}
