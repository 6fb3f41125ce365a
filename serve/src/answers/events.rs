//! Events as pages; see `streams` for following them.

use crate::clip::Clipped;
use crate::operation::Question;
use crate::problem::ApiProblem;
use annals_core::Seq;
use annals_projections::ToJson;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many events a page has, unless another number is asked for, and at most.
const PAGE: usize = 200;
const LARGEST: usize = 5_000;

/// A page of events.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventsAsked {
    /// The first event (0). A stream begins after `Last-Event-ID` instead, if that is sent.
    pub from: Option<u64>,
    /// How many events at most (200; at most 5,000). A stream has no end.
    pub limit: Option<usize>,
    /// Whether a stream also brings pieces of answers that are not in the log yet, as messages `delta` and `settled` without an id
    /// (false).
    pub deltas: Option<bool>,
    /// The most characters of a text, at least 128; what is cut is said at its end (all).
    pub clip: Option<usize>,
}

/// The events of a whole store.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreEventsAsked {
    /// The first position (0), in a store in a folder; elsewhere the id of the last message that was received. A stream begins
    /// after `Last-Event-ID` instead, if that is sent.
    pub from: Option<String>,
    /// A stream has no end: nothing is limited.
    #[allow(dead_code, reason = "part of the interface of all lists of events")]
    pub limit: Option<usize>,
}

/// A page of events.
#[derive(Debug, Serialize)]
pub struct EventPage {
    events: Vec<Value>,
    /// The first event of the next page; null at the end.
    next: Option<Seq>,
}

/// `GET /v1/sessions/{session}/events` as JSON.
pub async fn events(asked: Question<EventsAsked>) -> Result<Clipped<EventPage>, ApiProblem> {
    let past = asked.past(None).await?;
    let from = Seq(asked.given.from.unwrap_or_default());
    let limit = asked.given.limit.unwrap_or(PAGE).clamp(1, LARGEST);
    let end = Seq(from.0.saturating_add(limit as u64)).min(past.until);
    let mut events = Vec::new();
    let mut pages = asked.reader().pages(past.session, from, end);
    while let Some(slice) = pages.next_slice().await? {
        events.extend(slice.records().map(|record| record.to_json(past.blobs())));
    }
    let answer = EventPage { events, next: (end < past.until && end > from).then_some(end) };
    Ok(Clipped { answer, limit: asked.given.clip })
}
