//! Answers of OpenAI Chat Completions.

use super::calls::{self, PartialCalls};
use super::reasoning_fragment::ReasoningFragment;
use crate::provider::{ProviderError, ProviderEvent};
use crate::wire::decode::{ProtocolDecoder, broke_off, given_up, provider_error, read, tokens, violation};
use annals_core::event::{Finish, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Reads one answer.
#[derive(Default)]
pub(in crate::wire) struct ChatDecoder {
    /// What is being said: text or reasoning, and the number of its fragment.
    open: Option<(OpenKind, String)>,
    fragments: u32,
    /// The field that reasoning comes in, and what a router adds to it.
    reasoning_fragment: ReasoningFragment,
    calls: PartialCalls,
    finish: Option<Finish>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenKind {
    Text,
    Reasoning,
}

#[derive(Deserialize)]
struct ChatChunk<'a> {
    #[serde(borrow, default)]
    choices: Option<Vec<ChatChoice<'a>>>,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    object: Option<String>,
}

#[derive(Deserialize)]
struct ChatChoice<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    delta: Option<ChatDelta<'a>>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ChatDelta<'a> {
    #[serde(default)]
    content: Option<Value>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    reasoning: Option<String>,
    #[serde(borrow, default)]
    reasoning_details: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<calls::CallDelta<'a>>>,
}

impl ProtocolDecoder for ChatDecoder {
    fn event(&mut self, _: &str, data: &str, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        let data = data.trim();
        if data == "[DONE]" {
            return self.end(out);
        }
        if data.is_empty() {
            // A sign of life.
            return Ok(());
        }
        let chunk: ChatChunk<'_> = read(data)?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(provider_error(&error));
        }
        if chunk.object.as_deref() == Some("error") {
            // Servers built on vLLM send the fields of an error without an enclosing object.
            return Err(provider_error(&read(data)?));
        }
        for choice in chunk.choices.unwrap_or_default() {
            // Only one answer is asked for.
            if choice.index.unwrap_or(0) == 0 {
                self.choice(choice, out)?;
            }
        }
        if let Some(usage) = chunk.usage.filter(Value::is_object) {
            out.push(ProviderEvent::Usage(used(&usage)));
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        let finish = self.finish.ok_or_else(broke_off)?;
        out.push(ProviderEvent::Finished(finish));
        Ok(())
    }

    fn held(&self) -> usize {
        self.reasoning_fragment.held() + self.calls.held()
    }
}

impl ChatDecoder {
    fn choice(&mut self, choice: ChatChoice<'_>, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        if let Some(delta) = choice.delta {
            if self.finish.is_some() && delta.has_content() {
                return Err(violation("the answer went on after it had ended"));
            }
            self.delta(delta, out)?;
        }
        // Some servers, such as SGLang and older ones of Ollama, send an empty reason until there is one.
        match choice.finish_reason.as_deref().filter(|reason| !reason.is_empty()) {
            Some(reason) if self.finish.is_none() => self.ended(reason, out),
            _ => Ok(()),
        }
    }

    fn delta(&mut self, delta: ChatDelta<'_>, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        // Some servers send both fields, one of them empty.
        let absent = delta.reasoning_content.is_none();
        let full = delta.reasoning_content.filter(|text| !text.is_empty());
        let short = delta.reasoning.as_ref().is_some_and(|text| absent || full.is_none() && !text.is_empty());
        for detail in delta.reasoning_details.unwrap_or_default() {
            if self.reasoning_fragment.take(detail)? {
                self.begin(OpenKind::Reasoning, out);
            }
        }
        self.reasoning_fragment.short |= short;
        if let Some(text) = full.or(delta.reasoning) {
            self.piece(OpenKind::Reasoning, text, out);
        }
        match delta.content {
            Some(Value::String(text)) => self.piece(OpenKind::Text, text, out),
            Some(Value::Array(parts)) => {
                let texts = parts.into_iter().filter_map(|part| Some(part.get("text")?.as_str()?.to_owned()));
                texts.for_each(|text| self.piece(OpenKind::Text, text, out));
            }
            _ => {}
        }
        if let Some(text) = delta.refusal {
            self.piece(OpenKind::Text, text, out);
        }
        delta.tool_calls.unwrap_or_default().into_iter().try_for_each(|piece| self.calls.take(piece, out))
    }

    fn piece(&mut self, kind: OpenKind, text: String, out: &mut Vec<ProviderEvent>) {
        if text.is_empty() {
            return;
        }
        let id = self.begin(kind, out);
        out.push(match kind {
            OpenKind::Text => ProviderEvent::TextDelta { id, text },
            OpenKind::Reasoning => {
                self.reasoning_fragment.text.push_str(&text);
                ProviderEvent::ReasoningDelta { id, text }
            }
        });
    }

    /// The fragment that is open, of the given kind; one of the other kind ends.
    fn begin(&mut self, kind: OpenKind, out: &mut Vec<ProviderEvent>) -> String {
        if let Some((_, id)) = self.open.as_ref().filter(|(open, _)| *open == kind) {
            return id.clone();
        }
        self.close(out);
        let id = self.fragments.to_string();
        self.fragments += 1;
        self.open = Some((kind, id.clone()));
        if kind == OpenKind::Reasoning {
            out.push(ProviderEvent::ReasoningDelta { id: id.clone(), text: String::new() });
        }
        id
    }

    fn close(&mut self, out: &mut Vec<ProviderEvent>) {
        match self.open.take() {
            Some((OpenKind::Text, id)) => out.push(ProviderEvent::TextEnded { id, metadata: None }),
            Some((OpenKind::Reasoning, id)) => {
                let metadata = std::mem::take(&mut self.reasoning_fragment).metadata();
                out.push(ProviderEvent::ReasoningEnded { id, metadata });
            }
            None => {}
        }
    }

    fn ended(&mut self, reason: &str, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        self.close(out);
        let any = !self.calls.is_empty();
        self.calls.end(reason == "length", out)?;
        self.finish = Some(match reason {
            "stop" | "eos" | "end_turn" if any => Finish::ToolCalls,
            "stop" | "eos" | "end_turn" => Finish::Stop,
            "length" => Finish::Length,
            "tool_calls" | "function_call" => Finish::ToolCalls,
            "content_filter" => Finish::ContentFilter,
            // vLLM and DeepSeek: the answer is not whole.
            "abort" | "insufficient_system_resource" => {
                return Err(given_up(reason));
            }
            "error" => return Err(provider_error(&Value::String("the answer ended with an error".into()))),
            _ => Finish::Other,
        });
        Ok(())
    }
}

impl ChatDelta<'_> {
    fn has_content(&self) -> bool {
        let text = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        self.content.as_ref().and_then(Value::as_str).is_some_and(|content| !content.is_empty())
            || text(&self.reasoning_content)
            || text(&self.reasoning)
            || self.tool_calls.as_ref().is_some_and(|calls| !calls.is_empty())
    }
}

/// Tokens, where cached input counts as input and reasoning mostly as output.
fn used(usage: &Value) -> Usage {
    let count = |path: &str| tokens(usage, path).unwrap_or(0);
    let cached =
        tokens(usage, "/prompt_tokens_details/cached_tokens").unwrap_or_else(|| count("/prompt_cache_hit_tokens"));
    let written = count("/prompt_tokens_details/cache_write_tokens");
    let (prompt, completion) = (count("/prompt_tokens"), count("/completion_tokens"));
    let reasoning = count("/completion_tokens_details/reasoning_tokens");
    let apart = reasoning > 0 && count("/total_tokens") == prompt + completion + reasoning;
    Usage {
        input: prompt.saturating_sub(cached).saturating_sub(written),
        output: if apart { completion } else { completion.saturating_sub(reasoning) },
        reasoning,
        cache_read: cached,
        cache_write: written,
    }
}
