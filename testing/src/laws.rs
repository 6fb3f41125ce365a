//! The laws of projections, over any session.

use crate::recorded::TestSession;
use crate::story::story;
use annals_core::{Record, Seq};
use annals_projections::Projection;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// Sessions with what projections meet: several turns, calls that fail or end late, failed answers, text of other scripts.
pub fn stories() -> Vec<TestSession> {
    let long = "x".repeat(20_000);
    vec![
        story().session(),
        story().prompt("Count the bolts").answer("42").session(),
        story()
            .prompt("Run the tests")
            .call("bash", serde_json::json!({"command": "cargo test"}))
            .result("ok")
            .call("read", serde_json::json!({"path": "a.rs"}))
            .call("read", serde_json::json!({"path": "b.rs"}))
            .failure("no such file")
            .result("fn b() {}")
            .answer("One file is missing.")
            .prompt("Помилка? 錯誤?")
            .fails("overloaded")
            .prompt("Again")
            .answer(&long)
            .session(),
        story().prompt("Stop").call("bash", serde_json::json!({})).session(),
    ]
}

/// Holds a projection to its laws over a session:
///
/// - two halves equal the whole, at every cut, also when the view is saved and resumed in between;
/// - the same records give the same view;
/// - a damaged log (a batch that is missing, twice, or in the wrong place) gives a view, not a panic.
///
/// # Panics
/// When a law does not hold, with the event.
pub fn check_laws<P>(session: &TestSession)
where
    P: Projection + Clone + PartialEq + Debug + Serialize + DeserializeOwned,
{
    let whole: P = session.fold();
    assert_eq!(whole, session.fold(), "{}: the same records gave two views", P::NAME);
    for (cut, half) in session.every_cut::<P>() {
        let name = P::NAME;
        let saved = serde_json::to_vec(&half).unwrap_or_else(|error| panic!("{name}: cannot be saved: {error}"));
        let resumed: P =
            serde_json::from_slice(&saved).unwrap_or_else(|error| panic!("{name}: cannot be resumed: {error}"));
        assert_eq!(resumed, half, "{name}: saved before event {cut}, it is resumed as another view");
        let rest = || session.records().filter(|record| record.seq >= cut);
        assert_eq!(onwards(half, rest()), whole, "{name}: two halves at event {cut} are not the whole");
        assert_eq!(onwards(resumed, rest()), whole, "{name}: resumed at event {cut} it is not the whole");
    }
    damaged::<P>(session);
}

fn onwards<'a, P: Projection>(mut view: P, records: impl Iterator<Item = Record<'a>>) -> P {
    records.for_each(|record| view.apply(&record));
    view
}

/// Folds damaged logs. A projection that panics fails the test.
fn damaged<P: Projection>(session: &TestSession) {
    let cuts: Vec<Seq> = session.batches.iter().map(|batch| batch.first).collect();
    for lost in &cuts {
        let batch = |record: &Record<'_>| cuts.iter().rev().find(|first| **first <= record.seq) == Some(lost);
        let _: P = onwards(P::default(), session.records().filter(|record| !batch(record)));
        let twice =
            session.records().flat_map(|record| std::iter::repeat_n(record, if batch(&record) { 2 } else { 1 }));
        let _: P = onwards(P::default(), twice);
    }
    let records: Vec<Record<'_>> = session.records().collect();
    let _: P = onwards(P::default(), records.into_iter().rev());
}
