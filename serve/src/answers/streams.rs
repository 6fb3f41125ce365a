//! Events as they come, as server-sent events: each once, in order, after the one that the client saw last.
//!
//! A stream reads from the store when its client reads: one that is slow delays no writer, and costs its own place and one
//! page of batches. All streams of a session are woken by one follower of the log.

use super::events::{EventsAsked, StoreEventsAsked, events};
use crate::clip::clip;
use crate::followers::FollowedSession;
use crate::operation::{PathArguments, session_in, work};
use crate::problem::ApiProblem;
use crate::service::Service;
use crate::work::WorkKind;
use annals_core::{Blobs, Seq, SessionId};
use annals_host::live::{LiveCursor, LiveReader, LiveUpdate};
use annals_projections::ToJson;
use annals_store::{Followed, Position, Scope, Slice, StoreCursor, StorePlace};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// How often something is sent, so that a dead connection is noticed.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How many batches are read at a time.
const PAGE: usize = 64;

/// `GET /v1/sessions/{session}/events`: a page, or with `Accept: text/event-stream` a stream whose ids are the numbers of events.
pub async fn session_events(
    State(service): State<Arc<Service>>,
    Path(path): Path<PathArguments>,
    given: Result<Query<EventsAsked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let given = given.map_err(|error| ApiProblem::bad_request(error.body_text()))?.0;
    if !wants_stream(&headers) {
        return work(service, path, given, WorkKind::Session, events).await;
    }
    let permit = permitted(&service.streams)?;
    let session = session_in(&path)?;
    let next = Seq(begin(&headers, given.from)?);
    let followed = service.followers.follow(&service.store, session).await?;
    let head = followed.head();
    let live = match given.deltas {
        Some(true) => Some(service.live().await?),
        _ => None,
    };
    let live = live.map(|reader| LiveDeltas { cursor: reader.follow(session), _reader: reader });
    let (clip, _held) = (given.clip, (permit, followed));
    let stream = SessionStream { service, session, next, head, clip, live, synced: false, over: false, _held };
    let messages = stream::unfold(stream, |mut stream| async move { Some((stream.step().await?, stream)) });
    Ok(sent(messages.flat_map(stream::iter)))
}

/// A stream of one session: its place, and what wakes it.
struct SessionStream {
    service: Arc<Service>,
    session: SessionId,
    next: Seq,
    head: watch::Receiver<Seq>,
    clip: Option<usize>,
    live: Option<LiveDeltas>,
    synced: bool,
    over: bool,
    _held: (OwnedSemaphorePermit, Arc<FollowedSession>),
}

/// What is on its way in one session.
struct LiveDeltas {
    cursor: LiveCursor,
    _reader: Arc<LiveReader>,
}

impl LiveDeltas {
    /// What happened; never, where nothing is asked for.
    async fn next(live: &mut Option<Self>) -> Vec<Event> {
        match live {
            Some(live) => live.cursor.next().await.iter().map(on_its_way).collect(),
            None => std::future::pending().await,
        }
    }
}

fn on_its_way(update: &LiveUpdate) -> Event {
    Event::default().event(update.name()).json_data(update).unwrap_or_default()
}

impl SessionStream {
    /// The messages of the next page of batches, as soon as there are any; `None` at the end.
    async fn step(&mut self) -> Option<Vec<Event>> {
        loop {
            if self.over {
                return None;
            }
            // Seen before reading: what lands meanwhile wakes the next wait.
            self.head.borrow_and_update();
            let messages = match self.page().await {
                Ok(messages) => messages,
                Err(problem) => {
                    self.over = true;
                    return Some(vec![failed(&problem)]);
                }
            };
            if !messages.is_empty() {
                return Some(messages);
            }
            if !self.synced {
                self.synced = true;
                return Some(vec![Event::default().comment("synced")]);
            }
            let changed = tokio::select! {
                changed = self.head.changed() => changed,
                updates = LiveDeltas::next(&mut self.live) => return Some(updates),
            };
            if changed.is_err() {
                self.over = true;
                return Some(vec![failed(&ApiProblem::unreadable("the session is no longer followed; connect again"))]);
            }
        }
    }

    async fn page(&mut self) -> Result<Vec<Event>, ApiProblem> {
        let store = self.service.store.now().await?;
        let until = store.reader.head(self.session).await?.next;
        let mut pages = store.reader.pages(self.session, self.next, until).at_most(PAGE);
        let Some(slices) = pages.next_page().await? else { return Ok(Vec::new()) };
        self.next = slices.last().map_or(self.next, |slice| slice.until);
        Ok(slices.iter().flat_map(|slice| messages(slice, None, store.reader.blobs(), self.clip)).collect())
    }
}

/// `GET /v1/events`: every event of the store from a position on, as a stream whose ids are positions of batches.
pub async fn store_events(
    State(service): State<Arc<Service>>,
    given: Result<Query<StoreEventsAsked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let given = given.map_err(|error| ApiProblem::bad_request(error.body_text()))?.0;
    if !wants_stream(&headers) {
        let detail = "send Accept: text/event-stream; the events of one session are also given in pages";
        return Err(ApiProblem::new(StatusCode::NOT_ACCEPTABLE, "only as a stream", detail));
    }
    let permit = permitted(&service.whole_streams)?;
    let from = begin_all(&headers, given.from.as_deref())?;
    let store = service.store.now().await?;
    let blobs = store.reader.log().blobs();
    let messages = store.reader.log().follow(Scope::All { from }).flat_map(move |followed| {
        let _held = &permit;
        stream::iter(match followed {
            Ok(Followed::Batch { slice, place }) => {
                // What a client asks next is answered with at least what it has seen.
                service.store.expire();
                messages(&slice, place.as_ref(), &*blobs, None)
            }
            Ok(Followed::Synced) => vec![Event::default().comment("synced")],
            Err(error) => vec![failed(&error.into())],
        })
    });
    Ok(sent(messages))
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

/// The first place wanted of the whole store. In a store whose positions are dense, the id of a message is the position of its batch.
fn begin_all(headers: &HeaderMap, from: Option<&str>) -> Result<StoreCursor, ApiProblem> {
    let cursor = |text: &str| text.parse::<StoreCursor>().map_err(|error| ApiProblem::bad_request(error.to_string()));
    let last = headers.get("last-event-id").map(|last| last.to_str().unwrap_or_default().trim());
    match (last, from) {
        (Some("" | "-1"), _) | (None, None) => Ok(StoreCursor::START),
        (Some(last), _) => match last.parse() {
            Ok(position) => Ok(StoreCursor::behind(Position(position))),
            Err(_) => cursor(last),
        },
        (None, Some(from)) => cursor(from),
    }
}

/// The id of a batch's last message.
fn id(place: &StorePlace) -> String {
    place.cursor.dense().map_or_else(|_| place.cursor.to_string(), |_| place.position.0.to_string())
}

fn permitted(streams: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, ApiProblem> {
    let busy = |_| ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many streams are open");
    streams.clone().try_acquire_owned().map_err(busy)
}

fn sent(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let events = events.map(Ok::<_, Infallible>);
    Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT).text("hb")).into_response()
}

/// The last message of a stream that cannot continue.
fn failed(problem: &ApiProblem) -> Event {
    Event::default().event("problem").json_data(problem).unwrap_or_default()
}

/// The messages of a batch. Those of the whole store end with the position, so that a batch is received whole or again.
fn messages(slice: &Slice, place: Option<&StorePlace>, blobs: &dyn Blobs, limit: Option<usize>) -> Vec<Event> {
    let records: Vec<_> = slice.records().collect();
    let last = records.len().saturating_sub(1);
    let shown = records.iter().enumerate().map(|(at, record)| {
        let event = Event::default().event(record.event.kind().name());
        let event = match place {
            None => event.id(record.seq.to_string()),
            Some(place) if at == last => event.id(id(place)),
            Some(_) => event,
        };
        let mut shown = record.to_json(blobs);
        if let Some(limit) = limit {
            clip(&mut shown, limit);
        }
        event.json_data(shown).unwrap_or_default()
    });
    shown.collect()
}
