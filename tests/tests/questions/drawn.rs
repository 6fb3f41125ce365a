//! What the questions answer, on recorded sessions of other agents and on our own, drawn for eyes.

use crate::questions::harness::{drawn, eventful, imported};
use annals_cli::testing::Sheet;
use annals_core::Seq;
use annals_inspect::{SessionAt, bisect, cache, diff, when, why};

async fn why(past: &SessionAt, step: Option<u64>, text: Option<&str>) -> String {
    let answer = why::ask(past, step, text).await.unwrap();
    drawn(|out, style| annals_cli::testing::why::draw(&answer, false, &mut Sheet::new(out, style)))
}

async fn when(past: &SessionAt, text: &str) -> String {
    let answer = when::ask(past, text).await.unwrap();
    drawn(|out, style| annals_cli::testing::when::draw(&answer, &mut Sheet::new(out, style)))
}

async fn cache(past: &SessionAt) -> String {
    let answer = cache::ask(past, cache::Asking { last: None, ttl_ms: 300_000 }).await.unwrap();
    drawn(|out, style| annals_cli::testing::cache::draw(&answer, style, out))
}

#[tokio::test]
async fn why_tells_the_origin_of_every_span_of_an_imported_request_and_what_was_not_recorded() {
    insta::assert_snapshot!(why(&imported("opencode/v2/compaction.events.jsonl").await, None, None).await);
}

#[tokio::test]
async fn why_with_a_text_tells_only_the_spans_that_hold_it() {
    insta::assert_snapshot!(
        why(&imported("opencode/v2/context-changes.events.jsonl").await, Some(2), Some("AGENTS")).await
    );
}

#[tokio::test]
async fn why_tells_a_codex_request_and_a_claude_code_request() {
    let codex = why(&imported("codex/one-turn.rollout.jsonl").await, None, None).await;
    let claude = why(&imported("claude-code/one-turn.jsonl").await, None, None).await;
    insta::assert_snapshot!(format!("{codex}\n{claude}"));
}

#[tokio::test]
async fn why_tells_profiles_tools_prunes_and_what_an_undone_compaction_gave_back() {
    insta::assert_snapshot!(why(&eventful().await.past().await, Some(6), None).await);
}

#[tokio::test]
async fn when_tells_what_a_compaction_took_and_where_a_summary_says_it_again() {
    let past = imported("opencode/v2/compaction.events.jsonl").await;
    insta::assert_snapshot!(when(&past, "AGENTS.md").await);
}

#[tokio::test]
async fn when_follows_a_fact_through_prune_compaction_undoing_and_revert() {
    let past = eventful().await.past().await;
    insta::assert_snapshot!(when(&past, "heliotrope").await + "\n" + &when(&past, "beta").await);
}

#[tokio::test]
async fn when_tells_agent_text_tools_and_baselines_by_the_requests_that_carried_them() {
    let past = eventful().await.past().await;
    insta::assert_snapshot!(
        when(&past, "You build").await
            + "\n"
            + &when(&past, "Reads a file").await
            + "\n"
            + &when(&past, "Wednesday").await
    );
}

#[tokio::test]
async fn cache_tells_the_shared_prefix_of_an_imported_session_and_its_breaks() {
    insta::assert_snapshot!(cache(&imported("opencode/v2/compaction.events.jsonl").await).await);
}

#[tokio::test]
async fn cache_tells_breaks_with_cause_event_and_price() {
    insta::assert_snapshot!(cache(&eventful().await.past().await).await);
}

#[tokio::test]
async fn the_newest_requests_are_told_as_they_are_among_all() {
    let past = eventful().await.past().await;
    let all = cache::ask(&past, cache::Asking { last: None, ttl_ms: 300_000 }).await.unwrap();
    let newest = cache::ask(&past, cache::Asking { last: Some(3), ttl_ms: 300_000 }).await.unwrap();
    assert_eq!(newest.requests, all.requests[all.requests.len() - 3..]);
}

#[tokio::test]
async fn two_requests_differ_first_in_a_byte_of_a_part() {
    let past = eventful().await.past().await;
    let found = diff::requests((&past, 3), (&past, 4)).await.unwrap();
    let equal = diff::requests((&past, 3), (&past, 3)).await.unwrap();
    assert_eq!((equal.first, equal.parts.len()), (None, 0));
    insta::assert_snapshot!(drawn(|out, style| annals_cli::testing::diff::draw_requests(&found, false, style, out)));
}

#[tokio::test]
async fn two_sessions_stand_side_by_side_from_the_first_turn_that_differs() {
    let (source, fork) = (imported("opencode/v1/fork-source.json").await, imported("opencode/v1/fork.json").await);
    let found = diff::sessions(&source, &fork).await.unwrap();
    insta::assert_snapshot!(drawn(|out, style| annals_cli::testing::diff::draw_sessions(&found, false, style, out)));
    let same = diff::sessions(&source, &source).await.unwrap();
    assert_eq!((same.first, same.inherited), (None, source.until.0));
}

#[tokio::test]
async fn a_bisection_finds_the_batch_with_which_a_pattern_holds() {
    let past = imported("opencode/v2/compaction.events.jsonl").await;
    let judge = annals_scenario::judge(r#"{"history": {"$contains": {"type": "compaction"}}}"#).unwrap();
    let found = bisect::ask(&past, Seq(0), Seq(past.until.0 - 1), &judge).await.unwrap();
    insta::assert_snapshot!(drawn(|out, style| annals_cli::testing::draw_bisection(
        &found,
        &mut Sheet::new(out, style)
    )));
}
