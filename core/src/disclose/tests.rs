use super::Disclosure;
use crate::absent::{AbsentText, KnownText};
use crate::batch::{RECORD_MAX, STATES_MAX};
use crate::event::samples::variants;
use crate::event::{Event, SyntheticAdded, ToolOutcome, ToolSettled};
use crate::text::{BlobRef, Blobs, INLINE_MAX, NoBlobs, Texts};
use crate::{Batch, Digest, SealError, Sealed, Seq, SessionId, SessionKey, Text, Time, codec};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use proptest::prelude::*;

pub(crate) const KEY: SessionKey = SessionKey([0x0f; 32]);

/// Every blob has this text.
pub(crate) struct Anything;

impl Blobs for Anything {
    fn text(&self, _: &Digest) -> Option<String> {
        Some("anything".into())
    }
}

pub(crate) fn seal(mut events: Vec<Event>) -> Sealed {
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
fn each_text_is_offered_with_the_number_and_the_kind_of_its_event() {
    let settled = ToolSettled { output: "out".into(), ..ToolSettled::bare("c".into(), ToolOutcome::Completed) };
    let sealed = seal(alloc::vec![SyntheticAdded { text: "a".into() }.into(), settled.into()]);
    let mut offered = Vec::new();
    let decided = sealed.batch.disclose(Some(&KEY), &NoBlobs, &mut |at| {
        offered.push((at.seq.0, at.kind.to_string(), at.place.to_string(), at.text.map(String::from)));
        Disclosure::Keep
    });
    assert_eq!(decided, Ok(sealed.batch));
    let expected = [(41, "synthetic.added", "/text", "a"), (42, "tool.settled", "/output", "out")];
    let expected = expected.map(|(seq, kind, place, text)| (seq, kind.into(), place.into(), Some(text.into())));
    assert_eq!(offered.iter().filter(|offer| offer.3.as_deref() != Some("")).cloned().collect::<Vec<_>>(), expected);
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

#[test]
fn a_full_batch_fits_with_all_its_short_texts_withheld() {
    let settled = ToolSettled {
        paths: alloc::vec!["a/b".into(); 5_500],
        ..ToolSettled::bare("c".into(), ToolOutcome::Completed)
    };
    let many = (0..2_500).map(|_| SyntheticAdded { text: "abc".into() }.into()).collect();
    for (events, count) in [(alloc::vec![settled.into()], 5_500), (many, 2_500)] {
        let sealed = seal(events);
        assert!(sealed.encoded.len() > RECORD_MAX * 9 / 10);
        for choice in [Disclosure::Withhold, Disclosure::Disclose] {
            let batch = sealed.batch.disclose(Some(&KEY), &NoBlobs, &mut |_| choice).unwrap();
            assert!(batch.states.len() >= count);
            let again = batch.clone().seal_again(None, &NoBlobs).unwrap();
            assert!(again.blobs.is_empty() && again.batch == batch && batch.digest == sealed.batch.digest);
            assert_eq!(codec::decode(&again.encoded), Ok(batch));
        }
    }
}

#[test]
fn states_of_texts_beyond_the_limit_are_refused_as_such() {
    let sealed = seal(alloc::vec![SyntheticAdded { text: "a".into() }.into()]);
    let mut batch = sealed.batch.disclose(Some(&KEY), &NoBlobs, &mut |_| Disclosure::Withhold).unwrap();
    batch.states[0].place = "/".repeat(STATES_MAX);
    let refused = batch.pack().unwrap_err();
    assert!(matches!(refused, SealError::TooManyStates { bytes } if bytes > STATES_MAX));
    assert!(refused.to_string().ends_with("at most 4194304 fit"), "{refused}");
}

#[test]
fn a_new_event_that_quotes_a_withheld_text_has_its_note() {
    let absent = AbsentText::of("secret", &KEY.text_key(Seq(3), "/text"));
    let sealed = seal(alloc::vec![SyntheticAdded { text: Text::Absent(alloc::boxed::Box::new(absent)) }.into()]);
    assert_eq!(sealed.batch.events, [SyntheticAdded { text: "[withheld: 6 characters]".into() }.into()]);
    assert_eq!(codec::decode(&sealed.encoded), Ok(sealed.batch));
}

/// The batch with one of its states changed, in order of event and place.
fn altered(batch: &Batch, at: usize, how: u8) -> Batch {
    let mut batch = batch.clone();
    let state = &mut batch.states[at];
    match (how, &mut state.known) {
        (0, _) => drop(batch.states.remove(at)),
        (1, _) => state.place.push_str("/no/such/place"),
        (2, KnownText::Absent(absent)) => absent.chars += 1,
        (2, known) => *known = KnownText::Absent(AbsentText::of("another", &KEY.text_key(Seq(0), ""))),
        _ => state.known = KnownText::Disclosed(KEY.text_key(Seq(0), "")),
    }
    batch.states.sort_unstable_by(|a, b| (a.event, &a.place).cmp(&(b.event, &b.place)));
    batch
}

proptest! {
    #[test]
    fn a_record_whose_events_and_states_disagree_is_refused(
        events in prop::collection::vec(prop::sample::select(variants()), 1..8),
        chosen: u64,
        at: prop::sample::Index,
        how in 0..4_u8,
    ) {
        let sealed = seal(events);
        let mut number = 0;
        let batch = sealed.batch.disclose(Some(&KEY), &Anything, &mut |_| choice(chosen, &mut number)).unwrap();
        prop_assume!(!batch.states.is_empty());
        let at = at.index(batch.states.len());
        let mut left = Vec::new();
        batch.clone().events.iter_mut().for_each(|event| {
            event.texts(&mut |text| if let Text::Absent(absent) = text { left.push(KnownText::Absent(**absent)) });
        });
        let known = batch.states[at].known;
        let read = codec::decode(&codec::encode(&altered(&batch, at, how)).unwrap());
        // The note or the zeros in a field that is no `Text` may be a text like any other, which the digest decides.
        let may_be_text = |known: &KnownText| !left.contains(known);
        let accepted = match (how, known) {
            (1 | 2, _) => false,
            (_, KnownText::Disclosed(_)) => true,
            (_, KnownText::Absent(_)) => may_be_text(&known),
        };
        prop_assert_eq!(read.is_ok(), accepted, "{:?}", read);
        match read {
            // Without a key of its own, a text has that of the session.
            Ok(read) if how == 0 && matches!(known, KnownText::Disclosed(_)) => {
                prop_assert_eq!(read.compute_digest(&KEY, &Anything), Ok(batch.digest));
            }
            Ok(read) => prop_assert_ne!(read.compute_digest(&KEY, &Anything), Ok(batch.digest)),
            Err(error) => {
                let why = ["the state that the batch records", "a text that it does not have", "no commitment to it"];
                let said = error.to_string();
                prop_assert!(why.iter().any(|part| said.contains(part)), "{}", said);
            }
        }
    }

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
