//! Laws of the folds, over generated logs. `PROPTEST_CASES=10000 cargo test -p annals-projections --test folds laws::` is what
//! `.ci/run` asks for.

mod beside;
mod building;
mod compactions;
mod every_fold;
mod folding;
mod reading;
mod reverts;
mod selection;
mod talk;

use annals_core::{Batch, NoBlobs};
use annals_projections::{Messages, Projection, SessionView, ToJson};
use serde_json::{Value, json};

fn fold<'a>(batches: impl IntoIterator<Item = &'a Batch>) -> SessionView {
    let mut view = SessionView::default();
    feed(&mut view, batches);
    view
}

fn feed<'a>(view: &mut SessionView, batches: impl IntoIterator<Item = &'a Batch>) {
    for batch in batches {
        batch.records().for_each(|record| view.apply(&record));
    }
}

/// Every view as a reader gets it.
fn shown(view: &SessionView) -> Value {
    json!({
        "session": view.session.to_json(None, &NoBlobs),
        "history": view.history.to_json(&NoBlobs),
        "baseline": view.epochs.baseline_json(&NoBlobs),
        "snapshot": view.epochs.snapshot_json(&NoBlobs),
        "epochs": view.epochs.marks_json(),
        "pending": view.inbox.to_json(&NoBlobs),
        "usage": view.usage.to_json(&NoBlobs),
    })
}

/// The same for a log that may be longer and younger.
fn but_for_time(view: &SessionView) -> Value {
    let mut all = shown(view);
    for field in ["next", "updated"] {
        all["session"][field] = Value::Null;
    }
    all
}

fn transcript(view: &SessionView, batches: &[Batch]) -> Value {
    let mut messages = Messages::default();
    batches.iter().flat_map(Batch::records).for_each(|record| {
        messages.apply(&record);
    });
    view.transcript.page_json(&messages, &NoBlobs)
}
