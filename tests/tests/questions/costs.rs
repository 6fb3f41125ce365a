//! Answers cost what they show, counted in the records that are read for them.

use crate::questions::long::{forked, long, past};
use annals_core::Seq;
use annals_inspect::{SessionAt, bisect, diff, when};
use annals_store::EventLog;
use annals_store::cache::ViewCache;
use annals_tests::counting_log::CountingLog;
use std::sync::Arc;

#[tokio::test]
async fn when_reads_the_pages_that_hold_a_text_and_what_is_new() {
    let (log, session) = long(4_000).await;
    let counting = CountingLog::new(log);
    let log: Arc<dyn EventLog> = counting.clone();
    let cache = Arc::new(ViewCache::in_memory());
    let all = when::ask_all(&past(&log, None, session).await, "thing-2300").await.unwrap();
    let (past, _) = (past(&log, Some(&cache), session).await, counting.taken());
    assert_eq!(when::ask(&past, "thing-2300").await.unwrap(), all);
    assert!(counting.taken() > 20_000, "nothing was known of the Session: it is read to be indexed");
    assert_eq!(when::ask(&past, "thing-2300").await.unwrap(), all);
    let read = counting.taken();
    assert!(read < 3 * 512, "{read} of 20,001 records were read for a text that stands in one place");
    assert!(when::ask(&past, "no such thing").await.unwrap().sightings.is_empty());
    let read = counting.taken();
    assert!(read < 2 * 512, "{read} of 20,001 records were read for a text that stands nowhere");
}

#[tokio::test]
async fn a_diff_of_forks_reads_the_turns_that_differ() {
    let (log, parent) = long(4_000).await;
    let (one, other) = (forked(&log, parent, 1, 3).await, forked(&log, parent, 2, 2).await);
    let counting = CountingLog::new(log);
    let log: Arc<dyn EventLog> = counting.clone();
    let cache = Arc::new(ViewCache::in_memory());
    let (a, b) = (past(&log, Some(&cache), one).await, past(&log, Some(&cache), other).await);
    let first = diff::sessions(&a, &b).await.unwrap();
    assert_eq!((first.inherited, first.first, first.same, first.turns.len()), (20_001, Some(4_001), 4_000, 3));
    counting.taken();
    assert_eq!(diff::sessions(&a, &b).await.unwrap(), first);
    let read = counting.taken();
    assert!(read < 2 * 512 + 400, "{read} of 40,000 records were read for three turns");
}

#[tokio::test]
async fn a_fork_reads_through_the_pages_of_its_parent() {
    let (log, parent) = long(1_000).await;
    let fork = forked(&log, parent, 1, 3).await;
    let counting = CountingLog::new(log);
    let log: Arc<dyn EventLog> = counting.clone();
    let cache = Arc::new(ViewCache::in_memory());
    let of_parent = past(&log, Some(&cache), parent).await;
    when::ask(&of_parent, "thing-300").await.unwrap();
    let of_fork = past(&log, Some(&cache), fork).await;
    // The index of requests is another one: it is a fork's own.
    of_fork.steps().await.unwrap();
    counting.taken();
    let found = when::ask(&of_fork, "thing-300").await.unwrap();
    let read = counting.taken();
    assert!(read < 3 * 512, "{read} of 5,017 records were read");
    assert_eq!(found, when::ask_all(&of_fork, "thing-300").await.unwrap());
    assert_eq!(found.sightings[0].fact.inherited, Some(parent));
}

#[tokio::test]
async fn a_bisection_over_what_grows_with_the_log_reads_it_once() {
    let (log, session) = long(2_000).await;
    let counting = CountingLog::new(log);
    let log: Arc<dyn EventLog> = counting.clone();
    let past = past(&log, Some(&Arc::new(ViewCache::in_memory())), session).await;
    let pattern = r#"{"events": {"$contains": {"text": "Tell me of thing-1200."}}, "transcript": {"$not": []}}"#;
    let judge = annals_scenario::judge(pattern).unwrap();
    past.view(past.until).await.unwrap();
    counting.taken();
    let found = bisect::ask(&past, Seq(1), Seq(past.until.0 - 1), &judge).await.unwrap();
    assert_eq!(found.good, Seq(1 + 1_200 * 5));
    let read = counting.taken();
    // Once for the events, once to the bad end, and halves from then on.
    assert!(read < 10_001 * 3 + 10_001 / 5, "{read} records were read for {} Cuts of 10,001", found.probes);
    assert!(found.probes > 10);
}

#[tokio::test]
async fn an_earlier_cut_is_answered_from_the_pages_before_it() {
    let (log, session) = long(1_000).await;
    let counting = CountingLog::new(log);
    let log: Arc<dyn EventLog> = counting.clone();
    let cache = Arc::new(ViewCache::in_memory());
    when::ask(&past(&log, Some(&cache), session).await, "thing-300").await.unwrap();
    let early = SessionAt::new(Arc::clone(&log), Some(cache), session, Seq(1 + 250 * 5));
    let expected = when::ask_all(&early, "thing-200").await.unwrap();
    counting.taken();
    assert_eq!(when::ask(&early, "thing-200").await.unwrap(), expected);
    assert!(when::ask(&early, "thing-300").await.unwrap().sightings.is_empty());
}
