//! Every cause that breaks the prefix of a request, each in a session where nothing else happens, with the event behind it.

use crate::questions::harness::{Own, drawn};
use annals_core::event::*;
use annals_core::{CallId, Event, Json, Seq};
use annals_inspect::cache::{self, Asking};

const READ_40: Option<Usage> = Some(Usage { input: 10, output: 5, reasoning: 0, cache_read: 40, cache_write: 20 });

/// A Session with one turn that was sent and answered.
async fn one_turn() -> (Own, Seq) {
    let mut own = Own::begin().await;
    own.epoch(EpochCause::FirstTurn, "Wednesday").await;
    let user = own.says("one", "Read a.txt, it holds the secret word.").await;
    own.sends().await;
    own.answers("The word is heliotrope.", None, READ_40).await;
    (own, user)
}

/// Sends one more turn, and tells what a cache could keep.
async fn next_turn(own: &mut Own) -> String {
    own.says("next", "And again?").await;
    own.sends().await;
    own.answers("Heliotrope.", None, READ_40).await;
    told(own).await
}

async fn told(own: &Own) -> String {
    let answer = cache::ask(&own.past().await, Asking { last: None, ttl_ms: 300_000 }).await.unwrap();
    drawn(|out, style| annals_cli::testing::cache::draw(&answer, style, out))
}

#[tokio::test]
async fn a_turn_that_only_continues_breaks_nothing() {
    let (mut own, _) = one_turn().await;
    insta::assert_snapshot!(next_turn(&mut own).await);
}

#[tokio::test]
async fn another_agent_breaks_the_prefix() {
    let (mut own, _) = one_turn().await;
    own.switches_agent("plan", "You plan.").await;
    insta::assert_snapshot!(next_turn(&mut own).await);
}

#[tokio::test]
async fn a_changed_text_of_the_agent_breaks_the_prefix() {
    let (mut own, _) = one_turn().await;
    own.redefines_agent("You build, and you test.").await;
    insta::assert_snapshot!(next_turn(&mut own).await);
}

#[tokio::test]
async fn other_tools_break_the_prefix_and_so_do_those_that_were_offered_before() {
    let (mut own, _) = one_turn().await;
    own.offers(&["read", "write"]).await;
    let first = next_turn(&mut own).await;
    // The same set again: no event between the two requests records it.
    own.offers_again();
    own.says("third", "Once more.").await;
    own.sends().await;
    insta::assert_snapshot!(first + "\n" + &told(&own).await);
}

#[tokio::test]
async fn other_options_are_told_with_their_event_and_are_no_break() {
    let (mut own, _) = one_turn().await;
    own.sets("temperature", "0").await;
    insta::assert_snapshot!(next_turn(&mut own).await);
}

#[tokio::test]
async fn another_model_breaks_the_prefix() {
    let (mut own, _) = one_turn().await;
    own.switches_model("test/beta").await;
    insta::assert_snapshot!(next_turn(&mut own).await);
}

#[tokio::test]
async fn another_baseline_breaks_the_prefix() {
    let (mut own, _) = one_turn().await;
    own.add(vec![SessionMoved { location: Location { directory: "/elsewhere".into(), workspace: None } }.into()]).await;
    own.epoch(EpochCause::Moved, "Thursday").await;
    insta::assert_snapshot!(next_turn(&mut own).await);
}

#[tokio::test]
async fn context_messages_that_leave_with_an_epoch_of_the_same_baseline_break_the_prefix() {
    let (mut own, _) = one_turn().await;
    own.told("Today is Thursday.").await;
    own.told("Today is Wednesday again.").await;
    own.says("two", "Which day is it?").await;
    own.sends().await;
    own.answers("Wednesday.", None, READ_40).await;
    own.epoch(EpochCause::Incompatible, "Wednesday").await;
    insta::assert_snapshot!(next_turn(&mut own).await);
}

#[tokio::test]
async fn a_pinned_message_that_comes_back_breaks_the_prefix() {
    let (mut own, user) = one_turn().await;
    own.compacts("The user asks for a word.").await;
    own.says("two", "Go on.").await;
    own.sends().await;
    own.answers("Gladly.", None, READ_40).await;
    own.add(vec![MessagePinned { message: user }.into()]).await;
    let pinned = next_turn(&mut own).await;
    own.add(vec![MessageUnpinned { message: user }.into()]).await;
    own.says("four", "And now?").await;
    own.sends().await;
    insta::assert_snapshot!(pinned + "\n" + &told(&own).await);
}

#[tokio::test]
async fn a_pruned_output_breaks_the_prefix_where_it_stood() {
    let mut own = Own::begin().await;
    own.epoch(EpochCause::FirstTurn, "Wednesday").await;
    own.says("one", "Read a.txt.").await;
    own.sends().await;
    own.answers("I read it.", Some(("call-1", "the word is heliotrope")), READ_40).await;
    own.sends().await;
    own.answers("Heliotrope.", None, READ_40).await;
    own.add(vec![ToolOutputsPruned { calls: vec!["call-1".into()] }.into()]).await;
    insta::assert_snapshot!(next_turn(&mut own).await);
}

#[tokio::test]
async fn a_call_that_was_settled_after_a_request_had_passed_it_breaks_the_prefix() {
    let (mut own, _) = one_turn().await;
    own.says("call", "Read it again.").await;
    own.sends().await;
    let call: CallId = "call-1".into();
    let started = StepStarted { agent: "build".into(), model: "test/alpha".into(), files: None, answer: None };
    let called = ToolCalled {
        index: 0,
        call: call.clone(),
        name: "read".into(),
        input: Json::received(r#"{"path":"a.txt"}"#),
        hosted: false,
        metadata: None,
    };
    own.add(vec![started.into(), called.into()]).await;
    own.says("two", "Are you there?").await;
    own.sends().await;
    let bare = ToolSettled::bare(call, ToolOutcome::Completed);
    let settled = ToolSettled { output: "the word is heliotrope".into(), ..bare };
    own.add(vec![Event::from(settled)]).await;
    own.sends().await;
    insta::assert_snapshot!(told(&own).await);
}

#[tokio::test]
async fn a_model_that_takes_system_messages_otherwise_rewrites_what_was_told() {
    let (mut own, _) = one_turn().await;
    own.told("Today is Thursday.").await;
    own.says("two", "Which day is it?").await;
    own.sends().await;
    own.answers("Thursday.", None, READ_40).await;
    own.wraps_system_messages().await;
    insta::assert_snapshot!(next_turn(&mut own).await);
}

#[tokio::test]
async fn time_that_passed_breaks_the_prefix_only_when_the_provider_read_nothing() {
    let (mut own, _) = one_turn().await;
    own.wait(3_600_000);
    let kept = next_turn(&mut own).await;
    own.wait(3_600_000);
    own.says("three", "Still there?").await;
    own.sends().await;
    let nothing = Usage { input: 10, output: 5, reasoning: 0, cache_read: 0, cache_write: 60 };
    own.answers("Yes.", None, Some(nothing)).await;
    insta::assert_snapshot!(kept + "\n" + &told(&own).await);
}

#[tokio::test]
async fn what_was_not_recorded_of_one_request_breaks_nothing() {
    let (mut own, _) = one_turn().await;
    own.says("two", "And again?").await;
    // An answer without a recorded request before it: tools, options and profiles of that one are not known.
    own.answers("Heliotrope.", None, READ_40).await;
    insta::assert_snapshot!(next_turn(&mut own).await);
}
