//! Answers of Anthropic Messages.

use crate::provider::{ProviderError, ProviderEvent};
use crate::wire::decode::{ProtocolDecoder, broke_off, provider_error, read, tokens, violation};
use annals_core::CallId;
use annals_core::event::{Finish, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Reads one answer.
#[derive(Default)]
pub(in crate::wire) struct AnthropicDecoder {
    /// Open blocks by their place in the content, each with its number: blocks are counted as they begin, since some
    /// proxies give all of them one place.
    open: BTreeMap<u64, (u64, OpenBlock)>,
    begun: u64,
    usage: Usage,
    finish: Option<Finish>,
    /// Bytes that open blocks hold for their ends.
    held: usize,
}

/// A block that is not complete yet.
enum OpenBlock {
    Text {
        citations: Vec<String>,
    },
    Thinking {
        signature: String,
    },
    Redacted {
        raw: String,
    },
    Call {
        id: String,
        name: String,
        given: String,
        input: String,
        metadata: Option<String>,
    },
    /// It came whole with its start.
    Whole,
}

impl OpenBlock {
    /// Bytes that are held for its end, but for the text of its pieces.
    fn held(&self) -> usize {
        match self {
            Self::Text { citations } => citations.iter().map(String::len).sum(),
            Self::Thinking { signature } => signature.len(),
            Self::Redacted { raw } => raw.len(),
            Self::Call { id, name, given, metadata, .. } => {
                id.len() + name.len() + given.len() + metadata.as_ref().map_or(0, String::len)
            }
            Self::Whole => 0,
        }
    }
}

#[derive(Deserialize)]
struct AnthropicEvent<'a> {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    /// The beginning of an answer; of an error, in the form of some proxies, what it says.
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct MessageStart {
    #[serde(default)]
    usage: Option<Value>,
}

/// What a result says of its failure; anything else in it is not looked at.
#[derive(Deserialize)]
struct ErrorEvent<'a> {
    #[serde(borrow, default)]
    error_code: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct BlockStart<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    server_name: Option<String>,
    #[serde(default)]
    tool_use_id: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
}

#[derive(Deserialize)]
struct BlockDelta<'a> {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    partial_json: Option<String>,
    #[serde(borrow, default)]
    citation: Option<&'a RawValue>,
    #[serde(default)]
    stop_reason: Option<String>,
}

impl ProtocolDecoder for AnthropicDecoder {
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        let mut event: AnthropicEvent<'_> = read(data)?;
        let kind = event.kind.take().unwrap_or_else(|| name.to_owned());
        match kind.as_str() {
            "message_start" => {
                let start: Option<MessageStart> = event.message.map(|raw| read(raw.get())).transpose()?;
                self.used(start.and_then(|start| start.usage).as_ref(), out);
                Ok(())
            }
            "content_block_start" => self.start(&event, out),
            "content_block_delta" => self.delta(&event, out),
            "content_block_stop" => self.stop(event.index.unwrap_or(0), out),
            "message_delta" => {
                let delta: Option<BlockDelta<'_>> = event.delta.map(|raw| read(raw.get())).transpose()?;
                if let Some(reason) = delta.and_then(|delta| delta.stop_reason) {
                    self.finish = Some(finish(&reason));
                }
                self.used(event.usage.as_ref(), out);
                Ok(())
            }
            "message_stop" => self.end(out),
            "error" => Err(provider_error(&match (event.error.filter(|error| !error.is_null()), event.message) {
                (Some(error), _) => error,
                (None, Some(message)) => read(message.get())?,
                (None, None) => Value::Null,
            })),
            _ if event.error.as_ref().is_some_and(|error| !error.is_null()) => {
                Err(provider_error(&event.error.unwrap_or_default()))
            }
            // Pings, and what later versions add.
            _ => Ok(()),
        }
    }

    fn end(&mut self, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        match self.finish {
            Some(finish) if self.open.is_empty() => out.push(ProviderEvent::Finished(finish)),
            _ => return Err(broke_off()),
        }
        Ok(())
    }

    fn held(&self) -> usize {
        self.held
    }
}

impl AnthropicDecoder {
    fn start(&mut self, event: &AnthropicEvent<'_>, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        let at = event.index.unwrap_or(0);
        let raw = event.content_block.ok_or_else(|| violation("a block of the answer has no content"))?;
        let block: BlockStart<'_> = read(raw.get())?;
        let number = self.begun;
        self.begun += 1;
        let id = number.to_string();
        let open = match block.kind.as_str() {
            "text" => {
                out.push(ProviderEvent::TextDelta { id, text: block.text.unwrap_or_default() });
                OpenBlock::Text { citations: Vec::new() }
            }
            "thinking" => {
                out.push(ProviderEvent::ReasoningDelta { id, text: block.thinking.unwrap_or_default() });
                OpenBlock::Thinking { signature: String::new() }
            }
            "redacted_thinking" => {
                out.push(ProviderEvent::ReasoningDelta { id, text: String::new() });
                OpenBlock::Redacted { raw: raw.get().to_owned() }
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => called(block)?,
            kind if kind.ends_with("_tool_result") => {
                out.push(settled(&block, raw)?);
                OpenBlock::Whole
            }
            _ => OpenBlock::Whole,
        };
        self.held += open.held();
        match self.open.insert(at, (number, open)) {
            None => Ok(()),
            Some(_) => Err(violation(format!("block {at} of the answer began twice"))),
        }
    }

    fn delta(&mut self, event: &AnthropicEvent<'_>, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        let at = event.index.unwrap_or(0);
        let Some(raw) = event.delta else { return Ok(()) };
        let delta: BlockDelta<'_> = read(raw.get())?;
        let (number, open) =
            self.open.get_mut(&at).ok_or_else(|| violation(format!("a piece of block {at} came before it began")))?;
        let id = number.to_string();
        match (delta.kind.as_deref().unwrap_or_default(), open) {
            ("text_delta", OpenBlock::Text { .. }) => {
                out.push(ProviderEvent::TextDelta { id, text: delta.text.unwrap_or_default() });
            }
            ("citations_delta", OpenBlock::Text { citations }) => {
                let citation = delta.citation.map(|raw| raw.get().to_owned());
                self.held += citation.as_ref().map_or(0, String::len);
                citations.extend(citation);
            }
            ("thinking_delta", OpenBlock::Thinking { .. }) => {
                out.push(ProviderEvent::ReasoningDelta { id, text: delta.thinking.unwrap_or_default() });
            }
            ("signature_delta", OpenBlock::Thinking { signature }) => {
                let piece = delta.signature.unwrap_or_default();
                self.held += piece.len();
                signature.push_str(&piece);
            }
            ("input_json_delta", OpenBlock::Call { id, name, input, .. }) => {
                let text = delta.partial_json.unwrap_or_default();
                input.push_str(&text);
                let (call, name) = (CallId(id.clone()), name.clone());
                out.push(ProviderEvent::ToolInputDelta { call, name, text });
            }
            ("text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta" | "citations_delta", _) => {
                return Err(violation(format!("a piece of block {at} is of another kind than the block")));
            }
            // What later versions add.
            _ => {}
        }
        Ok(())
    }

    fn stop(&mut self, at: u64, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        let (number, open) =
            self.open.remove(&at).ok_or_else(|| violation(format!("block {at} ended before it began")))?;
        self.held = self.held.saturating_sub(open.held());
        let id = number.to_string();
        match open {
            OpenBlock::Text { citations } => {
                let metadata = (!citations.is_empty()).then(|| format!(r#"{{"citations":[{}]}}"#, citations.join(",")));
                out.push(ProviderEvent::TextEnded { id, metadata });
            }
            OpenBlock::Thinking { signature } => {
                let signed = || serde_json::json!({"signature": signature}).to_string();
                let metadata = (!signature.is_empty()).then(signed);
                out.push(ProviderEvent::ReasoningEnded { id, metadata });
            }
            OpenBlock::Redacted { raw } => out.push(ProviderEvent::ReasoningEnded { id, metadata: Some(raw) }),
            OpenBlock::Call { id, name, given, input, metadata } => {
                let input = if input.is_empty() { given } else { input };
                let (call, hosted) = (CallId(id), metadata.is_some());
                out.push(ProviderEvent::ToolCalled { call, name, input, hosted, metadata });
            }
            OpenBlock::Whole => {}
        }
        Ok(())
    }

    /// Takes in what is reported so far: later reports are of the whole answer, and leave out what did not change.
    fn used(&mut self, usage: Option<&Value>, out: &mut Vec<ProviderEvent>) {
        let Some(usage) = usage.filter(|usage| usage.is_object()) else { return };
        let set = |place: &mut u64, path: &str| *place = tokens(usage, path).unwrap_or(*place);
        set(&mut self.usage.input, "/input_tokens");
        set(&mut self.usage.output, "/output_tokens");
        set(&mut self.usage.cache_read, "/cache_read_input_tokens");
        set(&mut self.usage.cache_write, "/cache_creation_input_tokens");
        out.push(ProviderEvent::Usage(self.usage));
    }
}

fn called(block: BlockStart<'_>) -> Result<OpenBlock, ProviderError> {
    let (Some(id), Some(name)) = (block.id.filter(|id| !id.is_empty()), block.name.filter(|name| !name.is_empty()))
    else {
        return Err(violation("a call of the answer has no id or no name"));
    };
    let metadata = match (block.kind.as_str(), block.server_name) {
        ("tool_use", _) => None,
        (kind, None) => Some(serde_json::json!({"type": kind}).to_string()),
        (kind, Some(server)) => Some(serde_json::json!({"type": kind, "server_name": server}).to_string()),
    };
    let given = block.input.map_or_else(|| "{}".to_owned(), |input| input.get().to_owned());
    Ok(OpenBlock::Call { id, name, given, input: String::new(), metadata })
}

/// The result of a call that the provider executed: the whole block, which goes back as it came.
fn settled(block: &BlockStart<'_>, raw: &RawValue) -> Result<ProviderEvent, ProviderError> {
    let call = block.tool_use_id.clone().ok_or_else(|| violation("a result of the answer names no call"))?;
    let content = block.content.map(RawValue::get).filter(|content| content.starts_with('{'));
    let failed: Option<ErrorEvent<'_>> = content.and_then(|content| serde_json::from_str(content).ok());
    let error = match (failed.and_then(|failed| failed.error_code), block.is_error) {
        (Some(code), _) => Some(code.into_owned()),
        (None, Some(true)) => Some("the call failed".to_owned()),
        (None, _) => None,
    };
    Ok(ProviderEvent::HostedSettled { call: CallId(call), result: raw.get().to_owned(), error, metadata: None })
}

fn finish(reason: &str) -> Finish {
    match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "tool_use" => Finish::ToolCalls,
        "refusal" => Finish::ContentFilter,
        "pause_turn" => Finish::Paused,
        _ => Finish::Other,
    }
}
