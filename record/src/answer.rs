//! Answers decoded: streams by the decoders of the protocols, single JSON bodies by way of the events that a stream would have had.

mod choices;

use crate::capture::CapturedAnswer;
use annals_core::event::{AnswerId, Failure, Finish, Usage};
use annals_providers::provider::{ProviderError, ProviderEvent};
use annals_providers::recorded::{self, DecodedAnswer, RecordedProtocol, WireItem};
use annals_providers::wire::{Decoder, Protocol, RetryAdvice, decoder, refusal};
use choices::StreamEvents;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Reads an answer. `body` is its content as far as it arrived.
pub(crate) fn answer(
    protocol: RecordedProtocol,
    captured: &CapturedAnswer,
    body: &str,
    complete: bool,
) -> DecodedAnswer {
    let fault = captured.fault.as_deref();
    let Some(status) = captured.status else {
        return failed("transport", fault.unwrap_or("the provider could not be reached"), None);
    };
    if !(200..300).contains(&status) {
        let spoken = match protocol {
            RecordedProtocol::Spoken(protocol) => protocol,
            // Refusals differ in their words alone.
            RecordedProtocol::Gemini => Protocol::OpenAiChat,
        };
        let error = refusal(spoken, status, RetryAdvice::default(), body);
        return DecodedAnswer { error: Some(failure(&error)), ..DecodedAnswer::default() };
    }
    let media = captured.media.as_deref();
    let streamed = media.is_some_and(|media| media.starts_with("text/event-stream")) || is_stream(body);
    let (mut answer, error) = match protocol {
        RecordedProtocol::Spoken(protocol) => spoken(protocol, body, streamed),
        RecordedProtocol::Gemini => {
            let mut answer = recorded::gemini_answer(&chunks(body, streamed));
            let error = answer.error.take();
            (answer, error.or_else(|| Some(incomplete())))
        }
    };
    answer.error = match (answer.finish, error) {
        (Some(_), _) => None,
        (None, error) if complete => Some(error.unwrap_or_else(incomplete)),
        (None, _) => {
            let why = fault.unwrap_or("the agent ended the request before the answer was complete");
            Some(Failure { kind: "interrupted".to_owned(), message: why.into(), status: None })
        }
    };
    if matches!(protocol, RecordedProtocol::Spoken(Protocol::AnthropicMessages | Protocol::OpenAiResponses)) {
        let request = captured.request_id.clone();
        answer.id = message_id(body, streamed).map(|message| AnswerId { message, request });
    }
    if protocol == RecordedProtocol::Spoken(Protocol::OpenAiResponses) {
        answer.items_ids = items_ids(body, streamed);
    }
    answer
}

/// Reads an answer with the decoder of its protocol; gives why it is not complete, too.
fn spoken(protocol: Protocol, body: &str, streamed: bool) -> (DecodedAnswer, Option<Failure>) {
    if let Some(error) = choices::error(body).filter(|_| !streamed) {
        return (DecodedAnswer::default(), Some(error));
    }
    let mut events = if streamed { streamed_events(body) } else { single(protocol, body) };
    let mut others = Vec::new();
    if protocol == Protocol::OpenAiChat {
        let mut all = choices::by_choice(events).into_iter();
        events = all.next().unwrap_or_default();
        others = all.flat_map(|events| choices::items(&events)).collect();
    }
    let (mut answer, mut error) = read(protocol, &events);
    // A gateway may send all of it in the last event.
    if protocol == Protocol::OpenAiResponses
        && answer.items.is_empty()
        && let Some(response) = choices::completed(&events)
    {
        (answer, error) = read(protocol, &response_items(&response));
    }
    answer.items.extend(others);
    (answer, error.as_ref().map(failure))
}

/// Reads the events of a stream.
fn read(protocol: Protocol, events: &StreamEvents) -> (DecodedAnswer, Option<ProviderError>) {
    let (mut assembly, mut decoder) = (Assembly::default(), decoder(protocol));
    let mut error = None;
    for (name, data) in events {
        if let Err(found) = assembly.take(&mut decoder, name, data) {
            error = Some(found);
            break;
        }
    }
    if error.is_none() && assembly.finish.is_none() {
        error = assembly.end(&mut decoder).err();
    }
    (assembly.answer(), error)
}

fn incomplete() -> Failure {
    let message = "the answer broke off before it was complete";
    Failure { kind: "incomplete-stream".to_owned(), message: message.into(), status: None }
}

/// The id of a message of Anthropic, or of a response of OpenAI.
fn message_id(body: &str, streamed: bool) -> Option<String> {
    let first = if streamed {
        streamed_events(body.get(..body.len().min(64 << 10))?).into_iter().next()?.1
    } else {
        body.to_owned()
    };
    let first: Value = serde_json::from_str(&first).ok()?;
    let message = if streamed { first.get("message").or_else(|| first.get("response"))? } else { &first };
    message.get("id")?.as_str().map(str::to_owned)
}

/// The ids of the items of a response.
fn items_ids(body: &str, streamed: bool) -> Vec<String> {
    let id = |item: &Value| item.get("id")?.as_str().map(str::to_owned);
    if streamed {
        let events = streamed_events(body).into_iter();
        let done = events.filter(|(_, data)| data.contains("response.output_item.done"));
        let done = done.filter_map(|(_, data)| serde_json::from_str::<Value>(&data).ok());
        return done.filter_map(|event| id(event.get("item")?)).collect();
    }
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    body.get("output").and_then(Value::as_array).into_iter().flatten().filter_map(id).collect()
}

/// The chunks of an answer of Gemini: events, or the elements of a list.
fn chunks(body: &str, streamed: bool) -> Vec<Value> {
    if streamed {
        let events = streamed_events(body).into_iter();
        return events.filter_map(|(_, data)| serde_json::from_str(&data).ok()).collect();
    }
    match serde_json::from_str(body) {
        Ok(Value::Array(chunks)) => chunks,
        Ok(chunk) => vec![chunk],
        Err(_) => Vec::new(),
    }
}

fn failed(kind: &str, message: &str, status: Option<u16>) -> DecodedAnswer {
    let error = Failure { kind: kind.to_owned(), message: message.into(), status };
    DecodedAnswer { error: Some(error), ..DecodedAnswer::default() }
}

fn failure(error: &ProviderError) -> Failure {
    Failure { kind: error.kind.as_str().to_owned(), message: error.message.as_str().into(), status: error.status }
}

fn is_stream(body: &str) -> bool {
    let start = body.trim_start_matches('\u{feff}').trim_start();
    start.starts_with("event:") || start.starts_with("data:")
}

/// The events of a stream, each with its name and data.
pub(crate) fn streamed_events(body: &str) -> Vec<(String, String)> {
    let mut events = Vec::new();
    let (mut name, mut data) = (String::new(), None::<String>);
    let lines = body.trim_start_matches('\u{feff}').split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    for line in lines {
        if line.is_empty() {
            if let Some(data) = data.take() {
                events.push((std::mem::take(&mut name), data));
            }
            name.clear();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut name),
            "data" => match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => data = Some(value.to_owned()),
            },
            _ => {}
        }
    }
    events
}

/// The events that a stream of the same answer would have had.
fn single(protocol: Protocol, body: &str) -> Vec<(String, String)> {
    let Ok(body) = serde_json::from_str::<Value>(body) else { return vec![(String::new(), body.to_owned())] };
    match protocol {
        Protocol::AnthropicMessages => anthropic(&body),
        Protocol::OpenAiChat => chat(&body),
        Protocol::OpenAiResponses => response_items(&body),
    }
}

fn chat(body: &Value) -> Vec<(String, String)> {
    let listed = body.get("choices").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let choices = listed.iter().enumerate().map(|(number, choice)| {
        let mut delta = choice.get("message").cloned().unwrap_or_default();
        let calls = delta.get_mut("tool_calls").and_then(Value::as_array_mut);
        for (index, call) in calls.into_iter().flatten().enumerate() {
            if let Value::Object(call) = call {
                call.insert("index".to_owned(), json!(index));
            }
        }
        let finish = choice.get("finish_reason").cloned();
        let chunk = json!({"choices": [{"index": number, "delta": delta, "finish_reason": finish}]});
        chunk.to_string()
    });
    let usage = json!({"choices": [], "usage": body.get("usage")}).to_string();
    choices.chain([usage, "[DONE]".to_owned()]).map(|data| (String::new(), data)).collect()
}

fn response_items(body: &Value) -> Vec<(String, String)> {
    let items = body.get("output").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // A conversation that a provider compacted keeps messages of the user.
    let messages = items.iter().filter(|item| item.get("role").is_none_or(|role| role == "assistant"));
    let done = messages
        .enumerate()
        .map(|(index, item)| json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    let kind = match body.get("status").and_then(Value::as_str) {
        Some("incomplete") => "response.incomplete",
        Some("failed" | "cancelled") => "response.failed",
        _ => "response.completed",
    };
    let end = json!({"type": kind, "response": body});
    done.chain([end]).map(|event| (String::new(), event.to_string())).collect()
}

fn anthropic(body: &Value) -> Vec<(String, String)> {
    let mut events = vec![json!({"type": "message_start", "message": body})];
    let blocks = body.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (index, block) in blocks.iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        if let Some(signature) = block.get("signature").filter(|_| block["type"] == "thinking") {
            let delta = json!({"type": "signature_delta", "signature": signature});
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let stop = body.get("stop_reason").filter(|stop| stop.is_string()).cloned();
    let usage = body.get("usage").cloned();
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events.into_iter().map(|event| (String::new(), event.to_string())).collect()
}

/// Fragments and calls in the order in which they began.
#[derive(Default)]
struct Assembly {
    items: Vec<(Option<String>, WireItem)>,
    usage: Option<Usage>,
    finish: Option<Finish>,
}

impl Assembly {
    fn take(&mut self, decoder: &mut Decoder, name: &str, data: &str) -> Result<(), ProviderError> {
        for event in decoder.event(name, data)? {
            self.event(event);
        }
        Ok(())
    }

    fn end(&mut self, decoder: &mut Decoder) -> Result<(), ProviderError> {
        for event in decoder.end()? {
            self.event(event);
        }
        Ok(())
    }

    fn event(&mut self, event: ProviderEvent) {
        match event {
            ProviderEvent::TextDelta { id, text } => {
                if let WireItem::Text(whole) = self.fragment(&format!("text {id}"), WireItem::Text(String::new())) {
                    whole.push_str(&text);
                }
            }
            ProviderEvent::ReasoningDelta { id, text } => {
                let empty = WireItem::Reasoning { text: String::new(), metadata: None };
                if let WireItem::Reasoning { text: whole, .. } = self.fragment(&format!("reasoning {id}"), empty) {
                    whole.push_str(&text);
                }
            }
            ProviderEvent::ReasoningEnded { id, metadata } => {
                let empty = WireItem::Reasoning { text: String::new(), metadata: None };
                if let WireItem::Reasoning { metadata: place, .. } = self.fragment(&format!("reasoning {id}"), empty) {
                    *place = metadata;
                }
            }
            ProviderEvent::ToolCalled { call, name, input, hosted, metadata } => {
                self.items.push((None, WireItem::Call { id: call.0, name, input, hosted, metadata }));
            }
            ProviderEvent::HostedSettled { call, result, error, .. } => {
                self.items.push((None, WireItem::HostedResult { id: call.0, result, error }));
            }
            ProviderEvent::Usage(usage) => self.usage = Some(usage),
            ProviderEvent::Finished(finish) => self.finish = Some(finish),
            ProviderEvent::TextEnded { .. } | ProviderEvent::ToolInputDelta { .. } => {}
        }
    }

    fn fragment(&mut self, id: &str, empty: WireItem) -> &mut WireItem {
        let at = match self.items.iter().position(|(known, _)| known.as_deref() == Some(id)) {
            Some(at) => at,
            None => {
                self.items.push((Some(id.to_owned()), empty));
                self.items.len() - 1
            }
        };
        &mut self.items[at].1
    }

    fn answer(self) -> DecodedAnswer {
        let has_content = |item: &WireItem| match item {
            WireItem::Text(text) => !text.is_empty(),
            WireItem::Reasoning { text, metadata } => !text.is_empty() || metadata.is_some(),
            _ => true,
        };
        let items = self.items.into_iter().map(|(_, item)| item).filter(has_content).collect();
        let (items, calls) = local(items);
        let finish = self.finish.map(|finish| if calls && finish == Finish::Stop { Finish::ToolCalls } else { finish });
        DecodedAnswer { items, usage: self.usage, finish, ..DecodedAnswer::default() }
    }
}

/// Kinds of items of Responses that the decoder takes for calls of the provider, and that agents execute.
const LOCAL: [&str; 3] = ["custom_tool_call", "local_shell_call", "tool_search_call"];

/// The same items with calls that agents execute as such, and whether there are any.
fn local(items: Vec<WireItem>) -> (Vec<WireItem>, bool) {
    let mut executed: HashMap<String, WireItem> = HashMap::new();
    for item in &items {
        if let WireItem::HostedResult { id, result, .. } = item
            && let Ok(call) = serde_json::from_str::<Value>(result)
            && call.get("type").and_then(Value::as_str).is_some_and(|kind| LOCAL.contains(&kind))
        {
            executed.insert(id.clone(), recorded::local_call(&call));
        }
    }
    let any = !executed.is_empty();
    let kept = items.into_iter().filter_map(|item| match &item {
        WireItem::HostedResult { id, .. } if executed.contains_key(id) => None,
        WireItem::Call { id, hosted: true, .. } => Some(executed.get(id).cloned().unwrap_or(item)),
        _ => Some(item),
    });
    (kept.collect(), any)
}

#[cfg(test)]
mod tests;
