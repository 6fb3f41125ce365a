use super::{MERGE, NothingToCompact, estimate, plan, prune};
use crate::History;
use crate::facts::*;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use annals_core::event::*;
use annals_core::{Event, NoBlobs, Seq};

fn history(events: &[Event]) -> History {
    fold(events)
}

/// The entries of a conversation that is summarised whole.
fn conversation(events: &[Event]) -> Vec<String> {
    let plan = plan(&history(events), 0, &NoBlobs).expect("something to compact");
    plan.conversation.split("\n\n").map(String::from).collect()
}

#[test]
fn an_estimate_is_a_quarter_of_the_characters_rounded() {
    assert_eq!([0, 1, 2, 5, 6, 9, 10].map(estimate), [0, 0, 1, 1, 2, 2, 3]);
}

#[test]
fn a_plan_keeps_the_longest_run_of_whole_entries_that_fits() {
    let events = [user("first"), user("second"), user("third")].concat();
    // "[User]: second" and "[User]: third" are 14 and 13 characters: 4 and 3 tokens.
    let kept =
        |tokens| plan(&history(&events), tokens, &NoBlobs).map(|plan| (plan.recent, plan.kept_from, plan.covered));
    assert_eq!(kept(2), Ok((String::new(), None, 3)), "not even the last one fits");
    assert_eq!(kept(3), Ok(("[User]: third".into(), Some(Seq(5)), 2)));
    assert_eq!(kept(6), Ok(("[User]: third".into(), Some(Seq(5)), 2)));
    assert_eq!(kept(7), Ok(("[User]: second\n\n[User]: third".into(), Some(Seq(3)), 1)));
    assert_eq!(kept(10), Err(NothingToCompact), "all of it fits");
    assert_eq!(plan(&History::default(), 0, &NoBlobs), Err(NothingToCompact), "an empty history has nothing");
}

#[test]
fn a_pinned_message_is_neither_summarised_nor_kept_in_the_tail() {
    let events = [user("first"), user("second"), user("third"), vec![pinned(1), pinned(5)]].concat();
    let plan = plan(&history(&events), 0, &NoBlobs).expect("something to compact");
    assert_eq!((plan.conversation.as_str(), plan.recent.as_str(), plan.covered), ("[User]: second", "", 1));
}

#[test]
fn a_second_plan_merges_the_first_summary_and_its_tail() {
    let events = [user("first"), vec![compacted("what was", "[User]: tail")], user("second")].concat();
    let plan = plan(&history(&events), 0, &NoBlobs).expect("something to compact");
    assert_eq!(plan.prior_summary.as_deref(), Some("what was"));
    assert_eq!(plan.conversation, "[User]: tail\n\n[User]: second");
    let prompt = plan.prompt(Some("added"), Some("instructions"));
    assert_eq!(
        prompt,
        format!(
            "<conversation>\n[User]: tail\n\n[User]: second\n</conversation>\n\n\
             <additional-context>\nadded\n</additional-context>\n\n\
             <prior-summary>\nwhat was\n</prior-summary>\n\n{MERGE}\n\ninstructions"
        )
    );
}

#[test]
fn a_first_plan_has_no_prior_summary_in_its_prompt() {
    let plan = plan(&history(&user("first")), 0, &NoBlobs).expect("something to compact");
    assert_eq!(plan.prior_summary, None);
    assert_eq!(
        plan.prompt(None, None),
        format!("<conversation>\n[User]: first\n</conversation>\n\n{}", super::INSTRUCTIONS)
    );
}

#[test]
fn every_kind_of_message_has_its_entry() {
    let shell = ShellRan { command: "ls".into(), output: "a.txt".into(), exit: Some(0) };
    let reasoning = ReasoningEnded { index: 0, text: "because".into(), metadata: None };
    let events = [
        vec![context("rules"), SyntheticAdded { text: "note".into() }.into(), shell.into(), step(), reasoning.into()],
        vec![text(1, "done"), text(2, ""), ended()],
    ]
    .concat();
    assert_eq!(
        conversation(&events),
        [
            "[System update]: rules",
            "[Synthetic context]: note",
            "[Shell]: ls\na.txt",
            "[Assistant reasoning]: because",
            "[Assistant]: done",
        ]
    );
}

#[test]
fn attachments_are_named_and_never_shown() {
    let attachment = |name: Option<&str>, uri: &str| Attachment {
        mime: "image/png".into(),
        name: name.map(Into::into),
        uri: uri.into(),
    };
    let attachments = vec![
        attachment(Some("shot.png"), "data:image/png;base64,AAAA"),
        attachment(None, "file:///shot.png"),
        attachment(None, "data:image/png;base64,AAAA"),
    ];
    let delivery = Delivery::Steer;
    let admitted = InputAdmitted { input: "one".into(), text: "look".into(), attachments, delivery };
    assert_eq!(
        conversation(&[admitted.into(), promoted("one")]),
        [
            "[User]: look",
            "[Attached image/png: shot.png]",
            "[Attached image/png: file:///shot.png]",
            "[Attached image/png: file]",
        ]
    );
}

#[test]
fn a_call_has_an_entry_and_so_has_its_result() {
    let call = r#"[Assistant tool call]: read({"a":1})"#;
    let of = |events: &[Event]| conversation(&[&[step(), called("c", "read")], events].concat());
    assert_eq!(of(&[settled("c", "text")]), [call, "[Tool result]: text"]);
    assert_eq!(of(&[settled("c", "text"), pruned(&["c"])]), [call, "[Tool result]: [Old tool result content cleared]"]);
    assert_eq!(of(&[failed("c", Some("no"))]), [call, "[Tool error]: no"]);
    assert_eq!(of(&[failed("c", None)]), [call, "[Tool error]: Tool execution interrupted"]);
    assert_eq!(of(&[]), [call], "an open call has no result yet");
}

#[test]
fn a_long_result_is_cut_after_two_thousand_characters() {
    let of = |chars: usize| conversation(&answer("c", "read", &long(chars))).pop().unwrap_or_default();
    assert_eq!(of(2_000), format!("[Tool result]: {}", long(2_000)));
    assert_eq!(of(2_001), format!("[Tool result]: {}\n[truncated]", long(2_000)));
}

/// A prune of old answers, each with a call of its own, behind which two more turns follow.
fn pruned_calls(answers: &[Vec<Event>]) -> Option<(Vec<String>, u64)> {
    let events = [user("one"), answers.concat(), user("two"), user("three")].concat();
    let plan = prune(&history(&events))?;
    Some((plan.calls.iter().map(|call| call.as_str().into()).collect(), plan.tokens))
}

#[test]
fn a_prune_spares_forty_thousand_tokens_and_must_win_more_than_twenty_thousand() {
    let newest = answer("new", "read", &long(160_000));
    let old = |chars| pruned_calls(&[answer("old", "read", &long(chars)), newest.clone()]);
    assert_eq!(old(80_000), None, "20,000 tokens are not worth it");
    assert_eq!(old(80_004), Some((vec!["old".into()], 20_001)));
    let smaller = answer("new", "read", &long(159_996));
    assert_eq!(
        pruned_calls(&[answer("old", "read", &long(4)), answer("mid", "read", &long(100_000)), smaller]),
        Some((vec!["old".into(), "mid".into()], 25_001)),
        "what goes past the spared tokens is pruned whole, oldest first"
    );
}

#[test]
fn a_prune_spares_skills_failures_pins_and_the_last_two_turns() {
    let big = long(400_000);
    assert_eq!(pruned_calls(&[answer("s", "skill", &big)]), None);
    assert_eq!(pruned_calls(&[vec![step(), called("f", "read"), failed("f", Some(&big)), ended()]]), None);
    assert_eq!(pruned_calls(&[answer("c", "read", &big), vec![pinned(2)]]), None);
    assert_eq!(pruned_calls(&[answer("c", "read", &big)]), Some((vec!["c".into()], 100_000)));
    let last_but_one = [user("one"), answer("c", "read", &big), user("two")].concat();
    assert_eq!(prune(&history(&last_but_one)), None, "one turn follows");
}

#[test]
fn a_prune_goes_no_further_than_the_one_before() {
    let big = long(400_000);
    let mut events = [user("one"), answer("a", "read", &big), answer("b", "read", &big)].concat();
    events.extend([pruned(&["b"])]);
    events.extend([answer("c", "read", &long(160_000)), user("two"), user("three")].concat());
    assert_eq!(prune(&history(&events)), None, "a is older than what was pruned");
}
