//! Events as they come, as server-sent events: each once, in order, after the one that the client saw last.
//!
//! A follower reads from the store when its client reads: one that is slow delays no writer, and costs its own place and one
//! page of batches.

use super::events::{EventsAsked, events};
use crate::operation::{PathArguments, session_in, work};
use crate::problem::ApiProblem;
use crate::service::Service;
use annals_core::{Blobs, Seq};
use annals_projections::ToJson;
use annals_store::{Followed, Following, Position, ReadError, Scope};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// How often something is sent, so that a dead connection is noticed.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// `GET /v1/sessions/{session}/events`: a page, or with `Accept: text/event-stream` a stream whose ids are the numbers of events.
pub async fn session_events(
    State(service): State<Arc<Service>>,
    Path(path): Path<PathArguments>,
    given: Result<Query<EventsAsked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let given = given.map_err(|error| ApiProblem::bad_request(error.body_text()))?.0;
    if !wants_stream(&headers) {
        return work(service, path, given, events).await;
    }
    let session = session_in(&path)?;
    let from = Seq(begin(&headers, given.from)?);
    let store = service.store.now().await?;
    store.reader.head(session).await?;
    stream_of(&service, store.reader.log().follow(Scope::Session { session, from }), store.reader.log().blobs())
}

/// `GET /v1/events`: every event of the store from a position on, as a stream whose ids are positions of batches.
pub async fn store_events(
    State(service): State<Arc<Service>>,
    given: Result<Query<EventsAsked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let given = given.map_err(|error| ApiProblem::bad_request(error.body_text()))?.0;
    if !wants_stream(&headers) {
        let detail = "send Accept: text/event-stream; the events of one session are also given in pages";
        return Err(ApiProblem::new(StatusCode::NOT_ACCEPTABLE, "only as a stream", detail));
    }
    let from = Position(begin(&headers, given.from)?);
    let store = service.store.now().await?;
    stream_of(&service, store.reader.log().follow(Scope::All { from }), store.reader.log().blobs())
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.contains("text/event-stream")
}

/// The first place wanted: after the last one that was received.
fn begin(headers: &HeaderMap, from: Option<u64>) -> Result<u64, ApiProblem> {
    let Some(last) = headers.get("last-event-id") else { return Ok(from.unwrap_or_default()) };
    match last.to_str().unwrap_or_default().trim() {
        // A client that received nothing yet may send an empty one, or what precedes 0.
        "" | "-1" => Ok(0),
        last => {
            let seq: u64 = last.parse().map_err(|_| ApiProblem::bad_request("Last-Event-ID is not a number"))?;
            Ok(seq.saturating_add(1))
        }
    }
}

fn stream_of(
    service: &Arc<Service>,
    following: Following,
    blobs: Arc<dyn Blobs + Send + Sync>,
) -> Result<Response, ApiProblem> {
    let Ok(permit) = service.streams.clone().try_acquire_owned() else {
        let detail = "too many streams are open";
        return Err(ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail));
    };
    let service = service.clone();
    let events = following.flat_map(move |followed| {
        let _held = &permit;
        stream::iter(messages(&service, followed, &*blobs))
    });
    let events: std::pin::Pin<Box<dyn Stream<Item = Result<Event, Infallible>> + Send>> = Box::pin(events.map(Ok));
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT).text("hb")).into_response())
}

/// The messages of a batch. Those of the whole store end with the position, so that a batch is received whole or again.
fn messages(service: &Service, followed: Result<Followed, ReadError>, blobs: &dyn Blobs) -> Vec<Event> {
    let (slice, position) = match followed {
        Ok(Followed::Batch { slice, position }) => (slice, position),
        Ok(Followed::Synced) => return vec![Event::default().comment("synced")],
        Err(error) => {
            let problem = ApiProblem::from(error);
            return vec![Event::default().event("problem").json_data(&problem).unwrap_or_default()];
        }
    };
    // What a client asks next is answered with at least what it has seen.
    service.store.expire();
    let records: Vec<_> = slice.records().collect();
    let last = records.len().saturating_sub(1);
    let shown = records.iter().enumerate().map(|(at, record)| {
        let event = Event::default().event(record.event.kind().name());
        let event = match position {
            None => event.id(record.seq.to_string()),
            Some(position) if at == last => event.id(position.0.to_string()),
            Some(_) => event,
        };
        event.json_data(record.to_json(blobs)).unwrap_or_default()
    });
    shown.collect()
}
