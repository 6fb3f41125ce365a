//! The screen of `annals chat`, on a terminal.

use crate::run::person::Person;
use crate::run::terminal::Terminal;
use annals_tests::model::{Model, Says};
use serde_json::json;

const CHAT: &str = "openai-chat";

/// What a terminal is given when it is restored: pasted text is no longer marked.
const RESTORED: &str = "\u{1b}[?2004l";

fn open(model: &Model, args: &[&str]) -> (Person, Terminal) {
    let person = Person::with_model(model.url(), CHAT);
    let mut chat = Terminal::open(&person, &[&["chat"], args].concat());
    chat.expect("a message · @file");
    (person, chat)
}

fn left(mut chat: Terminal) {
    chat.send("/quit\r");
    chat.expect("to continue");
    chat.expect(RESTORED);
    assert_eq!(chat.ended(), 0);
}

#[test]
fn a_question_is_answered_by_a_key_and_its_command_is_seen_as_it_runs() {
    annals_tests::needs!("python3");
    let count = "echo first; while [ ! -e go ]; do sleep 0.05; done; echo last; exit 3";
    let calls = Says::Calls("", vec![("c1", "bash", json!({"command": count}))]);
    let model = Model::start([calls, Says::Text("It **failed**.")]).expect("a port");
    let (person, mut chat) = open(&model, &[]);
    chat.send("count\r");
    chat.expect("? bash asks for permission");
    chat.expect("yes, once");
    chat.expect("esc interrupts");
    chat.send("y");
    chat.expect("› yes, once");
    chat.expect("│ first");
    person.write("go", "");
    chat.expect("exit 3");
    chat.expect("failed");
    left(chat);
    assert_eq!(person.annals(&["verify"]).status, Some(0));
}

#[test]
fn a_message_that_is_typed_while_the_model_works_is_recorded_and_shown_until_it_is_read() {
    annals_tests::needs!("python3");
    let calls = Says::Calls("", vec![("c1", "ls", json!({}))]).held();
    let model = Model::start([calls, Says::Text("Both are done.")]).expect("a port");
    let (person, mut chat) = open(&model, &[]);
    chat.send("first\r");
    chat.expect("mock/one · esc interrupts");
    chat.send("and this too\r");
    chat.expect("sent with the next request: and this too");
    let inputs = person.json(&["log", "@last", "--kind", "input.admitted", "--json"]);
    assert_eq!(inputs.as_array().map(Vec::len), Some(2), "{inputs}");
    model.release();
    chat.expect("› and this too");
    chat.expect("Both are done.");
    left(chat);
    assert!(model.received().last().is_some_and(|body| body.to_string().contains("and this too")));
}

#[test]
fn esc_interrupts_and_the_conversation_continues() {
    annals_tests::needs!("python3");
    let model = Model::start([Says::Text("Never read.").held(), Says::Text("As I said.")]).expect("a port");
    let (_person, mut chat) = open(&model, &[]);
    chat.send("think\r");
    chat.expect("mock/one · esc interrupts");
    chat.send("\u{1b}");
    chat.expect("interrupted; type what to do instead");
    model.release();
    chat.send("and now?\r");
    chat.expect("As I said.");
    left(chat);
}

#[test]
fn a_message_that_was_not_read_is_shown_before_the_next_one() {
    annals_tests::needs!("python3");
    let model = Model::start([Says::Text("Never read.").held(), Says::Text("All three.")]).expect("a port");
    let (person, mut chat) = open(&model, &[]);
    chat.send("first\r");
    chat.expect("mock/one · esc interrupts");
    chat.send("second\r");
    chat.expect("sent with the next request: second");
    chat.send("\u{1b}");
    chat.expect("interrupted; type what to do instead");
    model.release();
    chat.send("third\r");
    chat.expect("› second");
    chat.expect("› third");
    chat.expect("All three.");
    left(chat);
    let order = person.json(&["log", "@last", "--kind", "input.admitted", "--json"]);
    assert_eq!(order.as_array().map(Vec::len), Some(3), "{order}");
}

#[test]
fn joined_pictures_are_drawn_as_they_are_typed_and_removed_as_one() {
    annals_tests::needs!("python3");
    let model = Model::start([Says::Text("I see.")]).expect("a port");
    let (_person, mut chat) = open(&model, &[]);
    let family = "👩\u{200d}👩\u{200d}👧";
    chat.send(&format!("{family}{family}"));
    chat.expect(&format!("{family}{family}"));
    chat.send("\u{7f}\u{202e}\r");
    // What reorders is drawn, whoever typed it.
    chat.expect(&format!("› {family}<U+202E>"));
    chat.expect("I see.");
    left(chat);
    let sent = model.received().first().map(ToString::to_string).unwrap_or_default();
    assert!(sent.contains(&format!("\"{family}\u{202e}\"")), "{sent}");
}

#[test]
fn several_lines_are_one_prompt_and_files_are_completed() {
    annals_tests::needs!("python3");
    let model = Model::start([Says::Text("I see.")]).expect("a port");
    let (person, mut chat) = open(&model, &[]);
    person.write("notes-of-the-day.txt", "remember the milk");
    chat.send("\u{1b}[200~one\rtwo\u{1b}[201~");
    chat.expect("two");
    chat.send("\n@notes-of");
    chat.expect("❯ @notes-of-the-day.txt");
    chat.send("\t");
    chat.send("\r");
    chat.expect("I see.");
    left(chat);
    let sent = model.received().first().map(ToString::to_string).unwrap_or_default();
    assert!(sent.contains(r"one\ntwo\n@notes-of-the-day.txt") && sent.contains("remember the milk"), "{sent}");
}

#[test]
fn another_session_is_resumed_from_the_list() {
    annals_tests::needs!("python3");
    let model = Model::start([Says::Text("Hello."), Says::Text("Again.")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    person.annals(&["run", "an earlier question"]);
    let mut chat = Terminal::open(&person, &["chat"]);
    chat.expect("a message · @file");
    chat.send("/resume\r");
    chat.expect("an earlier question");
    chat.send("\r");
    // The last exchange is shown.
    chat.expect("› an earlier question");
    chat.expect("Hello.");
    chat.send("and now?\r");
    chat.expect("Again.");
    left(chat);
    let sessions = person.json(&["sessions", "--json"]);
    assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{sessions}");
}

#[test]
fn sigterm_and_a_closed_terminal_end_a_chat_and_restore_the_terminal() {
    annals_tests::needs!("python3");
    let model = Model::start([Says::Text("Never read.").held(), Says::Text("Never read.").held()]).expect("a port");
    let (person, mut chat) = open(&model, &[]);
    chat.send("think\r");
    chat.expect("mock/one · esc interrupts");
    chat.terminate();
    chat.expect(RESTORED);
    assert_eq!(chat.ended(), 0);
    let mut chat = Terminal::open(&person, &["chat", "-c"]);
    chat.expect("› think");
    chat.hang_up();
    // What it would write cannot be written any more.
    assert!(matches!(chat.ended(), 0 | 1));
    assert_eq!(person.annals(&["verify"]).status, Some(0));
}

#[test]
fn what_a_model_writes_cannot_steer_the_terminal() {
    annals_tests::needs!("python3");
    let evil = "red \u{1b}]0;title\u{7}\u{1b}[2J \u{202e}end";
    let calls = Says::Calls("", vec![("c1", "bash", json!({"command": format!("echo '{evil}'")}))]);
    let model = Model::start([calls, Says::Text(evil)]).expect("a port");
    let (_person, mut chat) = open(&model, &["--yes"]);
    chat.send("go\r");
    chat.expect("red ␛]0;title␇␛[2J <U+202E>end");
    left(chat);
}
