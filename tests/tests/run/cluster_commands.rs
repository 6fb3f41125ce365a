//! Every command that works with a model or follows, over a store that machines share.

use crate::nats::cluster::Cluster;
use crate::run::cluster::{fine, two_machines};
use crate::run::person::Person;
use crate::run::serving::Served;
use crate::run::terminal::Terminal;
use annals_tests::deadline::WithDeadline;
use annals_tests::model::{Model, Says};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

/// The id of the newest session.
fn newest(person: &Person) -> String {
    person.json(&["sessions", "--all", "--json"])[0]["id"].as_str().expect("an id").to_owned()
}

/// The first line that a command prints with a text in it; the command is ended then.
fn first_with(person: &Person, args: &[&str], text: &str, then: impl FnOnce()) -> String {
    let mut child = person.command(args).spawn_watched().expect("it runs");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut then = Some(then);
    for line in lines.map_while(Result::ok) {
        // It follows: what was there is shown.
        if let Some(then) = then.take() {
            then();
        }
        if line.contains(text) {
            child.kill().expect("a process");
            child.wait().expect("its end");
            return line;
        }
    }
    panic!("{args:?} ended without {text:?}: {:?}", child.wait());
}

#[test]
fn sessions_in_a_cluster_are_searched_counted_followed_and_walked_through() {
    let Some(cluster) = Cluster::start(3) else { return };
    let model = Model::start([Says::Text("The first answer.")]).expect("a server");
    let [one, other] = two_machines(&model, &cluster);
    fine(&one, &["import", concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/codex")]);
    fine(&one, &["run", "First question."]);
    let session = newest(&other);
    assert!(fine(&other, &["search", "--all", "First question"]).contains("First question."));
    assert!(fine(&other, &["usage", "--all"]).contains("total"));
    assert!(fine(&other, &["usage", &session]).contains("mock/one"));
    let counted = other.json(&["sql", "select count(*) as n from sessions", "--json"]);
    assert_eq!(counted.pointer("/0/n").or_else(|| counted.pointer("/rows/0/0")), Some(&json!(3)), "{counted}");
    for follows in [&["log", "--follow", &session][..], &["replay", "--follow", &session]] {
        model.then([Says::Text("A later answer.")]);
        let line = first_with(&other, follows, "A later answer.", || {
            fine(&one, &["run", "-s", &session, "A later question."]);
        });
        assert!(line.contains("A later answer."));
    }
    let mut tui = Terminal::open(&other, &["tui", &session, "--all"]);
    tui.expect("Changes");
    tui.send("q");
    assert_eq!(tui.ended(), 0);
    assert!(fine(&other, &["verify"]).contains("integrity verified"));
}

#[test]
fn chat_the_server_and_an_editor_continue_each_others_sessions_in_a_cluster() {
    let Some(cluster) = Cluster::start(3) else { return };
    let model = Model::start([Says::Text("In the chat.")]).expect("a server");
    let [one, other] = two_machines(&model, &cluster);
    let mut chat = Terminal::open(&one, &["chat"]);
    chat.expect("a message · @file");
    chat.send("Typed.\r");
    chat.expect("In the chat.");
    chat.send("/exit\r");
    assert_eq!(chat.ended(), 0);
    let session = newest(&other);
    let served = Served::start(&other, &["--write"]);
    model.then([Says::Text("In the browser.")]);
    served.post(&format!("/sessions/{session}/inputs"), &json!({"text": "Clicked."}));
    let said = |text: &str| {
        for _ in 0..600 {
            if fine(&one, &["transcript", &session]).contains(text) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("{text:?} is not in the session");
    };
    said("In the browser.");
    drop(served);
    model.then([Says::Text("In the editor.")]);
    let here = other.project().canonicalize().expect("a folder");
    let mut agent = one.command(["acp"]).stdin(Stdio::piped()).spawn_watched().expect("it runs");
    let mut stdin = agent.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(agent.stdout.take().expect("a pipe")).lines();
    let mut ask = |id: u32, method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(stdin, "{request}").expect("it reads");
        loop {
            let line = lines.next().expect("an answer").expect("a line");
            let answer: Value = serde_json::from_str(&line).expect("JSON");
            if answer["id"] == json!(id) {
                assert_eq!(answer["error"], Value::Null, "{answer}");
                return answer["result"].clone();
            }
        }
    };
    ask(0, "initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}));
    ask(1, "session/load", json!({"sessionId": session, "cwd": here, "mcpServers": []}));
    let prompt = json!([{"type": "text", "text": "Written in the editor."}]);
    let ended = ask(2, "session/prompt", json!({"sessionId": session, "prompt": prompt}));
    assert_eq!(ended["stopReason"], "end_turn");
    drop(stdin);
    agent.wait().expect("its end");
    said("In the editor.");
    assert!(fine(&other, &["verify", "--requests", &session]).contains("integrity verified"));
}

#[test]
fn a_program_is_recorded_into_a_cluster() {
    let Some(cluster) = Cluster::start(1) else { return };
    let model = Model::start([Says::Text("Recorded.")]).expect("a server");
    let person = Person::with_model(model.url(), "openai-chat");
    let address = cluster.address("recorded").to_string();
    fine(&person, &["store", "create", &address, "--replicas", "1", "--monitor", &cluster.monitors()[0]]);
    let program = "import json, os, urllib.request\n\
        body = json.dumps({'model': 'm', 'stream': True, 'messages': [{'role': 'user', 'content': 'Say it.'}]})\n\
        request = urllib.request.Request(os.environ['OPENAI_BASE_URL'] + '/chat/completions', body.encode(), \
        {'content-type': 'application/json', 'authorization': 'Bearer x'})\n\
        print(urllib.request.urlopen(request).read().decode())\n";
    person.write("ask.py", program);
    let upstream = model.url().trim_end_matches("/v1").to_owned();
    let args = ["record", "--store", &address, "--agent", "any", "--upstream", &upstream, "--", "python3", "ask.py"];
    let recorded = person.annals(&args);
    assert_eq!(recorded.status, Some(0), "{recorded:?}");
    let sessions = person.json(&["sessions", "--all", "--json", "--store", &address]);
    let session = sessions[0]["id"].as_str().expect("an id");
    let verified = fine(&person, &["verify", session, "--requests", "--wire", "--store", &address]);
    assert!(verified.contains("integrity verified"), "{verified}");
}
