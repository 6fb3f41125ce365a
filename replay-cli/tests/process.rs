//! `annals` as a process: pipes, the environment, and what agents left in a home folder.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name)
}

fn annals(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_annals"));
    command.env("HOME", home).env("TZ", "UTC").env("COLUMNS", "80").stdin(Stdio::null());
    for variable in ["ANNALS_STORE", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "NO_COLOR"]
    {
        command.env_remove(variable);
    }
    command
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_closed_pipe_ends_a_command_quietly() {
    let home = tempfile::tempdir().expect("a folder");
    let mut child = annals(home.path())
        .args(["log", "--json"])
        .arg(fixture("opencode/v2/long-output.events.jsonl"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("annals runs");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut first = [0; 1];
    stdout.read_exact(&mut first).expect("it answers");
    drop(stdout);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_pipe_gets_no_colours_unless_they_are_asked_for() {
    let home = tempfile::tempdir().expect("a folder");
    let file = fixture("opencode/v2/first.events.jsonl");
    let plain = annals(home.path()).arg("replay").arg(&file).output().expect("annals runs");
    assert!(!out(&plain).contains('\u{1b}'));
    let asked = annals(home.path()).args(["--color", "always", "replay"]).arg(&file).output().expect("annals runs");
    assert!(out(&asked).contains("\u{1b}[1m"));
    let bare: String = strip(&out(&asked));
    assert_eq!(bare, out(&plain));
}

fn strip(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        bare.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    bare + rest
}

#[test]
fn what_agents_keep_is_discovered_and_imported() {
    let home = tempfile::tempdir().expect("a folder");
    let place = |folder: &str, name: &str, from: &str| {
        let folder = home.path().join(folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::copy(fixture(from), folder.join(name)).expect("a copy");
    };
    place(".local/share/opencode", "opencode.db", "opencode/opencode.db");
    let rollout = "rollout-2026-11-21T20-33-33-01a1ffd0-7296-72d1-8a17-5758da18a4b1.jsonl";
    place(".codex/sessions/2026/11/21", rollout, "codex/tools-and-resume.rollout.jsonl");
    place(".claude/projects/-srv-peer-kdemo", "b022c110.jsonl", "claude-code/tools-and-compaction.jsonl");
    let listed = annals(home.path()).args(["import", "--discover", "--json"]).output().expect("annals runs");
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    assert_eq!(listed.as_array().map(Vec::len), Some(27));
    assert!(!home.path().join(".local/share/annals").exists(), "looking makes no store");
    let imported = annals(home.path()).args(["import", "--agent", "codex"]).output().expect("annals runs");
    assert_eq!(imported.status.code(), Some(0), "{}", String::from_utf8_lossy(&imported.stderr));
    let sessions = annals(home.path()).args(["sessions", "--json"]).output().expect("annals runs");
    let sessions: serde_json::Value = serde_json::from_slice(&sessions.stdout).expect("JSON");
    assert_eq!(sessions.as_array().map(Vec::len), Some(1));
    assert!(home.path().join(".local/share/annals").exists(), "importing makes the store in the data folder");
}

#[test]
fn help_is_an_answer_and_wrong_use_is_not() {
    let home = tempfile::tempdir().expect("a folder");
    let help = annals(home.path()).args(["replay", "--help"]).output().expect("annals runs");
    assert_eq!(help.status.code(), Some(0));
    assert!(out(&help).starts_with("Show a session as a readable timeline"), "{}", out(&help));
    let wrong = annals(home.path()).args(["replay", "--sped"]).output().expect("annals runs");
    assert_eq!((wrong.status.code(), out(&wrong).as_str()), (Some(2), ""));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("--speed"));
}
