//! Tasks in the background: a run waits for them, a chat shows them, and one that was lost is told to the model.

use crate::run::person::{Answer, Person};
use crate::run::terminal::Terminal;
use annals_tests::deadline::{Watched, WithDeadline};
use annals_tests::model::{Model, Says};
use serde_json::json;
use std::io::{BufRead, BufReader, Read};

const CHAT: &str = "openai-chat";

fn task() -> Says {
    let input = json!({
        "description": "Count files", "prompt": "count them", "subagent_type": "explore", "background": true,
    });
    Says::Calls("", vec![("t1", "task", input)])
}

/// A parent, whose requests hold the word `delegate`, and a child that answers once it is let.
fn story(child: impl IntoIterator<Item = Says>) -> (Model, Person) {
    let parent = [task(), Says::Text("It runs."), Says::Text("It found four files.")];
    let script = parent.into_iter().map(|says| says.to("delegate")).chain(child);
    let model = Model::start(script).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    (model, person)
}

/// Reads what a run says beside its answer, up to a line that holds `text`.
fn until(child: &mut Watched, text: &str) -> (BufReader<std::process::ChildStderr>, String) {
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut read = String::new();
    while !read.contains(text) {
        assert!(lines.read_line(&mut read).expect("a line") > 0, "{text} was not said: {read}");
    }
    (lines, read)
}

/// The rest of it.
fn rest(
    person: &Person,
    child: Watched,
    (mut lines, mut read): (BufReader<std::process::ChildStderr>, String),
) -> Answer {
    lines.read_to_string(&mut read).expect("text");
    let answer = person.ended(child);
    Answer { remarks: read, ..answer }
}

fn signal(child: &Watched, signal: &str) {
    let status = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(status.expect("a signal").success());
}

#[test]
fn a_run_waits_for_its_tasks_in_the_background_and_the_answer_to_them() {
    let (model, person) = story([Says::Text("Four files.").held()]);
    let mut child = person.command(["run", "--yes", "delegate"]).spawn_watched().expect("it runs");
    let said = until(&mut child, "waiting for 1 background task: Count files (@explore subagent)");
    model.release();
    let answer = rest(&person, child, said);
    assert_eq!((answer.status, answer.out.as_str()), (Some(0), "It found four files.\n"), "{}", answer.remarks);
    assert!(answer.remarks.contains("✓ background task of explore done: Four files."), "{}", answer.remarks);
    assert!(answer.remarks.contains("It runs."), "what came before stands beside the answer: {}", answer.remarks);
    let tree = person.annals(&["tree"]).out;
    assert!(tree.contains("sub-agent explore: ") && !tree.contains("not finished"), "{tree}");
    assert_eq!(person.annals(&["verify", "--requests", "--wire"]).status, Some(0));
}

#[test]
fn ctrl_c_cancels_what_is_waited_for_and_the_model_reads_that_next() {
    let (model, person) = story([Says::Text("Four files.").held()]);
    let mut child = person.command(["run", "--yes", "delegate"]).spawn_watched().expect("it runs");
    let said = until(&mut child, "waiting for 1 background task");
    signal(&child, "-INT");
    let answer = rest(&person, child, said);
    assert_eq!(answer.status, Some(1), "{}", answer.remarks);
    assert!(answer.remarks.contains("✗ background task of explore cancelled"), "{}", answer.remarks);
    assert!(person.annals(&["tree"]).out.contains("sub-agent explore, cancelled"));
    assert_eq!(model.received().len(), 3, "no turn began because of it");
    assert_eq!(person.annals(&["run", "-c", "delegate again?"]).out, "It found four files.\n");
    let asked = model.received().last().map(ToString::to_string).unwrap_or_default();
    assert!(asked.contains("Subagent failed") && asked.contains("delegate again?"), "{asked}");
}

#[test]
fn a_task_that_ended_with_its_process_is_told_to_the_model_once() {
    let (model, person) = story([Says::Text("Four files.").held()]);
    let mut child = person.command(["run", "--yes", "delegate"]).spawn_watched().expect("it runs");
    let said = until(&mut child, "waiting for 1 background task");
    signal(&child, "-KILL");
    assert_eq!(rest(&person, child, said).status, None);
    model.then([Says::Text("So be it.").to("delegate")]);
    let answer = person.annals(&["run", "-c", "delegate again?"]);
    assert_eq!(answer.out, "It found four files.\n", "{}", answer.remarks);
    assert!(
        answer.remarks.contains("background task of a subagent cancelled: The process ended"),
        "{}",
        answer.remarks
    );
    let asked = model.received().last().map(ToString::to_string).unwrap_or_default();
    assert!(asked.contains("The process ended before the subagent did"), "{asked}");
    person.annals(&["run", "-c", "delegate once more"]);
    let asked = model.received().last().map(ToString::to_string).unwrap_or_default();
    assert_eq!(asked.matches("The process ended before the subagent did").count(), 1, "{asked}");
}

/// A child that answers once it is let, and a parent that wants to do something then.
fn asking() -> (Model, Person) {
    let touch = ("c2", "bash", json!({"command": "touch made-by-itself"}));
    let parent = [task(), Says::Text("It runs."), Says::Calls("", vec![touch]), Says::Text("It found four files.")];
    let child = Says::Text("Four files.").held();
    let model = Model::start(parent.into_iter().map(|says| says.to("delegate")).chain([child])).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    (model, person)
}

#[test]
fn a_chat_shows_what_wakes_by_itself_and_asks_at_once() {
    annals_tests::needs!("python3");
    let (model, person) = asking();
    let mut chat = Terminal::open(&person, &["chat", "--plain"]);
    chat.expect("/help");
    chat.send("delegate\r");
    chat.expect("It runs.");
    model.release();
    chat.expect("background task of explore done: Four files.");
    chat.expect("? bash asks for permission");
    // A line that is typed before the question is complete is a prompt.
    chat.expect("WHY no");
    assert!(!person.project().join("made-by-itself").exists());
    chat.send("y\r");
    chat.expect("It found four files.");
    chat.send("/quit\r");
    chat.expect("to continue");
    assert_eq!(chat.ended(), 0);
    assert!(person.project().join("made-by-itself").exists());
    let inputs = person.json(&["log", "@last", "--kind", "input.admitted", "--json"]);
    assert_eq!(inputs.as_array().map(Vec::len), Some(2), "the prompt and the result, not the answer: {inputs}");
}

#[test]
fn a_line_that_was_begun_before_a_question_is_a_prompt() {
    annals_tests::needs!("python3");
    let (model, person) = asking();
    let mut chat = Terminal::open(&person, &["chat", "--plain"]);
    chat.expect("/help");
    chat.send("delegate\r");
    chat.expect("It runs.");
    // Begun: the first character is echoed before the question comes.
    chat.send("y");
    chat.expect("y");
    model.release();
    chat.expect("WHY no");
    chat.send("\r");
    chat.expect("? bash asks for permission");
    chat.expect("WHY no");
    assert!(!person.project().join("made-by-itself").exists(), "nobody allowed it");
    chat.send("n not now\r");
    chat.expect("It found four files.");
    chat.send("/quit\r");
    chat.expect("to continue");
    assert_eq!(chat.ended(), 0);
    assert!(!person.project().join("made-by-itself").exists());
    let inputs = person.json(&["log", "@last", "--kind", "input.admitted", "--json"]);
    let texts: Vec<&str> = inputs.as_array().into_iter().flatten().filter_map(|one| one["text"].as_str()).collect();
    assert_eq!((texts.len(), texts.last()), (3, Some(&"y")), "{texts:?}");
    let asked = model.received().last().map(ToString::to_string).unwrap_or_default();
    assert!(asked.contains("not now"), "{asked}");
}

#[test]
fn who_leaves_a_chat_is_told_which_tasks_are_cancelled() {
    annals_tests::needs!("python3");
    let (_model, person) = story([Says::Text("Four files.").held()]);
    let mut chat = Terminal::open(&person, &["chat", "--plain"]);
    chat.expect("/help");
    chat.send("delegate\r");
    chat.expect("It runs.");
    chat.send("/quit\r");
    chat.expect("background task of explore cancelled");
    assert_eq!(chat.ended(), 0);
    assert!(person.annals(&["tree"]).out.contains("sub-agent explore, cancelled"));
}

#[test]
fn a_word_that_is_typed_while_the_model_works_is_for_the_chat_and_waits_for_the_end_of_the_turn() {
    annals_tests::needs!("python3");
    let model = Model::start([Says::Text("Done.").held()]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    let mut chat = Terminal::open(&person, &["chat", "--plain"]);
    chat.expect("/help");
    chat.send("work\r");
    chat.expect("is at work");
    chat.send("/quit\r");
    chat.expect("when the turn is over");
    model.release();
    chat.expect("Done.");
    chat.expect("to continue");
    assert_eq!(chat.ended(), 0);
    assert!(!model.received().iter().any(|body| body.to_string().contains("/quit")));
}

#[test]
fn a_chat_shows_that_the_model_is_at_work_and_what_a_tool_says() {
    annals_tests::needs!("python3");
    let count = "echo first; while [ ! -e go ]; do sleep 0.05; done; echo last";
    let calls = Says::Calls("", vec![("c1", "bash", json!({"command": count}))]).held();
    let model = Model::start([calls, Says::Text("Done.")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    let mut chat = Terminal::open(&person, &["chat", "--plain", "--yes"]);
    chat.expect("/help");
    chat.send("count\r");
    chat.expect("s mock/one is at work");
    model.release();
    chat.expect("│ first");
    person.write("go", "");
    chat.expect("Done.");
    chat.send("/quit\r");
    chat.expect("to continue");
    assert_eq!(chat.ended(), 0);
}

#[test]
fn a_run_on_a_terminal_shows_that_the_model_is_at_work_and_breaks_no_word() {
    annals_tests::needs!("python3");
    let text = "The quick brown fox jumps over the lazy dog and runs along the river until the evening comes at last.";
    let model = Model::start([Says::Text(text).held()]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    let mut run = Terminal::open(&person, &["run", "tell"]);
    run.expect("mock/one is at work");
    model.release();
    run.expect("comes at last.");
    let shown = run.shown();
    assert_eq!(run.ended(), 0);
    let long = shown.lines().find(|line| line.contains("quick")).unwrap_or_default();
    assert!(long.trim_end().ends_with("river") || long.trim_end().ends_with("the"), "{long:?}");
}

#[test]
fn all_of_a_long_change_can_be_seen_before_it_is_allowed() {
    annals_tests::needs!("python3");
    let content: String = (1..=60).map(|number| format!("line {number} of the plan\n")).collect();
    let write = vec![("c1", "write", json!({"path": "plan.md", "content": content}))];
    let model = Model::start([Says::Calls("", write), Says::Text("Written.")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    let mut run = Terminal::open(&person, &["run", "write a plan"]);
    run.expect("+ line 40 of the plan");
    run.expect("… 20 more lines not shown; d shows all");
    run.expect("WHY no");
    run.send("d\r");
    run.expect("+ line 1 of the plan");
    run.expect("+ line 60 of the plan");
    run.expect("WHY no");
    assert!(!person.project().join("plan.md").exists(), "nothing was allowed yet");
    run.send("y\r");
    run.expect("Written.");
    assert_eq!(run.ended(), 0);
    assert_eq!(std::fs::read_to_string(person.project().join("plan.md")).ok(), Some(content));
}
