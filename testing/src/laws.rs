//! The laws of projections, over any session.

use crate::recorded::TestSession;
use crate::story::story;
use annals_core::{Digest, Record, Seq};
use annals_projections::Projection;
use annals_store::cache::Saved;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// Sessions with what projections meet: several turns, calls that fail or end late, failed answers, text of other scripts, texts that are
/// references.
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
            .prompt(&long)
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
#[track_caller]
pub fn check_laws<P>(session: &TestSession)
where
    P: Projection + Clone + PartialEq + Debug + Serialize + DeserializeOwned,
{
    if let Err(broken) = holds::<P>(session) {
        // Here, so that the panic names the test.
        panic!("{}: {broken}\n\nThe session, by event:\n{}", P::NAME, listed(session));
    }
}

/// Why a view cannot be saved although JSON could hold it.
const BY_POSITION: &str = "saved views are written by position: without #[serde(flatten)], #[serde(untagged)], skip_serializing_if and JSON values";

/// What of the laws does not hold.
fn holds<P>(session: &TestSession) -> Result<(), String>
where
    P: Projection + Clone + PartialEq + Debug + Serialize + DeserializeOwned,
{
    let whole: P = session.fold();
    same("the same records gave two views", session.fold(), &whole)?;
    for (cut, half) in session.every_cut::<P>() {
        // As a store saves views.
        let saved = Saved::of(cut, Digest([0; 32]), &half)
            .map_err(|error| format!("the view cannot be saved before event {cut}: {error}; {BY_POSITION}"))?;
        let resumed: P = saved
            .view()
            .ok_or_else(|| format!("the view that was saved before event {cut} cannot be read back; {BY_POSITION}"))?;
        same(&format!("saved before event {cut} and read back, it is another view"), resumed.clone(), &half)?;
        let rest = || session.records().filter(|record| record.seq >= cut);
        let halves = format!("folded up to event {cut} and then on, it is not the view of the whole");
        same(&halves, onwards(half, rest()), &whole)?;
        let resumes = format!("saved before event {cut}, read back and folded on, it is not the view of the whole");
        same(&resumes, onwards(resumed, rest()), &whole)?;
    }
    damaged::<P>(session)
}

fn same<P: PartialEq + Debug>(law: &str, found: P, expected: &P) -> Result<(), String> {
    match found == *expected {
        true => Ok(()),
        false => Err(format!("{law}\n     got: {found:?}\nexpected: {expected:?}")),
    }
}

fn listed(session: &TestSession) -> String {
    let lines = session.records().map(|record| format!("{:>4}  {}", record.seq, record.event.kind().name()));
    lines.collect::<Vec<_>>().join("\n")
}

fn onwards<'a, P: Projection>(mut view: P, records: impl Iterator<Item = Record<'a>>) -> P {
    records.for_each(|record| view.apply(&record));
    view
}

/// Folds damaged logs: a projection that panics on one breaks the law.
fn damaged<P: Projection>(session: &TestSession) -> Result<(), String> {
    let cuts: Vec<Seq> = session.batches.iter().map(|batch| batch.first).collect();
    for lost in &cuts {
        let batch = |record: &Record<'_>| cuts.iter().rev().find(|first| **first <= record.seq) == Some(lost);
        survives::<P>(
            &format!("the batch of event {lost} is missing"),
            session.records().filter(|record| !batch(record)),
        )?;
        let twice =
            session.records().flat_map(|record| std::iter::repeat_n(record, if batch(&record) { 2 } else { 1 }));
        survives::<P>(&format!("the batch of event {lost} is there twice"), twice)?;
    }
    let records: Vec<Record<'_>> = session.records().collect();
    survives::<P>("the order of events is reversed", records.into_iter().rev())
}

/// The panic itself was printed by then, with its place in the projection.
fn survives<'a, P: Projection>(damage: &str, records: impl Iterator<Item = Record<'a>>) -> Result<(), String> {
    let folded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(onwards(P::default(), records))));
    folded.map_err(|_| format!("it panics (see above) on a damaged log, where {damage}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::event::{InputAdmitted, InputPromoted, ToolCalled, ToolSettled};
    use serde::Deserialize;
    use std::collections::BTreeMap;

    fn broken<P>() -> String
    where
        P: Projection + Clone + PartialEq + Debug + Serialize + DeserializeOwned,
    {
        stories().iter().find_map(|session| holds::<P>(session).err()).unwrap_or_default()
    }

    /// The tool of the last result. It believes that a result follows its call.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Believing(Vec<String>);

    impl Projection for Believing {
        const NAME: &'static str = "believing";
        const VERSION: u32 = 1;

        fn apply(&mut self, record: &Record<'_>) {
            if let Some(called) = record.event.payload::<ToolCalled>() {
                self.0.push(called.name.clone());
            }
            if record.event.payload::<ToolSettled>().is_some() {
                self.0.pop().expect("a call before its result");
            }
        }
    }

    /// A member that JSON would hold, and a view by position does not.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Flattened {
        #[serde(flatten)]
        tools: BTreeMap<String, u64>,
    }

    impl Projection for Flattened {
        const NAME: &'static str = "flattened";
        const VERSION: u32 = 1;

        fn apply(&mut self, record: &Record<'_>) {
            if let Some(called) = record.event.payload::<ToolCalled>() {
                *self.tools.entry(called.name.clone()).or_default() += 1;
            }
        }
    }

    #[test]
    fn a_view_that_cannot_be_saved_by_position_is_named() {
        let broken = broken::<Flattened>();
        assert!(broken.contains("cannot be saved before event") && broken.contains("serde(flatten)"), "{broken}");
    }

    /// Prompts, of which the unanswered one is not saved.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Forgetful {
        prompts: u64,
        #[serde(skip)]
        open: bool,
    }

    impl Projection for Forgetful {
        const NAME: &'static str = "forgetful";
        const VERSION: u32 = 1;

        fn apply(&mut self, record: &Record<'_>) {
            self.open = record.event.payload::<InputPromoted>().is_some();
            self.prompts += u64::from(self.open);
        }
    }

    /// The longest prompt. It believes that each is inline.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Inline(usize);

    impl Projection for Inline {
        const NAME: &'static str = "inline";
        const VERSION: u32 = 1;

        fn apply(&mut self, record: &Record<'_>) {
            if let Some(input) = record.event.payload::<InputAdmitted>() {
                self.0 = self.0.max(input.text.inline().expect("an inline text").len());
            }
        }
    }

    #[test]
    fn a_projection_that_believes_a_damaged_log_is_named_with_the_damage() {
        let broken = broken::<Believing>();
        assert_eq!(broken, "it panics (see above) on a damaged log, where the batch of event 4 is missing");
    }

    #[test]
    fn a_projection_that_does_not_save_all_of_itself_is_named_with_the_place() {
        let broken = broken::<Forgetful>();
        assert!(broken.starts_with("saved before event 3 and read back, it is another view"), "{broken}");
        assert!(broken.contains("open: false") && broken.contains("open: true"), "{broken}");
    }

    #[test]
    fn stories_have_references_to_large_texts() {
        let unwinds = std::panic::catch_unwind(broken::<Inline>);
        assert!(unwinds.is_err(), "a story has a prompt that is a reference");
    }
}
