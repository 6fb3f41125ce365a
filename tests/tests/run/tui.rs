//! `annals tui` on a terminal: it is left as it was, whatever ends the command.

use crate::run::person::Person;
use crate::run::terminal::Terminal;
use annals_tests::deadline::WithDeadline;
use annals_tests::model::{Model, Says};

/// What leaves the alternate screen.
const LEFT: &str = "\u{1b}[?1049l";

fn person() -> Person {
    let person = Person::new();
    let sessions = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/claude-code");
    assert_eq!(person.annals(&["import", sessions]).status, Some(0));
    person
}

#[test]
fn a_session_is_opened_and_the_terminal_is_restored() {
    annals_tests::needs!("python3");
    let person = person();
    let mut tui = Terminal::open(&person, &["tui", "--all"]);
    tui.expect("inventory.csv");
    tui.send("/inventory\r");
    // Only what differs is drawn, so that most words come in pieces.
    tui.expect("│");
    tui.send("8?");
    tui.send("q");
    tui.expect(LEFT);
    assert_eq!(tui.ended(), 0);
}

#[test]
fn a_signal_restores_the_terminal() {
    annals_tests::needs!("python3");
    let person = person();
    let mut tui = Terminal::open(&person, &["tui", "@last", "--all"]);
    tui.expect("Changes");
    tui.terminate();
    tui.expect(LEFT);
    assert_eq!(tui.ended(), 143);
}

#[test]
fn without_a_terminal_it_is_an_error() {
    let answer = person().annals(&["tui"]);
    assert_eq!((answer.status, answer.out.as_str()), (Some(2), ""));
    assert!(answer.remarks.contains("tui needs a terminal"), "{}", answer.remarks);
}

#[test]
fn a_terminal_that_is_gone_ends_it() {
    annals_tests::needs!("python3");
    let person = person();
    let mut tui = Terminal::open(&person, &["tui", "--all"]);
    tui.expect("inventory.csv");
    tui.hang_up();
    assert_eq!(tui.ended(), 143);
}

#[test]
fn a_session_that_another_process_runs_is_followed_while_the_model_answers() {
    annals_tests::needs!("python3");
    let model =
        Model::start([Says::Text("Hello."), Says::Begins("Seven jars, I").to("jars are there")]).expect("a port");
    let person = Person::with_model(model.url(), "openai-chat");
    assert_eq!(person.annals(&["run", "hello"]).status, Some(0));
    let mut screen = Terminal::open(&person, &["tui", "@last"]);
    screen.expect("Changes");
    let run = person.command(["run", "-s", "@last", "How many jars are there?"]).spawn_watched().expect("it runs");
    // Only what differs is drawn: no word that shares a letter with what was there.
    screen.expect("answers");
    std::process::Command::new("kill").args(["-INT", &run.id().to_string()]).status().expect("a signal");
    person.ended(run);
    screen.send("q");
    assert_eq!(screen.ended(), 0);
}
