//! Ctrl-C and progress on a terminal: an import, and a chat that continues a session.

use crate::run::person::Person;
use crate::run::terminal::Terminal;
use annals_tests::model::{Model, Says};
use serde_json::{Value, json};
use std::fmt::Write;

const CHAT: &str = "openai-chat";

/// A transcript of Claude Code with so many turns.
fn transcript(turns: u32) -> String {
    let session = "11111111-1111-4111-8111-111111111111";
    let mut parent: Option<String> = None;
    let mut lines = String::new();
    for turn in 0..turns {
        let answer = json!({
            "id": format!("m{turn}"), "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": format!("answer {turn} {}", "word ".repeat(100))}],
            "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 2},
        });
        let prompt = json!({"role": "user", "content": format!("prompt {turn}")});
        for (role, message) in [("user", prompt), ("assistant", answer)] {
            let id = format!("{role}-{turn}");
            let line = json!({
                "type": role, "uuid": id, "parentUuid": parent, "sessionId": session, "cwd": "/x", "version": "2.0.0",
                "timestamp": format!("2026-01-02T{:02}:{:02}:{:02}.000Z", turn / 3600, turn / 60 % 60, turn % 60),
                "message": message,
            });
            writeln!(lines, "{line}").expect("text");
            parent = Some(id);
        }
    }
    lines
}

fn events(person: &Person) -> u64 {
    let sessions = person.json(&["sessions", "--json"]);
    sessions.as_array().into_iter().flatten().filter_map(|session| session["next"].as_u64()).sum()
}

#[test]
fn an_import_shows_how_far_it_is_and_continues_after_ctrl_c() {
    annals_tests::needs!("python3");
    let person = Person::new();
    person.write("long.jsonl", &transcript(6_000));
    let mut import = Terminal::open(&person, &["import", "long.jsonl"]);
    import.expect("%");
    import.send("\u{3}");
    import.expect("interrupted: ");
    import.expect("run the same command again to continue");
    assert_eq!(import.ended(), 1);
    let verified = person.annals(&["verify"]);
    assert!(verified.status == Some(0) || verified.remarks.contains("no session"), "{verified:?}");
    let before = events(&person);
    let again = person.annals(&["import", "long.jsonl"]);
    assert_eq!(again.status, Some(0), "{again:?}");
    // Whole and only once: as in a store that was never interrupted.
    let after = events(&person);
    assert!(before < after, "it was interrupted in time: {before} of {after}");
    let alone = person.annals(&["--store", "other", "import", "long.jsonl", "--json"]);
    let alone: Value = serde_json::from_str(&alone.out).expect("JSON");
    assert_eq!(alone["sessions"][0]["events"].as_u64(), Some(after), "{alone}");
    assert_eq!(person.annals(&["verify"]).status, Some(0));
}

#[test]
fn a_chat_that_continues_a_session_shows_that_the_model_works_and_is_interrupted_by_ctrl_c() {
    annals_tests::needs!("python3");
    let slow = Says::Text("Never read.").held();
    let model = Model::start([Says::Text("Hello."), slow, Says::Text("As I said.")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    assert_eq!(person.annals(&["run", "hello"]).status, Some(0));
    let mut chat = Terminal::open(&person, &["chat", "--plain", "-s", "@last"]);
    chat.expect("/help");
    chat.send("think\r");
    chat.expect("s mock/one is at work");
    chat.send("\u{3}");
    chat.expect("interrupted");
    model.release();
    chat.send("and now?\r");
    chat.expect("As I said.");
    chat.send("\u{4}");
    assert_eq!(chat.ended(), 0);
    let sessions = person.json(&["sessions", "--json"]);
    assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{sessions}");
    assert!(model.received().last().is_some_and(|body| body.to_string().contains("think")));
}

#[test]
fn ctrl_c_is_for_the_pager_while_it_has_the_terminal() {
    annals_tests::needs!("python3");
    let mut person = Person::new();
    person.set("PAGER", "sh -c 'trap \"\" INT; cat; read line < /dev/tty; echo \"left: $line\"'");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/claude-code/one-turn.jsonl");
    let mut replay = Terminal::open(&person, &["replay", source]);
    replay.expect("integrity verified");
    replay.expect("head");
    replay.send("\x03");
    replay.send("x\r");
    replay.expect("left: x");
    assert_eq!(replay.ended(), 0);
}

#[test]
fn a_question_on_a_terminal_shows_what_agents_wrote_since_the_import() {
    annals_tests::needs!("python3");
    let mut person = Person::new();
    person.set("PAGER", "cat");
    let folder = person.home().join(".claude/projects/-x");
    std::fs::create_dir_all(&folder).expect("a folder");
    let write = |turns| std::fs::write(folder.join("a.jsonl"), transcript(turns)).expect("a file");
    let asked = |args: &[&str]| {
        let mut screen = Terminal::open(&person, args);
        assert_eq!(screen.ended(), 0, "{}", screen.shown());
        screen.shown()
    };
    write(2);
    assert_eq!(person.annals(&["import"]).status, Some(0));
    write(3);
    // Not where somebody else reads the answer.
    let before = events(&person);
    assert!(!person.annals(&["sessions"]).remarks.contains("imported"));
    assert!(!asked(&["sessions", "--no-refresh"]).contains("imported"));
    assert_eq!(events(&person), before);
    let shown = asked(&["history", "@last"]);
    assert!(shown.contains("new events of 1 session") && shown.contains("prompt 2"), "{shown}");
    assert!(!asked(&["history", "@last"]).contains("imported"), "nothing is new");
    write(4);
    let config = person.home().join(".config/annals/config.toml");
    std::fs::create_dir_all(config.parent().expect("a folder")).expect("a folder");
    std::fs::write(config, "refresh = false\n").expect("a file");
    assert!(!asked(&["usage"]).contains("imported"));
}
