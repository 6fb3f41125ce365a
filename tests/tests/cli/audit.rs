//! `annals audit` on a session that a host ran with rules, questions and a sandbox.

use crate::cli::command::{Annals, fixture};
use crate::cli::validate::wrong;
use annals_core::Json;
use annals_core::event::{AgentProfile, Effect, Rule};
use annals_runtime::permission::{Answered, Approver, PermissionAnswer, PermissionQuestion};
use annals_runtime::ports::SeededIds;
use annals_runtime::settings::{FixedDefinitions, LocationServices, Settings, bare_model};
use annals_runtime::testing::{ManualClock, MemoryOutputs, ScriptedAttempt, ScriptedProvider};
use annals_runtime::tools::{FunctionTool, Tool, ToolOutput};
use annals_runtime::{Boxed, NewInput, NewSession, Ports, Runtime};
use annals_store::{DiskLog, OpenMode};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

type Tested = Result<(), Box<dyn std::error::Error>>;

/// Gives these answers, in order.
struct Replies(Mutex<VecDeque<Answered>>);

impl Approver for Replies {
    fn ask(&self, _: PermissionQuestion) -> Boxed<'_, Answered> {
        let next = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let rejected = || Answered::by_user(PermissionAnswer::Reject { feedback: Some("no".into()) });
        Box::pin(async move { next.unwrap_or_else(rejected) })
    }
}

/// A tool whose calls are judged on a member of their input, and whose results say what `sandbox` gives for it.
fn tool(name: &str, action: &str, member: &'static str, sandbox: fn(&str) -> Option<Value>) -> Arc<dyn Tool> {
    let of = move |input: &Value| input[member].as_str().unwrap_or_default().to_owned();
    let run = move |input: Value, _| {
        let structured = sandbox(&of(&input)).map(|note| Json::canonical(&note));
        async move { Ok(ToolOutput { structured, ..ToolOutput::text("DB_PASSWORD=Tr0ub4dor-and-3") }) }
    };
    let tool = FunctionTool::new(name, "A tool.", &json!({"type": "object"}), run);
    Arc::new(tool.judged(action, move |input: &Value| vec![of(input)]))
}

fn sandbox(command: &str) -> Option<Value> {
    let enforced = |network: bool, refused: bool| {
        json!({"exit": 1, "sandbox": {"landlock": 4, "seccomp": true, "bubblewrap": false, "network": network,
               "writable": true, "refused": refused, "put_back": []}})
    };
    match command {
        "make" => Some(enforced(false, true)),
        "curl example.org" => Some(json!({"exit": 0, "sandbox": {"outside": true}})),
        "true" => Some(json!({"exit": 0})),
        _ => Some(enforced(true, false)),
    }
}

async fn host(store: &Path) -> Tested {
    let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
    let services = LocationServices::default();
    let tools = [
        tool("bash", "bash", "command", sandbox),
        tool("edit", "edit", "path", |_| None),
        tool("read", "read", "path", |_| None),
    ];
    services.tools.register(tools)?.detach();
    let call =
        |number: usize, tool: &str, input: Value| ScriptedAttempt::call(format!("c{number}"), tool, input.to_string());
    let bash = |number: usize, command: &str| call(number, "bash", json!({ "command": command }));
    let attempts = vec![
        bash(1, "cargo test"),
        bash(2, "rm -rf build"),
        bash(3, "make"),
        bash(4, "make"),
        bash(5, "curl example.org"),
        bash(6, "true"),
        call(7, "read", json!({"path": "../secrets/\u{202e}key"})),
        call(8, "edit", json!({"path": "src/main.rs"})),
        ScriptedAttempt::text("Done."),
    ];
    let rule = |action: &str, resource: &str, effect| Rule { action: action.into(), resource: resource.into(), effect };
    let permissions = vec![
        rule("read", "*", Effect::Allow),
        rule("bash", "cargo *", Effect::Allow),
        rule("bash", "true", Effect::Allow),
        rule("bash", "rm *", Effect::Deny),
    ];
    let profile = AgentProfile { agent: "build".into(), system: None, steps: None, permissions };
    let once = Answered { answer: PermissionAnswer::Once, by: "--yes".into() };
    let replies = Replies(Mutex::new([Answered::by_user(PermissionAnswer::Always), once].into()));
    let model = bare_model(&"test/alpha".into(), 200_000, 32_000);
    let ports = Ports {
        log: Arc::new(DiskLog::open(store, OpenMode::Create)?.0),
        provider: Arc::new(ScriptedProvider::new(attempts)),
        clock: clock.clone(),
        ids: Arc::new(SeededIds::scripted(1)),
        outputs: Arc::new(MemoryOutputs::new(clock)),
        approver: Arc::new(replies),
        locations: Arc::new(services),
        definitions: Arc::new(FixedDefinitions::default().model(model).agent(profile)),
    };
    let runtime = Runtime::new(ports, Settings::default());
    let new = NewSession { title: Some("Build it".into()), ..NewSession::at("/srv/project", "build", "test/alpha") };
    let session = runtime.create(new).await?;
    session.admit(NewInput::steer("build it")).await?;
    session.run().await?;
    Ok(())
}

fn hosted() -> Result<Annals, Box<dyn std::error::Error>> {
    let annals = Annals::new();
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    events.block_on(host(&annals.store()))?;
    Ok(annals)
}

fn in_json(annals: &Annals, args: &[&str]) -> Result<Value, Box<dyn std::error::Error>> {
    let answer = annals.run(&[args, &["--json"]].concat());
    assert_eq!(answer.status, 0, "{args:?}: {}", answer.remarks);
    Ok(serde_json::from_str(&answer.out)?)
}

#[test]
fn an_audit_shows_who_or_which_rule_decided_and_how_commands_ran() -> Tested {
    let annals = hosted()?;
    insta::assert_snapshot!(annals.show(&["audit", "@last"]));
    Ok(())
}

#[test]
fn an_audit_in_json_has_every_decision_and_follows_its_schema() -> Tested {
    let annals = hosted()?;
    let found = in_json(&annals, &["audit", "@last", "--calls"])?;
    let schema: Value = serde_json::from_str(&annals.run(&["schema", "audit"]).out)?;
    assert_eq!(wrong(&schema, &found), None);
    let calls = found["listed"].as_array().cloned().unwrap_or_default();
    let decided: Vec<String> = calls
        .iter()
        .map(|call| {
            let decision = &call["decisions"][0];
            let rule = &decision["rule"];
            let words = [&decision["outcome"], &decision["by"], &rule["resource"], &call["confinement"]];
            words.map(|word| word.as_str().unwrap_or("-")).join(" ")
        })
        .collect();
    assert_eq!(
        decided,
        [
            "allowed rule cargo * confined",
            "denied rule rm * not-run",
            "allowed-always user - confined",
            "allowed rule make confined",
            "allowed --yes - outside",
            "allowed rule true unconfined",
            "allowed rule * -",
            "rejected user - -",
        ]
    );
    assert_eq!(calls[3]["decisions"][0]["approved"], calls[2]["decisions"][0]["replied"]);
    assert!(calls[3]["decisions"][0]["approved"].is_u64());
    assert_eq!((&calls[2]["refused"], &calls[0]["network"]), (&json!(true), &json!(true)));
    let outside = calls[6]["outside_project"][0].as_str().unwrap_or_default();
    assert_eq!(outside, "/srv/secrets/\u{202e}key");
    assert_eq!(found["redactions"]["assigned-secret"], 6, "the denied and the rejected call have no output");
    assert_eq!(found["requests"], json!({"test/alpha": 9}));
    let commands = &found["commands"];
    assert_eq!((&commands["confined"], &commands["outside"], &commands["not_run"]), (&json!(3), &json!(1), &json!(1)));
    Ok(())
}

#[test]
fn an_audit_lists_no_more_calls_than_asked_for_and_counts_the_others() -> Tested {
    let annals = hosted()?;
    let found = in_json(&annals, &["audit", "@last", "--calls", "-n", "2"])?;
    let listed: Vec<&Value> = found["listed"].as_array().into_iter().flatten().map(|call| &call["tool"]).collect();
    assert_eq!((listed, &found["omitted"]), (vec![&json!("read"), &json!("edit")], &json!(6)));
    assert_eq!(found["calls"], 8);
    let notable = in_json(&annals, &["audit", "@last"])?;
    assert_eq!(notable["listed"].as_array().map(Vec::len), Some(5 + 1), "two plain commands are only counted");
    Ok(())
}

#[test]
fn an_audit_of_a_project_counts_other_agents_apart_and_a_fork_once() -> Tested {
    let annals = hosted()?;
    let id = in_json(&annals, &["sessions"])?[0]["id"].as_str().unwrap_or_default().to_owned();
    let alone = in_json(&annals, &["audit", "--all"])?;
    assert_eq!((&alone["sessions"], &alone["calls"]), (&json!(1), &json!(8)));
    assert_eq!(annals.run(&["fork", &id]).status, 0);
    let forked = in_json(&annals, &["audit", "--all"])?;
    assert_eq!((&forked["sessions"], &forked["calls"]), (&json!(2), &json!(8)), "a fork repeats nothing");
    assert_eq!(in_json(&annals, &["audit", "@last"])?["calls"], 8, "what a fork inherits belongs to it");
    assert_eq!(annals.run(&["import", &fixture("claude-code/tools-and-compaction.jsonl")]).status, 0);
    let all = in_json(&annals, &["audit", "--all"])?;
    let foreign = all["not_recorded"].as_u64().unwrap_or_default();
    assert!(foreign > 0, "{all}");
    assert_eq!(all["calls"], 8 + foreign);
    assert_eq!(all["decisions"], forked["decisions"]);
    let here = in_json(&annals, &["audit", "--project", "project"])?;
    assert_eq!((&here["sessions"], &here["not_recorded"]), (&json!(2), &json!(0)));
    Ok(())
}
