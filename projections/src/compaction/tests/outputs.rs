//! Which outputs are cleared and shortened.

use super::*;

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
    assert_eq!(cut(&history(&events), &model(), 1_000, 0, &NoBlobs), None);
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
    let shorten = |limit| made(shorten_unread(&history(&events), &model(), 30_000, limit, &NoBlobs));
    assert_eq!(shorten(7_500), names(&[], &[]), "it fits");
    assert_eq!(shorten(6_510), names(&[], &["b"]));
    assert_eq!(shorten(6_509), names(&[], &["a", "b"]), "of equal ones the older");
    assert_eq!(shorten(5_529), names(&[], &["a", "b", "c"]));
    assert_eq!(shorten(5_528), None, "not the old one");
    let answered = [&events[..], &said("end")].concat();
    assert_eq!(made(shorten_unread(&history(&answered), &model(), 30_000, 6_510, &NoBlobs)), None);
}

#[test]
fn a_cut_shortens_everything_and_then_clears_the_newest_last() {
    let calls = |id: &str, chars: usize| vec![called(id, "read"), settled(id, &long(chars))];
    let newest = [vec![step()], calls("a", 100), calls("b", 8_000), vec![ended()]].concat();
    let events = [user("go"), answer("old", "read", &long(9_000)), answer("small", "read", &long(40)), newest].concat();
    let at = |limit| made(cut(&history(&events), &model(), 20_000, limit, &NoBlobs));
    assert_eq!(at(3_760), names(&[], &["old"]));
    assert_eq!(at(3_759), names(&[], &["old", "b"]));
    assert_eq!(at(2_769), names(&[], &["old", "b"]));
    assert_eq!(at(2_768), names(&["old"], &["b"]));
    assert_eq!(at(1_767), names(&["old", "small"], &["b"]));
    assert_eq!(at(1_765), names(&["old", "small", "b"], &[]));
    assert_eq!(at(764), names(&["old", "small", "a", "b"], &[]));
    assert_eq!(at(747), None, "all of it is not enough");
}
