//! The recordings of real agents in `fixtures/recordings`: what every question answers about them.

use crate::cli::command::{Annals, ends};
use std::io;

/// What a person asks first.
const ASKED: [&[&str]; 6] = [
    &["tree", "SESSION"],
    &["requests", "SESSION"],
    &["cache", "SESSION"],
    &["usage", "SESSION"],
    &["why", "SESSION", "A small project."],
    &["history", "SESSION"],
];

fn answers(agent: &str, requests: u64) -> io::Result<String> {
    let (annals, store) = (Annals::new(), tempfile::tempdir()?);
    let at = store.path().to_string_lossy().into_owned();
    let file = |name: &str| format!("{}/../fixtures/recordings/{agent}{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    ends(&annals, 0, &["import", &file(""), &file("-subagent"), "--store", &at]);
    let sessions = annals.run(&["sessions", "--all", "--store", &at, "--json"]).out;
    let sessions: serde_json::Value = serde_json::from_str(&sessions)?;
    let session = sessions[0]["id"].as_str().unwrap_or_default().to_owned();
    let proved = ends(&annals, 0, &["verify", &session, "--store", &at, "--requests", "--wire"]);
    assert!(proved.contains(&format!("{requests} requests proved byte for byte")), "{proved}");
    let mut answers = String::new();
    for asked in ASKED {
        let asked: Vec<&str> = asked.iter().map(|word| if *word == "SESSION" { &session } else { *word }).collect();
        let answer = annals.run(&[&asked[..], &["--store", &at]].concat());
        answers.push_str(&format!("$ annals {}\n{}\n", asked.join(" "), answer.out));
    }
    Ok(answers)
}

#[test]
fn a_recording_of_claude_code_answers_every_question() -> io::Result<()> {
    insta::assert_snapshot!(answers("claude", 7)?);
    Ok(())
}

#[test]
fn a_recording_of_codex_answers_every_question() -> io::Result<()> {
    insta::assert_snapshot!(answers("codex", 8)?);
    Ok(())
}

#[test]
fn a_recording_of_opencode_answers_every_question() -> io::Result<()> {
    insta::assert_snapshot!(answers("opencode", 8)?);
    Ok(())
}

#[test]
fn a_recording_of_gemini_cli_answers_every_question() -> io::Result<()> {
    insta::assert_snapshot!(answers("gemini", 11)?);
    Ok(())
}
