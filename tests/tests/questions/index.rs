//! The indexes that say where to look agree with reading everything, and are a cache.

use crate::questions::harness::{Own, all_of, eventful, imported};
use crate::questions::logs::WithoutBlobs;
use crate::questions::long::{append, forked, long, past, turn};
use annals_core::event::*;
use annals_core::{Blobs, Record, Seq};
use annals_inspect::{SessionAt, diff, when};
use annals_projections::{Body, Messages, Projection, ToJson, Transcript};
use annals_store::EventLog;
use annals_store::cache::ViewCache;
use annals_tests::counting_log::CountingLog;
use std::path::Path;
use std::sync::Arc;

const IMPORTED: [&str; 9] = [
    "opencode/v1/compacted-twice.json",
    "opencode/v1/fork.json",
    "opencode/v1/reverted.json",
    "opencode/v2/compaction.events.jsonl",
    "opencode/v2/context-changes.events.jsonl",
    "opencode/v2/steer-and-queue.events.jsonl",
    "opencode/v2/tools.events.jsonl",
    "codex/tools-and-resume.rollout.jsonl",
    "claude-code/tools-and-compaction.jsonl",
];
const WORDS: [&str; 14] = [
    "heliotrope",
    "Thursday",
    "beta",
    "AGENTS",
    "notes",
    "the",
    "Once more",
    "Reads a file",
    "Does write",
    "Summary",
    "e",
    "read",
    "{\"path\"",
    "no such words anywhere",
];

async fn pasts() -> Vec<SessionAt> {
    let mut own = eventful().await;
    own.offers(&["read", "write"]).await;
    own.says("write", "Write notes.").await;
    own.sends().await;
    own.answers("Written.", Some(("call-9", "notes were written")), None).await;
    own.offers_again();
    own.sends().await;
    own.answers("Gone again.", None, None).await;
    // The same definitions, recorded once more: a place of their own.
    own.offers(&["read", "write"]).await;
    own.sends().await;
    own.offers(&["read", "write"]).await;
    own.sends().await;
    let mut pasts = vec![own.past().await];
    for name in IMPORTED {
        pasts.push(imported(name).await);
    }
    // Forks, children and sessions without a turn among them.
    pasts.extend(all_of("opencode/opencode.db").await);
    pasts
}

#[tokio::test]
async fn an_index_says_of_every_text_what_reading_all_records_says() {
    for past in pasts().await {
        for word in WORDS {
            let expected = when::ask_all(&past, word).await.unwrap();
            for records in [1, 5, 512] {
                let found = when::ask(&past.clone().in_pages_of(records), word).await.unwrap();
                assert_eq!(found, expected, "{word:?} in pages of {records} of {:?}", past.session);
            }
        }
    }
}

/// The turns of a session, from all of its records: what each message shows, without places and times.
async fn turns(past: &SessionAt) -> Vec<Vec<String>> {
    let (mut messages, mut transcript) = (Messages::default(), Transcript::default());
    past.each(Seq::ZERO, past.until, |record| {
        messages.apply(record);
        transcript.apply(record);
    })
    .await
    .unwrap();
    let mut turns = vec![Vec::new()];
    for message in transcript.shown(&messages).filter(|message| !transcript.is_removed(message.seq)) {
        if matches!(message.body, Body::User { .. }) {
            turns.push(Vec::new());
        }
        turns.last_mut().unwrap().extend(shown(&message, past.blobs()));
    }
    turns
}

/// A message as lines: texts, calls with inputs, outputs and errors.
fn shown(message: &annals_projections::Message, blobs: &dyn Blobs) -> Vec<String> {
    let json = message.to_json(blobs);
    let text = |name: &str| json.get(name).map(|text| format!("{} {name}: {text}", json["type"]));
    let mut lines: Vec<String> =
        ["text", "command", "output", "summary", "agent", "model"].into_iter().filter_map(text).collect();
    if let Body::Assistant(assistant) = &message.body {
        lines.clear();
        for part in json["content"].as_array().unwrap() {
            let result = if part["error"].is_null() { &part["output"] } else { &part["error"] };
            lines.push(format!("{} {} {} {} {result}", part["type"], part["text"], part["name"], part["input"]));
        }
        lines.extend(assistant.error.as_ref().map(|_| json["error"].to_string()));
    }
    lines
}

#[tokio::test]
async fn sessions_part_where_all_of_their_records_say_in_pages_of_any_size() {
    let pasts = pasts().await;
    for (at, a) in pasts.iter().enumerate() {
        for b in pasts.iter().skip(at).take(4) {
            let expected = diff::sessions(a, b).await.unwrap();
            let (before, after) = (turns(a).await, turns(b).await);
            let first = (0..before.len().max(after.len())).find(|at| before.get(*at) != after.get(*at));
            assert_eq!(expected.first, first.map(|turn| turn as u64), "{:?} and {:?}", a.session, b.session);
            for records in [1, 5] {
                let (a, b) = (a.clone().in_pages_of(records), b.clone().in_pages_of(records));
                assert_eq!(diff::sessions(&a, &b).await.unwrap(), expected);
            }
        }
    }
}

#[tokio::test]
async fn a_call_that_was_open_at_the_cut_is_said_otherwise_in_a_fork() {
    let (log, parent) = long(1).await;
    let started = StepStarted { agent: "build".into(), model: "test/alpha".into(), files: None, answer: None };
    let called = ToolCalled {
        index: 0,
        call: "call-1".into(),
        name: "read".into(),
        input: annals_core::Json::received("{}"),
        hosted: false,
        metadata: None,
    };
    append(&log, parent, vec![started.into(), called.into()]).await;
    let fork = forked(&log, parent, 1, 0).await;
    for records in [1, 512] {
        let a = past(&log, None, parent).await.in_pages_of(records);
        let b = past(&log, None, fork).await.in_pages_of(records);
        let found = diff::sessions(&a, &b).await.unwrap();
        assert_eq!((found.first, found.inherited), (Some(1), a.until.0), "in pages of {records}");
        let entries = &found.turns[0].b.as_ref().unwrap().entries;
        let ends: Vec<_> = entries.iter().rev().take(2).map(|entry| (entry.label, entry.text.as_str())).collect();
        let ended = ("failed", "interrupted: Provider turn interrupted");
        assert_eq!(ends, [ended, ("error", annals_projections::INTERRUPTED)]);
    }
}

/// Every file below a folder.
fn files(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn deleted_and_damaged_pages_change_no_answer() {
    let (log, session) = long(400).await;
    let fork = forked(&log, session, 1, 2).await;
    let dir = tempfile::tempdir().unwrap();
    let cache = Arc::new(ViewCache::in_folder(dir.path()));
    let (a, b) = (past(&log, Some(&cache), session).await, past(&log, Some(&cache), fork).await);
    let (told, differs) = (when::ask(&a, "thing-300").await.unwrap(), diff::sessions(&a, &b).await.unwrap());
    let all = files(dir.path());
    assert!(all.len() > 8, "{all:?}");
    for path in &all {
        let bytes = std::fs::read(path).unwrap();
        let mut damaged = bytes.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 0x20;
        for change in [None, Some(&damaged[..]), Some(&bytes[..middle])] {
            match change {
                None => std::fs::remove_file(path).unwrap(),
                Some(change) => std::fs::write(path, change).unwrap(),
            }
            assert_eq!(when::ask(&a, "thing-300").await.unwrap(), told, "{path:?}");
            assert_eq!(diff::sessions(&a, &b).await.unwrap(), differs, "{path:?}");
            std::fs::write(path, &bytes).unwrap();
        }
    }
    cache.clear().unwrap();
    assert_eq!(when::ask(&a, "thing-300").await.unwrap(), told);
}

#[tokio::test]
async fn pages_of_a_log_that_was_set_back_count_up_to_where_it_is_the_same() {
    let (log, session) = long(800).await;
    let cache = Arc::new(ViewCache::in_memory());
    when::ask(&past(&log, Some(&cache), session).await, "thing-300").await.unwrap();
    // The same first turns, and then others.
    let (other, _) = long(250).await;
    for n in 250..550 {
        append(&other, session, turn(n + 7, true)).await;
    }
    let counting = CountingLog::new(other);
    let other: Arc<dyn EventLog> = counting.clone();
    let of_other = past(&other, Some(&cache), session).await;
    for word in ["thing-200", "thing-300", "thing-519"] {
        let expected = when::ask_all(&of_other, word).await.unwrap();
        assert_eq!(when::ask(&of_other, word).await.unwrap(), expected, "{word}");
    }
    counting.taken();
    assert_eq!(when::ask(&of_other, "thing-556").await.unwrap().sightings.len(), 1);
    let read = counting.taken();
    assert!(read < 2 * 512, "{read} of 2,751 records were read: what is no more is not looked at again");
}

#[tokio::test]
async fn a_blob_that_comes_back_is_found_though_the_index_was_made_without_it() {
    let mut own = Own::begin().await;
    let long = format!("{} the word is amaranth", "So it goes. ".repeat(900));
    own.says("one", &long).await;
    own.sends().await;
    own.answers("Understood.", None, None).await;
    for n in 0..200 {
        own.says(&format!("in-{n}"), "Go on.").await;
        own.sends().await;
        own.answers("I did.", None, None).await;
    }
    let cache = Arc::new(ViewCache::in_memory());
    let without: Arc<dyn EventLog> = Arc::new(WithoutBlobs(own.log.clone()));
    let lacking = past(&without, Some(&cache), own.session).await;
    assert!(when::ask(&lacking, "amaranth").await.unwrap().sightings.is_empty());
    let whole = past(&own.log, Some(&cache), own.session).await;
    assert_eq!(when::ask(&whole, "amaranth").await.unwrap().sightings.len(), 1);
}

#[tokio::test]
async fn what_a_filter_passes_over_holds_nothing_that_any_kind_of_event_says() {
    // Whatever an event says in its JSON form, word by word, the index must lead to as reading everything does.
    let past = eventful().await.past().await.in_pages_of(1);
    let mut words = std::collections::BTreeSet::new();
    past.each(Seq::ZERO, past.until, |record: &Record<'_>| {
        let json = record.event.to_json().to_string();
        let found = json.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= 3);
        words.extend(found.map(str::to_owned));
    })
    .await
    .unwrap();
    assert!(words.len() > 50, "{words:?}");
    for word in words {
        assert_eq!(when::ask(&past, &word).await.unwrap(), when::ask_all(&past, &word).await.unwrap(), "{word}");
    }
}
