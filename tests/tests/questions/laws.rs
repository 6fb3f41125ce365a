//! What must hold of every answer: provenance covers what is sent, and searches agree with looking at every place.

use crate::questions::harness::{Own, all_of, eventful, imported};
use annals_core::Seq;
use annals_core::event::Purpose;
use annals_inspect::certify::{Report, certify};
use annals_inspect::{AskError, SessionAt, bisect, cache, diff, goldens, views, when, why};
use annals_projections::{Projection, RequestIndex};
use annals_store::EventLog;
use annals_store::cache::{FoldVersion, ViewCache};
use std::collections::BTreeSet;
use std::sync::Arc;

const IMPORTED: [&str; 8] = [
    "opencode/v1/compacted-twice.json",
    "opencode/v1/reverted.json",
    "opencode/v2/compaction.events.jsonl",
    "opencode/v2/context-changes.events.jsonl",
    "opencode/v2/revert.events.jsonl",
    "opencode/v2/switches.events.jsonl",
    "codex/tools-and-resume.rollout.jsonl",
    "claude-code/tools-and-compaction.jsonl",
];

async fn pasts() -> Vec<SessionAt> {
    let mut pasts = vec![eventful().await.past().await];
    for name in IMPORTED {
        pasts.push(imported(name).await);
    }
    // Forks, children and sessions without a turn among them.
    pasts.extend(all_of("opencode/opencode.db").await);
    pasts
}

async fn every_why(past: &SessionAt) -> Vec<why::Why> {
    let mut answers = Vec::new();
    for step in past.steps().await.unwrap().requests.iter().filter(|step| step.purpose == Purpose::Turn) {
        answers.push(why::ask(past, Some(step.number), None).await.unwrap());
    }
    answers
}

#[tokio::test]
async fn the_spans_of_a_request_are_all_that_is_sent() {
    for past in pasts().await {
        let steps = past.steps().await.unwrap();
        for answer in every_why(&past).await {
            let asked = past.request(&answer.step).await.unwrap();
            for (number, system) in asked.request.system.iter().enumerate() {
                let part = format!("system {number}");
                let told: String =
                    answer.spans.iter().filter(|it| it.span.part == part).map(|it| it.span.text.as_str()).collect();
                assert_eq!(told, system.text);
            }
            let blocks: usize = asked.request.messages.iter().map(|message| message.blocks.len()).sum();
            let told = answer.spans.iter().filter(|it| it.span.part.starts_with("message")).count();
            assert_eq!(told, blocks);
            assert!(answer.spans.iter().all(|it| it.fact.is_none_or(|fact| fact.seq <= answer.step.seq)));
            assert_eq!(answer.of, answer.spans.len() as u64);
            assert!(answer.step.number <= steps.requests.len() as u64);
        }
    }
}

#[tokio::test]
async fn a_span_is_there_since_the_first_of_the_unbroken_run_of_requests_that_hold_it() {
    for past in pasts().await {
        let answers = every_why(&past).await;
        let key = |it: &why::Origin| (it.fact.map(|fact| fact.seq), it.span.text.clone());
        let held: Vec<BTreeSet<_>> = answers.iter().map(|answer| answer.spans.iter().map(key).collect()).collect();
        for (at, answer) in answers.iter().enumerate() {
            for origin in answer.spans.iter().filter(|origin| origin.fact.is_some()) {
                let key = key(origin);
                let run = held[..=at].iter().rev().take_while(|held| held.contains(&key)).count();
                assert_eq!(origin.since, answers[at + 1 - run].step.number, "{:?} of {:?}", origin, past.session);
            }
        }
    }
}

#[tokio::test]
async fn a_request_holds_a_text_exactly_while_when_says_that_it_was_in_view() {
    let words = [
        "heliotrope",
        "the word is",
        "Thursday",
        "beta",
        "AGENTS",
        "notes",
        "the",
        "Once more",
        "Reads a file",
        "Summary",
    ];
    for past in pasts().await {
        let answers = every_why(&past).await;
        for word in words {
            let told = when::ask(&past, word).await.unwrap();
            let stays: Vec<_> = told.sightings.iter().flat_map(|sighting| &sighting.stays).collect();
            for answer in &answers {
                // Metadata and attachments are no texts that a person would ask for.
                let holds = answer.spans.iter().any(|it| {
                    let sort = serde_json::to_value(it.span.sort).unwrap();
                    let text = if sort == "compaction" { checkpoint(&it.span.text) } else { it.span.text.clone() };
                    sort != "options" && sort != "attachment" && text.contains(word)
                });
                let number = answer.step.number;
                let covered = stays.iter().any(|stay| {
                    stay.first.is_some_and(|first| first <= number) && stay.last.is_some_and(|last| last >= number)
                });
                assert_eq!(holds, covered, "{word:?} in request {number} of {:?}", past.session);
            }
        }
    }
}

/// The words of a compaction message without the frame that the runtime puts around them.
fn checkpoint(text: &str) -> String {
    let inner = |open: &str, close: &str| {
        let from = text.find(open).map_or(0, |at| at + open.len());
        let until = text.rfind(close).unwrap_or(text.len());
        text[from..until.max(from)].to_owned()
    };
    inner("<summary>\n", "\n</summary>") + &inner("<recent-context>\n", "\n</recent-context>")
}

#[tokio::test]
async fn a_bisection_finds_what_looking_at_every_cut_finds_in_few_folds() {
    for past in pasts().await {
        let judge = annals_scenario::judge(r#"{"transcript": {"$not": {"$length": 0}}}"#).unwrap();
        let first = past.view(past.cut_after(Seq(0)).await.unwrap()).await.unwrap();
        let whole = past.view(past.until).await.unwrap();
        if !first.transcript.items.is_empty() || whole.transcript.items.is_empty() {
            continue;
        }
        let last = Seq(past.until.0 - 1);
        let found = bisect::ask(&past, Seq(0), last, &judge).await.unwrap();
        let mut cut = past.cut_after(Seq(0)).await.unwrap();
        loop {
            let view = past.view(cut).await.unwrap();
            let json = views::json(&past, &view, cut, &["transcript"]).await.unwrap();
            if json["transcript"].as_array().is_some_and(|items| !items.is_empty()) {
                break;
            }
            cut = past.cut_after(cut).await.unwrap();
        }
        assert_eq!(found.bad, cut);
        assert!(found.probes <= 4 + u64::from(past.until.0.ilog2()), "{found:?}");
    }
}

#[tokio::test]
async fn a_bisection_refuses_ends_that_do_not_differ_and_patterns_that_are_none() {
    let past = eventful().await.past().await;
    let always = annals_scenario::judge(r#"{"session": {"agent": "build"}}"#).unwrap();
    let error = bisect::ask(&past, Seq(0), Seq(9), &always).await.unwrap_err();
    assert_eq!(error.to_string(), "the condition is already true after --good (event 0)");
    let never = annals_scenario::judge(r#"{"session": {"agent": "other"}}"#).unwrap();
    let error = bisect::ask(&past, Seq(0), Seq(9), &never).await.unwrap_err();
    assert!(error.to_string().starts_with("the condition is not true after --bad"), "{error}");
    for wrong in [r#"{"histroy": []}"#, "3", r#"{"history": {"$same": "a.b"}}"#, r#"{"history": {"$len": 3}}"#, "{"] {
        let error = annals_scenario::judge(wrong).err().unwrap();
        assert_eq!(error.status(), 2, "{error}");
    }
}

#[tokio::test]
async fn a_command_judges_views_on_stdin_as_git_does() {
    let past = eventful().await.past().await;
    let judge = |script: &str| bisect::Judge::Command { words: ["sh", "-c", script].map(str::to_owned).to_vec() };
    let last = Seq(past.until.0 - 1);
    let found = bisect::ask(&past, Seq(0), last, &judge("! grep -q heliotrope")).await.unwrap();
    let by_pattern = annals_scenario::judge(
        r#"{"history": {"$not": {"$length": 0}}, "events": {"$contains": {"output": "the word is heliotrope"}}}"#,
    );
    let expected = bisect::ask(&past, Seq(0), last, &by_pattern.unwrap()).await.unwrap();
    assert_eq!((found.good, found.bad), (expected.good, expected.bad));
    let cannot = bisect::ask(&past, Seq(0), last, &judge("cat >/dev/null; exit 125")).await.unwrap_err();
    assert!(matches!(cannot, AskError::Judge { .. }), "{cannot}");
}

#[tokio::test]
async fn recorded_requests_are_compared_as_their_digests_say() {
    let past = eventful().await.past().await;
    let steps = past.steps().await.unwrap();
    let requests: Vec<_> = steps.requests.iter().collect();
    for pair in requests.windows(2) {
        let (one, other) = (past.request(&pair[0]).await.unwrap(), past.request(&pair[1]).await.unwrap());
        let found = diff::requests((&past, pair[0].number), (&past, pair[1].number)).await.unwrap();
        assert_eq!(found.first.is_none(), one.request.digest() == other.request.digest());
    }
}

#[tokio::test]
async fn a_certificate_names_exactly_the_views_that_differ() {
    let own = eventful().await;
    let log: Arc<dyn EventLog> = own.log.clone();
    let found = Report::new(certify(&log, "own.jsonl").await.unwrap());
    assert_eq!(found.differences(&found), []);
    let mut other = found.clone();
    let wrong = other.sessions[0].head;
    other.sessions[0].views.insert("history".to_owned(), wrong);
    let whats: Vec<String> = found.differences(&other).into_iter().map(|it| it.what).collect();
    assert_eq!(whats, ["history"]);
    let nothing = Report::new(Vec::new());
    let whats: Vec<String> = found.differences(&nothing).into_iter().map(|it| it.what).collect();
    assert_eq!(whats, ["session"]);
    assert_eq!(nothing.differences(&found).len(), 1);
}

#[tokio::test]
async fn a_request_that_a_damaged_log_does_not_give_back_is_shown_in_its_place() {
    let mut own = eventful().await;
    own.sends_unrecorded().await;
    let past = own.past().await;
    let view = past.view(past.until).await.unwrap();
    let json = views::json(&past, &view, past.until, &["requests"]).await.unwrap();
    let requests = json["requests"].as_array().unwrap();
    let errors: Vec<usize> = (0..requests.len()).filter(|at| requests[*at].get("error").is_some()).collect();
    assert_eq!(errors, [requests.len() - 1]);
    let error = why::ask(&past, None, None).await.unwrap_err();
    assert_eq!(error.status(), 1, "{error}");
}

#[tokio::test]
async fn golden_views_are_the_same_bytes_every_time_and_replaced_only_when_asked() {
    let past = eventful().await.past().await;
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let files = goldens::write(&past, one.path(), &[], false).await.unwrap();
    goldens::write(&past, other.path(), &[], false).await.unwrap();
    assert_eq!(files.len(), views::NAMES.len() + 3);
    for file in &files {
        let name = file.file_name().unwrap();
        assert_eq!(std::fs::read(file).unwrap(), std::fs::read(other.path().join(name)).unwrap());
    }
    let error = goldens::write(&past, one.path(), &[], false).await.unwrap_err();
    assert!(matches!(error, AskError::Exists { .. }), "{error}");
    goldens::write(&past, one.path(), &[], true).await.unwrap();
    assert_eq!(goldens::check(&past, one.path(), &[]).await.unwrap(), []);
}

#[tokio::test]
async fn a_golden_that_the_session_no_longer_gives_is_named_with_the_line() {
    let past = eventful().await.past().await;
    let dir = tempfile::tempdir().unwrap();
    goldens::write(&past, dir.path(), &[], false).await.unwrap();
    let requests = dir.path().join("requests.jsonl");
    let bodies = std::fs::read_to_string(&requests).unwrap();
    assert_eq!(bodies.lines().count() as u64, past.steps().await.unwrap().requests.len() as u64);
    std::fs::write(&requests, bodies.replacen("And again?", "And then?", 1)).unwrap();
    std::fs::remove_file(dir.path().join("usage.json")).unwrap();
    let stale = goldens::check(&past, dir.path(), &[]).await.unwrap();
    let told: Vec<_> = stale.iter().map(|it| (it.path.file_name().unwrap().to_str().unwrap(), it.line)).collect();
    assert_eq!(told, [("usage.json", None), ("requests.jsonl", Some(3))]);
}

#[tokio::test]
async fn a_certificate_names_the_request_whose_body_differs() {
    let own = eventful().await;
    let log: Arc<dyn EventLog> = own.log.clone();
    let found = Report::new(certify(&log, "own.jsonl").await.unwrap());
    assert_eq!(found.sessions[0].bodies.len(), own.past().await.steps().await.unwrap().requests.len());
    let mut other = found.clone();
    other.sessions[0].bodies[2] = found.sessions[0].head;
    let whats = |differences: Vec<annals_inspect::certify::Difference>| -> Vec<String> {
        differences.into_iter().map(|it| it.what).collect()
    };
    assert_eq!(whats(found.differences(&other)), ["request 3"]);
    other.certificate = 1;
    assert!(found.differences(&other).is_empty(), "a report of form 1 says nothing of bodies");
}

#[tokio::test]
async fn a_request_that_cannot_be_rebuilt_stands_in_its_place_among_those_that_a_cache_could_keep() {
    let mut own = eventful().await;
    let asking = cache::Asking { last: None, ttl_ms: 300_000 };
    let before = cache::ask(&own.past().await, asking).await.unwrap();
    let damaged = own.sends_unrecorded().await;
    own.says("eight", "And now?").await;
    own.sends().await;
    let after = cache::ask(&own.past().await, asking).await.unwrap();
    let count = before.requests.len();
    assert_eq!(after.requests[..count], before.requests);
    assert_eq!((after.damaged, after.requests.len(), after.requests[count].step.seq), (1, count + 2, damaged));
    let anomaly = after.requests[count].anomaly.as_deref().unwrap();
    assert!(anomaly.starts_with("the log does not contain the tool set"), "{anomaly}");
    let next = &after.requests[count + 1];
    assert_eq!((next.before, next.broken.as_ref()), (Some(before.requests[count - 1].whole), None));
}

#[tokio::test]
async fn the_index_of_requests_resumes_from_a_saved_one_and_is_the_same() {
    let mut own = Own::begin().await;
    for n in 0..700 {
        own.says(&format!("in-{n}"), "go").await;
        own.sends().await;
        own.answers("done", None, None).await;
    }
    let (log, session) = (own.log.clone(), own.session);
    let cache = Arc::new(ViewCache::in_memory());
    let until = log.head(session).await.unwrap().unwrap().next;
    let with = |until| SessionAt::new(Arc::clone(&log), Some(cache.clone()), session, until);
    let scratch = SessionAt::new(Arc::clone(&log), None, session, until).steps().await.unwrap();
    assert_eq!(scratch.requests.len(), 700);
    assert_eq!(with(until).steps().await.unwrap(), scratch);
    let saved = cache.nearest(session, FoldVersion { name: RequestIndex::NAME, version: RequestIndex::VERSION }, until);
    assert_eq!(saved.map(|saved| saved.seq), Some(until));
    assert_eq!(with(until).steps().await.unwrap(), scratch);
    own.says("later", "go").await;
    own.sends().await;
    let until = log.head(session).await.unwrap().unwrap().next;
    let resumed = with(until).steps().await.unwrap();
    assert_eq!(resumed, SessionAt::new(Arc::clone(&log), None, session, until).steps().await.unwrap());
    let early = SessionAt::new(Arc::clone(&log), None, session, Seq(40)).steps().await.unwrap();
    assert_eq!(with(Seq(40)).steps().await.unwrap(), early);
}
