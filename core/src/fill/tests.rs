use super::{FillError, FillKeys};
use crate::disclose::tests::{Anything, KEY, seal};
use crate::event::SyntheticAdded;
use crate::event::samples::variants;
use crate::{Batch, Digest, Disclosure, NoBlobs, Seq, SessionKey, codec};
use proptest::prelude::*;

const TEXTS: [&str; 3] = ["the first text", "the second text", "the third text"];

fn three() -> Batch {
    seal(TEXTS.iter().map(|text| SyntheticAdded { text: (*text).into() }.into()).collect()).batch
}

/// The batch with its texts withheld where `withheld` holds, and disclosed elsewhere.
fn without(batch: &Batch, withheld: impl Fn(Seq) -> bool) -> Batch {
    let mut decide = |at: crate::TextAt<'_>| if withheld(at.seq) { Disclosure::Withhold } else { Disclosure::Disclose };
    batch.disclose(Some(&KEY), &NoBlobs, &mut decide).unwrap()
}

const WHOLE: FillKeys<'static> = FillKeys { kept: Some(&KEY), fuller: Some(&KEY) };
const NO_KEYS: FillKeys<'static> = FillKeys { kept: None, fuller: None };

#[test]
fn a_batch_that_is_filled_in_from_the_whole_one_is_the_whole_one() {
    let whole = three();
    let filled = without(&whole, |seq| seq != Seq(42)).fill(&whole, WHOLE, &NoBlobs, &|_, _| false).unwrap().unwrap();
    assert_eq!((&filled.batch, filled.texts), (&whole, 2));
    assert!(filled.batch.states.is_empty(), "the key of the session proves every text");
    assert!(filled.batch.fill(&whole, WHOLE, &NoBlobs, &|_, _| false).unwrap().is_none(), "nothing is new");
}

#[test]
fn texts_of_partial_exports_are_filled_in_with_keys_of_their_own() {
    let whole = three();
    let (none, one) = (without(&whole, |_| true), without(&whole, |seq| seq != Seq(42)));
    let filled = none.fill(&one, NO_KEYS, &NoBlobs, &|_, _| false).unwrap().unwrap();
    assert_eq!((&filled.batch, filled.texts, filled.key), (&one, 1, false));
    let other = without(&whole, |seq| seq == Seq(42));
    let filled = filled.batch.fill(&other, NO_KEYS, &NoBlobs, &|_, _| false).unwrap().unwrap();
    assert_eq!((&filled.batch, filled.texts), (&without(&whole, |_| false), 2));
    assert!(filled.batch.fill(&none, NO_KEYS, &NoBlobs, &|_, _| false).unwrap().is_none());
    // The key of the session, which comes later, takes the place of the single keys.
    let filled = filled.batch.fill(&whole, WHOLE, &NoBlobs, &|_, _| false).unwrap().unwrap();
    assert_eq!((&filled.batch, filled.texts), (&whole, 0));
}

#[test]
fn erased_texts_are_not_filled_in_and_the_key_of_the_session_is_not_kept() {
    let whole = three();
    let erased = whole.erase(Some(&KEY), &NoBlobs, &|seq, _| seq == Seq(41)).unwrap();
    let keys = FillKeys { kept: None, fuller: Some(&KEY) };
    assert!(erased.fill(&whole, keys, &NoBlobs, &|_, _| false).unwrap().is_none());
    let withheld = without(&whole, |seq| seq != Seq(43));
    let filled = withheld.fill(&whole, keys, &NoBlobs, &|seq, _| seq == Seq(41)).unwrap().unwrap();
    assert_eq!(filled.texts, 1);
    let bytes = filled.batch.pack().unwrap().encoded;
    assert!(!bytes.windows(14).any(|window| window == TEXTS[0].as_bytes()));
    assert!(!bytes.windows(32).any(|window| window == KEY.0));
}

#[test]
fn a_text_that_does_not_match_its_commitment_is_refused_with_its_place() {
    let whole = three();
    let withheld = without(&whole, |_| true);
    let mut forged = whole.clone();
    forged.events[1] = SyntheticAdded { text: "another text".into() }.into();
    let refused = withheld.fill(&forged, WHOLE, &NoBlobs, &|_, _| false).unwrap_err();
    assert_eq!(refused, FillError::Text { session: whole.session, seq: Seq(42), place: "/text".into() });
    let wrong = SessionKey([1; 32]);
    let keys = FillKeys { kept: Some(&wrong), fuller: Some(&wrong) };
    assert!(matches!(withheld.fill(&whole, keys, &NoBlobs, &|_, _| false), Err(FillError::Text { .. })));
    let mut other = whole;
    other.digest = Digest([3; 32]);
    assert!(matches!(withheld.fill(&other, WHOLE, &NoBlobs, &|_, _| false), Err(FillError::Other { .. })));
}

#[test]
fn the_key_of_a_session_comes_with_the_whole_batch() {
    let created = variants().into_iter().find(|event| event.stored_key().is_some()).unwrap();
    let whole = seal(alloc::vec![created]).batch;
    let withheld = without(&whole, |_| true);
    assert_eq!(withheld.session_key(), None);
    let filled = withheld.fill(&whole, WHOLE, &Anything, &|_, _| false).unwrap().unwrap();
    assert!(filled.key && filled.batch.session_key() == Some(KEY));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Any part of any batch: withheld, filled in from another part, then from the whole.
    #[test]
    fn filling_in_restores_every_batch(withheld: u64, partly: u64) {
        let chosen = |bits: u64, at: crate::TextAt<'_>| {
            let hash = Digest::of(alloc::format!("{}{}", at.seq, at.place).as_bytes());
            if bits >> (hash.0[0] & 63) & 1 == 1 { Disclosure::Withhold } else { Disclosure::Disclose }
        };
        for event in variants() {
            let sealed = seal(alloc::vec![event]);
            let part = |bits: u64| {
                let batch = sealed.batch.disclose(Some(&KEY), &Anything, &mut |at| chosen(bits, at)).unwrap();
                codec::decode(&batch.pack().unwrap().encoded).unwrap()
            };
            let (first, second) = (part(withheld), part(partly));
            let filled = first.fill(&second, NO_KEYS, &Anything, &|_, _| false).unwrap();
            let filled = filled.map_or(first, |filled| filled.batch);
            prop_assert_eq!(&filled.states, &part(withheld & partly).states);
            let whole = filled.fill(&sealed.batch, WHOLE, &Anything, &|_, _| false).unwrap();
            let whole = whole.map_or(filled, |filled| filled.batch);
            let packed = whole.pack().unwrap();
            prop_assert_eq!(&packed.batch, &sealed.batch);
            prop_assert_eq!(packed.encoded, sealed.encoded.clone());
        }
    }
}
