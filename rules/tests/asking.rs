//! Rules asked of a log: a session that has grown is read from where a saved state ends.

use annals_core::event::{StepEvent, TextEnded};
use annals_core::{Event, Seq, Text, Time};
use annals_inspect::reader::Reader;
use annals_rules::{AuditRule, RuleAudit, RuleFold, RuleQuery, audit};
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
    let query =
        RuleQuery { rules: rules.clone(), sessions: vec![session], inherited: true, limit: usize::MAX, states: None };
    let root = |directory: &str| Path::new(directory).to_owned();
    assert_eq!(audit(&reader, &query, &root).await.unwrap().findings, []);
    let fold = FoldVersion { name: "rules", version: RuleFold::version(&rules) };
    let saved = cache.nearest(session, fold, Seq(u64::MAX)).expect("a saved state");
    assert!(saved.seq.0 > 2_000 && saved.bytes.len() < 16_384, "{} bytes at {}", saved.bytes.len(), saved.seq);
    append(vec![answer("done!")]).await;
    let resumed = audit(&reader, &query, &root).await.unwrap();
    let whole = audit(&Reader::new(log.clone(), None, PathBuf::from("memory")), &query, &root).await.unwrap();
    assert!((1..600).contains(&resumed.events) && whole.events > 2_500, "{} of {}", resumed.events, whole.events);
    assert_eq!(RuleAudit { events: whole.events, ..resumed.clone() }, whole);
    // The first answer was only known from the saved state.
    assert_eq!(resumed.findings.len(), 1);
    assert_eq!(resumed.findings[0].related[0].excerpt, "first");
}

#[tokio::test]
async fn states_in_a_folder_are_continued_whatever_is_new() {
    let (short, long) = (story().prompt("Go").answer("first"), story().prompt("Go").answer("first").answer("done!"));
    let folder = tempfile::tempdir().unwrap();
    let rule = |text: &str| AuditRule::of_expression(text).unwrap();
    let finds = r#"answer as late { text ends with "!" } after answer { text == "first" }"#;
    let root = |directory: &str| Path::new(directory).to_owned();
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    // As each command does: nothing but the folder is left of the one before.
    let ask = async |text: &str| {
        let reader = Reader::new(log.clone(), None, PathBuf::from("memory"));
        let sessions = log.sessions().all().await.unwrap().into_iter().map(|one| one.session).collect();
        let states = Some(Arc::new(ViewCache::in_folder(folder.path())));
        let query = RuleQuery { rules: vec![rule(text)], sessions, inherited: true, limit: usize::MAX, states };
        audit(&reader, &query, &root).await.unwrap()
    };
    let append = async |story: annals_testing::Story| {
        let story = story.session();
        let session = story.records().next().unwrap().session;
        let known = log.head(session).await.unwrap().map_or(Seq::ZERO, |head| head.next);
        let events: Vec<Event> = story.records().skip(known.0 as usize).map(|record| record.event.clone()).collect();
        let new = events.len() as u64;
        let draft =
            Draft { session, expected: known, at: Time(1_780_488_000_000), events, digest: None, states: Vec::new() };
        log.append(draft).await.unwrap();
        new
    };
    let first = append(short).await;
    assert_eq!((ask(finds).await.events, ask(finds).await.events), (first, 0));
    let new = append(long).await;
    let found = ask(finds).await;
    assert_eq!((found.events, found.findings.len()), (new, 1));
    assert_eq!(found.findings[0].related[0].excerpt, "first", "it is only known from the saved state");
    assert_eq!(ask("answer").await.events, first + new, "other rules have no state yet");
}
