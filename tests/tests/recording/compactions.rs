//! Compactions of recorded agents: who asked, how much they made smaller, and what left the model's view.

use super::scripted::{Recordings, assistant, body, user};
use serde_json::{Value, json};

const RULES: &str =
    "<system-reminder>\nAlways be kind to parse_line.\nNever edit Cargo.lock by hand.\n</system-reminder>";
const PROMPT: &str = "Read src/main.rs. Never touch src/lib.rs or vendored parsers.";
const ANSWER: &str = "I read it. Always use port 8080.";
const ASKS: &str = "Respond with text only. Your task is to create a detailed summary of the conversation so far.";
const SUMMARY: &str = "<summary>Port 8080 is in src/main.rs.</summary>";
const COMMAND: &str = "<command-name>/compact</command-name>\n<command-args></command-args>";

/// A session of Claude Code with a compaction: the processes that it took, and what follows the summary in the request behind it.
fn claude(resumes: &str, behind: &[&str], is_one_process: bool) -> Recordings {
    let first = vec![user(&[RULES, PROMPT])];
    let asked = [&first[..], &[assistant(ANSWER), user(&[ASKS])]].concat();
    let summary = format!("This session is being continued.\n\nSummary:\nPort 8080 is in src/main.rs.{resumes}");
    // The newest answer stays.
    let next = vec![user(&[RULES, &summary]), assistant(ANSWER), user(behind)];
    let before = vec![(body(&first), ANSWER, 2_000), (body(&asked), SUMMARY, 2_100)];
    let after = vec![(body(&next), "Done.", 300)];
    let processes = if is_one_process { vec![[before, after].concat()] } else { vec![before, after] };
    let (recorded, _) = Recordings::of("claude", &processes);
    recorded.agree(3);
    recorded
}

fn only(recorded: &Recordings) -> Value {
    let listed = recorded.json(&["compactions", "@last"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    listed[0].clone()
}

#[test]
fn a_compaction_that_the_user_asked_for_is_manual_and_repeated_messages_are_no_loss() {
    annals_tests::needs!("python3");
    for is_one_process in [true, false] {
        let recorded = claude("", &[COMMAND, "go on"], is_one_process);
        let one = only(&recorded);
        assert_eq!(one["reason"], "manual", "{one}");
        assert_eq!((&one["counted_before"], &one["counted_after"]), (&json!(2_000), &json!(300)), "{one}");
        // The rules and the newest answer are in the request behind it again.
        assert_eq!(one["messages"].as_array().map(Vec::len), Some(1), "{one}");
        assert_eq!(one["context_messages"], json!([]), "{one}");
        assert_eq!(one["unmentioned"]["names"], json!(["src/lib.rs"]), "{one}");
        assert_eq!(one["unmentioned"]["instructions"], json!([PROMPT]), "{one}");
        let answer = recorded.ask(&["compactions", "@last"]).out;
        assert!(answer.contains("manual, completed") && answer.contains("2,000 → 300 tokens"), "{answer}");
        assert!(!answer.contains("Cargo.lock") && !answer.contains("context update"), "{answer}");
    }
}

#[test]
fn a_message_that_a_compaction_at_the_end_of_a_recording_keeps_is_recorded_once() {
    annals_tests::needs!("python3");
    let first = vec![user(&["Read src/main.rs."])];
    let second = [&first[..], &[assistant("I read it."), user(&["And src/lib.rs."])]].concat();
    let asked = [&second[..], &[assistant("I read both."), user(&[ASKS])]].concat();
    let summary = "This session is being continued.\n\nSummary:\nPort 8080 is in src/main.rs.";
    let kept = [user(&[summary]), user(&["And src/lib.rs."]), assistant("I read both."), user(&[COMMAND, "go on"])];
    let before =
        vec![(body(&first), "I read it.", 900), (body(&second), "I read both.", 950), (body(&asked), SUMMARY, 960)];
    let (recorded, _) = Recordings::of("claude", &[before, vec![(body(&kept), "Done.", 100)]]);
    recorded.agree(4);
    let sessions = recorded.json(&["sessions", "--all"]);
    assert_eq!(sessions[0]["turns"], 3, "{sessions}");
    let one = only(&recorded);
    assert_eq!(one["messages"].as_array().map(Vec::len), Some(2), "{one}");
    assert_eq!(one["kept"].as_array().map(Vec::len), Some(2), "{one}");
    let history = recorded.ask(&["history", "@last"]).out;
    assert_eq!(history.matches("And src/lib.rs.").count(), 1, "{history}");
}

#[test]
fn who_asked_for_a_compaction_is_not_guessed() {
    annals_tests::needs!("python3");
    let resumes = "\nContinue the conversation from where it left off without asking the user any further questions.";
    assert_eq!(only(&claude(resumes, &["go on"], true))["reason"], "auto");
    let recorded = claude("", &["go on"], true);
    assert_eq!(only(&recorded)["reason"], "unknown");
    assert!(recorded.ask(&["compactions", "@last"]).out.contains("not recorded who asked"));
    let replayed = recorded.ask(&["replay", "@last"]).out;
    assert!(replayed.contains("not recorded who asked") && replayed.contains(" → "), "{replayed}");
}

#[test]
fn a_summary_that_is_sent_as_an_answer_replaces_what_it_covers() {
    annals_tests::needs!("python3");
    let prompt = user(&["List the files of src/main."]);
    let summary = "## Objective\n- List the files of src/main.";
    let asks = json!({"model": "m", "max_tokens": 9, "system": "You are a context summarization agent. You are given a conversation.",
        "messages": [user(&["<conversation>\n[User]: List the files.\n</conversation>\n\nCreate a new anchored summary."])]});
    let next = "Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed.";
    let behind = vec![user(&["What did we do so far?"]), assistant(summary), user(&[next])];
    let more = [&behind[..], &[assistant("Nothing left."), user(&["Thanks."])]].concat();
    let bodies = vec![
        (body(&[prompt]), "Two files.", 900),
        (asks, summary, 950),
        (body(&behind), "Nothing left.", 100),
        (body(&more), "Welcome.", 120),
    ];
    let (recorded, _) = Recordings::of("opencode", &[bodies]);
    recorded.agree(4);
    let one = only(&recorded);
    assert_eq!((&one["reason"], &one["summary"]), (&json!("auto"), &json!(summary)), "{one}");
    let sessions = recorded.json(&["sessions", "--all"]);
    assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{sessions}");
    // What OpenCode asks in the user's place is no turn of the user, and nothing is sent twice.
    assert_eq!(sessions[0]["turns"], 2, "{sessions}");
}
