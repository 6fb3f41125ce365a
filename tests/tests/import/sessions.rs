//! Every recorded session of three agents becomes a log of ours, once (`docs/import.md#what-an-import-promises`).

use crate::harness::{copied, events, fixture, fixtures, head, lines, memory, run, scratch, view, write};
use annals_core::event::{
    ChildEvent, ChildSettled, ChildStarted, CompactionEvent, ContextEvent, EpochCause, FilesEvent, InputEvent,
    SessionEvent, StepEvent,
};
use annals_core::{Event, ImportSecret, Seq};
use annals_import::{
    ImportOptions, ImportOutcome, ImportReport, RecogniseError, SourceForm, SourceImportError, import, recognise,
    sources,
};
use annals_store::disk::DiskLog;
use annals_store::{EventLog, OpenMode};
use std::collections::BTreeMap;
use std::sync::Arc;

const FOLDERS: [&str; 4] = ["opencode/v1", "opencode/v2", "codex", "claude-code"];

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
async fn wherever_a_source_ended_the_longer_one_only_appends() {
    for folder in FOLDERS {
        for source in sources(&fixtures().join(folder)).unwrap().0 {
            if source.form == SourceForm::OpenCodeExport {
                continue;
            }
            let text = std::fs::read_to_string(&source.path).unwrap();
            let (whole, folder) = (memory(), scratch());
            // A subagent's transcript looks for its parent's.
            copied(&folder, "claude-code/subagent-parent.jsonl", "parent.jsonl");
            copied(&folder, "claude-code/subagent-child.jsonl", "child.jsonl");
            let all = lines(&text);
            let path = write(&folder, "whole.jsonl", &all.concat());
            let session = run(&whole, &path).await.sessions[0].session;
            let step = (all.len() / 24).max(1);
            for end in (1..all.len()).step_by(step) {
                let log = memory();
                let path = write(&folder, "growing.jsonl", &all[..end].concat());
                if let Ok(source) = recognise(&path) {
                    import(&log, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
                }
                let path = write(&folder, "growing.jsonl", &all.concat());
                let grown = run(&log, &path).await;
                assert!(!grown.has_bad_news(), "{} after {end} lines: {grown:#?}", source.path.display());
                assert_eq!(head(&log, session).await, head(&whole, session).await, "{}", source.path.display());
            }
        }
    }
}

#[tokio::test]
async fn an_export_that_grew_by_whole_messages_only_appends() {
    for name in ["tools", "compacted-twice", "errors", "subagent-parent"] {
        let text = std::fs::read_to_string(fixture(&format!("opencode/v1/{name}.json"))).unwrap();
        let export: serde_json::Value = serde_json::from_str(&text).unwrap();
        let text = export.to_string();
        let (whole, folder) = (memory(), scratch());
        let session = run(&whole, &write(&folder, "whole.json", &text)).await.sessions[0].session;
        for end in 1..export["messages"].as_array().unwrap().len() {
            let mut shorter = export.clone();
            shorter["messages"].as_array_mut().unwrap().truncate(end);
            let log = memory();
            run(&log, &write(&folder, "growing.json", &shorter.to_string())).await;
            let grown = run(&log, &write(&folder, "growing.json", &text)).await;
            assert!(!grown.has_bad_news(), "{name} after {end} messages: {grown:#?}");
            assert_eq!(head(&log, session).await, head(&whole, session).await, "{name} after {end} messages");
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_still_being_written_waits() {
    let text = std::fs::read_to_string(fixture("opencode/v1/tools.json")).unwrap();
    let mut export: serde_json::Value = serde_json::from_str(&text).unwrap();
    let folder = scratch();
    let messages = export["messages"].as_array_mut().unwrap();
    messages.truncate(2);
    messages[1]["info"]["time"].as_object_mut().unwrap().remove("completed");
    messages[1]["parts"].as_array_mut().unwrap().truncate(3);
    messages[1]["parts"][2]["state"]["status"] = "running".into();
    let log = memory();
    let report = run(&log, &write(&folder, "now.json", &export.to_string())).await;
    let kinds: Vec<&str> =
        events(&log, report.sessions[0].session).await.iter().map(|(_, it)| it.kind().name()).collect();
    let expected = ["session.created", "input.admitted", "input.promoted", "step.started", "text.ended"];
    assert_eq!(kinds, expected);
    let grown = run(&log, &write(&folder, "now.json", &text)).await;
    assert!(!grown.has_bad_news(), "{grown:#?}");
}

#[tokio::test]
async fn a_changed_source_diverges_at_its_line_and_adds_nothing() {
    let name = "opencode/v2/first.events.jsonl";
    let text = std::fs::read_to_string(fixture(name)).unwrap();
    let (log, folder) = (memory(), scratch());
    let session = run(&log, &write(&folder, "log.jsonl", &text)).await.sessions[0].session;
    let before = head(&log, session).await;
    let changed = text.replacen("Hello! I am ready", "Hello! I was ready", 1);
    let at = 1 + text.lines().position(|line| line.contains("Hello! I am ready")).unwrap() as u64;
    let path = write(
        &folder,
        "log.jsonl",
        &(changed + &text.lines().last().unwrap().replace("\"seq\": 20", "\"seq\": 21") + "\n"),
    );
    let report = run(&log, &path).await;
    assert_eq!(report.sessions[0].outcome, ImportOutcome::Diverged { line: at, other_form: None });
    assert_eq!((report.new_batches(), head(&log, session).await), (0, before));

    // Beside it, as a session of its own, and only once.
    let options = ImportOptions { as_new: true, ..ImportOptions::default() };
    let source = recognise(&path).unwrap();
    let beside = import(&log, &source, &options, &mut |_| {}).await.unwrap();
    assert_eq!(beside.sessions[0].outcome, ImportOutcome::Imported);
    assert_ne!(beside.sessions[0].session, session);
    assert!(beside.new_batches() > 10);
    let again = import(&log, &source, &options, &mut |_| {}).await.unwrap();
    assert_eq!((again.new_batches(), again.sessions[0].session), (0, beside.sessions[0].session));
    assert_eq!(head(&log, session).await, before);
}

#[tokio::test]
async fn another_form_of_the_same_session_is_told_as_such() {
    let log = memory();
    run(&log, &fixture("opencode/v1/tools.json")).await;
    let report = run(&log, &fixture("opencode/v1/tools.events.jsonl")).await;
    let other_form = Some("v1-export".to_owned());
    assert_eq!(
        (report.new_batches(), &report.sessions[0].outcome),
        (0, &ImportOutcome::Diverged { line: 1, other_form })
    );
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
async fn a_baseline_that_is_learned_later_never_contradicts_the_log() {
    let folder = scratch();
    let text = std::fs::read_to_string(fixture("opencode/v2/compaction.events.jsonl")).unwrap();
    let all = lines(&text);
    let path = write(&folder, "it.events.jsonl", &all[..50].concat());
    let log = memory();
    let session = run(&log, &path).await.sessions[0].session;
    write(&folder, "it.events.jsonl", &text);
    copied(&folder, "opencode/v2/compaction.projection.json", "it.projection.json");
    let grown = run(&log, &path).await;
    assert!(!grown.has_bad_news(), "{grown:#?}");
    assert!(view(&log, session).await.epochs.current.as_ref().unwrap().known);
    // The row is gone again: what was learned stays.
    std::fs::remove_file(folder.path().join("it.projection.json")).unwrap();
    let again = run(&log, &path).await;
    assert!(!again.has_bad_news() && again.new_batches() == 0, "{again:#?}");
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
    let told: Vec<String> = events(&log, session)
        .await
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Context(ContextEvent::Admitted(it)) => Some(format!("{:?} {}", it.keys, it.text.inline().unwrap())),
            _ => None,
        })
        .collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("codex/agents_md.instructions") && told[0].contains("Always name the shelf"), "{told:?}");
}

#[tokio::test]
async fn files_are_recognised_by_their_content() {
    let folder = scratch();
    let forms = [
        ("opencode/opencode.db", SourceForm::OpenCodeDatabase),
        ("opencode/v1/tools.json", SourceForm::OpenCodeExport),
        ("opencode/v1/tools.events.jsonl", SourceForm::OpenCodeEvents),
        ("opencode/v2/first.events.jsonl", SourceForm::OpenCodeEvents),
        ("codex/one-turn.rollout.jsonl", SourceForm::CodexRollout),
        ("claude-code/one-turn.jsonl", SourceForm::ClaudeTranscript),
        ("claude-code/subagent-child.jsonl", SourceForm::ClaudeTranscript),
    ];
    for (name, form) in forms {
        assert_eq!(recognise(&copied(&folder, name, "anything")).unwrap().form, form, "{name}");
    }
    let unknown = [("a.txt", "hello\n"), ("b.json", "{\"a\":1}"), ("c", "")];
    for (name, text) in unknown {
        assert!(matches!(recognise(&write(&folder, name, text)), Err(RecogniseError::Unknown { .. })), "{name}");
    }
    let projection = fixture("opencode/v2/first.projection.json");
    assert!(matches!(recognise(&projection), Err(RecogniseError::Projection { .. })));
}

#[tokio::test]
async fn an_export_of_annals_is_recognised_verified_and_appended() {
    let log = memory();
    let session = run(&log, &fixture("codex/one-turn.rollout.jsonl")).await.sessions[0].session;
    let mut out = Vec::new();
    annals_store::exchange::export(&*log, session, &mut out, &mut |_| {}).await.unwrap();
    let folder = scratch();
    let path = write(&folder, "ours.jsonl", &String::from_utf8(out).unwrap());
    let source = recognise(&path).unwrap();
    assert_eq!(source.form, SourceForm::Annals);
    let report = import(&log, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
    assert_eq!((report.new_batches(), report.known_batches() > 0), (0, true));
    let other = memory();
    let report = import(&other, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
    assert_eq!(report.sessions[0].session, session);
    assert_eq!(other.head(session).await.unwrap(), log.head(session).await.unwrap());

    let text = std::fs::read_to_string(&path).unwrap();
    let damaged = write(&folder, "damaged.jsonl", &text.replacen("\"codex\"", "\"codey\"", 1));
    let empty = memory();
    let error =
        import(&empty, &recognise(&damaged).unwrap(), &ImportOptions::default(), &mut |_| {}).await.unwrap_err();
    assert!(matches!(error, SourceImportError::Export { .. }) && error.is_of_source(), "{error}");
    assert!(empty.sessions().await.unwrap().is_empty());
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
