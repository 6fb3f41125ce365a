use crate::absent::KnownText;
use crate::disclose::Disclosure;
use crate::disclose::tests::{Anything, KEY, seal};
use crate::event::samples::variants;
use crate::event::{Event, SyntheticAdded};
use crate::{Digest, Seq, codec};
use alloc::collections::BTreeMap;
use alloc::string::String;
use proptest::prelude::*;

const SECRET: &str = "a text that must vanish";

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn an_erased_text_is_gone_and_the_others_keep_keys_of_their_own() {
    let texts = [SECRET, "a text that stays"];
    let sealed = seal(texts.iter().map(|text| SyntheticAdded { text: (*text).into() }.into()).collect());
    let erased = sealed.batch.erase(Some(&KEY), &Anything, &|seq, place| (seq, place) == (Seq(41), "/text")).unwrap();
    let packed = erased.pack().unwrap();
    assert!(!contains(&packed.encoded, SECRET));
    assert!(contains(&packed.encoded, texts[1]));
    assert_eq!(packed.batch.compute_digest(None, &Anything).unwrap(), sealed.batch.digest);
    assert!(packed.batch.has_own_keys(&Anything).unwrap());
    let Event::Message(crate::event::MessageEvent::SyntheticAdded(first)) = &packed.batch.events[0] else { panic!() };
    assert_eq!(first.text.resolve(&Anything), "[erased: 23 characters]");
}

#[test]
fn the_key_of_a_session_leaves_with_the_first_erased_text() {
    let created = variants().into_iter().find(|event| event.stored_key().is_some()).unwrap();
    let sealed = seal(alloc::vec![created]);
    assert!(contains(&sealed.encoded, core::str::from_utf8(&KEY.0).unwrap()), "the key is in the record before");
    let erased = sealed.batch.erase(Some(&KEY), &Anything, &|_, _| false).unwrap().pack().unwrap();
    assert!(!contains(&erased.encoded, core::str::from_utf8(&KEY.0).unwrap()));
    assert_eq!(erased.batch.session_key(), None);
    assert_eq!(erased.batch.compute_digest(None, &Anything).unwrap(), sealed.batch.digest);
}

#[test]
fn a_text_cannot_be_erased_without_a_key_to_commit_the_others() {
    let sealed = seal(alloc::vec![SyntheticAdded { text: SECRET.into() }.into()]);
    assert!(sealed.batch.erase(None, &Anything, &|_, _| true).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Any part of any batch, twice: the digest stays, and what is erased is erased.
    #[test]
    fn erasing_keeps_the_digest(chosen: u64, again: u64) {
        let number = |bits: u64, seq: Seq, place: &str| {
            let hash = Digest::of(alloc::format!("{seq}{place}").as_bytes());
            bits >> (hash.0[0] & 63) & 1 == 1
        };
        for event in variants() {
            let sealed = seal(alloc::vec![event]);
            let first = sealed.batch.erase(Some(&KEY), &Anything, &|seq, place| number(chosen, seq, place)).unwrap();
            let first = codec::decode(&first.pack().unwrap().encoded).unwrap();
            let second = first.erase(None, &Anything, &|seq, place| number(again, seq, place)).unwrap();
            let second = codec::decode(&second.pack().unwrap().encoded).unwrap();
            prop_assert_eq!(second.compute_digest(None, &Anything).unwrap(), sealed.batch.digest);
            let states: BTreeMap<String, KnownText> =
                second.states.iter().map(|state| (state.place.clone(), state.known)).collect();
            for (place, known) in states {
                let erased = number(chosen | again, Seq(41), &place);
                prop_assert_eq!(matches!(known, KnownText::Absent(absent) if absent.erased), erased, "{}", place);
            }
        }
    }
}

#[test]
fn a_text_with_its_key_agrees_with_the_commitment_and_one_without_with_the_length() {
    let batch = |text: &str| seal(alloc::vec![SyntheticAdded { text: text.into() }.into()]).batch;
    let erased = batch(SECRET).erase(Some(&KEY), &Anything, &|_, _| true).unwrap();
    let other = SECRET.replace("must", "MUST");
    for (text, expected) in [(SECRET, true), (other.as_str(), false), ("another length", false)] {
        let disclosed = batch(text).disclose(Some(&KEY), &Anything, &mut |_| Disclosure::Disclose).unwrap();
        assert_eq!(disclosed.agrees(&erased, &Anything), Ok(expected), "{text}");
        assert_eq!(erased.agrees(&disclosed, &Anything), Ok(expected), "{text}");
    }
    assert_eq!(batch(&other).agrees(&erased, &Anything), Ok(true), "without a key, lengths alone");
}
