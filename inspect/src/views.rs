//! Every view of a session by name, in its public JSON form (scenarios/FORMAT.md, "Views").

mod request_texts;

pub(crate) use request_texts::RequestTexts;

use super::{AskError, Lack, SessionAt, each_request};
use annals_core::event::Purpose;
use annals_core::{Blobs, Digest, Seq, canonical};
use annals_projections::json::RequestJson;
use annals_projections::{BuildError, IndexedRequest, Messages, SessionView, ToJson};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The names of views, in the order of `fixtures/scenarios/FORMAT.md`. `runs` is of a scenario, not of a log.
pub const NAMES: [&str; 10] =
    ["session", "history", "transcript", "baseline", "snapshot", "pending", "epochs", "requests", "usage", "events"];

/// An item of the view `requests`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestItem<'a> {
    /// The request; left out when it cannot be rebuilt.
    #[serde(flatten)]
    pub request: Option<RequestJson<'a>>,
    /// Why it cannot be rebuilt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The event that recorded the request, or that began its answer.
    pub seq: Seq,
    /// A turn, a summary or a title.
    pub purpose: Purpose,
    /// What the log lacks of the request.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub lacks: BTreeSet<Lack>,
}

/// The name as a view is known by, or which ones there are.
///
/// # Errors
/// When no view has this name.
pub fn named(name: &str) -> Result<&'static str, AskError> {
    let known = NAMES.iter().find(|known| **known == name).copied();
    known.ok_or_else(|| AskError::NoView { name: name.to_owned(), known: NAMES.to_vec() })
}

/// The JSON of some views at a cut. `view` is the fold before `until`; requests and events are read only when named.
pub async fn json(past: &SessionAt, view: &SessionView, until: Seq, names: &[&str]) -> Result<Value, AskError> {
    let mut all = Map::new();
    for name in names {
        all.insert((*name).to_owned(), one(past, view, until, named(name)?).await?);
    }
    Ok(Value::Object(all))
}

async fn one(past: &SessionAt, view: &SessionView, until: Seq, name: &str) -> Result<Value, AskError> {
    Ok(match name {
        "transcript" => {
            let mut messages = Messages::default();
            past.each(Seq::ZERO, until, |record| {
                messages.apply(record);
            })
            .await?;
            view.transcript.page_json(&messages, past.blobs())
        }
        "requests" | "events" => {
            Value::Array(list(past, until, name).await?.into_iter().map(|(_, item)| item).collect())
        }
        _ => folded(view, name, past.blobs()),
    })
}

/// A view that the fold alone gives: any but `transcript`, `requests` and `events`.
pub(super) fn folded(view: &SessionView, name: &str, blobs: &dyn Blobs) -> Value {
    match name {
        "session" => view.session.to_json(None, blobs),
        "history" => view.history.to_json(blobs),
        "baseline" => view.epochs.baseline_json(blobs),
        "snapshot" => view.epochs.snapshot_json(blobs),
        "pending" => view.inbox.to_json(blobs),
        "epochs" => view.epochs.marks_json(),
        "usage" => view.usage.to_json(blobs),
        _ => Value::Null,
    }
}

/// The views that only grow, `requests` and `events`, item by item with the place of each: the view at an earlier cut is
/// the part before it.
pub(super) async fn list(past: &SessionAt, until: Seq, name: &str) -> Result<Vec<(Seq, Value)>, AskError> {
    if name == "requests" {
        return requests(past, until).await;
    }
    let mut events = Vec::new();
    past.each(Seq::ZERO, until, |record| events.push((record.seq, record.to_json(past.blobs())))).await?;
    Ok(events)
}

/// A request that cannot be rebuilt, as an item of the view `requests`.
pub(super) fn failed(step: &IndexedRequest, error: &BuildError) -> Value {
    let (seq, purpose, error) = (step.seq, step.purpose, Some(error.to_string()));
    json!(RequestItem { request: None, error, seq, purpose, lacks: BTreeSet::new() })
}

/// Every request before a cut. One that an import did not record is rebuilt and marked as such; one that a damaged log does
/// not contain is listed with the reason.
async fn requests(past: &SessionAt, until: Seq) -> Result<Vec<(Seq, Value)>, AskError> {
    let steps = past.steps().await?;
    let before = steps.requests.range(0, steps.requests.before(until));
    let mut requests = Vec::new();
    each_request(past, before, |step, built, _| {
        let (seq, purpose) = (step.seq, step.purpose);
        let item = match &built {
            Ok((request, lacks)) => {
                let request = request.request();
                let (request, lacks) = (Some(RequestJson::of(&request)), lacks.clone());
                json!(RequestItem { request, error: None, seq, purpose, lacks })
            }
            Err(error) => failed(step, error),
        };
        requests.push((seq, item));
    })
    .await?;
    Ok(requests)
}

/// Visits the body of every request before a cut: all that is sent, before its wire encoding, as canonical JSON on one
/// line. One that a damaged log does not give back has the reason in its place.
pub async fn bodies(past: &SessionAt, until: Seq, mut visit: impl FnMut(&str)) -> Result<(), AskError> {
    let steps = past.steps().await?;
    let before = steps.requests.range(0, steps.requests.before(until));
    let mut texts = RequestTexts::default();
    each_request(past, before, |step, built, _| {
        visit(texts.body(step, &built));
    })
    .await
}

/// The digest of a view: of its canonical JSON.
pub fn digest(view: &Value) -> Digest {
    Digest::of(canonical::value(view).as_bytes())
}
