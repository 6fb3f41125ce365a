//! What a server answers many questions with: pages of turns and of spans, and views that are held in memory.

use crate::questions::harness::{eventful, fixtures};
use crate::questions::long::{append, forked, long, turn};
use annals_core::event::{Delivery, InputAdmitted, InputPromoted};
use annals_core::{Event, Seq};
use annals_import::{ImportOptions, import, recognise};
use annals_inspect::SessionAt;
use annals_inspect::report::SessionIndex;
use annals_inspect::why::{self, SpanPage};
use annals_store::cache::ViewCache;
use annals_store::{EventLog, MemoryLog};
use std::sync::Arc;

/// Sessions of all kinds, each at its end, and their logs.
async fn pasts() -> Vec<(Arc<dyn EventLog>, SessionAt)> {
    let own = eventful().await;
    let mut logs = vec![own.log.clone()];
    for name in [
        "opencode/v2/compaction.events.jsonl",
        "opencode/v1/reverted.json",
        "codex/tools-and-resume.rollout.jsonl",
        "opencode/opencode.db",
    ] {
        let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
        let source = recognise(&fixtures().join(name)).unwrap();
        import(&log, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
        logs.push(log);
    }
    let (log, session) = long(40).await;
    // A prompt that waits while two others are answered.
    let waits = |id: &str| {
        let (input, text) = (id.into(), format!("{id} waits").as_str().into());
        Event::from(InputAdmitted { input, text, attachments: vec![], delivery: Delivery::Queue })
    };
    append(&log, session, vec![waits("a"), waits("b")]).await;
    append(&log, session, turn(100, false)).await;
    append(&log, session, turn(101, false)).await;
    for input in ["b", "a"] {
        append(&log, session, vec![InputPromoted { input: input.into() }.into()]).await;
    }
    forked(&log, session, 4, 3).await;
    logs.push(log);
    let mut pasts = Vec::new();
    for log in logs {
        for head in log.sessions().all().await.unwrap() {
            pasts.push((log.clone(), SessionAt::new(log.clone(), None, head.session, head.head.next)));
        }
    }
    pasts
}

#[tokio::test]
async fn turns_in_pages_are_those_of_the_whole_session() {
    let mut prompts = 0;
    for (_, past) in pasts().await {
        let mut whole = SessionIndex::default();
        whole.extend(&past).await.unwrap();
        let index = past.turn_index().await.unwrap();
        assert_eq!(index.len(), whole.turns().len());
        for size in [1, 2, 3, 50] {
            let mut paged = Vec::new();
            while paged.len() < index.len() {
                paged.extend(past.turns(&index, paged.len()..paged.len() + size).await.unwrap());
            }
            assert_eq!(paged, whole.turns(), "{} in pages of {size}", past.session);
        }
        for (place, turn) in whole.turns().iter().enumerate() {
            assert_eq!((index.turn_at(turn.first.plus(1)), index.turn_at(turn.last.plus(1))), (place, place));
        }
        assert_eq!(past.turns(&index, index.len()..index.len() + 5).await.unwrap(), []);
        prompts += whole.turns().iter().filter(|turn| !turn.prompt.is_empty()).count();
    }
    assert!(prompts > 50, "{prompts}");
}

#[tokio::test]
async fn a_turn_ends_before_the_prompt_of_the_next_one_was_admitted() {
    let (log, session) = long(3).await;
    let until = log.head(session).await.unwrap().unwrap().next;
    let past = SessionAt::new(log, None, session, until);
    let mut whole = SessionIndex::default();
    whole.extend(&past).await.unwrap();
    for pair in whole.turns().windows(2) {
        assert!(pair[0].last < pair[1].first && pair[0].ended_at < pair[1].at, "{pair:?}");
    }
}

#[tokio::test]
async fn spans_in_pages_are_those_of_the_whole_request() {
    for (_, past) in pasts().await {
        let Ok(whole) = why::ask(&past, None, None).await else { continue };
        let page = |from, limit, last| SpanPage { from, limit, last };
        for (page, wanted) in [
            (page(0, 2, 3), (0..whole.spans.len()).filter(|at| *at < 2 || at + 3 >= whole.spans.len()).collect()),
            (page(1, 4, 0), (1..whole.spans.len().min(5)).collect::<Vec<_>>()),
            (page(9_999, 4, 0), Vec::new()),
        ] {
            let answer = why::ask_page(&past, None, None, page).await.unwrap();
            let expected: Vec<_> = wanted.iter().map(|at| whole.spans[*at].clone()).collect();
            assert_eq!((answer.spans, answer.of), (expected, whole.of), "{} {page:?}", past.session);
            let characters = answer.characters.expect("of all spans").values().sum::<u64>();
            assert_eq!(characters, whole.spans.iter().map(|span| span.span.text.chars().count() as u64).sum::<u64>());
        }
    }
}

#[tokio::test]
async fn what_is_held_in_memory_changes_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    for (log, past) in pasts().await {
        let cache = Arc::new(ViewCache::above(folder.path()));
        assert!(cache.holds());
        let mut cuts: Vec<Seq> = Vec::new();
        let mut pages = log.pages(past.session, Seq::ZERO..past.until);
        while let Some(slice) = pages.next_slice().await.unwrap() {
            cuts.push(slice.until);
        }
        // There and back, so that what is held is used.
        let places = cuts.iter().rev().chain(&cuts).step_by(1 + cuts.len() / 60);
        for cut in places {
            let held = SessionAt::new(log.clone(), Some(cache.clone()), past.session, *cut);
            let scratch = SessionAt::new(log.clone(), None, past.session, *cut);
            let (index, anew) = (held.steps().await.unwrap(), scratch.steps().await.unwrap());
            assert_eq!(index.requests, anew.requests, "{} at {cut}", past.session);
            assert_eq!((&index.users, &index.returns), (&anew.users, &anew.returns), "{} at {cut}", past.session);
            for step in anew.requests.iter() {
                let of = |digest| (index.recorded_at(digest), anew.recorded_at(digest));
                assert!(
                    [step.agent_profile, step.tools, step.options].into_iter().flatten().map(of).all(|(a, b)| a == b)
                );
            }
            assert_eq!(held.usage().await.unwrap(), scratch.usage().await.unwrap());
            let (held, scratch) = (held.seen(*cut).await.unwrap(), scratch.seen(*cut).await.unwrap());
            assert_eq!(held.history, scratch.history, "{} at {cut}", past.session);
            assert_eq!((held.epochs, held.inbox.pending), (scratch.epochs, scratch.inbox.pending));
        }
    }
}
