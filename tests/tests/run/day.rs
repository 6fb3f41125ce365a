//! A day's work: twenty tasks in one session through each protocol, with tools, extensions, a subagent, an undo, a compaction and
//! a kill. Afterwards the session verifies byte for byte.

use crate::run::person::Person;
use annals_tests::aimock::{Aimock, AimockError, calls, says, says_after_results};
use annals_tests::deadline::WithDeadline;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Command;

/// An MCP server with one tool.
const MCP: &str = r#"
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    result = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}},
        "tools/list": {"tools": [{"name": "weather", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "MCP: fine weather"}]},
    }.get(message["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

const PATCH: &str = "*** Begin Patch\n*** Update File: clock.py\n@@ def hour():\n-    return 25\n+    return 12\n*** Add File: docs.md\n+# Clock\n*** End Patch";

/// A task: what is asked, the calls that the model makes for it, and what it says then.
struct Task {
    ask: &'static str,
    calls: Vec<(&'static str, Value)>,
    says: &'static str,
    /// What one of the results holds.
    shows: &'static str,
}

fn tasks(page: u16) -> Vec<Task> {
    let task = |ask, calls, says, shows| Task { ask, calls, says, shows };
    vec![
        task(
            "task01 look around",
            vec![("ls", json!({})), ("glob", json!({"pattern": "**/*.py"}))],
            "Two files.",
            "clock.py",
        ),
        task("task02 read the clock", vec![("read", json!({"path": "clock.py"}))], "It returns 25.", "return 25"),
        task("task03 find the hour", vec![("grep", json!({"pattern": "def hour"}))], "In clock.py.", "clock.py"),
        task(
            "task04 run the test",
            vec![("bash", json!({"command": "python3 test_clock.py", "description": "Run the test"}))],
            "It fails.",
            "exited with code 1",
        ),
        task(
            "task05 plan the work",
            vec![("todo", json!({"items": [{"content": "mend the clock", "status": "in_progress"}]}))],
            "Planned.",
            "[>] mend the clock",
        ),
        task("task06 mend it by a patch", vec![("apply_patch", json!({"patch": PATCH}))], "Mended.", "Made docs.md"),
        task(
            "task07 run it again",
            vec![("bash", json!({"command": "python3 test_clock.py"}))],
            "It passes.",
            "exited with code 0",
        ),
        task(
            "task08 rename the minute",
            vec![(
                "multiedit",
                json!({"path": "clock.py", "edits": [
            {"old_string": "minute", "new_string": "minutes", "replace_all": true}, {"old_string": "return 61", "new_string": "return 59"}]}),
            )],
            "Renamed.",
            "Made 2 edits",
        ),
        task(
            "task09 edit the page",
            vec![("edit", json!({"path": "docs.md", "old_string": "# Clock", "new_string": "# The clock"}))],
            "Edited.",
            "Edited docs.md",
        ),
        task(
            "task10 write notes",
            vec![("write", json!({"path": "notes.md", "content": "Done.\n"}))],
            "Written.",
            "Made notes.md",
        ),
        task(
            "task11 read the web page",
            vec![("webfetch", json!({"url": format!("http://127.0.0.1:{page}/")}))],
            "It says noon.",
            "# Noon",
        ),
        task("task12 search the web", vec![("websearch", json!({"query": "clocks"}))], "Found.", "found clocks"),
        task("task13 ask the weather server", vec![("mcp__sky__weather", json!({}))], "Fine.", "MCP: fine weather"),
        task("task14 use my own tool", vec![("shout", json!({"word": "noon"}))], "NOON.", "NOON"),
        task(
            "task15 let the explorer look",
            vec![(
                "task",
                json!({"subagent_type": "explore", "description": "look", "prompt": "childtask: where is the hour?"}),
            )],
            "It is found.",
            "clock.py:1",
        ),
    ]
}

fn fixtures(tasks: &[Task]) -> Vec<Value> {
    // First: what is summarised contains what was asked before.
    let mut all = vec![says("Write a summary of this session", "The clock was mended.")];
    for Task { ask, calls: made, says, .. } in tasks {
        let needle = &ask[..6];
        let ids: Vec<String> = (0..made.len()).map(|n| format!("call_{needle}_{n}")).collect();
        let made: Vec<(&str, &str, Value)> =
            ids.iter().zip(made).map(|(id, (name, input))| (id.as_str(), *name, input.clone())).collect();
        all.push(calls(needle, &made));
        all.push(says_after_results(needle, says));
    }
    all.push(says("childtask", "The hour is at clock.py:1."));
    // A build in the background: started, read, ended.
    let later = |n: usize, id: &str, name: &str, input: Value| {
        json!({"match": {"userMessage": "task16", "hasToolResult": true, "sequenceIndex": n},
               "response": {"toolCalls": [{"id": id, "name": name, "arguments": input}]}})
    };
    all.push(calls(
        "task16",
        &[("call_build", "bash", json!({"command": "echo built; sleep 600", "background": true}))],
    ));
    all.push(later(0, "call_output", "bash_output", json!({"wait_ms": 60_000})));
    all.push(later(1, "call_kill", "bash_kill", json!({})));
    all.push(says_after_results("task16", "Built."));
    all.push(says("Review the part: hands", "The hands are fine."));
    all.push(calls("task18", &[("call_wait", "bash", json!({"command": "sleep 60"}))]));
    all.push(says_after_results("task18", "I did not wait to the end."));
    all.push(says("task20", "All is done."));
    all
}

/// A server with one page; returns its port.
fn page() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let body = "<title>T</title><h1>Noon</h1><p>It is noon.";
            drop(stream.read(&mut [0; 4096]));
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close";
            drop(write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        }
    });
    port
}

fn prepared(base: &str, protocol: &str) -> Person {
    let person = Person::with_model(base, protocol);
    let file = person.home().join(".config/annals/config.toml");
    let before = std::fs::read_to_string(&file).expect("a file");
    person.write("server.py", MCP);
    person.configure(&format!(
        "{before}\n[mcp.sky]\ncommand = [\"python3\", \"{}/server.py\"]\n\n[websearch]\ncommand = [\"sh\", \"-c\", \"read q; echo found clocks\"]\n\n\
         [custom_tools.shout]\ncommand = [\"sh\", \"-c\", \"tr a-z A-Z\"]\ndescription = \"Shouts.\"\nparameters = {{ word = {{ type = \"string\" }} }}\n\
         required = [\"word\"]\n\n[hooks.noted]\non = \"after_tool\"\ntools = [\"shout\"]\ncommand = [\"echo\", \"hooked\"]\n\n[context.moon]\n\
         command = [\"echo\", \"The moon is full.\"]\n\n[compaction]\nkeep_tokens = 0\n",
        person.project().display()
    ));
    person.write("clock.py", "def hour():\n    return 25\n\ndef minute():\n    return 61\n");
    person.write("test_clock.py", "import clock\nassert clock.hour() == 12\n");
    person.write("CLAUDE.md", "Mind the clock.\n");
    std::fs::create_dir_all(person.project().join(".claude/commands")).expect("a folder");
    person.write(".claude/commands/review.md", "---\ndescription: Reviews\n---\nReview the part: $ARGUMENTS\n");
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).current_dir(person.project()).output_watched().expect("git");
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"]);
    person
}

/// The command runs until its call does; then it is killed.
fn killed(person: &Person, args: &[&str]) {
    let mut child = person.command(args).spawn_watched().expect("it runs");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("\"type\":\"tool.called\"") {
        line.clear();
        assert!(out.read_line(&mut line).expect("a line") > 0, "no call was made");
    }
    child.kill().expect("it runs still");
    child.wait().expect("it is gone");
}

fn through(protocol: &str, base: fn(&Aimock) -> String) -> Result<(), AimockError> {
    let tasks = tasks(page());
    let Some(server) = Aimock::start(&fixtures(&tasks))? else { return Ok(()) };
    let person = prepared(&base(&server), protocol);
    let run = |args: &[&str]| {
        let all: Vec<&str> = ["run", "--yes"].iter().chain(args).copied().collect();
        let answer = person.annals(&all);
        assert_eq!(answer.status, Some(0), "{protocol}, {args:?}: {answer:?}");
        answer.out
    };
    let results = |from: usize| -> String {
        let log = person.json(&["log", "@last", "--kind", "tool.settled", "--json"]);
        log.as_array().into_iter().flatten().skip(from).map(|event| format!("{event}\n")).collect()
    };
    let mut known = 0;
    for (at, task) in tasks.iter().enumerate() {
        let said = if at == 0 { run(&[task.ask]) } else { run(&["-c", task.ask]) };
        assert_eq!(said.trim(), task.says, "{protocol}: {}", task.ask);
        let new = results(known);
        known += new.lines().count();
        assert!(new.contains(task.shows), "{protocol}: {}: {new}", task.ask);
    }
    assert!(results(0).contains("NOON") && results(0).contains("hooked"), "a hook adds to the result");
    assert_eq!(std::fs::read_to_string(person.project().join("docs.md")).ok().as_deref(), Some("# The clock\n"));

    assert_eq!(run(&["-c", "task16 build it in the background"]), "Built.\n");
    let new = results(known);
    assert!(new.contains("built") && new.contains("was ended."), "{protocol}: {new}");
    assert_eq!(run(&["-c", "/review hands"]), "The hands are fine.\n");
    let killing = ["run", "--yes", "--json", "-c", "task18 wait for a minute"];
    killed(&person, &killing);
    assert_eq!(run(&["-c"]), "I did not wait to the end.\n");

    // task 10 made the notes: an undo of it and all that followed, taken back again.
    let undone = person.annals(&["revert", "@last", "--to", "turn:10"]);
    assert_eq!(undone.status, Some(0), "{protocol}: {undone:?}");
    assert!(!person.project().join("notes.md").exists(), "{protocol}: {undone:?}");
    let cleared = person.annals(&["revert", "@last", "--clear"]);
    assert_eq!(cleared.status, Some(0), "{protocol}: {cleared:?}");
    assert!(person.project().join("notes.md").exists(), "{protocol}: {cleared:?}");

    let compacted = person.annals(&["compact", "@last"]);
    assert_eq!(compacted.status, Some(0), "{protocol}: {compacted:?}");
    assert_eq!(run(&["-c", "task20 finish"]), "All is done.\n");
    let verified = person.annals(&["verify", "@last", "--requests", "--wire"]);
    assert_eq!(verified.status, Some(0), "{protocol}: {verified:?}");
    let context = person.annals(&["log", "@last", "--kind", "epoch.started", "--json"]).out;
    assert!(context.contains("The moon is full.") && context.contains("Mind the clock."), "{protocol}: {context}");
    Ok(())
}

#[test]
fn twenty_tasks_are_done_through_chat_completions() {
    through("openai-chat", Aimock::openai).expect("a mock server");
}

#[test]
fn twenty_tasks_are_done_through_responses() {
    through("openai-responses", Aimock::openai).expect("a mock server");
}

#[test]
fn twenty_tasks_are_done_through_messages() {
    through("anthropic-messages", Aimock::anthropic).expect("a mock server");
}
