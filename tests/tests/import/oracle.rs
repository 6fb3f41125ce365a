//! For every recorded V2 log: the messages and inputs of our import are those that OpenCode itself made of it.

mod mapping;

use annals_core::{Seq, SessionId};
use annals_import::{ImportOptions, ImportSource, SourceForm, import, recognise};
use annals_store::{EventLog, MemoryLog};
use mapping::{Ours, their_input, their_message};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/opencode/v2")
}

/// Every recorded log, with what OpenCode projected from it.
fn recorded() -> Vec<(PathBuf, Value)> {
    let mut found: Vec<(PathBuf, Value)> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().ends_with(".events.jsonl"))
        .map(|path| {
            let projection = path.to_str().unwrap().replace(".events.jsonl", ".projection.json");
            (path, serde_json::from_str(&std::fs::read_to_string(projection).unwrap()).unwrap())
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(found.len(), 14);
    found
}

async fn imported(source: ImportSource) -> (Arc<dyn EventLog>, Vec<SessionId>) {
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let report = import(&log, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
    assert!(!report.has_bad_news(), "{report:#?}");
    let sessions = report.sessions.iter().map(|session| session.session).collect();
    (log, sessions)
}

async fn folded(log: &Arc<dyn EventLog>, session: SessionId) -> Ours {
    let blobs = log.blobs();
    let mut ours = Ours::default();
    for slice in log.read(session, Seq::ZERO, usize::MAX).await.unwrap() {
        slice.records().for_each(|record| ours.apply(&record, &*blobs));
    }
    ours
}

fn same(name: &str, what: &str, ours: &[Value], theirs: &[Value]) {
    for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(ours, theirs, "{name}: {what} {at}");
    }
    assert_eq!(ours.len(), theirs.len(), "{name}: how many there are of {what}");
}

async fn agrees(name: &str, log: &Arc<dyn EventLog>, session: SessionId, projection: &Value) {
    let ours = folded(log, session).await;
    let rows = |table: &str, plain: fn(&Value) -> Value| -> Vec<Value> {
        projection[table].as_array().unwrap().iter().map(plain).collect()
    };
    same(name, "message", &ours.messages(&*log.blobs()), &rows("session_message", their_message));
    same(name, "input", &ours.inputs(), &rows("session_input", their_input));
}

#[tokio::test]
async fn messages_and_inputs_of_every_v2_log_are_those_of_opencode() {
    for (path, projection) in recorded() {
        let (log, sessions) = imported(recognise(&path).unwrap()).await;
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(sessions.len(), 1, "{name}");
        agrees(name, &log, sessions[0], &projection).await;
    }
}

#[tokio::test]
async fn a_log_out_of_the_database_is_the_log_out_of_its_rows() {
    let path = folder().join("../opencode.db");
    let source = recognise(&path).unwrap();
    assert_eq!(source.form, SourceForm::OpenCodeDatabase);
    let (database, sessions) = imported(source).await;
    for (path, projection) in recorded() {
        let (rows, alone) = imported(recognise(&path).unwrap()).await;
        assert!(sessions.contains(&alone[0]));
        let (a, b) = (database.head(alone[0]).await.unwrap(), rows.head(alone[0]).await.unwrap());
        assert_eq!(a, b, "{}", path.display());
        agrees("opencode.db", &database, alone[0], &projection).await;
    }
}
