//! What is printed can steer no terminal, nothing of it is lost, and the numbers in it are taken back.

mod hostile;

use crate::cli::command::{Annals, fixture};
use annals_tests::deadline::WithDeadline;
use hostile::{HOSTILE, unsafe_in};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A store with hostile copies of sessions of every agent, and of one of ours.
fn hostile_store() -> Annals {
    let source = Annals::new();
    for name in [
        "opencode/v1/tools.json",
        "opencode/v2/compaction.events.jsonl",
        "codex/tools-and-resume.rollout.jsonl",
        "claude-code/tools-and-compaction.jsonl",
    ] {
        assert_eq!(source.run(&["import", &fixture(name)]).status, 0, "{name}");
    }
    let (played, annals) = (Annals::new(), Annals::new());
    let scenario = fixture("scenarios/several-changes-make-one-message.json");
    let store = played.store().to_string_lossy().into_owned();
    assert_eq!(played.run(&["scenario", "run", &scenario, "--store", &store]).status, 0);
    for source in [source, played] {
        hostile::copy(&source.store(), &annals.store());
    }
    annals
}

fn ids(annals: &Annals) -> Vec<String> {
    let list: Value = serde_json::from_str(&annals.run(&["sessions", "--json", "--children"]).out).expect("a list");
    list.as_array().into_iter().flatten().filter_map(|one| one["id"].as_str().map(str::to_owned)).collect()
}

/// Every command that shows something of a session.
fn views(session: &str) -> Vec<Vec<&str>> {
    let mut all: Vec<Vec<&str>> = [
        "replay",
        "log",
        "history",
        "transcript",
        "context",
        "usage",
        "requests",
        "cache",
        "why",
        "compactions",
        "tree",
        "verify",
    ]
    .iter()
    .map(|name| vec![*name, session])
    .collect();
    all.extend([
        vec!["replay", session, "--full"],
        vec!["context", session, "--text"],
        vec!["context", session, "--epochs"],
        vec!["diff", session, "1"],
        vec!["when", session, "txet"],
        vec!["requests", session, "--step", "1"],
        vec!["pin", session, "1"],
        vec!["revert", session, "--to", "turn:1"],
        vec!["revert", session, "--clear"],
        vec!["fork", session],
        vec!["compactions", session, "--undo", "3"],
        vec!["verify", session, "--requests"],
    ]);
    all
}

fn check(annals: &Annals, args: &[&str]) {
    let answer = annals.run(args);
    for (name, text) in [("stdout", &answer.out), ("stderr", &answer.remarks)] {
        if let Some(found) = unsafe_in(text) {
            panic!("{args:?} on {name}: {found}");
        }
    }
}

#[test]
fn no_view_of_a_hostile_session_steers_a_terminal() {
    let annals = hostile_store();
    let mut kinds = BTreeSet::new();
    for session in ids(&annals) {
        for view in views(&session) {
            check(&annals, &[&view[..], &["--color", "always"]].concat());
        }
        let log: Vec<Value> = serde_json::from_str(&annals.run(&["log", &session, "--json"]).out).expect("a log");
        for event in log.into_iter().filter(|event| kinds.insert(event["type"].to_string())) {
            check(&annals, &["show", &session, &event["seq"].to_string(), "--color", "always"]);
        }
    }
    assert!(kinds.len() > 20, "{kinds:?}");
    for args in [
        &["sessions", "--color", "always"][..],
        &["search", "txet", "--color", "always"],
        &["doctor"],
        &["replay", HOSTILE],
        &[HOSTILE],
        &["show", HOSTILE],
        &["sessions", "--sort", HOSTILE],
        &["import", HOSTILE],
        &["replay", "a"],
        &["config", "show"],
        &["--store", HOSTILE, "sessions"],
        &["models", HOSTILE],
    ] {
        check(&annals, args);
    }
}

#[test]
fn json_of_a_hostile_session_is_json_and_steers_nothing() {
    let annals = hostile_store();
    for session in ids(&annals) {
        for view in views(&session) {
            if ["pin", "revert", "fork"].contains(&view[0]) || view.contains(&"--text") || view.contains(&"--undo") {
                continue;
            }
            let answer = annals.run(&[&view[..], &["--json"]].concat());
            assert_eq!(unsafe_in(&answer.out), None, "{view:?}");
            if !answer.out.is_empty() {
                serde_json::from_str::<Value>(&answer.out).unwrap_or_else(|error| panic!("{view:?}: {error}"));
            }
        }
        // What is escaped means what was said.
        let history: Value =
            serde_json::from_str(&annals.run(&["history", &session, "--json"]).out).expect("a history");
        assert!(history[0]["text"].as_str().is_none_or(|text| text.ends_with(HOSTILE)), "{session}");
    }
}

#[test]
fn whoever_wants_the_bytes_gets_them() {
    let annals = hostile_store();
    let session = &ids(&annals)[0];
    let safe = annals.run(&["transcript", session]).out;
    assert!(safe.contains("␛]52;c;b3du␇") && safe.contains("<U+202E>txet<U+2066>"), "{safe}");
    let raw = annals.run(&["transcript", session, "--raw"]).out;
    assert!(raw.contains("\u{1b}]52;c;b3du\u{7}") && raw.contains("\u{202e}txet"), "{raw}");
}

/// The real command, in an environment of its own.
struct Real {
    folder: tempfile::TempDir,
}

impl Real {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// On a terminal of 100 columns, with these variables besides.
    fn on_a_terminal(&self, args: &[&str], variables: &[(&str, &str)]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/output/terminal.py");
        let mut command = Command::new("python3");
        command.arg(script).args(["100", "/usr/bin/env", "-i", "TERM=xterm"]);
        command.arg(format!("HOME={}", self.folder.path().display()));
        command.arg(format!("ANNALS_STORE={}", self.store().display()));
        command.args(variables.iter().map(|(name, value)| format!("{name}={value}")));
        command.arg(env!("CARGO_BIN_EXE_annals-test")).args(args);
        command.output_watched().expect("python3 runs")
    }
}

/// What a terminal got, without what the terminal itself adds and what draws a line that moves.
fn seen(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n");
    ["\r", "\u{1b}[2K", "\u{1b}[1A", "\u{1b}[1B", "\u{1b}[K", "\u{1b}[?25l", "\u{1b}[?25h"]
        .iter()
        .fold(text, |text, ours| text.replace(ours, ""))
}

#[test]
fn a_terminal_gets_no_sequence_of_a_session() {
    annals_tests::needs!("python3");
    let hostile = hostile_store();
    let real = Real::new();
    fs::rename(hostile.store(), real.store()).expect("the store moves");
    for args in [
        &["sessions"][..],
        &["replay", "@last"],
        &["transcript", "@last"],
        &["context", "@last"],
        &["usage", "@last"],
        &["log", "@last", "--json"],
        &["export", "@last"],
        &["why", "@last"],
        &["cache", "@last"],
        &["verify"],
        &["search", "txet"],
        &["no-such-command\u{1b}]0;x\u{7}"],
    ] {
        let output = real.on_a_terminal(args, &[("PAGER", "cat")]);
        let seen = seen(&output);
        assert!(!seen.is_empty(), "{args:?}");
        assert_eq!(unsafe_in(&seen), None, "{args:?}: {seen}");
    }
}

#[test]
fn without_a_pager_the_answer_is_printed() {
    annals_tests::needs!("python3");
    let real = Real::new();
    let file = fixture("claude-code/tools-and-compaction.jsonl");
    let wanted = real.on_a_terminal(&["replay", &file, "--no-pager"], &[]).stdout;
    assert!(wanted.len() > 1_000);
    let empty = real.folder.path().join("bin");
    fs::create_dir(&empty).expect("a folder");
    std::os::unix::fs::symlink("/bin/sh", empty.join("sh")).expect("a shell");
    let only_sh = empty.to_string_lossy().into_owned();
    // `less` is not installed; what PAGER names is not; the shell cannot know it before; it cannot be run.
    let broken = empty.join("broken");
    fs::write(&broken, "no program").expect("a file");
    let broken = broken.to_string_lossy().into_owned();
    for pager in [None, Some("no-such-pager -R"), Some("LESS=R no-such-pager"), Some(broken.as_str())] {
        let mut variables = vec![("PATH", only_sh.as_str())];
        variables.extend(pager.map(|pager| ("PAGER", pager)));
        let output = real.on_a_terminal(&["replay", &file], &variables);
        // What a progress line draws before it is as long as the reading takes, and the shell says itself what it could not start.
        let answer = |output: &[u8]| {
            let text = String::from_utf8_lossy(output).into_owned();
            let last = text.rsplit("\u{1b}[2K").next().unwrap_or_default();
            let said = |line: &&str| !line.contains("not found") && !line.contains("Permission denied");
            last.split_inclusive('\n').filter(said).collect::<String>()
        };
        assert_eq!(output.status.code(), Some(0), "{pager:?}");
        assert_eq!(answer(&output.stdout), answer(&wanted), "{pager:?}");
    }
}

#[test]
fn a_known_price_is_used_and_an_unknown_one_is_no_zero() {
    let annals = Annals::new();
    for name in ["claude-code/one-turn.jsonl", "codex/one-turn.rollout.jsonl"] {
        assert_eq!(annals.run(&["import", &fixture(name)]).status, 0);
    }
    let file = annals.file("priced.jsonl");
    let claude = fs::read_to_string(fixture("claude-code/one-turn.jsonl")).expect("a transcript");
    let models: Vec<String> = claude
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok()?["message"]["model"].as_str().map(str::to_owned))
        .collect();
    let priced = claude.replace(&models[0], "claude-sonnet-4-5-20250929");
    fs::write(&file, priced).expect("a file");
    let usage = annals.run(&["usage", &file.to_string_lossy()]);
    assert!(usage.out.contains("~$"), "{}", usage.out);
    assert!(usage.remarks.contains("estimated from list prices"), "{}", usage.remarks);
    let replay = annals.run(&["replay", &file.to_string_lossy()]);
    assert!(replay.out.contains("(estimated from list prices)"), "{}", replay.out);
    let json = annals.run(&["usage", &file.to_string_lossy(), "--json"]);
    let json: Value = serde_json::from_str(&json.out).expect("JSON");
    assert!(json["cost"] == 0 && json["unpriced"].as_u64() > Some(0), "{json}");

    let unknown = annals.file("unknown.jsonl");
    fs::write(&unknown, claude.replace(&models[0], "claude-of-next-year")).expect("a file");
    let usage = annals.run(&["usage", &unknown.to_string_lossy()]);
    assert!(usage.out.trim_end().ends_with("  -"), "{}", usage.out);
    let listed = annals.run(&["--in", &unknown.to_string_lossy(), "sessions", "--json"]);
    let listed: Value = serde_json::from_str(&listed.out).expect("JSON");
    assert_eq!(listed[0]["cost"], Value::Null, "{listed}");
}

#[test]
fn context_says_who_does_not_record_the_system_prompt() {
    let annals = Annals::new();
    let answer = annals.run(&["context", &fixture("claude-code/one-turn.jsonl")]);
    assert_eq!(
        answer.remarks,
        "annals: not recorded: Claude Code did not write the system prompt of this session into its file\n"
    );
}

#[test]
fn requests_of_a_log_without_any_are_not_verified() {
    let annals = Annals::new();
    assert_eq!(annals.run(&["import", &fixture("claude-code/one-turn.jsonl")]).status, 0);
    let answer = annals.run(&["verify", "@last", "--requests"]);
    assert_eq!(answer.status, 1);
    assert!(answer.out.contains("no request is recorded, so none can be verified"), "{}", answer.out);
    assert_eq!(annals.run(&["verify", "@last"]).status, 0);
}

#[test]
fn a_failed_command_is_shown_as_failed_with_its_last_lines() {
    let annals = Annals::new();
    for (file, command) in [
        ("opencode/v1/tools.json", "transcript"),
        ("opencode/v1/tools.json", "replay"),
        ("claude-code/tools-and-compaction.jsonl", "replay"),
    ] {
        let shown = annals.run(&[command, &fixture(file)]);
        assert!(shown.out.contains("✗ exit 3"), "{command} {file}: {}", shown.out);
        assert!(shown.out.contains("to-stderr"), "{command} {file}: {}", shown.out);
    }
}

#[test]
fn a_changed_long_message_is_shown_by_the_lines_that_differ() {
    let annals = Annals::new();
    assert_eq!(annals.run(&["import", &fixture("opencode/v2/tools.events.jsonl")]).status, 0);
    let log: Vec<Value> = serde_json::from_str(&annals.run(&["log", "--json"]).out).expect("a log");
    let last = log.len() - 1;
    for from in 1..last {
        let shown = annals.run(&["diff", "@last", &from.to_string(), &last.to_string()]);
        let longest = shown.out.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        assert!(longest < 400, "from {from}: a line of {longest} characters");
    }
}

#[test]
fn json_of_events_holds_whole_texts() {
    let annals = Annals::new();
    assert_eq!(annals.run(&["import", &fixture("opencode/v2/long-output.events.jsonl")]).status, 0);
    let answer = annals.run(&["log", "--json"]);
    let log: Vec<Value> = serde_json::from_str(&answer.out).expect("a log");
    let whole =
        log.iter().find(|event| event["output"].as_str().is_some_and(|text| text.len() > 8_192)).expect("a long text");
    assert!(!answer.out.contains("\"blob\":"));
    let one = annals.run(&["show", &whole["seq"].to_string(), "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&one.out).expect("JSON")["output"], whole["output"]);
}

#[test]
fn a_name_that_fits_many_is_told_with_the_newest_ten() {
    let annals = Annals::new();
    assert_eq!(annals.run(&["import", &fixture("codex/one-turn.rollout.jsonl")]).status, 0);
    let title =
        serde_json::from_str::<Value>(&annals.run(&["sessions", "--json"]).out).expect("JSON")[0]["title"].clone();
    let title = title.as_str().expect("a title");
    for _ in 0..12 {
        assert_eq!(annals.run(&["fork", &ids(&annals)[0]]).status, 0);
    }
    let word = title.split_whitespace().next().expect("a word");
    let answer = annals.run(&["replay", word]);
    assert_eq!(answer.status, 2);
    let lines: Vec<&str> = answer.remarks.lines().collect();
    assert_eq!(lines.len(), 12, "{}", answer.remarks);
    assert!(lines[0].contains("matches 13 sessions") && lines[11].contains("and 3 older"), "{}", answer.remarks);
    assert!(lines[1].contains("  cdemo  "), "a project: {}", lines[1]);
}

#[test]
fn a_missing_file_is_called_one() {
    let annals = Annals::new();
    for name in ["nonexist.jsonl", "./nope/here", "/no/such/file.json"] {
        let answer = annals.run(&["replay", name]);
        assert_eq!((answer.status, answer.remarks), (2, format!("annals: {name}: no such file\n")));
    }
}
