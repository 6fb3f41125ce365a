//! The views of a session, folded from its log, for `expect`, `capture` and the report.

use super::action::ViewName;
use annals_core::{Blobs, Record, Seq, SessionId};
use annals_projections::{Messages, Projection, SessionView, ToJson, Transcript};
use annals_store::{EventLog, ReadError};
use serde_json::{Map, Value};

/// The folded views of a session.
pub(super) struct FoldedSession {
    /// All folds.
    pub view: SessionView,
    messages: Messages,
    events: Vec<Value>,
}

impl FoldedSession {
    /// Reads and folds a log, including inherited events.
    pub async fn read(log: &dyn EventLog, session: SessionId) -> Result<Self, ReadError> {
        let blobs = log.blobs();
        let mut folded = Self { view: SessionView::default(), messages: Messages::default(), events: Vec::new() };
        each(log, session, |record| {
            folded.view.apply(record);
            folded.messages.apply(record);
            folded.events.push(record.to_json(blobs.as_ref()));
        })
        .await?;
        Ok(folded)
    }

    /// Every view by name. `requests` and `runs` are those of the whole scenario.
    pub fn json(&self, running: bool, requests: &[Value], runs: &[Value], blobs: &dyn Blobs) -> Value {
        let view = &self.view;
        let one = |name: ViewName| match name {
            ViewName::Session => only(SESSION, view.session.to_json(Some(running), blobs)),
            ViewName::History => view.history.to_json(blobs),
            ViewName::Transcript => self.transcript(&view.transcript, blobs),
            ViewName::Baseline => only(BASELINE, view.epochs.baseline_json(blobs)),
            ViewName::Snapshot => view.epochs.snapshot_json(blobs),
            ViewName::Pending => view.inbox.to_json(blobs),
            ViewName::Epochs => view.epochs.marks_json(),
            ViewName::Requests => Value::Array(requests.to_vec()),
            ViewName::Usage => view.usage.to_json(blobs),
            ViewName::Runs => Value::Array(runs.to_vec()),
            ViewName::Events => Value::Array(self.events.clone()),
            ViewName::Files => Value::Null,
        };
        // The world adds the files if they are captured.
        let views = ViewName::ALL.iter().filter(|(_, view)| *view != ViewName::Files);
        let named: Map<String, Value> = views.map(|(name, view)| ((*name).to_owned(), one(*view))).collect();
        Value::Object(named)
    }

    fn transcript(&self, transcript: &Transcript, blobs: &dyn Blobs) -> Value {
        transcript.page_json(&self.messages, blobs)
    }
}

const SESSION: &[&str] = &["agent", "model", "location", "title", "status", "revert"];
const BASELINE: &[&str] = &["epoch", "seq", "cause", "agent", "location", "text", "parts"];

/// Selects the fields that `fixtures/scenarios/FORMAT.md` lists. Others (the end of the log, what blocks a replacement) change
/// at every event, so that a `$same` over the view would fail.
fn only(listed: &[&str], known: Value) -> Value {
    let Value::Object(mut fields) = known else { return known };
    fields.retain(|name, _| listed.contains(&name.as_str()));
    Value::Object(fields)
}

/// Calls `see` for every record of a session, oldest first.
pub(super) async fn each(
    log: &dyn EventLog,
    session: SessionId,
    mut see: impl FnMut(&Record<'_>),
) -> Result<(), ReadError> {
    let mut pages = log.pages(session, Seq::ZERO..Seq(u64::MAX));
    while let Some(page) = pages.next_page().await? {
        for slice in &page {
            slice.records().for_each(|record| see(&record));
        }
    }
    Ok(())
}
