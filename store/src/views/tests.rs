use super::{Folded, Views};
use crate::cache::ViewCache;
use crate::conformance::material::KEY;
use crate::{Boxed, Draft, EventLog, LogLayer, MemoryLog, ReadError, Slice};
use annals_core::event::*;
use annals_core::{Event, Seq, SessionId, Time};
use std::sync::Arc;

fn session(n: u128) -> SessionId {
    SessionId::from_parts(1_780_488_000_000, n)
}

async fn add(log: &Arc<dyn EventLog>, session: SessionId, events: Vec<Event>) -> Seq {
    let expected = log.head(session).await.unwrap().map_or(Seq::ZERO, |head| head.next);
    let draft = Draft { session, expected, at: Time(1_000 + expected.0), events, digest: None, states: Vec::new() };
    log.append(draft).await.unwrap().batch.first
}

fn created() -> Event {
    SessionCreated {
        location: Location { directory: "/project".into(), workspace: None },
        agent: "build".into(),
        model: "test/alpha".into(),
        policy: Policy::default(),
        title: None,
        parent: None,
        origin: None,
        process: None,
        key: KEY.into(),
    }
    .into()
}

/// A user message in one batch of two events.
fn said(id: &str) -> Vec<Event> {
    let admitted =
        InputAdmitted { input: id.into(), text: "go".into(), attachments: vec![], delivery: Delivery::Steer };
    vec![admitted.into(), InputPromoted { input: id.into() }.into()]
}

fn summary() -> Event {
    CompactionEnded {
        reason: CompactionReason::Manual,
        summary: "Before.".into(),
        recent: "".into(),
        estimate: 0,
        usage: None,
        cost: 0,
    }
    .into()
}

async fn long(log: &Arc<dyn EventLog>, id: SessionId) -> Vec<Seq> {
    let mut users = Vec::new();
    add(log, id, vec![created()]).await;
    for n in 0..1_500 {
        users.push(add(log, id, said(&format!("in-{n}"))).await.plus(1));
        if n == 1_000 {
            add(log, id, vec![summary()]).await;
        }
    }
    users
}

#[tokio::test]
async fn a_view_resumes_from_the_nearest_saved_one_and_is_the_same() {
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let id = session(1);
    long(&log, id).await;
    let (scratch, first) = Views::new(log.clone(), None).whole(id, Seq(u64::MAX)).await.unwrap();
    let views = Views::new(log.clone(), Some(Arc::new(ViewCache::in_memory())));
    let (saved, second) = views.whole(id, Seq(u64::MAX)).await.unwrap();
    assert_eq!((first, &scratch), (second, &saved));
    assert_eq!(first, Folded { from: Seq::ZERO, records: 3_002 });
    add(&log, id, said("later")).await;
    let (resumed, third) = views.whole(id, Seq(u64::MAX)).await.unwrap();
    assert_eq!(third, Folded { from: Seq(3_002), records: 2 });
    let (whole, _) = Views::new(log.clone(), None).whole(id, Seq(u64::MAX)).await.unwrap();
    assert_eq!(resumed, whole);
    let (earlier, _) = views.whole(id, Seq(501)).await.unwrap();
    assert_eq!(earlier.cut().next, Seq(501));
}

#[tokio::test]
async fn a_view_for_looking_that_let_go_too_much_is_folded_again() {
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let id = session(1);
    let users = long(&log, id).await;
    let views = Views::new(log.clone(), Some(Arc::new(ViewCache::in_memory())));
    views.bounded(id, Seq(u64::MAX)).await.unwrap();
    let (view, folded) = views.bounded(id, Seq(u64::MAX)).await.unwrap();
    assert_eq!(folded.records, 0, "the saved view is the answer");
    assert_eq!(view.history.selected().count(), 1 + 499);
    add(&log, id, vec![RevertCommitted { first_removed: users[600] }.into()]).await;
    let (view, folded) = views.bounded(id, Seq(u64::MAX)).await.unwrap();
    assert_eq!(folded.from, Seq::ZERO, "the revert reaches behind the compaction");
    assert_eq!(view.history.selected().count(), 600);
}

#[tokio::test]
async fn a_saved_view_of_another_log_is_not_used() {
    let cache = Arc::new(ViewCache::in_memory());
    let id = session(1);
    let one: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    long(&one, id).await;
    Views::new(one, Some(cache.clone())).whole(id, Seq(u64::MAX)).await.unwrap();
    let other: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    add(&other, id, vec![created(), SessionTitled::given("Another").into()]).await;
    long_tail(&other, id).await;
    let (view, folded) = Views::new(other, Some(cache)).whole(id, Seq(u64::MAX)).await.unwrap();
    assert_eq!(folded.from, Seq::ZERO);
    assert_eq!(view.session.title.as_deref(), Some("Another"));
}

async fn long_tail(log: &Arc<dyn EventLog>, id: SessionId) {
    for n in 0..1_600 {
        add(log, id, said(&format!("in-{n}"))).await;
    }
}

#[tokio::test]
async fn the_catalogue_resumes_from_a_saved_one_and_is_the_same() {
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    for n in 0..3 {
        long(&log, session(n + 1)).await;
    }
    let views = Views::new(log.clone(), Some(Arc::new(ViewCache::in_memory())));
    let first = views.catalogue().await.unwrap();
    assert_eq!(first.sessions.len(), 3);
    add(&log, session(9), vec![created(), SessionTitled::given("New").into()]).await;
    let resumed = views.catalogue().await.unwrap();
    assert_eq!(resumed, Views::new(log, None).catalogue().await.unwrap());
    assert_eq!(resumed.sessions.get(&session(9)).map(|entry| entry.title.as_str()), Some("New"));
}

/// Counts what is read of a log.
struct Counting {
    log: MemoryLog,
    read: std::sync::atomic::AtomicU64,
}

impl LogLayer for Counting {
    fn inner(&self) -> &dyn EventLog {
        &self.log
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move {
            let slices = self.log.read(session, from, limit).await?;
            let records: usize = slices.iter().map(|slice| slice.records().count()).sum();
            self.read.fetch_add(records as u64, std::sync::atomic::Ordering::Relaxed);
            Ok(slices)
        })
    }
}

#[tokio::test]
async fn two_hundred_thousand_events_with_twelve_compactions_answer_without_reading_what_is_not_shown() {
    let counting = Arc::new(Counting { log: MemoryLog::new(), read: Default::default() });
    let log: Arc<dyn EventLog> = counting.clone();
    let id = session(1);
    add(&log, id, vec![created()]).await;
    let mut inputs = 0;
    for _ in 0..12 {
        for _ in 0..167 {
            let mut events = Vec::new();
            for _ in 0..50 {
                inputs += 1;
                events.extend(said(&format!("in-{inputs}")));
            }
            add(&log, id, events).await;
        }
        add(&log, id, vec![summary()]).await;
    }
    add(&log, id, said("last")).await;
    let views = Views::new(log.clone(), Some(Arc::new(ViewCache::in_memory())));
    let (_, first) = views.bounded(id, Seq(u64::MAX)).await.unwrap();
    assert!(first.records > 200_000, "{first:?}");
    add(&log, id, said("new")).await;
    counting.read.store(0, std::sync::atomic::Ordering::Relaxed);
    let (view, folded) = views.bounded(id, Seq(u64::MAX)).await.unwrap();
    assert_eq!(folded.records, 2);
    let read = counting.read.load(std::sync::atomic::Ordering::Relaxed);
    assert!(read <= 5, "{read} events were read for two new ones: the last Batch, to check the view, and the new one");
    assert_eq!(view.history.selected().count(), 3, "the summary and two inputs");
    assert!(serde_json::to_vec(&view).unwrap().len() < 200_000, "the saved view is bounded by what is shown");
}

#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct Prompts(u64);

impl annals_projections::Projection for Prompts {
    const NAME: &'static str = "own/prompts";
    const VERSION: u32 = 1;

    fn apply(&mut self, record: &annals_core::Record<'_>) {
        self.0 += u64::from(record.event.payload::<InputPromoted>().is_some());
    }
}

#[tokio::test]
async fn a_view_of_any_projection_is_saved_and_resumed() {
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let id = session(1);
    long(&log, id).await;
    let views: Views<Prompts> = Views::of(log.clone(), Some(Arc::new(ViewCache::in_memory())));
    assert_eq!(
        views.at(id, Seq(u64::MAX)).await.unwrap(),
        (Prompts(1_500), Folded { from: Seq::ZERO, records: 3_002 })
    );
    add(&log, id, said("later")).await;
    assert_eq!(views.at(id, Seq(u64::MAX)).await.unwrap(), (Prompts(1_501), Folded { from: Seq(3_002), records: 2 }));
    // Before what was saved nothing of it is used.
    assert_eq!(views.at(id, Seq(3)).await.unwrap(), (Prompts(1), Folded { from: Seq::ZERO, records: 3 }));
}
