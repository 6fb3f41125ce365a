//! A source that grew is continued; one that was changed is not imported again.

use crate::import::harness::{
    FOLDERS, copied, events, fixture, fixtures, head, lines, memory, run, scratch, view, write,
};
use annals_import::{ImportOptions, ImportOutcome, SourceForm, import, recognise, sources};

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
async fn a_transcript_that_grew_by_a_title_only_appends() {
    let text = std::fs::read_to_string(fixture("claude-code/tools-and-compaction.jsonl")).unwrap();
    let (all, titled) = (lines(&text), "{\"type\":\"custom-title\",\"customTitle\":\"Named later\"}\n");
    for at in 1..=all.len() {
        let (whole, log, folder) = (memory(), memory(), scratch());
        let text = [&all[..at], &[titled], &all[at..]].concat();
        let path = write(&folder, "whole.jsonl", &text.concat());
        let session = run(&whole, &path).await.sessions[0].session;
        for end in [at, at + 1, text.len()] {
            let path = write(&folder, "growing.jsonl", &text[..end].concat());
            if let Ok(source) = recognise(&path) {
                let grown = import(&log, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
                assert!(!grown.has_bad_news(), "title behind line {at}, ended with {end}: {grown:#?}");
            }
        }
        assert_eq!(head(&log, session).await, head(&whole, session).await, "title behind line {at}");
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
