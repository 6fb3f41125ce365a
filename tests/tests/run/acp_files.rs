//! What `annals acp` asks of an editor: files with what is not saved in them, and questions of the model.

use crate::run::person::Person;
use annals_tests::deadline::{Watched, WithDeadline};
use annals_tests::model::{Model, Says};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Stdio};

type Tested = Result<(), Box<dyn Error>>;

/// An editor that holds files, and chooses the option of a name wherever it is asked.
struct TestEditor {
    agent: Watched,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
    held: BTreeMap<String, String>,
    chooses: Vec<&'static str>,
    asked: Vec<String>,
}

impl TestEditor {
    fn start(person: &Person, chooses: &[&'static str]) -> Result<Self, Box<dyn Error>> {
        let mut agent = person.command(["acp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn_watched()?;
        let to = agent.stdin.take().ok_or("no stdin")?;
        let from = BufReader::new(agent.stdout.take().ok_or("no stdout")?);
        let (held, asked) = (BTreeMap::new(), Vec::new());
        Ok(Self { agent, to, from, next: 0, held, chooses: chooses.to_vec(), asked })
    }

    /// Asks the agent, and does what it asks meanwhile.
    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Box<dyn Error>> {
        self.next += 1;
        let id = self.next;
        writeln!(self.to, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line)? == 0 {
                return Err("the agent has ended".into());
            }
            let message: Value = serde_json::from_str(&line)?;
            match (message.get("method").and_then(Value::as_str), message.get("id")) {
                (None, Some(of)) if *of == json!(id) => return Ok(message["result"].clone()),
                (Some(method), Some(of)) => {
                    let answer = self.does(method, &message["params"])?;
                    writeln!(self.to, "{}", json!({"jsonrpc": "2.0", "id": of, "result": answer}))?;
                }
                _ => {}
            }
        }
    }

    fn does(&mut self, method: &str, params: &Value) -> Result<Value, Box<dyn Error>> {
        let path = params["path"].as_str().unwrap_or_default().to_owned();
        self.asked.push(method.to_owned());
        Ok(match method {
            "fs/read_text_file" => {
                let text = self.held.get(&path).cloned();
                json!({"content": text.map_or_else(|| std::fs::read_to_string(&path), Ok)?})
            }
            "fs/write_text_file" => {
                let text = params["content"].as_str().unwrap_or_default();
                std::fs::write(&path, text)?;
                self.held.insert(path, text.to_owned());
                Value::Null
            }
            _ => {
                let options = params["options"].as_array().cloned().unwrap_or_default();
                let wanted = |option: &&Value| self.chooses.iter().any(|name| option["name"] == *name);
                let option = options.iter().find(wanted).ok_or_else(|| format!("no option of {params}"))?;
                json!({"outcome": {"outcome": "selected", "optionId": option["optionId"]}})
            }
        })
    }
}

impl Drop for TestEditor {
    fn drop(&mut self) {
        drop(self.agent.kill());
        drop(self.agent.wait());
    }
}

#[test]
fn an_editor_gives_what_is_not_saved_writes_edits_itself_and_is_asked_questions() -> Tested {
    let edit = json!({"path": "a.txt", "old_string": "not saved", "new_string": "changed"});
    let question = json!({"question": "Which colour?", "options": ["red", "blue"]});
    let model = Model::start([
        Says::Calls("", vec![("c1", "read", json!({"path": "a.txt"}))]),
        Says::Calls("", vec![("c2", "edit", edit)]),
        Says::Calls("", vec![("c3", "question", question)]),
        Says::Text("Done."),
    ])?;
    let person = Person::with_model(model.url(), "openai-chat");
    let here = person.project().canonicalize()?;
    std::fs::write(here.join("a.txt"), "saved\n")?;
    let mut editor = TestEditor::start(&person, &["Allow once", "blue"])?;
    editor.held.insert(here.join("a.txt").display().to_string(), "not saved\n".into());
    let files = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    editor.ask("initialize", &json!({"protocolVersion": 1, "clientCapabilities": files}))?;
    let opened = editor.ask("session/new", &json!({"cwd": here, "mcpServers": []}))?;
    let prompt = json!({"sessionId": opened["sessionId"], "prompt": [{"type": "text", "text": "change it"}]});
    assert_eq!(editor.ask("session/prompt", &prompt)?["stopReason"], "end_turn");
    assert_eq!(std::fs::read_to_string(here.join("a.txt"))?, "changed\n");
    assert!(editor.asked.iter().any(|method| method == "fs/write_text_file"), "{:?}", editor.asked);
    let received: Vec<String> = model.received().iter().map(ToString::to_string).collect();
    assert!(received.get(1).is_some_and(|body| body.contains("not saved")), "{received:?}");
    assert!(received.last().is_some_and(|body| body.contains("blue")), "{received:?}");
    drop(editor);
    assert_eq!(person.annals(&["verify"]).status, Some(0));
    Ok(())
}
