//! A Session against a mock of the providers that is not ours, through each protocol: text, reasoning, parallel calls,
//! usage, a refusal, an answer that breaks off, a refused request.

use annals_core::event::{ModelProfile, RequestSent, StepEvent};
use annals_core::{Digest, Event};
use annals_projections::{Body, Content, rebuild};
use annals_providers::http::{Endpoint, HttpProvider, KeySource, OneEndpoint};
use annals_providers::wire::{Protocol, encode};
use annals_runtime::permission::FixedApprover;
use annals_runtime::ports::{SeededIds, now_of};
use annals_runtime::settings::{FixedDefinitions, LocationServices, bare_model};
use annals_runtime::testing::{ManualClock, MemoryOutputs};
use annals_runtime::tools::{FunctionTool, Tool, ToolOutput};
use annals_runtime::{NewInput, NewSession, Outcome, Ports, Runtime, Session, Settings};
use annals_store::exchange::{export, verify_session};
use annals_store::views::Views;
use annals_store::{EventLog, MemoryLog};
use annals_tests::aimock::{Aimock, fails, says, says_after_results};
use serde_json::{Value, json};
use std::sync::Arc;

type Tested = Result<(), Box<dyn std::error::Error>>;

const KEY: &str = "sk-planted-0123456789abcdef";

#[test]
fn the_server_is_ready_when_it_has_started_and_gone_when_it_is_dropped() -> Tested {
    let Some(server) = Aimock::start(&[says("hello", "Hi there.")])? else { return Ok(()) };
    assert!(server.received()?.is_empty());
    let address = server.url().trim_start_matches("http://").to_owned();
    drop(server);
    assert!(std::net::TcpStream::connect(address).is_err());
    Ok(())
}

#[tokio::test]
async fn a_session_runs_through_openai_chat_completions() -> Tested {
    through(Protocol::OpenAiChat, "/v1/chat/completions").await
}

#[tokio::test]
async fn a_session_runs_through_openai_responses() -> Tested {
    through(Protocol::OpenAiResponses, "/v1/responses").await
}

#[tokio::test]
async fn a_session_runs_through_anthropic_messages() -> Tested {
    through(Protocol::AnthropicMessages, "/v1/messages").await
}

fn fixtures() -> Vec<Value> {
    let usage = |input: u64, output: u64| json!({"prompt_tokens": input, "completion_tokens": output});
    let call = |id: &str, at: &str| json!({"id": id, "name": "look", "arguments": {"at": at}});
    let mut weather = says("weather", "Let me look.");
    weather["response"]["reasoning"] = json!("Two places to look at.");
    weather["response"]["toolCalls"] = json!([call("call_a", "Lisbon"), call("call_b", "Paris")]);
    weather["response"]["usage"] = usage(40, 9);
    let mut sunny = says_after_results("weather", "Sunny in both, from São Paulo to 東京.");
    sunny["response"]["usage"] = usage(70, 5);
    let mut all = vec![weather, sunny];
    all.extend(fails("hurry", 1, 429, "slow down"));
    let mut there = says("hurry", "Here you are.");
    there["response"]["usage"] = usage(100, 4);
    let mut cut = says(
        "a long story",
        "Once upon a time there was a server that went away, and nobody knew when it would come home.",
    );
    // With a pause between chunks they are under way before the connection is cut.
    cut["truncateAfterChunks"] = json!(8);
    cut["latency"] = json!(20);
    let mut rest = says("cut off", "and it came back.");
    rest["response"]["usage"] = usage(120, 6);
    all.extend([there, cut, rest]);
    all
}

async fn through(protocol: Protocol, path: &str) -> Tested {
    let Some(server) = Aimock::start_with(&fixtures(), &["--chunk-size", "7"])? else { return Ok(()) };
    let base = match protocol {
        Protocol::OpenAiChat | Protocol::OpenAiResponses => server.openai(),
        Protocol::AnthropicMessages => server.anthropic(),
    };
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let runtime = runtime(&log, protocol, &base)?;
    let session = runtime.create(NewSession::at("/project", "build", "test/alpha")).await?;
    let say = async |text: &str| {
        session.admit(NewInput::steer(text)).await.map_err(|refused| refused.to_string())?;
        session.run().await.map_err(|failed| failed.to_string())
    };

    assert_eq!(say("what is the weather?").await, Ok(Outcome::Idle));
    assert_eq!(say("hurry up").await, Ok(Outcome::Idle));
    assert_eq!(say("tell me a long story").await, Ok(Outcome::Idle));
    let unmatched = say("nobody expects this").await.err().ok_or("no fixture matches")?;
    assert!(unmatched.contains("404"), "{unmatched}");

    let history = history(&session).await?;
    let calls = "assistant tool-calls: (Two places to look at.) | Let me look. | look=completed(seen at Lisbon) | \
                 look=completed(seen at Paris)";
    let expected = [
        "user what is the weather?",
        calls,
        "assistant stop: Sunny in both, from São Paulo to 東京.",
        "user hurry up",
        "assistant stop: Here you are.",
        "user tell me a long story",
    ];
    assert_eq!(history[..6], expected);
    assert!(history[6].starts_with("assistant error: Once") && !history[6].contains("come home"), "{history:?}");
    assert_eq!(history[7..9], ["synthetic", "assistant stop: and it came back."]);
    let view = session.view().await?;
    assert!(view.usage.tokens.input >= 40 + 70 + 100 + 120, "{:?}", view.usage.tokens);
    assert!(view.usage.tokens.output >= 9 + 5 + 4 + 6, "{:?}", view.usage.tokens);

    let received = server.received()?;
    assert!(received.iter().all(|request| request["path"] == path), "{received:?}");
    assert_eq!(received.len(), rebuilt(&log, &session).await?, "every request is in the log, and only those");
    sound(&*log, &session).await
}

fn runtime(log: &Arc<dyn EventLog>, protocol: Protocol, base: &str) -> Result<Runtime, Box<dyn std::error::Error>> {
    let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
    let key = KeySource::Command(["echo", KEY].map(Into::into).to_vec());
    let endpoints = OneEndpoint(Endpoint::at(base).key(key));
    let model = ModelProfile {
        id: "mock-1".into(),
        protocol: protocol.as_str().into(),
        encoding: protocol.encoding(),
        ..bare_model(&"test/alpha".into(), 200_000, 32_000)
    };
    let services = LocationServices::default();
    let schema = json!({"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]});
    let style = FunctionTool::new("look", "Looks at the weather of a place.", &schema, |input: Value, _| async move {
        Ok(ToolOutput::text(format!("seen at {}", input["at"].as_str().unwrap_or_default())))
    });
    services.tools.register([Arc::new(style) as Arc<dyn Tool>])?.detach();
    let ports = Ports {
        log: log.clone(),
        provider: Arc::new(HttpProvider::new(Arc::new(endpoints), now_of(clock.clone()))),
        clock: clock.clone(),
        ids: Arc::new(SeededIds::scripted(1)),
        outputs: Arc::new(MemoryOutputs::new(clock)),
        approver: Arc::new(FixedApprover::allowing("user")),
        locations: Arc::new(services),
        definitions: Arc::new(FixedDefinitions::default().model(model)),
    };
    Ok(Runtime::new(ports, Settings::default()))
}

async fn history(session: &Session) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let (view, blobs) = (session.view().await?, session.blobs());
    let line = |body: &Body| match body {
        Body::User { text, .. } => format!("user {}", text.resolve(&*blobs)),
        Body::Synthetic { .. } => "synthetic".into(),
        Body::Assistant(answer) => {
            let content = answer.content.iter().map(|content| match content {
                Content::Text { text, .. } => text.resolve(&*blobs).into_owned(),
                Content::Reasoning { text, .. } => format!("({})", text.resolve(&*blobs)),
                Content::Tool(tool) => {
                    let result = tool.error.as_ref().unwrap_or(&tool.output).resolve(&*blobs);
                    format!("{}={}({result})", tool.name, tool.status.as_str())
                }
            });
            let content = content.collect::<Vec<_>>().join(" | ");
            format!("assistant {}: {content}", answer.finish.map_or("open", |finish| finish.as_str()))
        }
        other => format!("{other:?}"),
    };
    Ok(view.history.selected().map(|message| line(&message.body)).collect())
}

/// Rebuilds every request from the log, proves its digests, and gives how many there are.
async fn rebuilt(log: &Arc<dyn EventLog>, session: &Session) -> Result<usize, Box<dyn std::error::Error>> {
    let marks = session.view().await?.requests.marks.clone();
    for mark in marks.iter() {
        let (before, _) = Views::new(log.clone(), None).whole(session.id(), mark.seq).await?;
        let batch = log.read(session.id(), mark.seq, 1).await?;
        let sent: Option<Box<RequestSent>> =
            batch.iter().flat_map(|slice| slice.records()).find_map(|record| match record.event {
                Event::Step(StepEvent::RequestSent(sent)) => Some(sent.clone()),
                _ => None,
            });
        let sent = sent.ok_or("the mark names its event")?;
        let request = rebuild(&before, &sent, &*session.blobs())?;
        assert_eq!(request.digest(), sent.digest);
        let body = encode(&request, session.id())?.ok_or("it is encoded")?;
        assert_eq!(Some(Digest::of(&body.bytes)), sent.wire);
    }
    Ok(marks.len())
}

/// The log verifies, nothing is impossible or left open in it, and the key stands nowhere.
async fn sound(log: &dyn EventLog, session: &Session) -> Tested {
    let report = verify_session(log, session.id(), None, &mut |_| {}).await?;
    assert!(report.is_sound(), "{report:?}");
    let view = session.view().await?;
    assert!(view.anomalies().is_empty() && view.calls.open.is_empty() && !view.calls.step_open);
    let mut exported = Vec::new();
    export(log, session.id(), &mut exported, &mut |_| {}).await?;
    assert!(!String::from_utf8(exported)?.contains(KEY));
    Ok(())
}
