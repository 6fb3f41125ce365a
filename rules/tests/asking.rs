//! Rules asked of a log: a session that has grown is read from where a saved state ends.

use annals_core::event::{StepEvent, TextEnded};
use annals_core::{Event, Seq, Text, Time};
use annals_inspect::reader::Reader;
use annals_rules::{AuditRule, RuleFold, RuleQuery, audit};
use annals_store::cache::{FoldVersion, ViewCache};
use annals_store::{Draft, EventLog, MemoryLog};
use annals_testing::story;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn answer(text: &str) -> Event {
    StepEvent::TextEnded(TextEnded { index: 0, text: Text::from(text.to_owned()), metadata: None }).into()
}

#[tokio::test]
async fn an_audit_continues_from_the_saved_state_and_finds_the_same() {
    let story = story().prompt("Go").answer("first").session();
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let first = story.records().next().unwrap();
    let session = first.session;
    let mut events: Vec<Event> = story.records().map(|record| record.event.clone()).collect();
    // More than are worth saving.
    events.extend((0..2_500).map(|number| answer(&format!("answer {number}"))));
    let append = async |events: Vec<Event>| {
        for chunk in events.chunks(50) {
            let expected = log.head(session).await.unwrap().map_or(Seq::ZERO, |head| head.next);
            let (at, events) = (Time(1_780_488_000_000), chunk.to_vec());
            let draft = Draft { session, expected, at, events, digest: None, states: Vec::new() };
            log.append(draft).await.unwrap();
        }
    };
    append(events).await;
    let cache = Arc::new(ViewCache::in_memory());
    let reader = Reader::new(log.clone(), Some(cache.clone()), PathBuf::from("memory"));
    let rules = vec![
        AuditRule::of_expression(r#"answer as late { text ends with "!" } after answer { text == "first" }"#).unwrap(),
    ];
    let query = RuleQuery { rules: rules.clone(), sessions: vec![session], inherited: true, limit: usize::MAX };
    let root = |directory: &str| Path::new(directory).to_owned();
    assert_eq!(audit(&reader, &query, &root).await.unwrap().findings, []);
    let fold = FoldVersion { name: "rules", version: RuleFold::version(&rules) };
    let saved = cache.nearest(session, fold, Seq(u64::MAX)).expect("a saved state");
    assert!(saved.seq.0 > 2_000 && saved.bytes.len() < 16_384, "{} bytes at {}", saved.bytes.len(), saved.seq);
    append(vec![answer("done!")]).await;
    let resumed = audit(&reader, &query, &root).await.unwrap();
    let whole = audit(&Reader::new(log.clone(), None, PathBuf::from("memory")), &query, &root).await.unwrap();
    assert_eq!(resumed, whole);
    // The first answer was only known from the saved state.
    assert_eq!(resumed.findings.len(), 1);
    assert_eq!(resumed.findings[0].related[0].excerpt, "first");
}
