//! `annals run` as a process, with a model server that follows a script.

use crate::run::person::{KEY, Person};
use annals_tests::deadline::WithDeadline;
use annals_tests::model::{Model, Says};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

const CHAT: &str = "openai-chat";

fn model(script: impl IntoIterator<Item = Says>) -> Model {
    Model::start(script).expect("a port")
}

#[test]
fn an_answer_goes_to_stdout_alone() {
    let model = model([Says::Text("Forty-two, as ever.")]);
    let person = Person::with_model(model.url(), CHAT);
    let answer = person.annals(&["run", "what", "is the answer?"]);
    assert_eq!((answer.status, answer.out.as_str()), (Some(0), "Forty-two, as ever.\n"), "{}", answer.remarks);
    insta::assert_snapshot!(answer.shown());
    assert!(model.heads()[0].contains(&format!("Bearer {KEY}")));
}

#[test]
fn a_prompt_may_come_through_a_pipe() {
    let model = model([Says::Text("An error.")]);
    let person = Person::with_model(model.url(), CHAT);
    let answer = person.annals_reading(&["run", "what is this?"], "error[E0308]: mismatched types\n");
    assert_eq!(answer.status, Some(0), "{}", answer.remarks);
    let sent = model.received()[0]["messages"].as_array().and_then(|all| all.last().cloned()).unwrap_or_default();
    assert!(sent.to_string().contains("what is this?\\n\\nerror[E0308]: mismatched types"), "{sent}");
}

#[test]
fn an_open_pipe_is_waited_for_and_that_is_said() {
    let model = model([Says::Text("An error.")]);
    let person = Person::with_model(model.url(), CHAT);
    let mut child = person.command(["run", "what is this?"]).stdin(Stdio::piped()).spawn_watched().expect("it runs");
    let mut said = String::new();
    let mut remarks = BufReader::new(child.stderr.take().expect("a pipe"));
    remarks.read_line(&mut said).expect("a remark");
    assert!(said.contains("waiting for stdin to end") && said.contains("< /dev/null"), "{said}");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(b"error[E0308]\n").expect("it reads");
    drop(pipe);
    remarks.read_to_string(&mut said).expect("remarks");
    assert_eq!(person.ended(child).status, Some(0), "{said}");
    let sent = model.received()[0]["messages"].as_array().and_then(|all| all.last().cloned()).unwrap_or_default();
    assert!(sent.to_string().contains("what is this?\\n\\nerror[E0308]"), "{sent}");
}

#[test]
fn files_go_with_the_prompt_and_what_cannot_is_told_before_anything_is_made() {
    let model = model([Says::Text("A red dot, and a plan.")]);
    let person = Person::with_model(model.url(), CHAT);
    person.write("plan.md", "# Plan\n\nMend the clock.\n");
    std::fs::write(person.project().join("dot.png"), b"\x89PNG\r\n\x1a\nnot really\0").expect("a file");
    let prompt = ["run", "--file", "plan.md", "--file", "../project/dot.png", "what is this?"];
    let refused = [
        person.annals(&prompt),
        person.annals(&["run", "--file", "gone", "what is this?"]),
        person.annals(&["run", "--file", ".", "what is this?"]),
        person.annals(&["run", "--file", "plan.md"]),
    ];
    insta::assert_snapshot!(refused.map(|answer| answer.shown()).join("\n\n"));
    assert!(!person.store().exists(), "nothing was made");
    let file = person.home().join(".config/annals/config.toml");
    let with_images =
        std::fs::read_to_string(&file).expect("a file") + "\n[models.\"mock/one\"]\nmedia = [\"image\"]\n";
    person.configure(&with_images);
    let answer = person.annals(&prompt);
    assert_eq!((answer.status, answer.out.as_str()), (Some(0), "A red dot, and a plan.\n"), "{}", answer.remarks);
    let sent = model.received()[0]["messages"].as_array().and_then(|all| all.last().cloned()).unwrap_or_default();
    let sent = sent.to_string();
    assert!(sent.contains("what is this?") && sent.contains("Attached file: plan.md\\n# Plan"), "{sent}");
    assert!(sent.contains("data:image/png;base64,iVBORw0KGgpub3QgcmVhbGx5AA=="), "{sent}");
    let verified = person.annals(&["verify", "--requests", "--wire"]);
    assert_eq!(verified.status, Some(0), "{verified:?}");
}

#[test]
fn a_link_out_of_a_project_is_not_told_to_the_model_and_the_person_is_told_so() {
    let model = model([Says::Text("Hello."), Says::Text("Hello again."), Says::Text("And again.")]);
    let person = Person::with_model(model.url(), CHAT);
    std::fs::write(person.home().join("private"), "The word is mockingbird.").expect("a file");
    std::os::unix::fs::symlink("../home/private", person.project().join("AGENTS.md")).expect("a link");
    let answer = person.annals(&["run", "hello"]);
    assert_eq!(answer.status, Some(0), "{}", answer.remarks);
    let message = "AGENTS.md is a link out of the project, to TMP/home/private: it is not read";
    assert!(answer.remarks.contains(message), "{}", answer.remarks);
    assert!(!model.received()[0].to_string().contains("mockingbird"));
    std::fs::create_dir(person.project().join(".annals")).expect("a folder");
    person.write(".annals/config.toml", "");
    assert!(person.annals(&["run", "-c", "hello"]).remarks.contains(message), "nobody trusted it yet");
    assert_eq!(person.annals(&["config", "trust"]).status, Some(0));
    let trusted = person.annals(&["run", "-c", "hello"]);
    assert!(!trusted.remarks.contains("is a link"), "{}", trusted.remarks);
    assert!(!model.received()[1].to_string().contains("mockingbird"));
    assert!(model.received()[2].to_string().contains("mockingbird"));
}

#[test]
fn tools_run_and_are_told_beside_the_answer() {
    let read = json!({"path": "notes.md"});
    let calls = vec![("c1", "read", read), ("c2", "grep", json!({"pattern": "nothing like it"}))];
    let model = model([Says::Calls("I will look.", calls), Says::Text("It holds a plan.")]);
    let person = Person::with_model(model.url(), CHAT);
    person.write("notes.md", "# Plan\n\nMend the clock.\n");
    let answer = person.annals(&["run", "what do the notes hold?"]);
    insta::assert_snapshot!(answer.shown());
    let verified = person.annals(&["verify", "--requests", "--wire"]);
    assert_eq!(verified.status, Some(0), "{verified:?}");
}

#[test]
fn without_a_terminal_what_no_rule_allows_is_rejected_and_how_to_allow_it_is_said() {
    let calls = || vec![("c1", "bash", json!({"command": "touch made"}))];
    let model = model([Says::Calls("", calls()), Says::Text("I could not.")]);
    let person = Person::with_model(model.url(), CHAT);
    insta::assert_snapshot!(person.annals(&["run", "make a file"]).shown());
    assert!(!person.project().join("made").exists());
    model.then([Says::Calls("", calls()), Says::Text("Done.")]);
    let allowed = person.annals(&["run", "--yes", "make a file"]);
    assert_eq!((allowed.status, allowed.out.as_str()), (Some(0), "Done.\n"), "{}", allowed.remarks);
    assert!(person.project().join("made").exists());
}

#[test]
fn the_last_session_of_a_directory_goes_on() {
    let model = model([Says::Text("Hello Ada."), Says::Text("You are Ada.")]);
    let person = Person::with_model(model.url(), CHAT);
    let nothing = person.annals(&["run", "-c", "who am I?"]);
    insta::assert_snapshot!(nothing.shown());
    assert!(!person.store().exists(), "a command that finds nothing makes no store");
    person.annals(&["run", "I am Ada."]);
    let again = person.annals(&["run", "-c", "who am I?"]);
    assert_eq!(again.out, "You are Ada.\n", "{}", again.remarks);
    let idle = person.annals(&["run", "-c"]);
    assert_eq!(idle.status, Some(2));
    assert!(idle.remarks.contains("nothing to resume: the last turn is finished"), "{}", idle.remarks);
    let bodies = model.received();
    assert_eq!(bodies.len(), 2, "nobody is asked to answer an answer");
    assert!(bodies[1].to_string().contains("Hello Ada."), "{}", bodies[1]);
    assert_eq!(person.json(&["sessions", "--json"]).as_array().map(Vec::len), Some(1));
}

#[test]
fn an_imported_session_is_continued_in_a_fork_and_its_import_continues() {
    let model = model([Says::Text("Gone on."), Says::Text("And on.")]);
    let person = Person::with_model(model.url(), CHAT);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/claude-code/tools-and-compaction.jsonl");
    let directory = std::fs::canonicalize(person.project()).expect("a folder");
    let text = std::fs::read_to_string(file).expect("a fixture");
    let text = text.replace("/srv/peer/kdemo", directory.to_str().expect("a name"));
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    person.write("it.jsonl", &lines[..lines.len() - 8].concat());
    assert_eq!(person.annals(&["import", "it.jsonl"]).status, Some(0));
    let imported = person.json(&["sessions", "--json"])[0].clone();
    let id = imported["id"].as_str().expect("an id").to_owned();
    for (prompt, said, sessions) in [("go on", "Gone on.\n", 2), ("and on", "And on.\n", 2)] {
        let answer = person.annals(&["run", "-s", &id, "-m", "mock/one", "--agent", "build", prompt]);
        assert_eq!(answer.out, said, "{}", answer.remarks);
        assert_eq!(answer.remarks.contains("continuing as a fork"), prompt == "go on", "{}", answer.remarks);
        assert_eq!(person.json(&["sessions", "--json"]).as_array().map(Vec::len), Some(sessions));
    }
    assert!(model.received()[1].to_string().contains("Gone on."), "the fork was continued");
    let idle = person.annals(&["run", "-s", &id, "-m", "mock/one", "--agent", "build"]);
    assert_eq!(idle.status, Some(2), "{}", idle.remarks);
    person.write("it.jsonl", &text);
    let again = person.annals(&["import", "it.jsonl"]);
    assert_eq!(again.status, Some(0), "{} {}", again.out, again.remarks);
    assert!(again.out.contains("9 new events"), "{}", again.out);
}

#[test]
fn a_program_reads_the_run_as_json_lines() {
    let model = model([Says::Text("Hello.")]);
    let person = Person::with_model(model.url(), CHAT);
    let answer = person.annals(&["run", "--json", "hello"]);
    let kinds: Vec<String> = answer
        .out
        .lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            line["event"]["type"].as_str().or(line["type"].as_str()).unwrap_or_default().to_owned()
        })
        .collect();
    insta::assert_snapshot!(kinds.join(" "));
    let end: serde_json::Value = serde_json::from_str(answer.out.lines().last().unwrap_or_default()).expect("JSON");
    assert_eq!((end["outcome"].as_str(), end["usage"]["output"].as_u64()), (Some("idle"), Some(8)));
}

#[test]
fn what_a_newcomer_meets_first_says_what_to_set() {
    let person = Person::new();
    let no_model = person.annals(&["run", "hello"]);
    let no_prompt = person.annals(&["run"]);
    let unknown = person.annals(&["run", "--model", "anthropic/claude-opus-48", "hello"]);
    let no_key = person.annals(&["run", "--model", "anthropic/claude-opus-4-8", "hello"]);
    let no_agent = person.annals(&["run", "--model", "anthropic/claude-opus-4-8", "--agent", "bild", "hello"]);
    let shown = [no_model, no_prompt, unknown, no_key, no_agent].map(|answer| answer.shown());
    insta::assert_snapshot!(shown.join("\n\n"));
    assert!(!person.store().exists(), "nothing was made");
}

#[test]
fn a_refused_key_is_told_in_a_sentence() {
    let model = model([Says::Refuses(401, "Incorrect API key provided")]);
    let person = Person::with_model(model.url(), CHAT);
    insta::assert_snapshot!(person.annals(&["run", "hello"]).shown());
    assert!(!person.annals(&["export", "@last"]).out.contains(KEY));
}

#[test]
fn ctrl_c_interrupts_the_turn_and_the_session_goes_on() {
    let model = model([Says::Begins("I think that "), Says::Text("As I said.")]);
    let person = Person::with_model(model.url(), CHAT);
    let mut child = person.command(["run", "--json", "think"]).spawn_watched().expect("it runs");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("I think that") {
        line.clear();
        assert!(out.read_line(&mut line).expect("a line") > 0, "the answer begins");
    }
    let pid = child.id().to_string();
    std::process::Command::new("kill").args(["-INT", &pid]).stdout(Stdio::null()).status().expect("a signal");
    let rest: Vec<String> = out.lines().map_while(Result::ok).collect();
    assert!(rest.iter().any(|line| line.contains("\"outcome\":\"interrupted\"")), "{rest:?}");
    assert_eq!(person.ended(child).status, Some(1));
    let again = person.annals(&["run", "-c", "go on"]);
    assert_eq!((again.status, again.out.as_str()), (Some(0), "As I said.\n"), "{}", again.remarks);
    assert!(model.received()[1].to_string().contains("I think that"));
}

#[test]
fn a_request_to_end_puts_everything_away() {
    let model = model([Says::Begins("I think that ")]);
    let person = Person::with_model(model.url(), CHAT);
    let mut child = person.command(["run", "--json", "think"]).spawn_watched().expect("it runs");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("I think that") {
        line.clear();
        assert!(out.read_line(&mut line).expect("a line") > 0, "the answer begins");
    }
    std::process::Command::new("kill").arg(child.id().to_string()).status().expect("a signal");
    let rest: Vec<String> = out.lines().map_while(Result::ok).collect();
    assert!(rest.iter().any(|line| line.contains("step.failed")), "{rest:?}");
    assert_eq!(person.ended(child).status, Some(1));
    assert_eq!(person.annals(&["verify"]).status, Some(0));
}

#[test]
fn a_chat_takes_lines_of_a_pipe_one_after_another() {
    let model = model([Says::Text("Hello Ada."), Says::Text("You are Ada."), Says::Text("I do not know.")]);
    let person = Person::with_model(model.url(), CHAT);
    let said =
        "I am Ada.\nwho am I?\n/undo\n/undo\nwho am I?\n/cost\n/model mock/two\n/nonsense\n/redo\n/quit\nnever\n";
    let answer = person.annals_reading(&["chat"], said);
    insta::assert_snapshot!(answer.shown());
    let bodies = model.received();
    assert_eq!(bodies.len(), 3);
    assert!(bodies[1].to_string().contains("Hello Ada.") && !bodies[2].to_string().contains("Ada"), "{}", bodies[2]);
}

#[test]
fn a_second_process_joins_what_the_first_one_runs() {
    let wait = vec![("c1", "bash", json!({"command": "while [ ! -e go ]; do sleep 0.05; done"}))];
    let model = model([Says::Calls("", wait), Says::Text("Both were heard.")]);
    let person = Person::with_model(model.url(), CHAT);
    let mut first = person.command(["run", "--yes", "--json", "wait for the other"]).spawn_watched().expect("it runs");
    let mut out = BufReader::new(first.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("tool.called") {
        line.clear();
        assert!(out.read_line(&mut line).expect("a line") > 0, "the call begins");
    }
    let rest = std::thread::spawn(move || out.lines().map_while(Result::ok).count());
    let second = person.command(["run", "-c", "here I am"]).spawn_watched().expect("it runs");
    let admitted = || {
        let log = person.json(&["log", "@last", "--kind", "input.admitted", "--json"]);
        log.as_array().map_or(0, Vec::len)
    };
    while admitted() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    person.write("go", "");
    let second = person.ended(second);
    assert_eq!((second.status, second.out.as_str()), (Some(0), "Both were heard.\n"), "{}", second.remarks);
    assert!(second.remarks.contains("another process runs this session"), "{}", second.remarks);
    assert!(rest.join().expect("it tells") > 0 && first.wait().expect("it ends").success());
    let bodies = model.received();
    assert!(bodies.len() == 2 && bodies[1].to_string().contains("here I am"), "{bodies:?}");
}

/// A window title, an override of the direction, and what nobody sees.
const HOSTILE: &str = "done\u{1b}]0;own\u{7} \u{202e}txet\u{202c} a\u{200b}b \u{9b}2J";

#[test]
fn an_answer_steers_nothing_unless_its_bytes_are_asked_for() {
    let model = model([Says::Text(HOSTILE), Says::Text(HOSTILE), Says::Text(HOSTILE)]);
    let person = Person::with_model(model.url(), CHAT);
    let safe = person.annals(&["run", "hello"]);
    assert_eq!(safe.out, "done␛]0;own␇ <U+202E>txet<U+202C> a<U+200B>b <U+009B>2J\n", "{}", safe.remarks);
    assert_eq!(person.annals(&["run", "--raw", "hello"]).out, format!("{HOSTILE}\n"));
    let json = person.annals(&["run", "--json", "hello"]);
    assert!(!json.out.contains(['\u{202e}', '\u{200b}', '\u{9b}', '\u{1b}']), "{}", json.out);
    let said = json.out.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    assert!(said.into_iter().any(|line| line["event"]["text"] == HOSTILE), "{}", json.out);
}

#[test]
fn a_question_on_a_terminal_shows_what_is_asked_for_and_steers_nothing() {
    annals_tests::needs!("python3");
    let command = "ls #\u{202e} gnihton\u{202c} \u{1b}]52;c;b3du\u{7}\u{200b}";
    let calls = vec![("c1", "bash", json!({"command": command}))];
    let model = model([Says::Calls(HOSTILE, calls), Says::Text(HOSTILE)]);
    let person = Person::with_model(model.url(), CHAT);
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/output/terminal.py");
    let annals = person.command(["run", "list"]);
    let mut on_a_terminal = std::process::Command::new("python3");
    on_a_terminal.arg(script).arg("100").arg(annals.get_program()).args(annals.get_args());
    on_a_terminal.current_dir(person.project()).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    on_a_terminal.env("HOME", person.home()).env("TERM", "xterm").env("MOCK_KEY", KEY);
    // Its terminal answers the question as soon as it is asked.
    let output =
        on_a_terminal.env("ANNALS_TEST_TYPES", "n\n").env("COLUMNS", "100").output_watched().expect("python3 runs");
    let seen = String::from_utf8_lossy(&output.stdout);
    assert!(seen.contains("ls #<U+202E> gnihton<U+202C> ␛]52;c;b3du␇<U+200B>"), "{seen}");
    assert!(!seen.contains(['\u{202e}', '\u{200b}', '\u{9b}']) && !seen.contains("\u{1b}]"), "{seen:?}");
}

#[test]
fn a_failed_command_is_no_green_tick() {
    let command = "for i in $(seq 20); do echo line $i; done; exit 7";
    let calls = vec![("c1", "bash", json!({"command": command}))];
    let model = model([Says::Calls("", calls), Says::Text("It failed.")]);
    let person = Person::with_model(model.url(), CHAT);
    let answer = person.annals(&["run", "--yes", "count"]);
    let remarks = &answer.remarks;
    assert!(remarks.contains("✗ bash") && remarks.contains("exit 7") && !remarks.contains('✓'), "{remarks}");
    assert!(
        remarks.contains("    … 12 earlier lines\n    line 13\n") && remarks.contains("    line 20\n"),
        "{remarks}"
    );
    for view in ["replay", "transcript"] {
        let shown = person.annals(&[view]).out;
        assert!(shown.contains("✗ exit 7"), "{view}: {shown}");
    }
}

#[test]
fn a_session_is_titled_pinned_and_compacted_without_a_chat() {
    let long = "a long story of many words that nobody needs word for word, and of a vault that was not to be touched";
    let model = model([Says::Text(long), Says::Text("and more"), Says::Text("THE SUMMARY"), Says::Text("on")]);
    let person = Person::with_model(model.url(), CHAT);
    let file = person.home().join(".config/annals/config.toml");
    let with = std::fs::read_to_string(&file).expect("a file") + "\n[compaction]\nkeep_tokens = 5\n";
    person.configure(&with);
    let run = |arguments: &[&str]| {
        let answer = person.annals(arguments);
        assert_eq!(answer.status, Some(0), "{arguments:?}: {}", answer.remarks);
        answer
    };
    run(&["run", "--pin", "never touch the vault"]);
    run(&["run", "-c", "tell me more"]);

    run(&["title", "@last", "The   story", "of\nthe vault"]);
    assert_eq!(run(&["title", "@last"]).out, "The story of the vault\n");
    let empty = person.annals(&["title", "@last", " "]);
    assert_eq!(empty.status, Some(2), "{}", empty.remarks);

    let compacted = run(&["compact", "@last"]);
    assert!(compacted.remarks.contains("session "), "{}", compacted.remarks);
    run(&["run", "-c", "go on"]);
    let sent = model.received().pop().map(|body| body["messages"].to_string()).unwrap_or_default();
    assert!(sent.contains("never touch the vault") && sent.contains("THE SUMMARY"), "{sent}");
    assert!(!sent.contains("a long story"), "{sent}");

    let nothing = person.annals(&["compact", "@last"]);
    assert_eq!(nothing.status, Some(1), "{}", nothing.remarks);
}
