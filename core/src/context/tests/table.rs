//! The decision tables of `docs/reference/context.md#decisions`, row by row, and how rows add up.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The column "Now".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Now {
    Available,
    Unavailable,
    /// Not in the composed context.
    Gone,
}

/// What the snapshot holds of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Nothing,
    Entry { value: Value, removal: bool },
}

/// How a stored value compares to the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Undecodable,
    Equal,
    Different,
}

/// Everything the tables look at, of one key. `renders_removal` is whether the source now has a removal renderer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) now: Now,
    pub(super) stored: Stored,
    pub(super) renders_removal: bool,
}

/// The column "Text".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    None,
    Baseline,
    Update,
    StoredRemoval,
}

/// The column "Next entry".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    None,
    Fresh,
    Verbatim,
    Dropped,
}

/// One row of table 3.2: what must hold for it (`None`: any, or not checked), and what follows.
pub(super) struct Row {
    pub(super) number: u8,
    now: Now,
    in_snapshot: bool,
    decodes: Option<bool>,
    equal: Option<bool>,
    removal_stored: Option<bool>,
    pub(super) text: Text,
    pub(super) next: Next,
    pub(super) forces: bool,
}

use Now::{Available as A, Gone as G, Unavailable as U};

const fn row(
    number: u8,
    (now, in_snapshot): (Now, bool),
    (decodes, equal, removal_stored): (Option<bool>, Option<bool>, Option<bool>),
    (text, next, forces): (Text, Next, bool),
) -> Row {
    Row { number, now, in_snapshot, decodes, equal, removal_stored, text, next, forces }
}

/// Table 3.2.
pub(super) const RECONCILE: [Row; 9] = [
    row(1, (A, false), (None, None, None), (Text::Baseline, Next::Fresh, false)),
    row(2, (A, true), (Some(true), Some(true), None), (Text::None, Next::Verbatim, false)),
    row(3, (A, true), (Some(true), Some(false), None), (Text::Update, Next::Fresh, false)),
    row(4, (A, true), (Some(false), None, None), (Text::None, Next::None, true)),
    row(5, (U, true), (None, None, None), (Text::None, Next::Verbatim, false)),
    row(6, (U, false), (None, None, None), (Text::None, Next::None, false)),
    row(7, (G, true), (None, None, Some(true)), (Text::StoredRemoval, Next::Dropped, false)),
    row(8, (G, true), (None, None, Some(false)), (Text::None, Next::None, true)),
    row(9, (G, false), (None, None, None), (Text::None, Next::None, false)),
];

impl Row {
    fn fits(&self, case: &Case) -> bool {
        let any_or = |wanted: Option<bool>, is: bool| wanted.is_none_or(|wanted| wanted == is);
        self.now == case.now
            && match case.stored {
                Stored::Nothing => !self.in_snapshot,
                Stored::Entry { value, removal } => {
                    self.in_snapshot
                        && any_or(self.decodes, value != Value::Undecodable)
                        && any_or(self.equal, value == Value::Equal)
                        && any_or(self.removal_stored, removal)
                }
            }
    }
}

/// The rows of table 3.2 that fit a case. The table is complete and unambiguous when that is always one.
pub(super) fn rows(case: &Case) -> Vec<&'static Row> {
    RECONCILE.iter().filter(|row| row.fits(case)).collect()
}

/// Every case of one key.
pub(super) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    let mut stored = alloc::vec![Stored::Nothing];
    for value in [Value::Undecodable, Value::Equal, Value::Different] {
        stored.extend([true, false].map(|removal| Stored::Entry { value, removal }));
    }
    for stored in stored {
        for (now, renders_removal) in [(A, true), (A, false), (U, true), (G, true)] {
            all.push(Case { now, stored, renders_removal });
        }
    }
    all
}

/// An entry of a snapshot as the tables speak of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Held {
    /// What was stored, verbatim.
    Stored,
    /// The current value and the removal text rendered from it, if the source has one.
    Fresh,
}

/// What must come out: texts in order, entries by key, calls of renderers in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) texts: Vec<(&'static str, String)>,
    pub(super) entries: Vec<(&'static str, Held)>,
    pub(super) calls: Vec<String>,
}

/// What reconciling or replacing must decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Unchanged,
    Updated(Expected),
    Ready(Expected),
    Blocked(Vec<&'static str>),
}

impl Expected {
    /// A fresh entry: the value, and its removal text rendered while it exists.
    fn fresh(&mut self, key: &'static str, case: &Case) {
        if case.renders_removal {
            self.calls.push(format!("removal {key}"));
        }
        self.entries.push((key, Held::Fresh));
    }

    fn expect_text(&mut self, kind: &str, key: &'static str, text: String) {
        self.calls.push(format!("{kind} {key}"));
        self.texts.push((key, text));
    }
}

/// What [`super::source`] renders, and what the laws store as removal text.
pub(super) fn baseline(key: &str) -> String {
    format!("{key} is new")
}
pub(super) fn update(key: &str) -> String {
    format!("{key} was old, is new")
}
pub(super) fn fresh_removal(key: &str) -> String {
    format!("{key} was new last")
}
pub(super) fn stored_removal(key: &str) -> String {
    format!("{key} no longer applies")
}

/// Table 3.2 with its aggregation, over the sources in order of composition.
pub(super) fn reconcile(keys: &[(&'static str, Case)]) -> Decision {
    let row = |case: &Case| rows(case)[0];
    if keys.iter().any(|(_, case)| row(case).forces) {
        return replace(keys);
    }
    let mut expected = Expected::default();
    for (key, case) in keys {
        match row(case).text {
            Text::Baseline => expected.expect_text("baseline", key, baseline(key)),
            Text::Update => expected.expect_text("update", key, update(key)),
            Text::None | Text::StoredRemoval => {}
        }
        match row(case).next {
            Next::Fresh => expected.fresh(key, case),
            Next::Verbatim => expected.entries.push((key, Held::Stored)),
            Next::None | Next::Dropped => {}
        }
    }
    // Removal texts follow in ascending key order; they were rendered when their value was told.
    let mut gone: Vec<_> = keys.iter().filter(|(_, case)| row(case).text == Text::StoredRemoval).collect();
    gone.sort_by_key(|(key, _)| *key);
    expected.texts.extend(gone.into_iter().map(|(key, _)| (*key, stored_removal(key))));
    if expected.texts.is_empty() { Decision::Unchanged } else { Decision::Updated(expected) }
}

/// Table 3.3.
pub(super) fn replace(keys: &[(&'static str, Case)]) -> Decision {
    let is_stored = |case: &Case| case.stored != Stored::Nothing;
    let blocking: Vec<_> =
        keys.iter().filter(|(_, case)| case.now == U && is_stored(case)).map(|(key, _)| *key).collect();
    if !blocking.is_empty() {
        return Decision::Blocked(blocking);
    }
    Decision::Ready(all_baselines(keys))
}

/// Table 3.1: the generation, or the keys of all unavailable sources.
pub(super) fn initialize(keys: &[(&'static str, Case)]) -> Result<Expected, Vec<&'static str>> {
    let unavailable: Vec<_> = keys.iter().filter(|(_, case)| case.now == U).map(|(key, _)| *key).collect();
    if unavailable.is_empty() { Ok(all_baselines(keys)) } else { Err(unavailable) }
}

fn all_baselines(keys: &[(&'static str, Case)]) -> Expected {
    let mut expected = Expected::default();
    for (key, case) in keys.iter().filter(|(_, case)| case.now == A) {
        expected.expect_text("baseline", key, baseline(key));
        expected.fresh(key, case);
    }
    expected
}
