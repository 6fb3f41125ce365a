//! A narrow terminal: no line of an answer is wider, except for what must be copied whole.

use crate::run::person::Person;
use crate::run::terminal::Terminal;
use std::fs;
use std::path::Path;
use unicode_width::UnicodeWidthStr;

const COLUMNS: u16 = 60;

/// Questions about no session, or about all.
const OVERVIEWS: [&[&str]; 30] = [
    &["--help"],
    &["sessions", "--all"],
    &["search", "--all", "inventory"],
    &["search", "--all", "-C", "2", "-e", "inv[a-z]+"],
    &["search", "--all", "file:inventory.csv"],
    &["usage"],
    &["usage", "--by", "day,model"],
    &["usage", "--by", "month"],
    &["usage", "--by", "project"],
    &["usage", "--by", "agent"],
    &["usage", "--by", "session"],
    &["usage", "--blocks"],
    &["usage", "--line"],
    &["models"],
    &["models", "--all"],
    &["config"],
    &["tree", "--all"],
    &["audit", "--all"],
    &["verify"],
    &["doctor"],
    &["import", "--dry-run"],
    &["import"],
    &["index"],
    &["retention"],
    &["sql", "select title, agent, model, turns from sessions limit 3"],
    &["sql", "select * from messages limit 3"],
    &["sql", "--schema"],
    &["schema"],
    &["store", "list"],
    &["no-such-command"],
];

/// Questions about one session.
const QUESTIONS: [&[&str]; 26] = [
    &["replay"],
    &["transcript"],
    &["log"],
    &["show", "1"],
    &["show", "5"],
    &["show", "-1"],
    &["history"],
    &["context"],
    &["requests"],
    &["why"],
    &["why", "inventory"],
    &["when", "inventory"],
    &["diff", "2", "-1"],
    &["diff", "--stat", "2", "-1"],
    &["files"],
    &["cache"],
    &["compactions"],
    &["usage"],
    &["tree"],
    &["audit"],
    &["verify", "--requests"],
    &["title"],
    &["bisect", "--text", "inventory"],
    &["fork", "--help"],
    &["inbox"],
    &["prove", "--seq", "3"],
];

/// Who uses three agents.
fn user() -> Person {
    let mut person = Person::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    for (from, to) in [
        ("claude-code/tools-and-compaction.jsonl", ".claude/projects/-srv-peer-kdemo/tools-and-compaction.jsonl"),
        ("claude-code/subagent-parent.jsonl", ".claude/projects/-srv-peer-kdemo/subagent-parent.jsonl"),
        ("codex/tools-and-resume.rollout.jsonl", ".codex/sessions/2026/11/21/tools-and-resume.rollout.jsonl"),
        ("opencode/opencode.db", ".local/share/opencode/opencode.db"),
    ] {
        let to = person.home().join(to);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::copy(fixtures.join(from), to).expect("a file");
    }
    person.set("NO_COLOR", "1");
    person.set("PAGER", "cat");
    assert_eq!(person.annals(&["import"]).status, Some(0));
    person
}

/// The lines that a command shows, as they are on the screen at the end.
fn lines(person: &Person, args: &[&str]) -> Vec<String> {
    let mut screen = Terminal::open_wide(person, args, COLUMNS);
    screen.ended();
    let shown = without_sequences(&screen.shown()).replace("\r\n", "\n");
    shown.lines().map(|line| line.rsplit('\r').next().unwrap_or_default().to_owned()).collect()
}

/// What moves the cursor or changes colours is left out.
fn without_sequences(shown: &str) -> String {
    let mut parts = shown.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(match part.strip_prefix('[') {
            Some(sequence) => {
                sequence.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).get(1..).unwrap_or_default()
            }
            None => part,
        });
    }
    plain
}

/// A path, an address, an id or a digest: whole, so that it can be copied.
fn is_copied(line: &str) -> bool {
    let word = line.trim_start_matches(['│', '┌', '└', ' ']).trim_matches(|c| "()[]<>\"'`,;".contains(c));
    word.chars().all(|c| c.is_ascii_alphanumeric() || "+/=_-.:@~%#?&".contains(c))
}

fn too_wide(person: &Person, args: &[&str]) -> Vec<String> {
    let lines = lines(person, args).into_iter();
    // The usage of a command is copied whole as well.
    let wide =
        lines.filter(|line| line.width() > usize::from(COLUMNS) && !is_copied(line) && !line.starts_with("Usage: "));
    wide.map(|line| format!("annals {}: {line}", args.join(" "))).collect()
}

#[test]
fn no_answer_is_wider_than_a_terminal_of_60_columns() {
    annals_tests::needs!("python3");
    let person = user();
    let sessions = person.json(&["sessions", "--all", "--json"]);
    let sessions = sessions.as_array().expect("a list");
    let mut wide: Vec<String> = OVERVIEWS.iter().flat_map(|args| too_wide(&person, args)).collect();
    for (origin, title) in [
        ("claude-code", "What does inventory.csv hold"),
        ("codex", "What does inventory.csv hold"),
        ("opencode", "Compacted twice"),
    ] {
        let found = sessions.iter().find(|it| it["origin"] == origin && it["title"] == title);
        let id = found.unwrap_or_else(|| panic!("{origin} {title}: {sessions:?}"))["id"].as_str().expect("an id");
        for question in QUESTIONS {
            let (command, rest) = question.split_first().expect("a command");
            let args: Vec<&str> = [*command, id].into_iter().chain(rest.iter().copied()).collect();
            wide.extend(too_wide(&person, &args));
        }
    }
    assert!(wide.is_empty(), "{} lines:\n{}", wide.len(), wide.join("\n"));
}
