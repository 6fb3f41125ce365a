//! Answers decoded: streams by the decoders of the protocols, single JSON bodies by way of the events that a stream would have had.

use crate::conversation::{Speaker, Unit, WireItem};
use annals_core::event::{Failure, Finish, Usage};
use annals_providers::provider::{ProviderError, ProviderEvent};
use annals_providers::wire::{Decoder, Protocol, RetryAdvice, decoder, refusal};
use serde_json::{Value, json};

/// What an answer says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DecodedAnswer {
    /// Its content, in order.
    pub(crate) items: Vec<WireItem>,
    /// What the provider reported.
    pub(crate) usage: Option<Usage>,
    /// How it ended, if it did.
    pub(crate) finish: Option<Finish>,
    /// Why it failed.
    pub(crate) error: Option<Failure>,
}

impl DecodedAnswer {
    /// The message that later requests contain.
    pub(crate) fn unit(&self) -> Unit {
        Unit { speaker: Speaker::Assistant, items: self.items.clone() }
    }
}

/// Reads an answer. `body` is its content as far as it arrived; `fault` says why it is not complete.
pub(crate) fn answer(
    protocol: Protocol,
    status: Option<u16>,
    media: Option<&str>,
    body: &str,
    complete: bool,
    fault: Option<&str>,
) -> DecodedAnswer {
    let Some(status) = status else {
        let message = fault.unwrap_or("the provider could not be reached");
        return failed("transport", message, None);
    };
    if !(200..300).contains(&status) {
        let error = refusal(protocol, status, RetryAdvice::default(), body);
        return DecodedAnswer { error: Some(failure(&error)), ..DecodedAnswer::default() };
    }
    let mut assembly = Assembly::default();
    let mut decoder = decoder(protocol);
    let streamed = media.is_some_and(|media| media.starts_with("text/event-stream")) || is_stream(body);
    let events = if streamed { streamed_events(body) } else { single(protocol, body) };
    let mut error = None;
    for (name, data) in &events {
        if let Err(found) = assembly.take(&mut decoder, name, data) {
            error = Some(found);
            break;
        }
    }
    if error.is_none() && assembly.finish.is_none() {
        error = assembly.end(&mut decoder).err();
    }
    let mut answer = assembly.answer();
    answer.error = match (answer.finish, error) {
        (Some(_), _) => None,
        (None, Some(error)) if complete => Some(failure(&error)),
        (None, _) => {
            let why = fault.unwrap_or("the agent ended the request before the answer was complete");
            Some(Failure { kind: "interrupted".to_owned(), message: why.into(), status: None })
        }
    };
    answer
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

/// The events of a stream: name and data.
fn streamed_events(body: &str) -> Vec<(String, String)> {
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
        Protocol::OpenAiChat | Protocol::OpenAiResponses => vec![(String::new(), body.to_string())],
    }
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
                match self.fragment(&format!("text {id}"), WireItem::Text(String::new())) {
                    WireItem::Text(whole) => whole.push_str(&text),
                    _ => {}
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
        DecodedAnswer { items, usage: self.usage, finish: self.finish, error: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n\
        event: content_block_start\r\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\r\n\r\n\
        event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n";
    const END: &str = "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
        data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\n\
        data: {\"type\":\"message_stop\"}\n\n";

    fn read(status: u16, media: &str, body: &str, complete: bool) -> DecodedAnswer {
        answer(Protocol::AnthropicMessages, Some(status), Some(media), body, complete, None)
    }

    #[test]
    fn a_stream_and_a_single_body_say_the_same() {
        let streamed = read(200, "text/event-stream; charset=utf-8", &format!("{STREAM}{END}"), true);
        assert_eq!(streamed.items, [WireItem::Text("Hi".into())]);
        assert_eq!(streamed.finish, Some(Finish::Stop));
        assert_eq!(streamed.usage.map(|usage| (usage.input, usage.output)), Some((9, 3)));
        let body = json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi"}],
            "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 3}});
        assert_eq!(read(200, "application/json", &body.to_string(), true), streamed);
    }

    #[test]
    fn what_arrived_of_an_answer_that_broke_off_is_kept() {
        let aborted = read(200, "text/event-stream", STREAM, false);
        assert_eq!(aborted.items, [WireItem::Text("Hi".into())]);
        assert_eq!(aborted.error.map(|error| error.kind), Some("interrupted".to_owned()));
    }

    #[test]
    fn a_refusal_says_why() {
        let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#;
        let refused = read(429, "application/json", body, true).error.unwrap();
        assert_eq!((refused.kind.as_str(), refused.status), ("rate-limit", Some(429)));
        let unreachable = answer(Protocol::AnthropicMessages, None, None, "", false, Some("connection refused"));
        assert_eq!(unreachable.error.map(|error| error.kind), Some("transport".to_owned()));
    }
}
