//! OpenCode keeps one session in several forms: what they say in common, the imports say in common.

use crate::import::harness::{copied, events, fixture, lines, memory, run, scratch, view, write};
use annals_core::event::{ContextEvent, EpochCause};
use annals_core::{Event, Seq, SessionId};
use annals_projections::{Messages, ToJson};
use annals_store::EventLog;
use serde_json::Value;
use std::sync::Arc;

/// Messages as a person reads them, without places and times.
async fn messages(log: &Arc<dyn EventLog>, session: SessionId, is_fork: bool) -> Vec<Value> {
    let mut messages = Messages::default();
    for slice in log.read(session, Seq::ZERO, usize::MAX).await.unwrap() {
        for record in slice.records() {
            messages.apply(&record);
        }
    }
    let blobs = log.blobs();
    let plain = |mut json: Value| {
        let fields = json.as_object_mut().unwrap();
        if is_fork {
            // A fork continues messages that an export of it has as copies, which count elsewhere.
            fields.retain(|name, _| !["id", "usage", "cost"].contains(&name.as_str()));
        }
        fields.remove("seq");
        fields.remove("at");
        // A number of an event, which differs like `seq`.
        fields.remove("first_kept");
        json
    };
    messages.list().iter().map(|message| plain(message.to_json(&*blobs))).collect()
}

const V1: [&str; 11] = [
    "multi-turn",
    "tools",
    "long-output",
    "rules-change",
    "subagent-parent",
    "subagent-child",
    "fork-source",
    "fork",
    "reverted",
    "errors",
    "compacted-twice",
];

#[tokio::test]
async fn v1_rows_tables_and_exports_tell_the_same_messages() {
    let folder = scratch();
    let tables = copied(&folder, "opencode/opencode.db", "tables.db");
    rusqlite::Connection::open(&tables)
        .unwrap()
        .execute_batch("PRAGMA journal_mode = DELETE; DELETE FROM event; DELETE FROM event_sequence")
        .unwrap();
    let (from_rows, from_tables) = (memory(), memory());
    run(&from_rows, &fixture("opencode/opencode.db")).await;
    let report = run(&from_tables, &tables).await;
    assert!(report.sessions.iter().all(|session| session.form == "v1-rows"));
    for name in V1 {
        let from_export = memory();
        let session = run(&from_export, &fixture(&format!("opencode/v1/{name}.json"))).await.sessions[0].session;
        let expected = messages(&from_export, session, name == "fork").await;
        assert!(expected.len() > 1, "{name}");
        assert_eq!(messages(&from_tables, session, name == "fork").await, expected, "{name}: tables");
        let rows = messages(&from_rows, session, name == "fork").await;
        // A staged revert and its files apart, rows may tell more of what happened between.
        assert_eq!(rows.len(), expected.len(), "{name}: rows");
        for (at, (rows, expected)) in rows.iter().zip(&expected).enumerate() {
            assert_eq!(rows, expected, "{name}: rows, message {at}");
        }
    }
}

#[tokio::test]
async fn an_epoch_that_nothing_in_the_log_explains_is_incompatible_and_stays_where_it_is() {
    let folder = scratch();
    let text = std::fs::read_to_string(fixture("opencode/v2/tools.events.jsonl")).unwrap();
    let projection = std::fs::read_to_string(fixture("opencode/v2/tools.projection.json")).unwrap();
    let mut projection: Value = serde_json::from_str(&projection).unwrap();
    projection["session_context_epoch"][0]["baseline_seq"] = 55.into();
    write(&folder, "it.projection.json", &projection.to_string());
    let path = write(&folder, "it.events.jsonl", &lines(&text)[..100].concat());
    let log = memory();
    let session = run(&log, &path).await.sessions[0].session;
    let causes = |events: &[(Seq, Event)]| -> Vec<(EpochCause, bool, Seq)> {
        let epochs = events.iter().filter_map(|(seq, event)| match event {
            Event::Context(ContextEvent::EpochStarted(epoch)) => Some((epoch.cause, epoch.known, *seq)),
            _ => None,
        });
        epochs.collect()
    };
    let found = causes(&events(&log, session).await);
    assert_eq!(
        found.iter().map(|(cause, known, _)| (*cause, *known)).collect::<Vec<_>>(),
        [(EpochCause::FirstTurn, false), (EpochCause::Incompatible, true)]
    );
    // The row has moved on, and so has the log.
    projection["session_context_epoch"][0]["baseline_seq"] = 120.into();
    write(&folder, "it.projection.json", &projection.to_string());
    let report = run(&log, &write(&folder, "it.events.jsonl", &text)).await;
    assert!(!report.has_bad_news(), "{report:#?}");
    let after = causes(&events(&log, session).await);
    assert_eq!((&after[..2], after.len(), after[2].0), (&found[..], 3, EpochCause::Incompatible));
    assert!(view(&log, session).await.anomalies().is_empty());
}
