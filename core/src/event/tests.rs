//! Every kind, in both of its forms.

mod bytes;
mod json;
pub(crate) mod samples;
mod words;

use super::Kind;
use alloc::collections::BTreeSet;
use samples::samples;

#[test]
fn every_kind_has_one_sample_in_the_order_of_its_number() {
    let kinds: alloc::vec::Vec<Kind> = samples().iter().map(super::Event::kind).collect();
    assert_eq!(kinds, Kind::ALL, "fixtures/events.jsonl needs one line per kind");
}

#[test]
fn a_kind_is_found_by_its_number_and_by_its_name_and_neither_is_used_twice() {
    for kind in Kind::ALL {
        assert_eq!(Kind::of_number(kind.number()), Some(*kind));
        assert_eq!(Kind::of_name(kind.name()), Some(*kind));
        assert!(kind.meaning().ends_with('.'), "{} says what it means in one sentence", kind.name());
    }
    assert_eq!(Kind::ALL.iter().map(|kind| kind.name()).collect::<BTreeSet<_>>().len(), Kind::ALL.len());
    let known: BTreeSet<u16> = Kind::ALL.iter().map(|kind| kind.number()).collect();
    assert!((0..=u16::MAX).all(|number| Kind::of_number(number).is_some() == known.contains(&number)));
}
