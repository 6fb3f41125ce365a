//! What moves to blobs when a batch is sealed.

use super::{Anything, KEY, SESSION, said, seal, seal_with};
use crate::batch::RECORD_MAX;
use crate::event::samples::{samples, variants};
use crate::event::{
    AgentProfile, Event, InputAdmitted, InputPromoted, RequestOptions, SyntheticAdded, ToolDefinition, ToolsRecorded,
};
use crate::text::{INLINE_MAX, Texts};
use crate::{Batch, BlobRef, Blobs, Digest, Json, SealError, Seq, Text, Time, codec};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use proptest::prelude::*;

fn texts(event: &Event) -> Vec<Text> {
    let mut found = Vec::new();
    event.clone().texts(&mut |text| found.push(text.clone()));
    found
}

#[test]
fn a_text_above_8_kib_moves_to_a_blob_and_one_of_8_kib_does_not() {
    // Bytes count, not characters.
    let (fits, exceeds) = ("é".repeat(INLINE_MAX / 2), alloc::format!("{}x", "é".repeat(INLINE_MAX / 2)));
    let sealed = seal(alloc::vec![said(fits.as_str()), said(exceeds.as_str())]);
    let reference = BlobRef { blob: Digest::of(exceeds.as_bytes()), bytes: 8_193, chars: 4_097 };
    assert_eq!(sealed.batch.events, [said(fits), Event::from(SyntheticAdded { text: Text::from(reference) })]);
    assert_eq!(sealed.blobs, [(reference.blob, exceeds)]);
}

#[test]
fn every_text_of_every_kind_can_move_to_a_blob() {
    for sample in samples() {
        let mut event = sample.clone();
        let mut long = 0;
        event.texts(&mut |text| {
            *text = alloc::format!("{long}{}", "x".repeat(INLINE_MAX)).into();
            long += 1;
        });
        let sealed = seal(alloc::vec![event]);
        assert_eq!(sealed.blobs.len(), long, "{}", sample.kind().name());
        assert_eq!(sealed.batch.blobs().len(), long);
        assert!(sealed.batch.events.iter().flat_map(texts).all(|text| text.inline().is_none()));
    }
}

#[test]
fn a_batch_that_does_not_fit_even_then_is_too_large() {
    let event = InputPromoted { input: "i".repeat(RECORD_MAX).into() };
    let sealed = Batch::seal(&KEY, &Anything, SESSION, Seq(0), Time(0), None, alloc::vec![event.into()]);
    let SealError::TooLarge { bytes } = sealed.unwrap_err() else { panic!("too large") };
    assert_eq!(bytes, RECORD_MAX + 73 + 10 + 8, "the header of a first batch, kind and length, the id's length");
}

#[test]
fn small_texts_never_move_since_a_reference_would_be_larger() {
    let events = (0..2_000).map(|_| said("x".repeat(64))).collect();
    assert!(matches!(
        Batch::seal(&KEY, &Anything, SESSION, Seq(0), Time(0), None, events),
        Err(SealError::TooLarge { .. })
    ));
}

#[test]
fn of_equal_texts_the_first_moves() {
    let text = |n: u64| alloc::format!("{n}{}", "x".repeat(6_999));
    let sealed = seal((0..10).map(|n| said(text(n))).collect());
    assert_eq!(sealed.blobs, [(Digest::of(text(0).as_bytes()), text(0))]);
}

fn many_texts() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((0..INLINE_MAX * 5 / 4, any::<bool>()), 1..40).prop_map(|sizes| {
        let event = |(n, (size, attached)): (usize, (usize, bool))| {
            let text: Text = alloc::format!("{n:04}{}", "x".repeat(size)).into();
            if attached {
                let attachment = crate::event::Attachment { mime: "text/plain".into(), name: None, uri: text };
                let (input, delivery) = (alloc::format!("in-{n}").into(), crate::event::Delivery::Queue);
                InputAdmitted { input, text: "see".into(), attachments: alloc::vec![attachment], delivery }.into()
            } else {
                said(text)
            }
        };
        sizes.into_iter().enumerate().map(event).collect()
    })
}

proptest! {
    #[test]
    fn the_largest_texts_move_until_the_batch_fits_and_no_more_than_needed(events in many_texts()) {
        let sealed = seal(events.clone());
        prop_assert!(sealed.encoded.len() <= RECORD_MAX);
        prop_assert_eq!(&sealed.encoded, &codec::encode(&sealed.batch).unwrap());
        let stored: BTreeMap<Digest, String> = sealed.blobs.iter().cloned().collect();
        prop_assert_eq!(sealed.batch.compute_digest(&KEY, &stored).unwrap(), sealed.batch.digest);

        // Nothing is lost: each text stands inline as it was, or its blob holds it.
        let (before, after): (Vec<Text>, Vec<Text>) =
            (events.iter().flat_map(texts).collect(), sealed.batch.events.iter().flat_map(texts).collect());
        for (before, after) in before.iter().zip(&after) {
            prop_assert_eq!(before.inline().unwrap(), after.resolve(&stored));
            prop_assert_eq!((before.bytes(), before.chars()), (after.bytes(), after.chars()));
        }

        // The largest moved, and with one fewer the batch would not fit.
        let kept = after.iter().filter_map(Text::inline).map(str::len).max().unwrap_or(0);
        let moved: Vec<usize> = sealed.blobs.iter().map(|(_, text)| text.len()).collect();
        prop_assert!(moved.iter().all(|moved| *moved >= kept));
        if let Some(smallest) = moved.iter().filter(|moved| **moved <= INLINE_MAX).min() {
            prop_assert!(sealed.encoded.len() + smallest - 40 > RECORD_MAX);
        }
    }

    #[test]
    fn sealing_is_deterministic_and_sealing_again_changes_nothing(events in many_texts()) {
        let sealed = seal(events.clone());
        prop_assert_eq!(&seal(events), &sealed);
        let stored: BTreeMap<Digest, String> = sealed.blobs.iter().cloned().collect();
        let again = seal_with(&stored, sealed.batch.events.clone());
        prop_assert_eq!(again.blobs, []);
        prop_assert_eq!((again.batch, again.encoded), (sealed.batch, sealed.encoded));
    }

    #[test]
    fn any_facts_can_be_sealed_and_stay_what_they_are(
        events in prop::collection::vec(prop::sample::select(variants()), 1..20),
    ) {
        let sealed = seal(events.clone());
        prop_assert_eq!(sealed.batch.events, events);
        prop_assert_eq!(sealed.blobs, []);
    }
}

#[test]
fn the_name_of_a_recorded_thing_does_not_depend_on_where_its_texts_stand() {
    let text = "You build.\n".repeat(20);
    let blob = Text::from(BlobRef::to(&text));
    let profile = |system: Text| AgentProfile {
        agent: "build".into(),
        system: Some(system),
        steps: None,
        permissions: Vec::new(),
    };
    assert_eq!(profile(text.as_str().into()).digest(), profile(blob.clone()).digest());
    assert_ne!(profile("You plan.".into()).digest(), profile(blob.clone()).digest());

    let tools = |description: Text, schema: Text| ToolsRecorded {
        tools: alloc::vec![ToolDefinition { name: "read".into(), description, schema: Json(schema) }],
    };
    let inline: Text = text.as_str().into();
    assert_eq!(
        tools(inline.clone(), "{}".into()).digest(),
        tools(blob.clone(), Text::from(BlobRef::to("{}"))).digest()
    );
    assert_ne!(tools(inline.clone(), "{}".into()).digest(), tools("{}".into(), inline.clone()).digest());

    let options =
        |body: Text| RequestOptions { body: [("store".into(), Json(body))].into(), ..RequestOptions::default() };
    assert_eq!(options(inline).digest(), options(blob.clone()).digest());
    let elsewhere = RequestOptions { options: options(blob.clone()).body, ..RequestOptions::default() };
    assert_ne!(options(blob).digest(), elsewhere.digest());
}

#[test]
fn a_missing_blob_reads_as_a_note_in_its_place() {
    let sealed = seal(alloc::vec![said("x".repeat(9_000))]);
    let [Text::Blob(blob)] = &texts(&sealed.batch.events[0])[..] else { panic!("a blob") };
    let note = alloc::format!("[missing blob {}, 9000 bytes]", blob.blob);
    assert_eq!(Text::Blob(blob.clone()).resolve(&crate::NoBlobs), note);
    assert_eq!(crate::NoBlobs.text(&blob.blob), None);
}
