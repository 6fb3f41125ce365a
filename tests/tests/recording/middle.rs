//! A recording of a session whose earlier part was not recorded, and with a gap.

use super::scripted::{Recordings, assistant, body, user};
use serde_json::{Value, json};

fn recorded() -> Recordings {
    let before = [user(&["First."]), assistant("An answer before the recording."), user(&["Second."])];
    let second = [&before[..], &[assistant("Two."), user(&["Third."])]].concat();
    let gap = [&second[..], &[assistant("Three."), user(&["Fourth."]), assistant("Not recorded."), user(&["Fifth."])]];
    let last = [&gap.concat()[..], &[assistant("Five."), user(&["Sixth."])]].concat();
    let one = vec![(body(&before), "Two.", 100), (body(&second), "Three.", 200)];
    let two = vec![(body(&gap.concat()), "Five.", 300), (body(&last), "Six.", 400)];
    Recordings::of("claude", &[one, two]).0
}

#[test]
fn what_was_before_a_recording_is_marked_and_has_no_number() {
    annals_tests::needs!("python3");
    let recorded = recorded();
    recorded.agree(4);
    let requests = recorded.json(&["requests", "@last"]);
    let unrecorded: Vec<_> = requests.as_array().expect("a list").iter().map(|one| &one["unrecorded"]).collect();
    assert_eq!(unrecorded, [&json!(1), &Value::Null, &json!(1), &Value::Null], "{requests}");
    let listed = recorded.ask(&["requests", "@last"]).out;
    let lines: Vec<&str> =
        listed.lines().map(|line| line.split("  ").find(|part| !part.trim().is_empty()).unwrap_or("").trim()).collect();
    assert_eq!(lines, ["~", "1", "2", "~", "3", "4"], "{listed}");

    let cache = recorded.json(&["cache", "@last"]);
    let cached = cache["requests"].as_array().expect("requests");
    let numbers: Vec<_> = cached.iter().map(|one| &one["step"]["number"]).collect();
    assert_eq!(numbers, [1, 2, 3, 4], "{cache}");
    assert_eq!((&cached[0]["before"], &cached[0]["unrecorded"]), (&Value::Null, &json!(1)), "{cache}");
    assert_eq!((&cached[2]["break"], &cached[2]["unrecorded"]), (&Value::Null, &json!(1)), "{cache}");
    assert_eq!(cached[3]["unrecorded"], Value::Null, "{cache}");
    let table = recorded.ask(&["cache", "@last"]).out;
    assert!(!table.contains("first") && table.matches("no request recorded").count() == 2, "{table}");
    assert_eq!(table.lines().filter(|line| line.contains(" ~") && line.contains('%')).count(), 1, "{table}");
}

#[test]
fn every_question_has_the_same_numbers_for_recorded_requests() {
    annals_tests::needs!("python3");
    let recorded = recorded();
    for number in ["1", "2", "3", "4"] {
        let why = recorded.json(&["why", "@last", "--step", number]);
        let request = recorded.json(&["requests", "@last", "--step", number]);
        assert_eq!((&why["steps"], &why["step"]["seq"]), (&json!(4), &request["seq"]), "{why}");
    }
    let why = recorded.json(&["why", "@last", "--step", "3"]);
    let marked: Vec<_> =
        why["spans"].as_array().expect("spans").iter().filter(|span| span["unrecorded"] == true).collect();
    let texts: Vec<_> = marked.iter().filter_map(|span| span["text"].as_str()).collect();
    assert_eq!(texts, ["First.", "An answer before the recording.", "Fourth.", "Not recorded."], "{why}");
    assert!(recorded.ask(&["why", "@last", "--step", "3"]).out.contains(" ~"));
    let when = recorded.json(&["when", "@last", "Not recorded."]);
    let stay = &when["sightings"][0]["stays"][0];
    assert_eq!((&stay["first"], &stay["last"]), (&json!(3), &json!(4)), "{when}");
    let usage = recorded.json(&["usage", "@last"]);
    assert_eq!(usage["unpriced"], 4, "{usage}");
    let answer = recorded.ask(&["what-if", "@last", "--set", "agent.system=TEXT"]);
    assert!(answer.remarks.contains("not counted as cached: 2 requests"), "{}{}", answer.out, answer.remarks);
}

#[test]
fn what_an_agent_moves_in_its_messages_breaks_the_prefix() {
    annals_tests::needs!("python3");
    let reminder = "<system-reminder>Be brief.</system-reminder>";
    let first = [user(&[reminder, "go"])];
    let moved = [user(&["go"]), assistant("Gone."), user(&[reminder, "more"])];
    let (recorded, _) = Recordings::of("claude", &[vec![(body(&first), "Gone.", 90), (body(&moved), "More.", 99)]]);
    recorded.agree(2);
    let cache = recorded.json(&["cache", "@last"]);
    assert_eq!(cache["breaks"], 1, "{cache}");
    let broken = &cache["requests"][1]["break"];
    assert_eq!((&broken["cause"], &broken["part"]), (&json!("edited"), &json!("message 0")), "{cache}");
}

#[test]
fn a_recording_says_how_many_parts_the_events_have_otherwise() {
    annals_tests::needs!("python3");
    let call = json!({"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}});
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "out"}]});
    let called = json!({"role": "assistant", "content": [{"type": "text", "text": "I look."}, call]});
    let first = [user(&["go"]), called, result.clone()];
    // A result whose call is left out.
    let second = [user(&["go"]), assistant("I look."), result, assistant("Done."), user(&["more"])];
    let bodies = vec![(body(&first), "Done.", 90), (body(&second), "More.", 99)];
    let (recorded, outputs) = Recordings::of("claude", &[bodies]);
    let remarks = &outputs[0].remarks;
    assert!(
        remarks.contains("differing between the recorded bodies and the events: 1 part · annals verify"),
        "{remarks}"
    );
    let verified = recorded.ask(&["verify", "@last", "--requests", "--wire"]);
    assert!(verified.out.contains("1 part of the events not in the body"), "{}{}", verified.out, verified.remarks);
}
