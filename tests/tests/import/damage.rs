//! Damaged sources are imported as far as they are sound, and every damage is told with its line.

use crate::import::harness::{events, fixture, head, lines, memory, run, scratch, write};
use annals_core::Event;
use annals_core::event::StepEvent;
use annals_import::{ImportOptions, ImportOutcome, LINE_MAX, import, recognise};

const V2: &str = "opencode/v2/tools.events.jsonl";

fn text(name: &str) -> String {
    std::fs::read_to_string(fixture(name)).unwrap()
}

#[tokio::test]
async fn a_torn_last_line_is_told_and_completed_later() {
    for name in [V2, "opencode/v1/fork.events.jsonl", "codex/one-turn.rollout.jsonl", "claude-code/one-turn.jsonl"] {
        let (log, whole, folder, text) = (memory(), memory(), scratch(), text(name));
        let all = lines(&text);
        let session = run(&whole, &write(&folder, "it.jsonl", &text)).await.sessions[0].session;
        let half = &all[6][..all[6].len() / 2];
        let report = run(&log, &write(&folder, "it.jsonl", &(all[..6].concat() + half))).await;
        let places: Vec<u64> = report
            .sessions
            .iter()
            .map(|it| &it.damage)
            .chain([&Default::default()])
            .flatten()
            .chain(report.damage.iter().map(|((_, what), loss)| (what, loss)))
            .filter(|(what, _)| *what == "a torn last line")
            .flat_map(|(_, loss)| loss.lines.clone())
            .collect();
        assert_eq!(places, [7], "{name}: {report:#?}");
        let grown = run(&log, &write(&folder, "it.jsonl", &text)).await;
        assert!(!grown.has_bad_news(), "{name}: {grown:#?}");
        assert_eq!(head(&log, session).await, head(&whole, session).await, "{name}");
    }
}

#[tokio::test]
async fn a_torn_export_gives_the_messages_before_the_tear() {
    let (log, folder, text) = (memory(), scratch(), text("opencode/v1/tools.json"));
    let report = run(&log, &write(&folder, "it.json", &text[..text.len() / 2])).await;
    let session = &report.sessions[0];
    assert_eq!(session.outcome, ImportOutcome::Imported);
    assert!(session.new > 10, "{report:#?}");
    assert_eq!(session.damage["the export is truncated or invalid from here"].count, 1);
    assert!(session.damage["the export is truncated or invalid from here"].lines[0] > 100);
}

#[tokio::test]
async fn bytes_that_are_no_utf_8_are_replaced_and_told() {
    for name in [V2, "opencode/v1/multi-turn.json", "codex/one-turn.rollout.jsonl", "claude-code/one-turn.jsonl"] {
        let (log, folder) = (memory(), scratch());
        let mut bytes = text(name).into_bytes();
        let needle: &[u8] = if name == V2 { b"I will read the file." } else { b"Hello! I am ready" };
        for at in 0..bytes.len() {
            if bytes[at..].starts_with(needle) {
                bytes[at + 2] = 0xff;
            }
        }
        let path = write(&folder, "it", "");
        std::fs::write(&path, bytes).unwrap();
        let report = run(&log, &path).await;
        assert_eq!(report.sessions[0].outcome, ImportOutcome::Imported);
        let is_replaced = |event: &Event| matches!(event, Event::Step(StepEvent::TextEnded(it)) if it.text.inline().is_some_and(|it| it.contains('\u{FFFD}')));
        assert!(events(&log, report.sessions[0].session).await.iter().any(|(_, it)| is_replaced(it)), "{name}");
        assert!(report.has_bad_news(), "{name}: {report:#?}");
    }
}

#[tokio::test]
async fn a_line_beyond_all_bounds_is_passed_over() {
    let (log, folder, text) = (memory(), scratch(), text("codex/one-turn.rollout.jsonl"));
    let mut all: Vec<String> = lines(&text).into_iter().map(str::to_owned).collect();
    all.insert(8, format!("{{\"x\":\"{}\"}}\n", "x".repeat(LINE_MAX)));
    let report = run(&log, &write(&folder, "it.jsonl", &all.concat())).await;
    let session = &report.sessions[0];
    assert_eq!(session.outcome, ImportOutcome::Imported);
    let (what, loss) = session.damage.iter().next().unwrap();
    assert!(what.contains("longer than the limit"), "{what}");
    assert_eq!(loss.lines, [9]);
    // All else is there.
    let plain = memory();
    let whole = run(&plain, &fixture("codex/one-turn.rollout.jsonl")).await;
    assert_eq!(session.new, whole.new_batches());
}

#[tokio::test]
async fn rows_that_repeat_or_are_missing_are_told_with_their_lines() {
    let (log, folder, text) = (memory(), scratch(), text(V2));
    let all = lines(&text);
    let mut damaged: Vec<&str> = all.clone();
    damaged.insert(5, all[3]); // line 6 repeats seq 3
    damaged.remove(20); // so line 21 goes on after a gap
    damaged.insert(30, "no json at all\n");
    let report = run(&log, &write(&folder, "it.jsonl", &damaged.concat())).await;
    let session = &report.sessions[0];
    assert_eq!(session.outcome, ImportOutcome::Imported);
    assert_eq!(session.damage["a row with a repeated seq"].lines, [6]);
    assert_eq!(session.damage["rows before this one are missing"].lines, [21]);
    let elsewhere: Vec<_> = report.damage.iter().map(|((_, what), loss)| (what.as_str(), loss.lines.clone())).collect();
    assert_eq!(elsewhere, [("a line that is not an event row", vec![31])]);
    assert!(session.new > 100);
}

#[tokio::test]
async fn a_log_without_its_beginning_is_imported_from_there() {
    let (log, folder, text) = (memory(), scratch(), text(V2));
    let report = run(&log, &write(&folder, "it.jsonl", &lines(&text)[15..].concat())).await;
    let session = &report.sessions[0];
    assert_eq!(session.damage["the beginning of the log is missing"].lines, [1]);
    assert!(session.new > 90, "{report:#?}");
}

#[tokio::test]
async fn a_record_that_is_not_recognised_before_the_first_prompt_does_not_repeat_the_epoch() {
    let (log, folder, text) = (memory(), scratch(), text("opencode/v2/first.events.jsonl"));
    let all = lines(&text);
    let unknown = all[1].replace("session.next.prompt.admitted", "session.next.unknown");
    // The last row, a text without a step, has no event: the log ends right after the prompt.
    let path = write(&folder, "it.jsonl", &[all[0], &unknown, all[2], all[4]].concat());
    assert!(run(&log, &path).await.new_batches() > 1);
    assert_eq!(run(&log, &path).await.new_batches(), 0);
}

#[tokio::test]
async fn missing_parents_and_repeated_lines_of_a_transcript_are_told() {
    let (log, folder, text) = (memory(), scratch(), text("claude-code/tools-and-compaction.jsonl"));
    let all = lines(&text);
    let mut damaged: Vec<&str> = all.clone();
    damaged.remove(12); // the second prompt: its answer's parent is gone
    let altered = all[2].replace("\"message\":{", "\"message\":{\"altered\":true,");
    assert_ne!(altered, all[2]);
    damaged.insert(20, &altered);
    // A copy of a line is not damage.
    damaged.insert(21, all[2]);
    let report = run(&log, &write(&folder, "it.jsonl", &damaged.concat())).await;
    let session = &report.sessions[0];
    assert_eq!(session.outcome, ImportOutcome::Imported);
    assert_eq!(session.damage["a parent that is missing"].lines, [13]);
    assert_eq!(session.damage["a repeated uuid"].lines, [21]);
    assert_eq!(report.sessions.len(), 1, "no branch comes of it: {report:#?}");
}

#[tokio::test]
async fn half_a_surrogate_pair_does_not_lose_a_text() {
    let (log, folder, text) = (memory(), scratch(), text("opencode/v2/first.events.jsonl"));
    let text = text.replace("Hello! I am ready", "Hello \\ud83d! I am ready");
    let report = run(&log, &write(&folder, "it.jsonl", &text)).await;
    assert!(!report.has_bad_news(), "{report:#?}");
    let is_replaced = |event: &Event| matches!(event, Event::Step(StepEvent::TextEnded(it)) if it.text.inline().is_some_and(|it| it.contains("Hello \u{FFFD}!")));
    assert!(events(&log, report.sessions[0].session).await.iter().any(|(_, it)| is_replaced(it)));
}

#[tokio::test]
async fn a_file_that_vanished_is_an_error_that_names_it() {
    let folder = scratch();
    let path = write(&folder, "gone.jsonl", &text("codex/one-turn.rollout.jsonl"));
    let source = recognise(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let error = import(&memory(), &source, &ImportOptions::default(), &mut |_| {}).await.unwrap_err();
    assert!(error.to_string().contains("gone.jsonl"), "{error}");
}

#[tokio::test]
async fn more_text_than_there_is_room_for_still_comes_through() {
    let (log, folder, text) = (memory(), scratch(), text("codex/one-turn.rollout.jsonl"));
    let mut all: Vec<String> = lines(&text).into_iter().map(str::to_owned).collect();
    let prompt = all[7].clone();
    for number in 0..40 {
        all.push(prompt.replace("hello there", &format!("{number} {}", "x".repeat(2 * 1024 * 1024))));
    }
    let report = run(&log, &write(&folder, "it.jsonl", &all.concat())).await;
    assert!(!report.has_bad_news());
    let whole = run(&memory(), &fixture("codex/one-turn.rollout.jsonl")).await;
    assert_eq!(report.new_batches(), whole.new_batches() + 40);
}

#[tokio::test]
async fn a_step_that_changed_more_files_than_an_event_holds_loses_names_and_says_so() {
    let (log, folder, text) = (memory(), scratch(), text("opencode/v2/first.events.jsonl"));
    let many: Vec<String> = (0..5000).map(|number| format!("\"node_modules/package-{number}/index.js\"")).collect();
    let text = text.replacen("\"files\": []", &format!("\"files\": [{}]", many.join(",")), 1);
    let report = run(&log, &write(&folder, "it.jsonl", &text)).await;
    assert!(!report.has_bad_news(), "{report:#?}");
    let session = &report.sessions[0];
    assert_eq!(session.losses["session.next.step.ended: files: more than one event can store"].count, 1);
    let kept = events(&log, session.session).await.iter().find_map(|(_, event)| match event {
        Event::Step(StepEvent::Ended(ended)) if !ended.changed.is_empty() => Some(ended.changed.len()),
        _ => None,
    });
    assert!(kept.is_some_and(|kept| kept > 300 && kept < 5000), "{kept:?}");
}

#[tokio::test]
async fn records_in_damaged_lines_are_all_read() {
    for name in [V2, "codex/one-turn.rollout.jsonl", "claude-code/one-turn.jsonl"] {
        let (whole, folder, text) = (memory(), scratch(), text(name));
        let all: Vec<String> = lines(&text).into_iter().map(str::to_owned).collect();
        let session = run(&whole, &write(&folder, "it.jsonl", &text)).await.sessions[0].session;
        let expected = events(&whole, session).await;
        let mut glued = all.clone();
        let second = glued.remove(6);
        glued[5] = format!("{}{second}", glued[5].trim_end());
        let mut zeros = all.clone();
        zeros[5] = format!("\0\0\0{}", zeros[5]);
        let mut torn = all.clone();
        torn[5] = format!("{}{}", &all[4][..all[4].len() / 3], all[5]);
        for (damaged, is_harmless) in [(glued, true), (zeros, false), (torn, false)] {
            let log = memory();
            let report = run(&log, &write(&folder, "damaged.jsonl", &damaged.concat())).await;
            assert_eq!(report.has_bad_news(), !is_harmless, "{name}: {report:#?}");
            let found = events(&log, session).await;
            assert!(
                found.iter().map(|(_, event)| event.kind()).eq(expected.iter().map(|(_, event)| event.kind())),
                "{name}"
            );
        }
    }
}
