//! Ten reads of 50 KB in one turn, in windows of every size, through each protocol.

use annals_core::event::{CompactionReason, ModelProfile, Prices, Purpose, SystemMessages};
use annals_projections::{Body, ContextLimits, SCRIPTED_PROTOCOL};
use annals_providers::wire::{Protocol, decoder};
use annals_runtime::permission::FixedApprover;
use annals_runtime::ports::{AnswerStream, Provider, ProviderRequest, SeededIds};
use annals_runtime::settings::{CompactionSettings, FixedDefinitions, LocationServices};
use annals_runtime::testing::{ManualClock, MemoryOutputs};
use annals_runtime::tools::{FunctionTool, Tool, ToolOutput};
use annals_runtime::{NewInput, NewSession, Outcome, Ports, Runtime, Session, Settings};
use annals_store::MemoryLog;
use futures_util::{StreamExt, stream};
use serde_json::json;
use std::sync::{Arc, Mutex};

const READS: usize = 10;
const REQUEST: &str = "Read all ten files, never write to main.";

/// A model that reads one file after the other, then answers; and the sizes of the requests that it got.
struct Reader {
    protocol: Protocol,
    calls: Mutex<usize>,
    turns: Mutex<Vec<u64>>,
    summaries: Mutex<usize>,
}

impl Provider for Reader {
    fn send(&self, request: ProviderRequest) -> AnswerStream {
        assert!(request.body.is_some(), "it is encoded");
        let answer = match request.request.purpose {
            Purpose::Summary => {
                *self.summaries.lock().unwrap() += 1;
                says(self.protocol, "Some files were read.")
            }
            Purpose::Turn | Purpose::Title | Purpose::Other => {
                self.turns.lock().unwrap().push(request.request.chars());
                let mut calls = self.calls.lock().unwrap();
                *calls += 1;
                if *calls <= READS { reads(self.protocol, *calls) } else { says(self.protocol, "All are read.") }
            }
        };
        let mut decoder = decoder(self.protocol);
        let decoded: Vec<_> =
            answer.iter().flat_map(|data| decoder.event("", &data.to_string()).unwrap()).map(Ok).collect();
        let end = if self.protocol == Protocol::OpenAiChat { decoder.event("", "[DONE]").unwrap() } else { Vec::new() };
        stream::iter(decoded.into_iter().chain(end.into_iter().map(Ok)).collect::<Vec<_>>()).boxed()
    }
}

fn reads(protocol: Protocol, at: usize) -> Vec<serde_json::Value> {
    let (id, input) = (format!("call_{at}"), format!("{{\"path\":\"f{at}.txt\"}}"));
    match protocol {
        Protocol::OpenAiChat => vec![
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": id, "type": "function",
                "function": {"name": "read", "arguments": input}}]}}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        ],
        Protocol::OpenAiResponses => vec![
            json!({"type": "response.output_item.added", "output_index": 0,
                "item": {"id": format!("fc_{at}"), "type": "function_call", "call_id": id, "name": "read", "arguments": ""}}),
            json!({"type": "response.output_item.done", "output_index": 0,
                "item": {"id": format!("fc_{at}"), "type": "function_call", "call_id": id, "name": "read", "arguments": input}}),
            json!({"type": "response.completed", "response": {"usage": {"input_tokens": 9, "output_tokens": 2}}}),
        ],
        Protocol::AnthropicMessages => vec![
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0,
                "content_block": {"type": "tool_use", "id": id, "name": "read", "input": {}}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": input}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ],
    }
}

fn says(protocol: Protocol, text: &str) -> Vec<serde_json::Value> {
    match protocol {
        Protocol::OpenAiChat => {
            vec![json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]})]
        }
        Protocol::OpenAiResponses => vec![
            json!({"type": "response.output_item.added", "output_index": 0,
                "item": {"id": "msg", "type": "message", "content": []}}),
            json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text}),
            json!({"type": "response.output_item.done", "output_index": 0,
                "item": {"id": "msg", "type": "message", "content": [{"type": "output_text", "text": text}]}}),
            json!({"type": "response.completed", "response": {"usage": {"input_tokens": 9, "output_tokens": 2}}}),
        ],
        Protocol::AnthropicMessages => vec![
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ],
    }
}

/// A session with the window of a model.
async fn session(model: &ModelProfile, provider: Arc<Reader>) -> Session {
    let services = LocationServices::default();
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let line = "fifty thousand characters make one large file\n";
    let read = FunctionTool::new("read", "Reads a file.", &schema, move |_: serde_json::Value, _| async move {
        Ok(ToolOutput::text(line.repeat(50_000 / line.len())))
    });
    services.tools.register([Arc::new(read) as Arc<dyn Tool>]).unwrap().detach();
    let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
    let ports = Ports {
        log: Arc::new(MemoryLog::new()),
        provider,
        clock: clock.clone(),
        ids: Arc::new(SeededIds::scripted(1)),
        outputs: Arc::new(MemoryOutputs::new(clock)),
        approver: Arc::new(FixedApprover::allowing("user")),
        locations: Arc::new(services),
        definitions: Arc::new(FixedDefinitions::default().model(model.clone())),
    };
    let runtime = Runtime::new(ports, Settings::default());
    runtime.create(NewSession::at("/project", "build", "test/alpha")).await.unwrap()
}

async fn ten_reads_end_well(protocol: Protocol, context: u64, output: u64) {
    let model = ModelProfile {
        model: "test/alpha".into(),
        id: "alpha-1".into(),
        context,
        output,
        system_messages: SystemMessages::Wrapped,
        media: Vec::new(),
        prices: Prices::default(),
        protocol: protocol.as_str().into(),
        encoding: protocol.encoding(),
    };
    assert_ne!(model.protocol, SCRIPTED_PROTOCOL, "definitions of tools count");
    let provider =
        Arc::new(Reader { protocol, calls: Mutex::default(), turns: Mutex::default(), summaries: Mutex::default() });
    let session = session(&model, provider.clone()).await;
    session.admit(NewInput::steer(REQUEST)).await.unwrap();
    assert_eq!(session.run().await.unwrap(), Outcome::Idle, "{protocol}, {context}");
    let CompactionSettings { buffer, keep_tokens, .. } = CompactionSettings::default();
    let limits = ContextLimits::of(&model, buffer, keep_tokens);
    let sizes = provider.turns.lock().unwrap().clone();
    assert_eq!(sizes.len(), READS + 1, "{protocol}, {context}: {sizes:?}");
    assert!(sizes.iter().all(|size| !limits.exceeded_by(*size)), "{protocol}, {context}: {sizes:?}");
    let view = session.view().await.unwrap();
    let request = view.history.selected().find_map(|message| message.user_text().cloned());
    assert_eq!(request.as_ref().and_then(|text| text.inline()), Some(REQUEST), "the request is in the history");
    assert!(view.history.selected().all(|message| match &message.body {
        Body::Compaction { reason, .. } => *reason == CompactionReason::Auto,
        _ => true,
    }));
    // Every further prompt is answered as well, and a summary by hand.
    session.admit(NewInput::steer("And now?")).await.unwrap();
    assert_eq!(session.run().await.unwrap(), Outcome::Idle, "{protocol}, {context}");
    session.compact().await.unwrap();
    session.admit(NewInput::steer("Go on.")).await.unwrap();
    assert_eq!(session.run().await.unwrap(), Outcome::Idle, "{protocol}, {context}");
    assert!(*provider.summaries.lock().unwrap() >= 1);
}

#[tokio::test]
async fn ten_large_reads_end_well_in_every_window_through_each_protocol() {
    for protocol in [Protocol::OpenAiChat, Protocol::OpenAiResponses, Protocol::AnthropicMessages] {
        for (context, output) in [(4_000, 500), (4_000, 0), (8_192, 1_000), (32_768, 4_096), (128_000, 16_000)] {
            ten_reads_end_well(protocol, context, output).await;
        }
    }
}
