mod outputs;

use super::*;
use crate::facts::*;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use annals_core::event::*;
use annals_core::{Event, NoBlobs, Seq};

fn history(events: &[Event]) -> History {
    fold(events)
}

/// Limits with a tail of `tokens`.
fn keeping(tokens: u64) -> ContextLimits {
    ContextLimits { tail: tokens, ..ContextLimits::of(&model(), 20_000, 8_000) }
}

fn planned(events: &[Event], tokens: u64) -> Result<CompactionPlan, NothingToCompact> {
    plan(&history(events), &model(), &keeping(tokens), CompactionReason::Auto, &NoBlobs)
}

/// A message of the runtime's words: it is covered as any other and is no input.
fn note(text: &str) -> Vec<Event> {
    vec![SyntheticAdded { text: text.into() }.into()]
}

/// A finished answer.
fn said(text_of_it: &str) -> Vec<Event> {
    vec![step(), text(0, text_of_it), ended()]
}

fn entries(plan: &CompactionPlan) -> Vec<String> {
    plan.entries.iter().map(|entry| entry.text.clone()).collect()
}

fn replayed(plan: &CompactionPlan) -> Vec<(u64, Option<u64>)> {
    plan.replayed.iter().map(|input| (input.seq.0, input.text.as_ref().map(Text::chars))).collect()
}

#[test]
fn an_estimate_is_a_quarter_of_the_characters_rounded() {
    assert_eq!([0, 1, 2, 5, 6, 9, 10].map(estimate), [0, 0, 1, 1, 2, 2, 3]);
}

#[test]
fn the_tail_is_the_longest_run_of_whole_messages_that_fits() {
    // `{"role":"user","text":"one"}` has 28 characters: 7 tokens. Seqs: 0, 1, 2.
    let events = [note("one"), note("two"), note("six"), said("end")].concat();
    // The answer at 3 has 33 characters, 8 tokens.
    let kept = |tokens| planned(&events, tokens).map(|plan| (plan.first_kept.map(|seq| seq.0), entries(&plan).len()));
    assert_eq!(kept(7), Ok((None, 4)), "not even the last one fits");
    assert_eq!(kept(8), Ok((Some(3), 3)));
    assert_eq!(kept(14), Ok((Some(3), 3)));
    assert_eq!(kept(15), Ok((Some(2), 2)));
    assert_eq!(kept(22), Ok((Some(1), 1)));
    assert_eq!(kept(29), Err(NothingToCompact), "all of it fits");
    assert_eq!(planned(&[], 0), Err(NothingToCompact), "an empty history has nothing");
}

#[test]
fn a_message_that_is_not_sent_counts_nothing_and_a_pinned_one_neither() {
    let failed = vec![step(), StepFailed { error: failure("overflow"), usage: None, cost: 0 }.into()];
    // Seqs: note 0, pinned note 1, failed answer 2, answer 5, pin 7.
    let events = [note("one"), note("two"), failed, said("end")].concat();
    let first = |events: &[Event]| planned(events, 8).map(|plan| plan.first_kept.map(|seq| seq.0));
    assert_eq!(first(&events), Ok(Some(2)));
    assert_eq!(first(&[&events[..], &[pinned(1)]].concat()), Ok(Some(1)));
}

fn failure(kind: &str) -> Failure {
    Failure { kind: kind.into(), message: kind.into(), status: None }
}

#[test]
fn unanswered_inputs_and_unread_results_are_never_covered() {
    // Seqs: answer 0, user 4, user 6.
    let unanswered = [said("end"), user("one"), user("two")].concat();
    assert_eq!(planned(&unanswered, 0).map(|plan| plan.first_kept), Ok(Some(Seq(4))));
    // A failed attempt without text answers nothing, one with text answers.
    let silent = [&unanswered[..], &[step(), StepFailed { error: failure("x"), usage: None, cost: 0 }.into()]].concat();
    assert_eq!(planned(&silent, 0).map(|plan| plan.first_kept), Ok(Some(Seq(4))));
    let partial =
        [&unanswered[..], &[step(), text(0, "part"), StepFailed { error: failure("x"), usage: None, cost: 0 }.into()]]
            .concat();
    let plan = planned(&partial, 0).expect("a plan");
    assert_eq!((plan.first_kept, replayed(&plan)), (None, vec![(4, None), (6, None)]));
    // The newest answer with calls: user 1, answer 2 with a call.
    let unread = [said("end"), user("one"), answer("c", "read", "x")].concat();
    let plan = planned(&unread, 0).expect("a plan");
    assert_eq!(plan.first_kept, Some(Seq(5)));
    assert_eq!(entries(&plan), ["[Assistant]: end", "[User]: one"]);
    assert_eq!(replayed(&plan), [(4, None)]);
}

#[test]
fn inputs_of_finished_work_are_not_replayed() {
    let events = [user("one"), answer("c", "read", "x"), user("two"), said("end"), note("after")].concat();
    let plan = planned(&events, 0).expect("a plan");
    assert_eq!((plan.first_kept, replayed(&plan)), (None, vec![]));
}

#[test]
fn replayed_inputs_are_shortened_from_the_newest_back_when_they_exceed_the_tail() {
    // Seqs: one 1 (5,000 characters), two 3 (5,000), three 5, answer 6 with a call.
    let events = [user(&long(5_000)), user(&long(4_999)), user("three"), answer("c", "read", &long(20_000))].concat();
    let at = |tokens| planned(&events, tokens).map(|plan| replayed(&plan));
    // 30 or 31 characters around a text: 5,025 are 1,256 tokens, 5,024 also, "three" has 8.
    assert_eq!(at(2_520), Err(NothingToCompact), "all stand whole");
    assert_eq!(at(2_519), Ok(vec![(1, Some(4_036)), (3, None), (5, None)]));
    assert_eq!(at(1_264), Ok(vec![(1, Some(4_036)), (3, None), (5, None)]));
    assert_eq!(at(1_263), Ok(vec![(1, Some(4_036)), (3, Some(4_035)), (5, None)]));
    assert_eq!(at(0), Ok(vec![(1, Some(4_036)), (3, Some(4_035)), (5, None)]), "a short one stays whole");
}

#[test]
fn a_replayed_input_is_covered_again_and_not_by_itself() {
    let long_input = user(&long(5_000));
    let short = crate::without_middle(&long(5_000), 2_000).expect("a shorter text");
    // Seqs: input 1, answer 2, compaction 6 that keeps from 6 on, answer 7, answer 11.
    let first = [
        long_input,
        answer("c1", "read", "x"),
        vec![completed("First.", 6, &[(1, Some(&short))])],
        answer("c2", "read", "x"),
    ]
    .concat();
    assert_eq!(planned(&first, 0), Err(NothingToCompact), "only the input, which is shortened already");
    let again = [&first[..], &answer("c3", "read", "x")].concat();
    let plan = planned(&again, 0).expect("a plan");
    assert_eq!(plan.covered, [Seq(1), Seq(7)]);
    assert_eq!((plan.first_kept, replayed(&plan)), (Some(Seq(11)), vec![(1, Some(4_036))]));
    assert_eq!(entries(&plan)[0], format!("[User]: {short}"));
    let large = planned(&again, 1_000_000);
    assert_eq!(large, Err(NothingToCompact), "what was covered does not come back into the tail");
}

#[test]
fn pinned_messages_are_not_covered_and_follow_no_summary() {
    let events = [note("first"), note("second"), note("third"), said("end"), vec![pinned(0), pinned(2)]].concat();
    let plan = planned(&events, 0).expect("a plan");
    assert_eq!(entries(&plan), ["[Synthetic context]: second", "[Assistant]: end"]);
}

#[test]
fn by_hand_a_tail_that_is_held_is_covered_where_nothing_is_before_it() {
    let by_hand = |events: &[Event], tokens: u64| {
        plan(&history(events), &model(), &keeping(tokens), CompactionReason::Manual, &NoBlobs)
    };
    // Seqs: user 1, answer 2 with a call that no answer has read.
    let unread = [user("go"), answer("c", "write", &long(9_000))].concat();
    for tokens in [0, 1_000_000] {
        assert_eq!(planned(&unread, tokens), Err(NothingToCompact), "a request makes it smaller in other ways");
        let plan = by_hand(&unread, tokens).expect("a plan");
        assert_eq!((plan.first_kept, plan.covered.len(), replayed(&plan)), (None, 2, vec![(1, None)]));
    }
    let large = user(&long(9_000));
    assert_eq!(replayed(&by_hand(&large, 100).expect("a plan")), [(1, Some(4_036))], "a prompt that is too large");
    let small = [user("go"), said("done")].concat();
    assert_eq!(by_hand(&small, 1_000), Err(NothingToCompact), "all of it fits what is kept");
    assert_eq!(by_hand(&note("alone"), 1_000), Err(NothingToCompact));
    assert_eq!(by_hand(&user("go"), 0), Err(NothingToCompact), "only an input, which is sent as it is");
}

#[test]
fn a_second_plan_merges_the_first_summary_and_an_imported_tail() {
    let events = [note("first"), vec![compacted("what was", "[User]: tail")], note("second")].concat();
    let plan = planned(&events, 0).expect("something to compact");
    assert_eq!(plan.prior_summary.as_deref(), Some("what was"));
    assert_eq!(entries(&plan), ["[User]: tail", "[Synthetic context]: second"]);
    let request = SummaryRequest { added: Some("added"), ..unlimited() };
    let usual = super::summary_request::usual(300, true);
    assert_eq!(
        request.prompt(&plan),
        format!(
            "<conversation>\n[User]: tail\n\n[Synthetic context]: second\n</conversation>\n\n\
             <additional-context>\nadded\n</additional-context>\n\n\
             <prior-summary>\nwhat was\n</prior-summary>\n\n{usual}"
        )
    );
    let other = SummaryRequest { instructions: Some("instructions"), ..unlimited() }.prompt(&plan);
    assert!(other.ends_with("needed no more.\n\ninstructions"), "{other}");
    assert_eq!(planned(&events[..2], 0), Err(NothingToCompact), "the imported tail alone is nothing new");
}

fn unlimited() -> SummaryRequest<'static> {
    SummaryRequest::to(&model(), 300)
}

#[test]
fn a_first_plan_has_no_prior_summary_and_asks_for_a_length() {
    let plan = planned(&note("first"), 0).expect("something to compact");
    assert_eq!(plan.prior_summary, None);
    let usual = super::summary_request::usual(300, false);
    assert!(usual.contains("at most 300 tokens"));
    assert_eq!(
        unlimited().prompt(&plan),
        format!("<conversation>\n[Synthetic context]: first\n</conversation>\n\n{usual}")
    );
    assert!(usual.len() < 500, "small windows have to hold it");
}

/// The conversation of a request that may have `limit` tokens.
fn conversation(events: &[Event], limit: u64) -> Vec<String> {
    let plan = planned(events, 0).expect("something to compact");
    let request = SummaryRequest { limit: Some(limit), instructions: Some(""), ..unlimited() };
    let prompt = request.prompt(&plan);
    let inner = prompt.strip_prefix("<conversation>\n").and_then(|rest| rest.split_once("\n</conversation>"));
    inner.expect("a conversation").0.split("\n\n").map(String::from).collect()
}

#[test]
fn a_summary_request_gives_up_one_thing_after_another() {
    // 63 characters of JSON and 38 of the frame are around the conversation.
    let call = |id: &str| vec![step(), text(1, "said"), called(id, "read"), settled(id, &long(100)), ended()];
    let events = [note("first"), call("a"), call("b"), note("last"), said("end")].concat();
    let all = conversation(&events, 1_000);
    assert_eq!(all.len(), 9);
    let whole: u64 = all.iter().map(|entry| crate::size::text_chars(entry)).sum::<u64>() + 8 * 4 + 63 + 38;
    assert_eq!(conversation(&events, estimate(whole)), all, "it fits exactly");
    let less = conversation(&events, estimate(whole) - 1);
    assert_eq!(less[2], "[Tool result]: [... output left out]", "the oldest output first");
    assert_eq!((&less[..2], &less[3..]), (&all[..2], &all[3..]));
    let fewest =
        |wanted: usize| (0..1_000).find(|limit| conversation(&events, *limit).len() == wanted).expect("a limit");
    let first = "[Synthetic context]: first";
    let without_calls = conversation(&events, fewest(8));
    assert_eq!(without_calls[..3], ["[... 2 earlier entries left out]", first, "[Assistant]: said"]);
    let silent = conversation(&events, fewest(5));
    let last = ["[Synthetic context]: last", "[Assistant]: end"];
    assert_eq!(silent, [&["[... 5 earlier entries left out]", first, "[Assistant]: said"], &last[..]].concat());
    let bare = conversation(&events, 0);
    assert_eq!(bare, ["[... 8 earlier entries left out]", "[Assistant]: end"], "the newest entry stays");
}

#[test]
fn the_newest_entry_loses_its_middle_before_the_words_of_the_user_leave() {
    let events = [note("first"), note(&long(5_000))].concat();
    let entries = conversation(&events, 1_080);
    assert_eq!(entries[0], "[Synthetic context]: first");
    assert_eq!(entries[1].chars().count(), 4_036);
    assert!(entries[1].starts_with("[Synthetic context]: xxx"));
}

#[test]
fn a_result_that_is_the_newest_entry_stays_when_its_call_has_to_leave() {
    let events = [note("first"), vec![step(), called("a", "read"), settled("a", "out"), ended()], said("")].concat();
    let events = [&events[..], &[step(), StepFailed { error: failure("x"), usage: None, cost: 0 }.into()]].concat();
    let covered = fold::<History>(&events);
    let messages: Vec<SummaryEntry> =
        covered.selected().flat_map(|message| entries::of_message(message, &NoBlobs)).collect();
    let plan = CompactionPlan {
        prior_summary: None,
        covered: Vec::new(),
        first_kept: None,
        replayed: Vec::new(),
        entries: messages,
    };
    let prompt = SummaryRequest { limit: Some(0), instructions: Some(""), ..unlimited() }.prompt(&plan);
    assert!(prompt.contains("left out]\n\n[Tool result]: out\n"), "{prompt}");
}

#[test]
fn the_size_of_a_summary_request_is_that_of_its_json() {
    let texts = ["plain", "a \"quoted\" \\ text\n\twith\r\u{8}\u{c}\u{1}\u{1f} controls", "ü€😀\u{7f}\u{2028}"];
    for text in texts {
        let json = annals_core::canonical::value(&serde_json::Value::String(text.to_string()));
        assert_eq!(crate::size::text_chars(text), json.chars().count() as u64 - 2, "{text:?}");
    }
    let request = r#"{"messages":[{"role":"user","text":""}],"system":[],"tools":[]}"#;
    assert_eq!(request.chars().count(), 63);
}

#[test]
fn a_request_for_a_summary_leaves_room_for_the_answer() {
    let to = |context, output| SummaryRequest::to(&ModelProfile { context, output, ..model() }, 10).limit;
    assert_eq!(to(0, 0), None);
    assert_eq!(to(100_000, 0), Some(95_904));
    assert_eq!(to(100_000, 1_000), Some(99_000));
    assert_eq!(to(4_000, 0), Some(2_000), "at most half of the window");
    assert_eq!(to(4_001, 50_000), Some(2_001));
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
        entries(&planned(&events, 0).expect("a plan")),
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
fn a_request_gives_up_the_middle_of_inputs_and_the_newest_call_before_the_words_of_the_user() {
    let input = annals_core::Json::received(format!(r#"{{"content":"{}"}}"#, long(9_000)));
    let write = |call: &str| -> Event {
        ToolCalled {
            index: 0,
            call: call.into(),
            name: "write".into(),
            input: input.clone(),
            hosted: false,
            metadata: None,
        }
        .into()
    };
    let call = |call: &str| vec![step(), write(call), settled(call, "written"), ended()];
    let events = [note("first"), call("a"), call("b")].concat();
    let entries = |limit: u64| {
        let history = history(&events);
        let plan = plan(&history, &model(), &keeping(0), CompactionReason::Manual, &NoBlobs).expect("a plan");
        let whole = CompactionPlan {
            entries: history.selected().flat_map(|message| entries::of_message(message, &NoBlobs)).collect(),
            ..plan
        };
        let request = SummaryRequest { limit: Some(limit), instructions: Some(""), ..unlimited() };
        let prompt = request.prompt(&whole);
        let inner = prompt.strip_prefix("<conversation>\n").and_then(|rest| rest.split_once("\n</conversation>"));
        inner
            .expect("a conversation")
            .0
            .split("\n\n")
            .map(|entry| entry.chars().take(24).collect())
            .collect::<Vec<String>>()
    };
    let first = "[Synthetic context]: fir";
    let call = "[Assistant tool call]: w";
    let result = "[Tool result]: written";
    for whole_or_short in [10_000, 4_000, 2_200] {
        assert_eq!(entries(whole_or_short), [first, call, result, call, result], "{whole_or_short}");
    }
    assert_eq!(
        entries(1_200),
        ["[... 2 earlier entries le", first, call, result].map(|text| &text[..text.len().min(24)])
    );
    assert_eq!(
        entries(60),
        ["[... 3 earlier entries l", first, result],
        "the newest call leaves before the user's words"
    );
    assert_eq!(entries(0), ["[... 4 earlier entries l", result]);
}

#[test]
fn attached_text_files_are_shown_and_leave_like_outputs() {
    let attachment = Attachment {
        mime: "text/plain".into(),
        name: Some("spec.md".into()),
        uri: "data:text/plain;base64,bmV2ZXIgcHVzaA==".into(),
    };
    let delivery = Delivery::Steer;
    let admitted = InputAdmitted { input: "look".into(), text: "look".into(), attachments: vec![attachment], delivery };
    let events = [vec![admitted.into(), promoted("look")], said("end")].concat();
    assert_eq!(entries(&planned(&events, 0).expect("a plan"))[1], "[Attached text/plain: spec.md]\nnever push");
}

#[test]
fn media_are_named_and_never_shown() {
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
    let admitted = InputAdmitted { input: "look".into(), text: "look".into(), attachments, delivery };
    let events = [vec![admitted.into(), promoted("look")], said("end")].concat();
    assert_eq!(
        entries(&planned(&events, 0).expect("a plan")),
        [
            "[User]: look",
            "[Attached image/png: shot.png]",
            "[Attached image/png: file:///shot.png]",
            "[Attached image/png: file]",
            "[Assistant]: end",
        ]
    );
}

#[test]
fn long_results_are_cut_as_the_model_reads_them() {
    let calls = [
        called("a", "read"),
        settled("a", &long(2_001)),
        called("b", "read"),
        failed("b", Some(&long(2_001))),
        called("c", "read"),
        failed("c", None),
        called("d", "read"),
        settled("d", &long(9_000)),
    ];
    let events = [vec![step()], calls.to_vec(), vec![ended()], said("end"), vec![reduced(&["a"], &["d"])]].concat();
    let entries = entries(&planned(&events, 0).expect("a plan"));
    let cut = |head: &str| format!("{head}{}\n[truncated]", long(2_000));
    assert_eq!(entries[1], "[Tool result]: [Old tool result content cleared]");
    assert_eq!(entries[3], cut("[Tool error]: "));
    assert_eq!(entries[5], "[Tool error]: Tool execution interrupted");
    assert_eq!(entries[7], cut("[Tool result]: "), "the two ends are cut as well");
}
