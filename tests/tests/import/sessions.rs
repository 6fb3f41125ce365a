//! Every recorded session of three agents becomes a log of ours, once (`docs/import.md#what-an-import-promises`).

use crate::import::harness::{FOLDERS, copied, events, fixture, fixtures, head, memory, run, scratch, view};
use annals_core::event::{
    ChildEvent, ChildSettled, ChildStarted, CompactionEvent, ContextEvent, EpochCause, FilesEvent, InputEvent,
    SessionEvent, StepEvent,
};
use annals_core::{Event, ImportSecret, Seq};
use annals_import::{ImportOptions, ImportOutcome, ImportReport, import, recognise, sources};
use annals_store::disk::DiskLog;
use annals_store::{EventLog, OpenMode};
use std::collections::BTreeMap;
use std::sync::Arc;

#[tokio::test]
async fn every_recorded_session_is_imported_once_and_known_ever_after() {
    let mut seen = 0;
    for folder in FOLDERS {
        let (found, errors) = sources(&fixtures().join(folder)).unwrap();
        assert!(errors.is_empty(), "{errors:?}");
        for source in found {
            let log = memory();
            let first = import(&log, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
            assert!(!first.has_bad_news() && first.new_batches() > 3 && first.known_batches() == 0, "{first:#?}");
            let again = import(&log, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
            assert_eq!((again.new_batches(), again.known_batches()), (0, first.new_batches()), "{again:#?}");
            assert!(!again.has_bad_news(), "{again:#?}");
            let lost = |report: &ImportReport| report.sessions.iter().map(|it| it.losses.clone()).collect::<Vec<_>>();
            assert_eq!(lost(&again), lost(&first), "what is lost is said every time");
            assert!(first.sessions.iter().all(|it| it.title.is_some()), "{first:#?}");
            seen += 1;
        }
    }
    assert_eq!(seen, 34);
}

#[tokio::test]
async fn the_database_gives_all_its_sessions_of_both_generations() {
    let log = memory();
    let path = fixture("opencode/opencode.db");
    let first = run(&log, &path).await;
    assert!(!first.has_bad_news(), "{first:#?}");
    assert_eq!(first.sessions.len(), 25);
    let mut forms: BTreeMap<&str, u32> = BTreeMap::new();
    first.sessions.iter().for_each(|session| *forms.entry(session.form.as_str()).or_default() += 1);
    assert_eq!(forms, BTreeMap::from([("v1-events", 11), ("v2-events", 14)]));
    let again = run(&log, &path).await;
    assert_eq!((again.new_batches(), again.known_batches()), (0, first.new_batches()));
    // The rows in files are the rows in the database.
    for name in ["v1/tools", "v1/fork", "v1/compacted-twice", "v2/revert"] {
        let rows = run(&log, &fixture(&format!("opencode/{name}.events.jsonl"))).await;
        assert_eq!((rows.new_batches(), rows.sessions[0].outcome.clone()), (0, ImportOutcome::Imported), "{name}");
    }
}

#[tokio::test]
async fn no_imported_log_holds_the_impossible() {
    for folder in ["opencode", "codex", "claude-code"] {
        for source in sources(&fixtures().join(folder)).unwrap().0 {
            let log = memory();
            let report = import(&log, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
            for session in &report.sessions {
                let view = view(&log, session.session).await;
                let place = (&source.path, &session.foreign);
                assert!(view.anomalies().is_empty(), "{place:?}: {:?}", view.anomalies());
                assert!(view.calls.open.is_empty() && !view.calls.step_open, "{place:?}");
            }
        }
    }
}

#[tokio::test]
async fn an_import_says_nothing_of_its_own_place_and_time() {
    for name in ["codex/tools-and-resume.rollout.jsonl", "claude-code/one-turn.jsonl", "opencode/v1/tools.json"] {
        let (here, there, folder) = (memory(), memory(), scratch());
        let session = run(&here, &fixture(name)).await.sessions[0].session;
        run(&there, &copied(&folder, name, "elsewhere.txt")).await;
        assert_eq!(head(&here, session).await, head(&there, session).await, "{name}");
        let first = &here.read(session, Seq::ZERO, 1).await.unwrap()[0].batch;
        assert_eq!(session.millis(), first.at.millis().min(session.millis()), "{name}");
    }
}

#[tokio::test]
async fn one_import_secret_gives_one_digest_in_every_store_and_another_gives_another() {
    for name in ["codex/tools-and-resume.rollout.jsonl", "claude-code/one-turn.jsonl", "opencode/v1/tools.json"] {
        let secret = |byte| ImportOptions { secret: ImportSecret([byte; 32]), ..ImportOptions::default() };
        let source = recognise(&fixture(name)).unwrap();
        let (here, there, elsewhere, folder) = (memory(), memory(), memory(), scratch());
        let (disk, _) = DiskLog::open(&folder.path().join("store"), OpenMode::Create).unwrap();
        let disk: Arc<dyn EventLog> = Arc::new(disk);
        let session = import(&here, &source, &secret(1), &mut |_| {}).await.unwrap().sessions[0].session;
        for log in [&there, &disk] {
            import(log, &source, &secret(1), &mut |_| {}).await.unwrap();
            assert_eq!(head(log, session).await, head(&here, session).await, "{name}");
        }
        import(&elsewhere, &source, &secret(2), &mut |_| {}).await.unwrap();
        let (one, other) = (head(&here, session).await.unwrap(), head(&elsewhere, session).await.unwrap());
        assert!(one.next == other.next && one.digest != other.digest, "{name}");
        assert!(view(&here, session).await == view(&elsewhere, session).await, "{name}: views do not depend on keys");
        // What is in the log keeps its key: another secret appends nothing, and is no difference.
        let again = import(&here, &source, &secret(2), &mut |_| {}).await.unwrap();
        assert!(!again.has_bad_news() && again.new_batches() == 0, "{name}: {again:#?}");
    }
}

#[tokio::test]
async fn epochs_begin_where_opencode_began_them() {
    let expected = [
        ("first", vec![(EpochCause::FirstTurn, true)]),
        ("switches", vec![(EpochCause::FirstTurn, true)]),
        (
            "compaction",
            [(EpochCause::FirstTurn, false), (EpochCause::Compaction, false), (EpochCause::Compaction, true)].into(),
        ),
        ("compaction-that-failed", vec![(EpochCause::FirstTurn, false), (EpochCause::Compaction, true)]),
    ];
    for (name, causes) in expected {
        let log = memory();
        let path = fixture(&format!("opencode/v2/{name}.events.jsonl"));
        let session = run(&log, &path).await.sessions[0].session;
        let events = events(&log, session).await;
        let mut found = Vec::new();
        for (at, (_, event)) in events.iter().enumerate() {
            let Event::Context(ContextEvent::EpochStarted(epoch)) = event else { continue };
            found.push((epoch.cause, epoch.known));
            let before = &events[at - 1].1;
            match epoch.cause {
                EpochCause::Compaction => {
                    assert!(matches!(before, Event::Compaction(CompactionEvent::Ended(_))), "{name}");
                }
                _ => assert!(matches!(before, Event::Input(InputEvent::Admitted(_))), "{name}"),
            }
        }
        assert_eq!(found, causes, "{name}");
        let projection = path.to_str().unwrap().replace(".events.jsonl", ".projection.json");
        let projection: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(projection).unwrap()).unwrap();
        let view = view(&log, session).await;
        let epoch = view.epochs.current.as_ref().unwrap();
        assert_eq!(epoch.text(&*log.blobs()), projection["session_context_epoch"][0]["baseline"], "{name}");
        let keys: Vec<&str> = epoch.parts.iter().map(|part| part.key.as_str()).collect();
        assert_eq!(keys, ["core/environment", "core/date", "core/instructions", "core/skill-guidance"], "{name}");
    }
}

#[tokio::test]
async fn a_revert_of_opencode_keeps_its_boundary_message() {
    let log = memory();
    let session = run(&log, &fixture("opencode/v2/revert.events.jsonl")).await.sessions[0].session;
    let events = events(&log, session).await;
    let removed = events.iter().find_map(|(_, event)| match event {
        Event::Files(FilesEvent::RevertCommitted(committed)) => Some(committed.first_removed),
        _ => None,
    });
    let at = events.iter().position(|(seq, _)| Some(*seq) == removed).unwrap();
    assert!(matches!(&events[at].1, Event::Step(StepEvent::Started(_))));
    assert!(matches!(&events[at - 1].1, Event::Input(InputEvent::Promoted(_))));
}

#[tokio::test]
async fn children_name_their_parents_and_parents_their_children() {
    let pairs = [
        ("opencode/v1/subagent-parent.json", "opencode/v1/subagent-child.json"),
        ("claude-code/subagent-parent.jsonl", "claude-code/subagent-child.jsonl"),
    ];
    for (parent, child) in pairs {
        let log = memory();
        let parent = run(&log, &fixture(parent)).await.sessions[0].session;
        let child = run(&log, &fixture(child)).await.sessions[0].session;
        let events_of_parent = events(&log, parent).await;
        let started: Vec<&ChildStarted> = events_of_parent
            .iter()
            .filter_map(|(_, it)| if let Event::Child(ChildEvent::Started(it)) = it { Some(it) } else { None })
            .collect();
        let settled: Vec<&ChildSettled> = events_of_parent
            .iter()
            .filter_map(|(_, it)| if let Event::Child(ChildEvent::Settled(it)) = it { Some(it) } else { None })
            .collect();
        assert_eq!((started.len(), started[0].child, started[0].call.is_some()), (1, child, true));
        assert_eq!((settled.len(), settled[0].child), (1, child));
        let Event::Session(SessionEvent::Created(created)) = &events(&log, child).await[0].1 else {
            panic!("no beginning")
        };
        assert_eq!(created.parent.as_ref().map(|parent| parent.session), Some(parent));
    }
}

#[tokio::test]
async fn context_that_codex_tells_is_an_epoch_and_then_messages() {
    let log = memory();
    let session = run(&log, &fixture("codex/tools-and-resume.rollout.jsonl")).await.sessions[0].session;
    let view = view(&log, session).await;
    let epoch = view.epochs.current.as_ref().unwrap();
    let keys: Vec<&str> = epoch.parts.iter().map(|part| part.key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "codex/base.instructions",
            "codex/host_skills.instructions",
            "codex/permissions.instructions",
            "codex/agents_md.instructions",
            "codex/environments.environment_context",
        ]
    );
    let lines: Vec<String> = events(&log, session)
        .await
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Context(ContextEvent::Admitted(it)) => Some(format!("{:?} {}", it.keys, it.text.inline().unwrap())),
            _ => None,
        })
        .collect();
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].contains("codex/agents_md.instructions") && lines[0].contains("Always name the shelf"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn what_is_lost_is_counted_located_and_kept_if_wanted() {
    let log = memory();
    let source = recognise(&fixture("claude-code/tools-and-compaction.jsonl")).unwrap();
    let options = ImportOptions { keep_originals: true, ..ImportOptions::default() };
    let report = import(&log, &source, &options, &mut |_| {}).await.unwrap();
    let loss = &report.sessions[0].losses["attachment: file"];
    assert_eq!((loss.count, loss.lines.as_slice()), (3, [76, 77, 78].as_slice()));
    let kept = log.blobs().text(&loss.originals[0]).unwrap();
    assert!(kept.contains("inventory.csv"), "{kept}");
    // The log is the same either way.
    let plain = memory();
    run(&plain, &source.path).await;
    let session = report.sessions[0].session;
    assert_eq!(head(&plain, session).await, head(&log, session).await);
}
