use super::source::{Calls, observed};
use super::table::{self, Case, Decision, Expected, Held, Now, Stored, Value, cases, rows};
use crate::context::{
    Entry, Generation, InitializationBlocked, Key, Observation, ReconcileError, Reconciled, Replaced, Snapshot, Update,
    initialize, reconcile, replace,
};
use crate::text::{Json, NoBlobs, Text};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use proptest::prelude::*;
use serde_json::json;

const KEYS: [&str; 8] = ["a/a", "a/b", "b/a", "core/date", "core/date.x", "core/date/x", "z/0", "z/a"];

type Keys = Vec<(&'static str, Case)>;

fn key(text: &str) -> Key {
    text.parse().unwrap()
}

fn new() -> serde_json::Value {
    json!({"v": "new"})
}

/// The world of some cases: one reading of each source that is there, and the snapshot before it.
fn world(keys: &Keys) -> (Vec<Observation>, Snapshot, Calls) {
    let calls = Calls::default();
    let present = keys.iter().filter(|(_, case)| case.now != Now::Gone);
    let observations = present
        .map(|(key, case)| observed(key, (case.now == Now::Available).then(new), case.renders_removal, &calls))
        .collect();
    let entries = keys.iter().filter_map(|(text, case)| stored(text, case).map(|entry| (key(text), entry)));
    (observations, Snapshot(entries.collect()), calls)
}

fn stored(key: &str, case: &Case) -> Option<Entry> {
    let Stored::Entry { value, removal } = case.stored else { return None };
    let value = match value {
        Value::Undecodable => json!({"version": 0}),
        Value::Equal => new(),
        Value::Different => json!({"v": "old"}),
    };
    let removed = removal.then(|| Text::from(table::stored_removal(key)));
    Some(Entry { value: Json::canonical(&value), removed })
}

/// The snapshot that the tables want.
fn entries(keys: &Keys, expected: &Expected) -> Snapshot {
    let case = |text: &str| &keys.iter().find(|(key, _)| *key == text).unwrap().1;
    let entry = |(text, held): &(&'static str, Held)| {
        let entry = match held {
            Held::Stored => stored(text, case(text)).unwrap(),
            Held::Fresh => Entry {
                value: Json::canonical(&new()),
                removed: case(text).renders_removal.then(|| table::fresh_removal(text).into()),
            },
        };
        (key(text), entry)
    };
    Snapshot(expected.entries.iter().map(entry).collect())
}

fn shown_keys(expected: &Expected) -> Vec<Key> {
    expected.texts.iter().map(|(text, _)| key(text)).collect()
}

fn joined(expected: &Expected) -> String {
    expected.texts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n\n")
}

fn is_generation(keys: &Keys, expected: &Expected, generation: &Generation) {
    let parts: Vec<_> = generation.parts.iter().map(|part| (part.key.as_str(), part.text.inline().unwrap())).collect();
    assert_eq!(parts, expected.texts.iter().map(|(key, text)| (*key, text.as_str())).collect::<Vec<_>>(), "{keys:?}");
    assert_eq!(generation.text(), joined(expected));
    assert_eq!(generation.snapshot, entries(keys, expected), "{keys:?}");
}

fn is_update(keys: &Keys, expected: &Expected, before: Snapshot, update: &Update) {
    assert_eq!(update.keys, shown_keys(expected), "{keys:?}");
    assert_eq!(update.text, joined(expected), "{keys:?}");
    let Snapshot(mut after) = before;
    after.extend(update.set.clone());
    for key in &update.removed {
        assert!(after.remove(key).is_some(), "{key} was told");
        assert!(!update.set.contains_key(key));
    }
    assert!(update.removed.is_sorted());
    assert_eq!(Snapshot(after), entries(keys, expected), "{keys:?}");
}

/// Plays the cases, in order of composition, through the algebra and through the tables.
fn plays_as_the_tables_say(keys: &Keys) {
    let (observations, snapshot, calls) = world(keys);
    let decided = reconcile(&observations, &snapshot, &NoBlobs).unwrap();
    let rendered = match (table::reconcile(keys), decided) {
        (Decision::Unchanged, Reconciled::Unchanged) => Vec::new(),
        (Decision::Updated(expected), Reconciled::Updated(update)) => {
            is_update(keys, &expected, snapshot, &update);
            expected.calls
        }
        (Decision::Ready(expected), Reconciled::ReplacementReady(generation)) => {
            is_generation(keys, &expected, &generation);
            expected.calls
        }
        (Decision::Blocked(blocking), Reconciled::ReplacementBlocked(found)) => {
            assert_eq!(found.iter().map(Key::as_str).collect::<Vec<_>>(), blocking);
            Vec::new()
        }
        (expected, found) => panic!("{keys:?}\nexpected {expected:?}\nfound {found:?}"),
    };
    assert_eq!(calls.all(), rendered, "renderers are called when their text is used, and only then: {keys:?}");

    let (observations, snapshot, calls) = world(keys);
    let rendered = match (table::replace(keys), replace(&observations, &snapshot).unwrap()) {
        (Decision::Ready(expected), Replaced::ReplacementReady(generation)) => {
            is_generation(keys, &expected, &generation);
            expected.calls
        }
        (Decision::Blocked(blocking), Replaced::ReplacementBlocked(found)) => {
            assert_eq!(found.iter().map(Key::as_str).collect::<Vec<_>>(), blocking);
            Vec::new()
        }
        (expected, found) => panic!("{keys:?}\nexpected {expected:?}\nfound {found:?}"),
    };
    assert_eq!(calls.all(), rendered, "{keys:?}");

    let (observations, _, calls) = world(keys);
    let rendered = match (table::initialize(keys), initialize(&observations)) {
        (Ok(expected), Ok(generation)) => {
            is_generation(keys, &expected, &generation);
            expected.calls
        }
        (Err(unavailable), Err(ReconcileError::Blocked(InitializationBlocked { keys }))) => {
            assert_eq!(keys.iter().map(Key::as_str).collect::<Vec<_>>(), unavailable);
            Vec::new()
        }
        (expected, found) => panic!("{keys:?}\nexpected {expected:?}\nfound {found:?}"),
    };
    assert_eq!(calls.all(), rendered, "{keys:?}");
}

#[test]
fn the_table_has_exactly_one_row_for_every_case_and_a_case_for_every_row() {
    let mut used = alloc::collections::BTreeSet::new();
    for case in cases() {
        let fitting = rows(&case);
        assert_eq!(fitting.len(), 1, "{case:?}");
        used.insert(fitting[0].number);
    }
    assert_eq!(used, (1..=9).collect());
}

#[test]
fn one_source_follows_the_tables_in_every_case() {
    for case in cases() {
        plays_as_the_tables_say(&alloc::vec![("core/date", case)]);
    }
}

#[test]
fn two_and_three_sources_follow_the_tables_in_every_case_and_every_order() {
    let all = cases();
    for a in &all {
        for b in &all {
            for [x, y] in [["a/a", "b/b"], ["b/b", "a/a"]] {
                plays_as_the_tables_say(&alloc::vec![(x, *a), (y, *b)]);
            }
            // Over all (a, b, c), this order of keys and its reverse meet every order of cases.
            for c in &all {
                plays_as_the_tables_say(&alloc::vec![("b/b", *a), ("c/c", *b), ("a/a", *c)]);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn any_context_follows_the_tables(
        keys in prop::sample::subsequence(&KEYS[..], 0..=KEYS.len()).prop_shuffle(),
        picks in prop::collection::vec(prop::sample::select(cases()), KEYS.len()),
    ) {
        plays_as_the_tables_say(&keys.into_iter().zip(picks).collect());
    }

    #[test]
    fn what_was_just_told_is_unchanged_at_the_next_boundary(
        keys in prop::sample::subsequence(&KEYS[..], 0..=KEYS.len()).prop_shuffle(),
        picks in prop::collection::vec(prop::sample::select(cases()), KEYS.len()),
    ) {
        let keys: Keys = keys.into_iter().zip(picks).collect();
        let (observations, snapshot, _) = world(&keys);
        let after = match reconcile(&observations, &snapshot, &NoBlobs).unwrap() {
            Reconciled::Unchanged | Reconciled::ReplacementBlocked(_) => return Ok(()),
            Reconciled::ReplacementReady(generation) => generation.snapshot,
            Reconciled::Updated(update) => {
                let Snapshot(mut after) = snapshot;
                after.extend(update.set);
                update.removed.iter().for_each(|key| drop(after.remove(key)));
                Snapshot(after)
            }
        };
        prop_assert_eq!(reconcile(&observations, &after, &NoBlobs).unwrap(), Reconciled::Unchanged);
    }
}

#[test]
fn the_empty_context_is_an_empty_generation_and_changes_nothing() {
    assert_eq!(initialize(&[]), Ok(Generation::default()));
    assert_eq!(Generation::default().text(), "");
    let none = Snapshot(BTreeMap::new());
    assert_eq!(reconcile(&[], &none, &NoBlobs), Ok(Reconciled::Unchanged));
    assert_eq!(replace(&[], &none), Ok(Replaced::ReplacementReady(Generation::default())));
    assert_eq!("core/date".parse::<Key>().unwrap().to_string(), "core/date");
}
