//! `annals` alone: on a new machine it offers an import; then a session is picked in the terminal.

use crate::run::person::Person;
use crate::run::terminal::Terminal;
use std::fs;
use std::path::Path;

/// Who uses Claude Code, and has never run `annals`.
fn newcomer() -> Person {
    let mut person = Person::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/claude-code/one-turn.jsonl");
    let folder = person.home().join(".claude/projects/demo");
    fs::create_dir_all(&folder).expect("a folder");
    fs::copy(source, folder.join("one-turn.jsonl")).expect("a file");
    person.set("PAGER", "cat");
    person
}

#[test]
fn a_newcomer_imports_with_one_key_picks_a_session_and_resumes_it_in_its_agent() {
    annals_tests::needs!("python3");
    let person = newcomer();
    let mut screen = Terminal::open(&person, &[]);
    screen.expect("found 1 session of 1 agent (1 project); import them? [Y/n]");
    screen.send("\r");
    screen.expect("1 session,");
    screen.expect("type to filter");
    screen.send("hello");
    // The preview, which is read when no key comes any more.
    screen.expect("claude-code");
    screen.send("\r");
    screen.expect("integrity verified");
    screen.expect("press Enter to return to the sessions");
    screen.send("\r");
    screen.expect("quit");
    screen.send("\x06");
    screen.expect("match");
    screen.expect("press Enter to return to the sessions");
    assert!(!screen.shown().contains("no session of this project"), "all projects are searched");
    screen.send("\r");
    screen.expect("quit");
    screen.send("\x12");
    screen.expect("claude --resume ");
    assert_eq!(screen.ended(), 0);
    let mut again = Terminal::open(&person, &[]);
    again.expect("type to filter");
    assert!(!again.shown().contains("import them?"), "the store has sessions");
    again.send("\x1b");
    assert_eq!(again.ended(), 0);
}

#[test]
fn who_says_no_has_no_store_afterwards() {
    annals_tests::needs!("python3");
    let person = newcomer();
    let mut screen = Terminal::open(&person, &[]);
    screen.expect("[Y/n]");
    screen.send("n\r");
    screen.expect("Nothing was imported.");
    assert_eq!(screen.ended(), 0);
    assert!(!person.store().exists());
}

#[test]
fn a_machine_without_sessions_shows_how_to_begin() {
    annals_tests::needs!("python3");
    let person = Person::new();
    let mut screen = Terminal::open(&person, &[]);
    screen.expect("No session of OpenCode, Codex CLI or Claude Code was found");
    screen.expect("annals run");
    assert_eq!(screen.ended(), 0);
    assert!(!person.store().exists());
}

#[test]
fn without_a_terminal_the_help_is_printed_as_wrong_use() {
    let person = newcomer();
    let answer = person.annals(&[]);
    assert_eq!((answer.status, answer.out.as_str()), (Some(2), ""));
    assert!(answer.remarks.contains("Every day:"), "{}", answer.remarks);
    assert!(!person.store().exists());
}
