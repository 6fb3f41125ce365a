//! The views of a Session, folded from its log: what `expect`, `capture` and the report show.

use super::action::View;
use annals_core::{Blobs, Record, Seq, SessionId};
use annals_projections::{Messages, Projection, SessionView, ToJson, Transcript};
use annals_store::{EventLog, ReadError};
use serde_json::{Map, Value};

/// A Session as its log tells it.
pub(super) struct Folded {
    /// All folds.
    pub view: SessionView,
    messages: Messages,
    events: Vec<Value>,
}

impl Folded {
    /// Reads and folds a whole log, inherited facts included.
    ///
    /// # Errors
    /// When the log cannot be read.
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

    /// Every view by name. `requests` and `runs` are of the whole scenario, so they come from the player.
    pub fn json(&self, running: bool, requests: &[Value], runs: &[Value], blobs: &dyn Blobs) -> Value {
        let view = &self.view;
        let one = |name: View| match name {
            View::Session => only(SESSION, view.session.to_json(Some(running), blobs)),
            View::History => view.history.to_json(blobs),
            View::Transcript => self.transcript(&view.transcript, blobs),
            View::Baseline => only(BASELINE, view.epochs.baseline_json(blobs)),
            View::Snapshot => view.epochs.snapshot_json(blobs),
            View::Pending => view.inbox.to_json(blobs),
            View::Epochs => view.epochs.marks_json(),
            View::Requests => Value::Array(requests.to_vec()),
            View::Usage => view.usage.to_json(blobs),
            View::Runs => Value::Array(runs.to_vec()),
            View::Events => Value::Array(self.events.clone()),
            View::Files => Value::Null,
        };
        // The world adds its files, where they are captured.
        let views = View::ALL.iter().filter(|(_, view)| *view != View::Files);
        let named: Map<String, Value> = views.map(|(name, view)| ((*name).to_owned(), one(*view))).collect();
        Value::Object(named)
    }

    fn transcript(&self, transcript: &Transcript, blobs: &dyn Blobs) -> Value {
        transcript.page_json(&self.messages, blobs)
    }
}

const SESSION: &[&str] = &["agent", "model", "location", "title", "status", "revert"];
const BASELINE: &[&str] = &["epoch", "seq", "cause", "agent", "location", "text", "parts"];

/// The fields that `fixtures/scenarios/FORMAT.md` lists. What else is known (where the log ends, what blocks a
/// replacement) changes by itself, so that a `$same` would not hold when nothing that it asks for has changed.
fn only(listed: &[&str], known: Value) -> Value {
    let Value::Object(mut fields) = known else { return known };
    fields.retain(|name, _| listed.contains(&name.as_str()));
    Value::Object(fields)
}

/// Shows every record of a Session to `see`, oldest first.
///
/// # Errors
/// When the log cannot be read.
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
