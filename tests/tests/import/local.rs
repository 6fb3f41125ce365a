//! Imported sessions are extended by imports alone; those that earlier versions changed are recovered.

use crate::import::harness::{events, fixture, head, lines, memory, run, scratch, write};
use annals_core::event::{
    Delivery, InputAdmitted, MessagePinned, ModelSwitched, RevertCleared, RevertStaged, SessionTitled,
};
use annals_core::{Event, InputId, Seq, SessionId, Time};
use annals_import::{ImportOptions, ImportOutcome, import, recognise};
use annals_runtime::ports::{FixedClock, SeededIds};
use annals_runtime::{EditorPorts, LogError, SessionEditor};
use annals_store::{Draft, EventLog};
use std::sync::Arc;

const CLAUDE: &str = "claude-code/tools-and-compaction.jsonl";
const FORMS: [&str; 3] = [CLAUDE, "codex/tools-and-resume.rollout.jsonl", "opencode/v2/tools.events.jsonl"];

/// Appends local facts to an imported session, as earlier versions did.
async fn append(log: &Arc<dyn EventLog>, session: SessionId, facts: Vec<Event>) -> Seq {
    let end = head(log, session).await.unwrap();
    let at = Time(end.at.millis() + 60_000);
    let draft = Draft { session, expected: end.next, at, events: facts, digest: None, states: Vec::new() };
    log.append(draft).await.unwrap().batch.first
}

fn admitted() -> Event {
    let input = InputId("input_01M7ZX045QFVTRZ0GHQZ2Y1VNX".into());
    InputAdmitted { input, text: "go on".into(), attachments: Vec::new(), delivery: Delivery::Steer }.into()
}

fn changes() -> [Vec<Event>; 5] {
    let staged = || RevertStaged { first_removed: Seq(1), original: None, diff: None, files: Vec::new() }.into();
    [
        vec![MessagePinned { message: Seq(2) }.into()],
        vec![staged()],
        vec![staged(), RevertCleared {}.into()],
        vec![SessionTitled::given("Mine".to_owned()).into()],
        vec![ModelSwitched { model: "local/one".into() }.into(), admitted()],
    ]
}

#[tokio::test]
async fn a_session_that_was_changed_here_continues_as_a_second_one() {
    for name in FORMS {
        for facts in changes() {
            let (log, folder, text) = (memory(), scratch(), std::fs::read_to_string(fixture(name)).unwrap());
            let all = lines(&text);
            let path = write(&folder, "it.jsonl", &all[..all.len() / 2].concat());
            let first = run(&log, &path).await.sessions[0].session;
            let seq = append(&log, first, facts.clone()).await;
            let changed = head(&log, first).await;
            assert!(!run(&log, &path).await.has_bad_news(), "nothing differs while the source does not grow");

            write(&folder, "it.jsonl", &all[..all.len() * 3 / 4].concat());
            let report = run(&log, &path).await;
            assert!(!report.has_bad_news(), "{name}: {report:#?}");
            let second =
                report.sessions.iter().find(|it| it.instead_of == Some((first, seq))).expect("a second session");
            assert_eq!(second.outcome, ImportOutcome::Imported);
            assert!(second.new > 5 && second.session != first, "{name}: {report:#?}");
            assert_eq!(head(&log, first).await, changed, "the first one keeps what was recorded here");

            write(&folder, "it.jsonl", &text);
            let grown = run(&log, &path).await;
            assert!(!grown.has_bad_news() && grown.new_batches() > 0, "{name}: {grown:#?}");
            assert_eq!(run(&log, &path).await.new_batches(), 0, "{name}");
            let plain = memory();
            let whole = run(&plain, &path).await.sessions[0].session;
            let kinds = |events: Vec<(Seq, Event)>| events.iter().map(|(_, it)| it.kind()).collect::<Vec<_>>();
            assert_eq!(kinds(events(&log, second.session).await), kinds(events(&plain, whole).await), "{name}");
        }
    }
}

#[tokio::test]
async fn a_changed_source_is_no_local_change() {
    for name in FORMS {
        let (log, folder, text) = (memory(), scratch(), std::fs::read_to_string(fixture(name)).unwrap());
        let first = run(&log, &write(&folder, "it.jsonl", &text)).await.sessions[0].session;
        append(&log, first, vec![MessagePinned { message: Seq(2) }.into()]).await;
        let needle = "I will read the file";
        let changed = text.replacen(needle, "I shall read the file", 2);
        assert_ne!(changed, text, "{name}");
        let report = run(&log, &write(&folder, "it.jsonl", &changed)).await;
        assert!(
            matches!(report.sessions[0].outcome, ImportOutcome::Diverged { other_form: None, .. }),
            "{name}: {report:#?}"
        );
    }
}

#[tokio::test]
async fn only_the_changed_session_of_a_database_is_imported_a_second_time() {
    let (log, folder) = (memory(), scratch());
    let path = crate::import::harness::copied(&folder, "opencode/opencode.db", "opencode.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    let id = "ses_e0044cfdfffehAmat5QbtkIGOz";
    database
        .execute_batch(&format!("CREATE TABLE later AS SELECT * FROM event WHERE aggregate_id = '{id}' AND seq > 6"))
        .unwrap();
    database.execute("DELETE FROM event WHERE aggregate_id = ?1 AND seq > 6", [id]).unwrap();
    database.execute("UPDATE event_sequence SET seq = 6 WHERE aggregate_id = ?1", [id]).unwrap();
    let first = run(&log, &path).await;
    assert_eq!(first.sessions.len(), 25);
    let short = first.sessions.iter().find(|it| it.foreign == id).unwrap().session;
    append(&log, short, vec![MessagePinned { message: Seq(2) }.into()]).await;
    database.execute_batch("INSERT INTO event SELECT * FROM later").unwrap();
    database
        .execute("UPDATE event_sequence SET seq = (SELECT max(seq) FROM later) WHERE aggregate_id = ?1", [id])
        .unwrap();
    drop(database);
    let second = run(&log, &path).await;
    assert!(!second.has_bad_news(), "{second:#?}");
    assert_eq!(second.sessions.len(), 25);
    let new: Vec<&str> = second.sessions.iter().filter(|it| it.new > 0).map(|it| it.foreign.as_str()).collect();
    assert_eq!(new, [id]);
    assert_eq!(log.sessions().all().await.unwrap().len(), 26);
    assert_eq!(run(&log, &path).await.new_batches(), 0);
}

#[tokio::test]
async fn branches_of_a_session_that_was_changed_here_come_along() {
    let (log, folder) = (memory(), scratch());
    let text = std::fs::read_to_string(fixture(CLAUDE)).unwrap();
    let all = lines(&text);
    // A second prompt under the parent of an earlier one leaves a branch behind.
    let prompts: Vec<serde_json::Value> = all
        .iter()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|line| line["type"] == "user" && line["message"]["content"].is_string() && line["isMeta"] != true)
        .collect();
    let mut rewind = prompts[1].clone();
    rewind["uuid"] = "another".into();
    let branched = text.clone() + &format!("{rewind}\n");
    let path = write(&folder, "it.jsonl", &branched);
    let first = run(&log, &path).await;
    assert_eq!(first.sessions.len(), 2, "{first:#?}");
    append(&log, first.sessions[0].session, vec![MessagePinned { message: Seq(2) }.into()]).await;
    let mut next = rewind.clone();
    next["uuid"] = "third".into();
    next["parentUuid"] = "another".into();
    write(&folder, "it.jsonl", &(branched + &format!("{next}\n")));
    let second = run(&log, &path).await;
    assert!(!second.has_bad_news(), "{second:#?}");
    assert_eq!((second.sessions.len(), log.sessions().all().await.unwrap().len()), (2, 4));
    assert_eq!(run(&log, &path).await.new_batches(), 0);
}

#[tokio::test]
async fn an_edit_of_an_imported_session_is_appended_to_a_fork() {
    let log = memory();
    let imported = run(&log, &fixture("opencode/v2/tools.events.jsonl")).await.sessions[0].session;
    let before = head(&log, imported).await;
    let ports = EditorPorts {
        process: None,
        log: log.clone(),
        files: Arc::new(|_| None),
        clock: Arc::new(FixedClock(Time(0))),
        ids: Arc::new(SeededIds::from_entropy().unwrap()),
        views: None,
        redactor: None,
    };
    let session = SessionEditor::open(ports, imported).await.unwrap();
    let refused = session.switch_model("local/one").await.unwrap_err();
    assert!(matches!(refused, LogError::Imported(id) if id == imported), "{refused:?}");
    let local = session.local().await.unwrap();
    assert!(local.made && local.fork_of == Some(imported));
    local.session.switch_model("local/one").await.unwrap();
    let again = session.local().await.unwrap();
    assert!(!again.made && again.session.id() == local.session.id());
    // A fork takes its own changes.
    let own = local.session.local().await.unwrap();
    assert_eq!((own.session.id(), own.fork_of), (local.session.id(), None));
    assert_eq!(head(&log, imported).await, before);
}

#[tokio::test]
async fn as_new_still_imports_a_second_session_once() {
    let (log, folder) = (memory(), scratch());
    let text = std::fs::read_to_string(fixture(CLAUDE)).unwrap();
    let path = write(&folder, "it.jsonl", &text);
    let first = run(&log, &path).await.sessions[0].session;
    write(&folder, "it.jsonl", &text.replacen("I will read the file", "I shall read the file", 1));
    let source = recognise(&path).unwrap();
    let options = ImportOptions { as_new: true, ..ImportOptions::default() };
    let second = import(&log, &source, &options, &mut |_| {}).await.unwrap();
    assert!(!second.has_bad_news() && second.sessions[0].session != first, "{second:#?}");
    let third = import(&log, &source, &options, &mut |_| {}).await.unwrap();
    assert_eq!((third.new_batches(), third.sessions[0].session), (0, second.sessions[0].session));
}
