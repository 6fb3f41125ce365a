use super::{ExportedText, Unprovable, digest_of_line, visit_texts};
use crate::event::samples::{samples, variants};
use crate::event::{Event, RequestOptions, SyntheticAdded};
use crate::text::{BlobRef, Blobs, INLINE_MAX, NoBlobs, Texts};
use crate::{AbsentText, Batch, Digest, Json, Sealed, Seq, SessionId, SessionKey, Text, Time};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use proptest::prelude::*;
use serde_json::{Value, json};

const KEY: SessionKey = SessionKey([0x0f; 32]);

struct Anything;

impl Blobs for Anything {
    fn text(&self, _: &Digest) -> Option<String> {
        Some("anything".into())
    }
}

fn seal(blobs: &dyn Blobs, mut events: Vec<Event>) -> Sealed {
    events.iter_mut().for_each(|event| event.set_key(KEY));
    Batch::seal(&KEY, blobs, SessionId([7; 16]), Seq(41), Time(5), None, events).unwrap()
}

fn line(batch: &Batch) -> Value {
    serde_json::from_str(&batch.to_canonical().unwrap()).unwrap()
}

/// Every text of a line, as `SEQ PLACE TEXT`.
fn texts(line: &mut Value) -> Vec<String> {
    let mut found = Vec::new();
    visit_texts(line, &mut |seq, place, text| {
        let shown = match text {
            ExportedText::Text(text) => text,
            other => alloc::format!("{other:?}"),
        };
        found.push(alloc::format!("{seq} {place} {shown}"));
        Ok::<_, ()>(None)
    })
    .unwrap();
    found
}

/// `tests/verify_log.py --vectors` computes the same from `fixtures/FORMAT.md` alone.
#[test]
fn keys_and_commitments_are_pinned() {
    let key = SessionKey(core::array::from_fn(|at| at as u8));
    let show = |seq: u64, place: &str, text: &str| {
        let text_key = key.text_key(Seq(seq), place);
        alloc::format!("{seq} {place} {} {}\n", Digest(text_key.0), text_key.commit(text))
    };
    let long = "x".repeat(3000);
    let shown = [
        alloc::format!("key_hash {}\n", key.hash()),
        show(0, "/title", ""),
        show(41, "/text", "Größe prüfen 😀"),
        show((1 << 53) - 1, "/entries/core~1date/value", "\"x\""),
        show(7, &alloc::format!("/options/{}", "k".repeat(200)), &long),
    ];
    insta::assert_snapshot!(shown.concat(), @r"
    key_hash e528e95798037df410543d9f31e396ecdd458d71b157d6014398bae32fb56c65
    0 /title 1a3c9552fccaec7beee35ce2c2f02c75012c046f24e8336bf3b4360f230fabc4 d90f14386a3f426d38c0c41a50e7a662e57c89ced07bbc9ff955342da2514720
    41 /text 1ee14f1bcad857c3eaf2cf848e2570764467ec4730d796aee3b862fdc7fdf8e8 63fcc10b2e6b541d9be53d6368e2e3b996efe9e455a991ff2bf5957b3c663922
    9007199254740991 /entries/core~1date/value 0c161f5fd3789e7c6fd5813706082dc33a5199dd68bdd94d381ede8b8f565347 db05d097f2741db23cd8b0094bf806afb7e0ee87ccf7dac4b9a9e4931aeec1a8
    7 /options/kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk e837cb45e7a0a1662e02f3045cd998e0a81bf5c2073780831505d99a168dfca8 970d5e278bbfeac83a01e98d5fdd7d70f3f273c6a1581ec527d4de76716a3181
    ");
}

#[test]
fn the_places_of_the_texts_of_every_kind_are_pinned() {
    let sealed = seal(&Anything, samples());
    insta::assert_snapshot!(texts(&mut line(&sealed.batch)).join("\n"));
}

#[test]
fn nothing_but_a_text_looks_like_one() {
    // Maps whose keys are data may have any names: the shapes differ in what their members are.
    let json = |text: &str| Json(Text::from(text));
    let map = |names: &[&str]| names.iter().map(|name| (name.to_string(), json("1"))).collect::<BTreeMap<_, _>>();
    let options = RequestOptions {
        controls: map(&["text"]),
        options: map(&["key", "text"]),
        body: map(&["blob", "bytes", "chars"]),
    };
    let more = RequestOptions { body: map(&["bytes", "chars", "commitment"]), ..RequestOptions::default() };
    let counts = ["bytes", "chars", "commitment"].map(|name| (name.to_string(), 1)).into();
    let mut events: Vec<Event> = [options, more].map(|options| crate::event::OptionsRecorded { options }.into()).into();
    events.push(crate::event::RedactionApplied { counts }.into());
    let sealed = seal(&NoBlobs, events);
    let found = texts(&mut line(&sealed.batch));
    assert_eq!(found.len(), 1 + 2 + 3 + 3, "{found:#?}");
    assert_eq!(Batch::from_json(line(&sealed.batch)), Ok(sealed.batch));
}

#[test]
fn a_place_escapes_the_names_of_members() {
    let options = RequestOptions { body: [("a/b~c".into(), Json::received("1"))].into(), ..RequestOptions::default() };
    let sealed = seal(&NoBlobs, alloc::vec![crate::event::OptionsRecorded { options }.into()]);
    assert_eq!(texts(&mut line(&sealed.batch)), ["41 /options/body/a~1b~0c 1"]);
    assert_eq!(digest_of_line(&line(&sealed.batch), Some(&KEY), &NoBlobs), Ok(sealed.batch.digest));
}

/// Every text of a line, withheld.
fn withheld(mut line: Value, key: &SessionKey) -> Value {
    visit_texts(&mut line, &mut |seq, place, text| {
        let ExportedText::Text(text) = text else { return Ok::<_, ()>(None) };
        let commitment = key.text_key(seq, place).commit(&text);
        Ok(Some(json!({"bytes": text.len(), "chars": text.chars().count(), "commitment": commitment})))
    })
    .unwrap();
    line
}

#[test]
fn a_line_proves_itself_with_its_texts_withheld_or_disclosed_one_by_one() {
    let without_blobs = samples().into_iter().filter(|event| {
        let mut inline = true;
        event.clone().texts(&mut |text| inline &= text.inline().is_some());
        inline
    });
    let sealed = seal(&NoBlobs, without_blobs.collect());
    let (whole, digest) = (line(&sealed.batch), Ok(sealed.batch.digest));
    assert_eq!(digest_of_line(&whole, None, &NoBlobs), Err(Unprovable::Key));
    let mut hidden = withheld(whole.clone(), &KEY);
    assert_eq!(digest_of_line(&hidden, None, &NoBlobs), digest);
    assert!(texts(&mut hidden).iter().all(|text| text.contains("Withheld")));
    // One text after the other is disclosed; a key of another place proves nothing.
    let mut number = 0;
    while number < texts(&mut whole.clone()).len() {
        for (seq, fits) in [(0, true), (1, false)] {
            let (mut one, mut at) = (whole.clone(), 0);
            visit_texts(&mut one, &mut |Seq(of), place, text| {
                let ExportedText::Text(text) = text else { return Ok::<_, ()>(None) };
                at += 1;
                let key = KEY.text_key(Seq(of + seq), place);
                Ok(match at - 1 == number {
                    true => Some(json!({"key": Digest(key.0), "text": text})),
                    false => {
                        let commitment = KEY.text_key(Seq(of), place).commit(&text);
                        Some(json!({"bytes": text.len(), "chars": text.chars().count(), "commitment": commitment}))
                    }
                })
            })
            .unwrap();
            assert_eq!(digest_of_line(&one, None, &NoBlobs) == digest, fits, "text {number}");
        }
        number += 7;
    }
}

proptest! {
    #[test]
    fn the_digest_does_not_depend_on_what_lies_inline(
        events in prop::collection::vec(prop::sample::select(variants()), 1..8),
        sizes in prop::collection::vec(0..INLINE_MAX * 2, 1..6),
        chosen: u64,
    ) {
        let mut events = events;
        events.extend(sizes.iter().map(|size| SyntheticAdded { text: "ü".repeat(*size / 2).into() }.into()));
        events.iter_mut().for_each(|event| event.set_key(KEY));
        let batch = |events: Vec<Event>| Batch {
            session: SessionId([7; 16]), first: Seq(3), at: Time(1), prev: None, events, digest: Digest([0; 32]),
            states: Vec::new(),
        };
        let whole = batch(events.clone());
        // Some texts become blobs, whatever their length.
        let (mut stored, mut number) = (BTreeMap::new(), 0_u32);
        for event in &mut events {
            event.texts(&mut |text| {
                number += 1;
                if let Some(inline) = text.inline().filter(|_| chosen.rotate_right(number) & 1 == 1).map(String::from) {
                    *text = Text::from(BlobRef::to(&inline));
                    stored.insert(Digest::of(inline.as_bytes()), inline);
                } else if let Text::Blob(named) = text {
                    stored.insert(named.blob, "anything".into());
                }
            });
        }
        let spilled = batch(events);
        let digest = whole.compute_digest(&KEY, &Anything).unwrap();
        prop_assert_eq!(spilled.compute_digest(&KEY, &stored), Ok(digest));
        prop_assert_eq!(digest_of_line(&line(&spilled), Some(&KEY), &stored), Ok(digest));
        prop_assert_eq!(digest_of_line(&line(&whole), Some(&KEY), &Anything), Ok(digest));
        prop_assert_ne!(whole.compute_digest(&SessionKey([0x0e; 32]), &Anything).unwrap(), digest);
    }

    #[test]
    fn one_flipped_bit_of_a_text_a_key_or_a_commitment_changes_the_digest(
        event in prop::sample::select(samples()),
        place: prop::sample::Index,
        bit: prop::sample::Index,
    ) {
        let sealed = seal(&Anything, alloc::vec![event]);
        let whole = line(&sealed.batch);
        let hidden = withheld(whole.clone(), &KEY);
        let count = texts(&mut whole.clone()).len();
        prop_assume!(count > 0);
        for mut changed in [whole, hidden] {
            let (mut at, chosen) = (0, place.index(count));
            visit_texts(&mut changed, &mut |_, _, text| {
                at += 1;
                if at - 1 != chosen {
                    return Ok::<_, ()>(None);
                }
                Ok(match text {
                    ExportedText::Text(text) => Some(json!({"text": alloc::format!("{text} ")})),
                    ExportedText::Withheld(AbsentText { bytes, chars, mut commitment }) => {
                        let bit = bit.index(256);
                        commitment.0[bit / 8] ^= 1 << (bit % 8);
                        Some(json!({"bytes": bytes, "chars": chars, "commitment": commitment}))
                    }
                    ExportedText::Blob(named) => Some(json!({"blob": named.blob, "bytes": named.bytes + 1, "chars": 1})),
                    ExportedText::Disclosed { .. } => None,
                })
            }).unwrap();
            prop_assert_ne!(digest_of_line(&changed, Some(&KEY), &Anything), Ok(sealed.batch.digest));
        }
        let mut key = KEY;
        let bit = bit.index(256);
        key.0[bit / 8] ^= 1 << (bit % 8);
        prop_assert_ne!(digest_of_line(&line(&sealed.batch), Some(&key), &Anything), Ok(sealed.batch.digest));
    }
}
