//! Runs and chats whose store is moved, replaced or removed while they have it open.

use crate::run::person::{Answer, Person};
use crate::run::terminal::Terminal;
use annals_tests::deadline::WithDeadline;
use annals_tests::model::{Model, Says};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

const CHAT: &str = "openai-chat";

/// Every file of a folder but saved views, and its content.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
        if kind.is_dir() && !path.ends_with("cache") {
            found.extend(files(&path));
        } else if kind.is_file() {
            found.insert(path.clone(), fs::read(&path).expect("a file"));
        }
    }
    found
}

/// A person with a git repository, and a model that first calls a tool, then waits.
fn in_repository(then: impl IntoIterator<Item = Says>) -> (Model, Person) {
    let first = Says::Calls("", vec![("c1", "bash", json!({"command": "echo first"}))]);
    let model = Model::start([first].into_iter().chain(then)).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    person.write("kept.txt", "one\n");
    for args in [["init", "-q"].as_slice(), &["add", "."], &["commit", "-qm", "first"]] {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]).args(args);
        let done = git.current_dir(person.project()).env("HOME", person.home()).output_watched().expect("git");
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
    (model, person)
}

/// Runs a prompt; once the first call is done, `meanwhile`, and only then is the model's next answer let go.
fn run_while(model: &Model, person: &Person, meanwhile: impl FnOnce()) -> Answer {
    let mut child = person.command(["run", "--yes", "change it"]).spawn_watched().expect("it runs");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut remarks = String::new();
    while !remarks.contains("✓ bash") {
        assert!(lines.read_line(&mut remarks).expect("a line") > 0, "the first call ends: {remarks}");
    }
    meanwhile();
    model.release();
    lines.read_to_string(&mut remarks).expect("text");
    let remarks = remarks.replace(&*person.folder().to_string_lossy(), "TMP");
    Answer { remarks, ..person.ended(child) }
}

/// A change of a file, and an output too long for the history.
fn changes() -> Says {
    let edit = json!({"path": "kept.txt", "old_string": "one", "new_string": "two"});
    let calls = vec![("c2", "edit", edit), ("c3", "bash", json!({"command": "seq 100000"}))];
    Says::Calls("", calls).held()
}

/// The result of a call as the model was sent it.
fn result(model: &Model, call: &str) -> String {
    let received = model.received();
    let messages = received.last().and_then(|body| body["messages"].as_array().cloned()).unwrap_or_default();
    let found = messages.iter().find(|message| message["tool_call_id"] == call);
    found.and_then(|message| message["content"].as_str()).unwrap_or_default().to_owned()
}

fn moves_its_store(replaced: bool) {
    let (model, person) = in_repository([changes(), Says::Text("Done.")]);
    let (store, moved) = (person.store(), person.home().join("moved"));
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/claude-code/one-turn.jsonl");
    let mut before = BTreeMap::new();
    let answer = run_while(&model, &person, || {
        fs::rename(&store, &moved).expect("the store moves");
        if replaced {
            let imported = person.annals(&["import", &fixture.to_string_lossy()]);
            assert_eq!(imported.status, Some(0), "{}", imported.remarks);
            before = files(&store);
        }
    });
    assert_eq!((answer.status, answer.out.as_str()), (Some(0), "Done.\n"), "{}", answer.remarks);
    assert!(answer.remarks.contains("moved from TMP/home/.local/share/annals to TMP/home/moved"), "{}", answer.remarks);
    match replaced {
        true => assert!(files(&store) == before, "the run wrote to the store that took the place of its own"),
        false => assert!(!store.exists(), "the old path was made again"),
    }
    // The whole output is where the model is told, and the file is recorded as changed.
    let outputs = moved.join("outputs");
    assert!(result(&model, "c3").contains(&*outputs.to_string_lossy()), "{}", result(&model, "c3"));
    let kept: Vec<String> = files(&outputs).into_values().filter_map(|text| String::from_utf8(text).ok()).collect();
    assert!(kept.iter().any(|text| text.contains("\n99999\n100000\n")), "{} files", kept.len());
    assert_eq!(fs::read_to_string(person.project().join("kept.txt")).ok().as_deref(), Some("two\n"));
    let at_new_place = ["--store", &*moved.to_string_lossy()].map(str::to_owned);
    let there = |args: &[&str]| {
        let mut command = person.command(at_new_place.iter().map(String::as_str).chain(args.iter().copied()));
        person.ended(command.spawn_watched().expect("it runs"))
    };
    for args in [["verify"].as_slice(), &["doctor"], &["revert", "@last", "--to", "turn:1"]] {
        let answer = there(args);
        assert_eq!(answer.status, Some(0), "{args:?}: {answer:?}");
    }
    assert_eq!(fs::read_to_string(person.project().join("kept.txt")).ok().as_deref(), Some("one\n"), "undone");
}

#[test]
fn a_run_keeps_outputs_edits_and_captures_in_its_store_when_that_is_moved() {
    moves_its_store(false);
}

#[test]
fn a_run_writes_nothing_to_a_store_that_takes_the_place_of_its_own() {
    moves_its_store(true);
}

#[test]
fn a_model_reads_whole_outputs_in_a_store_that_was_moved_without_a_question() {
    let long = Says::Calls("", vec![("c2", "bash", json!({"command": "seq 100000"}))]).held();
    let (model, person) = in_repository([long]);
    let moved = person.home().join("moved");
    let read = json!({"pattern": "^77777$", "path": moved.join("outputs")});
    model.then([Says::Calls("", vec![("c3", "grep", read)]), Says::Text("Done.")]);
    let store = person.store();
    let answer = run_while(&model, &person, || fs::rename(&store, &moved).expect("the store moves"));
    assert_eq!(answer.status, Some(0), "{}", answer.remarks);
    assert!(result(&model, "c3").contains("77777"), "{}", result(&model, "c3"));
    assert!(!answer.remarks.contains("external_directory"), "{}", answer.remarks);
}

#[test]
fn a_run_whose_store_is_removed_fails_and_makes_nothing_again() {
    let (model, person) = in_repository([changes(), Says::Text("Done.")]);
    let store = person.store();
    let answer = run_while(&model, &person, || {
        let removed = (0..1_000).any(|_| fs::remove_dir_all(&store).is_ok());
        assert!(removed);
    });
    assert_eq!(answer.status, Some(1), "{answer:?}");
    assert!(answer.remarks.contains("was removed"), "{}", answer.remarks);
    assert!(!store.exists(), "{:?}", files(&store).keys());
    assert_eq!(
        fs::read_to_string(person.project().join("kept.txt")).ok().as_deref(),
        Some("one\n"),
        "nothing was done"
    );
}

#[test]
fn a_chat_keeps_its_lines_in_its_store_when_that_is_moved() {
    annals_tests::needs!("python3");
    let model = Model::start([Says::Text("Hello."), Says::Text("Hello again.")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    let mut chat = Terminal::open(&person, &["chat", "--plain"]);
    chat.expect("›");
    chat.send("first line\r");
    chat.expect("Hello.");
    let moved = person.home().join("moved");
    fs::rename(person.store(), &moved).expect("the store moves");
    chat.send("second line\r");
    chat.expect("Hello again.");
    chat.send("\u{4}");
    assert_eq!(chat.ended(), 0);
    assert!(!person.store().exists());
    let kept = fs::read_to_string(moved.join("chat-history")).expect("a history");
    assert!(kept.contains("first line") && kept.contains("second line"), "{kept}");
}
