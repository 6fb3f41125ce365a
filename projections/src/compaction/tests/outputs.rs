//! Which outputs are cleared and shortened.

use super::*;

fn at_most(limit: u64) -> ContextLimits {
    ContextLimits::at(limit, 0)
}

#[test]
fn a_prune_spares_the_newest_outputs_and_the_newest_answer() {
    let read = |id: &str| answer(id, "read", &long(400));
    let events = [user("go"), read("a"), read("b"), read("c"), read("d"), read("e")].concat();
    let limits = |spared, worth| ContextLimits { spared, worth, ..keeping(0) };
    let pruned = |events: &[Event], spared, worth| {
        prune(&history(events), &model(), &limits(spared, worth)).map(|plan| plan.cleared)
    };
    let calls = |calls: &[&str]| Some(calls.iter().map(|call| (*call).into()).collect::<Vec<annals_core::CallId>>());
    assert_eq!(pruned(&events, 200, 200), calls(&["a", "b"]), "e is the newest answer; d and c are spared");
    assert_eq!(pruned(&events, 199, 300), calls(&["a", "b", "c"]));
    assert_eq!(pruned(&events, 200, 201), None, "not worth it");
    assert_eq!(pruned(&events, 400, 0), None, "nothing to clear");
    let shortened = [&events[..], &[reduced(&["a"], &["b"]), pinned(6)]].concat();
    assert_eq!(pruned(&shortened, 0, 0), calls(&["c", "d"]), "a is cleared already, b is pinned");
    let skill = [user("go"), answer("a", "skill", &long(400)), answer("b", "read", &long(33)), read("c")].concat();
    assert_eq!(pruned(&skill, 0, 0), None, "a skill, an output no longer than the marker, the newest answer");
}

#[test]
fn hosted_and_failed_calls_are_never_made_smaller() {
    let hosted = ToolCalled {
        index: 0,
        call: "h".into(),
        name: "search".into(),
        input: annals_core::Json::received("{}"),
        hosted: true,
        metadata: None,
    };
    let calls = vec![hosted.into(), settled("h", &long(900)), called("f", "read"), failed("f", Some(&long(900)))];
    let events = [user("go"), vec![step()], calls, vec![ended()], answer("c", "read", "x")].concat();
    assert_eq!(prune(&history(&events), &model(), &ContextLimits::at(0, 0)), None);
    assert_eq!(cut(&history(&events), &model(), 1_000, &at_most(0), &NoBlobs), None);
}

/// What a plan does: cleared, shortened.
fn made(plan: Option<OutputPlan>) -> Option<(Vec<String>, Vec<String>)> {
    let names = |calls: Vec<annals_core::CallId>| calls.iter().map(|call| call.as_str().to_string()).collect();
    plan.map(|plan| (names(plan.cleared), names(plan.shortened)))
}

fn names(cleared: &[&str], shortened: &[&str]) -> Option<(Vec<String>, Vec<String>)> {
    let owned = |calls: &[&str]| calls.iter().map(|call| (*call).to_string()).collect();
    Some((owned(cleared), owned(shortened)))
}

#[test]
fn unread_results_are_shortened_the_largest_first() {
    let calls = |id: &str, chars: usize| vec![called(id, "read"), settled(id, &long(chars))];
    let newest = [vec![step()], calls("a", 6_000), calls("b", 8_000), calls("c", 6_000), vec![ended()]].concat();
    let events = [user("go"), answer("old", "read", &long(9_000)), newest].concat();
    // Each shortened one has 4,036 characters.
    let shorten = |limit| made(shorten_unread(&history(&events), &model(), 30_000, &at_most(limit), &NoBlobs));
    assert_eq!(shorten(7_500), names(&[], &[]), "it fits");
    assert_eq!(shorten(6_510), names(&[], &["b"]));
    assert_eq!(shorten(6_509), names(&[], &["a", "b"]), "of equal ones the older");
    assert_eq!(shorten(5_529), names(&[], &["a", "b", "c"]));
    assert_eq!(shorten(5_528), None, "not the old one");
    let answered = [&events[..], &said("end")].concat();
    assert_eq!(made(shorten_unread(&history(&answered), &model(), 30_000, &at_most(6_510), &NoBlobs)), None);
}

#[test]
fn a_cut_shortens_everything_and_then_clears_the_newest_last() {
    let calls = |id: &str, chars: usize| vec![called(id, "read"), settled(id, &long(chars))];
    let newest = [vec![step()], calls("a", 100), calls("b", 8_000), vec![ended()]].concat();
    let events = [user("go"), answer("old", "read", &long(9_000)), answer("small", "read", &long(40)), newest].concat();
    let at = |limit| made(cut(&history(&events), &model(), 20_000, &at_most(limit), &NoBlobs));
    assert_eq!(at(3_760), names(&[], &["old"]));
    assert_eq!(at(3_759), names(&[], &["old", "b"]));
    assert_eq!(at(2_769), names(&[], &["old", "b"]));
    assert_eq!(at(2_768), names(&["old"], &["b"]));
    assert_eq!(at(1_767), names(&["old", "small"], &["b"]));
    assert_eq!(at(1_765), names(&["old", "small", "b"], &[]));
    assert_eq!(at(764), names(&["old", "small", "a", "b"], &[]));
    assert_eq!(at(747), None, "all of it is not enough");
}

/// A call with an input, as received.
fn given(call: &str, input: &str, hosted: bool) -> Event {
    let input = annals_core::Json::received(input);
    ToolCalled { index: 0, call: call.into(), name: "write".into(), input, hosted, metadata: None }.into()
}

#[test]
fn inputs_and_then_hosted_results_are_shortened_where_outputs_are_not_enough() {
    let result = annals_core::Json::received(format!(r#"{{"page":"{}"}}"#, long(9_000)));
    let hosted_result = ToolSettled {
        hosted_result: Some(result),
        ..ToolSettled::bare("h".into(), annals_core::event::ToolOutcome::Completed)
    };
    let input = |chars: usize| format!(r#"{{"path": "a", "content":"{}", "n": 1e400}}"#, long(chars));
    let calls = vec![
        step(),
        given("small", &input(100), false),
        settled("small", "done"),
        given("a", &input(6_000), false),
        settled("a", "done"),
        given("b", &input(8_000), false),
        failed("b", Some("refused")),
        given("h", "{}", true),
        hosted_result.into(),
        called("out", "read"),
        settled("out", &long(100)),
        ended(),
    ];
    let events = [user("go"), calls].concat();
    let before = conversation_size(&history(&events), &model(), &NoBlobs);
    let at = |left_out: u64| {
        // Exactly so many characters are to be saved.
        let limits = at_most(estimate(before.saturating_sub(left_out)));
        cut(&history(&events), &model(), before, &limits, &NoBlobs).map(|plan| {
            let after = [&events[..], &[annals_core::event::CallsReduced::from(plan.clone()).into()]].concat();
            let after = conversation_size(&history(&after), &model(), &NoBlobs);
            assert!(after <= before.saturating_sub(left_out) + 2, "{after}: {plan:?}");
            let names = |calls: Vec<annals_core::CallId>| calls.iter().map(|call| call.to_string()).collect::<Vec<_>>();
            (names(plan.cleared), names(plan.inputs), names(plan.hosted))
        })
    };
    let names = |cleared: &[&str], inputs: &[&str], hosted: &[&str]| {
        let owned = |calls: &[&str]| calls.iter().map(|call| (*call).to_string()).collect::<Vec<_>>();
        Some((owned(cleared), owned(inputs), owned(hosted)))
    };
    assert_eq!(at(60), names(&["out"], &[], &[]));
    assert_eq!(at(1_000), names(&["out"], &["b"], &[]), "the largest first");
    assert_eq!(at(5_000), names(&["out"], &["a", "b"], &[]));
    assert_eq!(at(9_000), names(&["out"], &["a", "b"], &["h"]));
    assert_eq!(at(20_000), None, "all of it is not enough");
    assert_eq!(
        cut(&history(&[&events[..], &[pinned(1)]].concat()), &model(), before, &at_most(0), &NoBlobs),
        None,
        "nothing is changed in vain"
    );
}

#[test]
fn a_model_reads_what_is_shortened_as_valid_json_and_as_text() {
    let result = annals_core::Json::received(format!("[\"{}\"]", long(9_000)));
    let hosted_result = ToolSettled {
        hosted_result: Some(result),
        ..ToolSettled::bare("h".into(), annals_core::event::ToolOutcome::Completed)
    };
    let calls = vec![
        step(),
        given("a", &format!(r#"{{"content":"{}","n":12345678901234567890123}}"#, long(8_000)), false),
        settled("a", "done"),
        given("h", "{}", true),
        hosted_result.into(),
        ended(),
    ];
    let short = annals_core::event::CallsReduced {
        calls: Vec::new(),
        shortened: Vec::new(),
        inputs: vec!["a".into()],
        hosted: vec!["h".into()],
    };
    let history = history(&[user("go"), calls, vec![short.into()]].concat());
    let messages: Vec<_> =
        history.selected().flat_map(|message| crate::request::alone(message, &model(), &NoBlobs)).collect();
    let answer = messages.iter().find(|message| message.role == crate::Role::Assistant).expect("an answer");
    let [crate::Block::Call { input, .. }, crate::Block::Text { text, .. }] = answer.blocks.as_slice() else {
        panic!("{answer:?}")
    };
    assert!(serde_json::from_str::<serde_json::Value>(input).is_ok(), "{input}");
    assert!(input.ends_with(r#","n":12345678901234567890123}"#) && input.chars().count() < 4_100, "{input}");
    assert!(text.starts_with("[Assistant tool call]: write({})\n[Tool result]: [\"xxx"), "{text}");
    assert!(text.contains("characters left out") && text.chars().count() < 4_200, "{text}");
}
