//! Answers of OpenAI Responses.

use super::items::OutputItem;
use crate::provider::{ProviderError, ProviderEvent};
use crate::wire::decode::{ProtocolDecoder, broke_off, provider_error, read, tokens, violation};
use annals_core::CallId;
use annals_core::event::{Finish, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};

/// Reads one answer.
#[derive(Default)]
pub(in crate::wire) struct ResponsesDecoder {
    /// What is open, by its number: items are counted as they begin, since some servers give all of them one place.
    open: BTreeMap<u64, OpenItem>,
    begun: u64,
    /// Which item has an id, and which began last at a place.
    by_id: BTreeMap<String, u64>,
    by_place: BTreeMap<u64, u64>,
    /// Whether a call waits for a result of the runtime.
    calls: bool,
}

/// An item of the output that is not complete yet.
#[derive(Default)]
struct OpenItem {
    kind: String,
    call: Option<(CallId, String)>,
    /// The parts of its content that began.
    texts: BTreeSet<u64>,
    reasons: bool,
    /// The part of a summary that is being written.
    part: Option<u64>,
}

#[derive(Deserialize)]
struct ResponsesEvent<'a> {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    output_index: Option<u64>,
    /// Another one with every event, behind some proxies.
    #[serde(default)]
    item_id: Option<String>,
    #[serde(default)]
    content_index: Option<u64>,
    #[serde(default)]
    summary_index: Option<u64>,
    #[serde(default)]
    delta: Option<Value>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(default)]
    response: Option<ResponsesResult>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    code: Option<Value>,
    #[serde(default)]
    message: Option<Value>,
}

/// What the last event says of the whole. The output in it repeats what came before.
#[derive(Deserialize, Default)]
struct ResponsesResult {
    #[serde(default)]
    usage: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    incomplete_details: Option<Value>,
}

impl ResponsesEvent<'_> {
    fn place(&self) -> u64 {
        self.output_index.unwrap_or(0)
    }

    fn piece(&mut self) -> String {
        match self.delta.take() {
            Some(Value::String(text)) => text,
            _ => String::new(),
        }
    }
}

impl ProtocolDecoder for ResponsesDecoder {
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        if data.trim() == "[DONE]" {
            return Err(broke_off());
        }
        let mut event: ResponsesEvent<'_> = read(data)?;
        let kind = event.kind.take().unwrap_or_else(|| name.to_owned());
        match kind.as_str() {
            "response.output_item.added" => self.added(&event),
            "response.output_text.delta" | "response.refusal.delta" => self.text(event, out),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => self.thought(event, out),
            "response.function_call_arguments.delta" => self.argument(event, out),
            "response.output_item.done" => self.done(&event, out),
            "response.completed" | "response.done" => self.ended(event, false, out),
            "response.incomplete" => self.ended(event, true, out),
            "response.failed" => Err(provider_error(&event.response.unwrap_or_default().error.unwrap_or_default())),
            "error" => Err(provider_error(
                &event.error.unwrap_or_else(|| serde_json::json!({"code": event.code, "message": event.message})),
            )),
            // Progress, the ends of parts, and what later versions add.
            _ => match event.error.filter(|error| !error.is_null()) {
                Some(error) => Err(provider_error(&error)),
                None => Ok(()),
            },
        }
    }

    fn end(&mut self, _: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        Err(broke_off())
    }
}

impl ResponsesDecoder {
    /// The open item that an event is about: the one with its id, otherwise the last at its place.
    fn about(&self, id: Option<&str>, place: u64) -> Option<u64> {
        let by_id = id.and_then(|id| self.by_id.get(id));
        by_id.or_else(|| self.by_place.get(&place)).copied().filter(|number| self.open.contains_key(number))
    }

    fn begin(&mut self, id: &str, place: u64, open: OpenItem) -> u64 {
        let number = self.begun;
        self.begun += 1;
        if !id.is_empty() {
            self.by_id.insert(id.to_owned(), number);
        }
        self.by_place.insert(place, number);
        self.open.insert(number, open);
        number
    }

    /// The item that an event brings a piece of, be it announced or not.
    fn of_piece(&mut self, event: &ResponsesEvent<'_>) -> (u64, &mut OpenItem) {
        let place = event.place();
        let number = self.about(event.item_id.as_deref(), place);
        let number = number.unwrap_or_else(|| self.begin("", place, OpenItem::default()));
        (number, self.open.entry(number).or_default())
    }

    fn added(&mut self, event: &ResponsesEvent<'_>) -> Result<(), ProviderError> {
        let Some(raw) = event.item else { return Err(violation("an item of the answer has no content")) };
        let item: OutputItem = read(raw.get())?;
        let twice = self.by_id.get(&item.id).is_some_and(|number| self.open.contains_key(number));
        if !twice {
            let call = (item.kind == "function_call").then_some((CallId(item.call_id), item.name));
            self.begin(&item.id, event.place(), OpenItem { kind: item.kind, call, ..OpenItem::default() });
        }
        Ok(())
    }

    fn text(&mut self, mut event: ResponsesEvent<'_>, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        let part = event.content_index.unwrap_or(0);
        let (number, open) = self.of_piece(&event);
        open.texts.insert(part);
        out.push(ProviderEvent::TextDelta { id: part_id(number, part), text: event.piece() });
        Ok(())
    }

    fn thought(&mut self, mut event: ResponsesEvent<'_>, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        let part = event.summary_index.or(event.content_index);
        let mut text = event.piece();
        let (number, open) = self.of_piece(&event);
        if open.reasons && part != open.part {
            text.insert_str(0, "\n\n");
        }
        (open.reasons, open.part) = (true, part);
        out.push(ProviderEvent::ReasoningDelta { id: number.to_string(), text });
        Ok(())
    }

    fn argument(&mut self, mut event: ResponsesEvent<'_>, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        let number = self.about(event.item_id.as_deref(), event.place());
        let call = number.and_then(|number| self.open.get(&number)).and_then(|open| open.call.clone());
        let (call, name) = call.ok_or_else(|| violation("a piece of an input came before its call"))?;
        out.push(ProviderEvent::ToolInputDelta { call, name, text: event.piece() });
        Ok(())
    }

    fn done(&mut self, event: &ResponsesEvent<'_>, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        let Some(raw) = event.item else { return Err(violation("an item of the answer has no content")) };
        let item: OutputItem = read(raw.get())?;
        let place = event.place();
        let number = self.about(Some(&item.id), place);
        let number = number.unwrap_or_else(|| self.begin("", place, OpenItem::default()));
        let open = self.open.remove(&number).unwrap_or_default();
        match item.kind.as_str() {
            "message" => message(number, &item, &open, out),
            "reasoning" => reasoning(number, &item, &open, raw, out),
            "function_call" => {
                if item.call_id.is_empty() || item.name.is_empty() {
                    return Err(violation("a call of the answer has no id or no name"));
                }
                self.calls = true;
                let (call, name, input) = (CallId(item.call_id), item.name, item.arguments);
                out.push(ProviderEvent::ToolCalled { call, name, input, hosted: false, metadata: None });
            }
            kind if kind.ends_with("_call") => hosted(&item, raw, out)?,
            // Lists of tools and what later versions add: no part of what was said.
            _ => {}
        }
        Ok(())
    }

    fn ended(
        &mut self,
        event: ResponsesEvent<'_>,
        cut: bool,
        out: &mut Vec<ProviderEvent>,
    ) -> Result<(), ProviderError> {
        for (number, open) in std::mem::take(&mut self.open) {
            // A call that the provider cut off is left out: its input is incomplete.
            if open.kind.ends_with("_call") && !cut {
                return Err(violation(format!("the answer ended within a {}", open.kind)));
            }
            end_texts(number, &open, None, out);
            if open.reasons {
                out.push(ProviderEvent::ReasoningEnded { id: number.to_string(), metadata: None });
            }
        }
        let response = event.response.unwrap_or_default();
        if let Some(usage) = response.usage.filter(Value::is_object) {
            out.push(ProviderEvent::Usage(used(&usage)));
        }
        if let Some(error) = response.error.filter(|error| !error.is_null()) {
            return Err(provider_error(&error));
        }
        let details = response.incomplete_details.as_ref();
        let why = details.and_then(|details| details.get("reason")).and_then(Value::as_str);
        out.push(ProviderEvent::Finished(match (why, self.calls) {
            (Some("max_output_tokens"), _) => Finish::Length,
            (Some("content_filter"), _) => Finish::ContentFilter,
            (Some(_), _) => Finish::Other,
            // Cut off without a word why.
            (None, _) if cut => Finish::Length,
            (None, true) => Finish::ToolCalls,
            (None, false) => Finish::Stop,
        }));
        Ok(())
    }
}

/// The id of a part of an item's content.
fn part_id(number: u64, part: u64) -> String {
    format!("{number}.{part}")
}

fn message(number: u64, item: &OutputItem, open: &OpenItem, out: &mut Vec<ProviderEvent>) {
    let metadata = item.text_metadata();
    if open.texts.is_empty() {
        // A server that sends whole items only.
        for (part, text) in (0..).zip(item.texts()) {
            let id = part_id(number, part);
            out.push(ProviderEvent::TextDelta { id: id.clone(), text });
            out.push(ProviderEvent::TextEnded { id, metadata: metadata.clone() });
        }
    }
    end_texts(number, open, metadata.as_ref(), out);
}

fn end_texts(number: u64, open: &OpenItem, metadata: Option<&String>, out: &mut Vec<ProviderEvent>) {
    for part in &open.texts {
        out.push(ProviderEvent::TextEnded { id: part_id(number, *part), metadata: metadata.cloned() });
    }
}

fn reasoning(number: u64, item: &OutputItem, open: &OpenItem, raw: &RawValue, out: &mut Vec<ProviderEvent>) {
    let id = number.to_string();
    if !open.reasons {
        let text = item.summary();
        out.push(ProviderEvent::ReasoningDelta { id: id.clone(), text });
    }
    // Without it the item cannot be sent back: nothing is stored at the provider.
    let metadata = item.encrypted_content.is_some().then(|| raw.get().to_owned());
    out.push(ProviderEvent::ReasoningEnded { id, metadata });
}

/// A call that the provider executed: the whole item is its result, and goes back as it came.
fn hosted(item: &OutputItem, raw: &RawValue, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
    if item.id.is_empty() {
        return Err(violation(format!("a {} of the answer has no id", item.kind)));
    }
    let call = CallId(item.id.clone());
    let name = item.kind.trim_end_matches("_call").to_owned();
    let metadata = Some(serde_json::json!({"type": item.kind}).to_string());
    out.push(ProviderEvent::ToolCalled { call: call.clone(), name, input: item.input(), hosted: true, metadata });
    let error = matches!(item.status.as_str(), "failed" | "incomplete").then(|| format!("the call is {}", item.status));
    out.push(ProviderEvent::HostedSettled { call, result: raw.get().to_owned(), error, metadata: None });
    Ok(())
}

/// Tokens, where cached input counts as input and reasoning as output.
fn used(usage: &Value) -> Usage {
    let count = |path: &str| tokens(usage, path).unwrap_or(0);
    let cached = count("/input_tokens_details/cached_tokens");
    let reasoning = count("/output_tokens_details/reasoning_tokens");
    Usage {
        input: count("/input_tokens").saturating_sub(cached),
        output: count("/output_tokens").saturating_sub(reasoning),
        reasoning,
        cache_read: cached,
        cache_write: 0,
    }
}
