//! Anthropic Messages.

mod cache;
mod content;
mod decoder;
mod messages;

use super::body::{BodyFields, expected_size};
use super::chat::{Described, described};
use super::options::{Control, ControlKind, ProtocolOptions, controls, overlay};
use super::{BodyError, Protocol};
use crate::provider::RequestBody;
use annals_core::event::Purpose;
use annals_projections::{Request, ToolChoice};
use cache::{CacheControl, Hints};
use decoder::AnthropicDecoder;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;

const PROTOCOL: Protocol = Protocol::AnthropicMessages;

/// What the protocol says itself.
const OWNED: [&str; 6] = ["model", "system", "messages", "tools", "tool_choice", "stream"];

const OPTIONS: [&str; 7] =
    ["cache", "cacheTtl", "disableParallelToolUse", "effort", "hostedTools", "serviceTier", "thinking"];

const CONTROLS: [Control; 5] = [
    Control { name: "max_tokens", field: "max_tokens", kind: ControlKind::Count },
    Control { name: "temperature", field: "temperature", kind: ControlKind::Number },
    Control { name: "top_p", field: "top_p", kind: ControlKind::Number },
    Control { name: "top_k", field: "top_k", kind: ControlKind::Whole },
    Control { name: "stop", field: "stop_sequences", kind: ControlKind::Texts },
];

/// The longest answer where neither a control nor the model's profile says one, in tokens.
const MAX_TOKENS: u64 = 4_096;

/// A decoder for one answer.
pub(super) fn decoder() -> AnthropicDecoder {
    AnthropicDecoder::default()
}

/// Writes a request; encoding 1.
pub(super) fn encode(request: &Request) -> Result<RequestBody, BodyError> {
    let options = ProtocolOptions::of(request, PROTOCOL, "anthropic", &OPTIONS)?;
    let hosted = if request.tool_choice == ToolChoice::Auto { options.list("hostedTools")? } else { Vec::new() };
    let mut hints = hints(request, &options, &hosted)?;
    // The order of what a provider's cache is a prefix of: tools, system, messages.
    let tools = tools(request, hosted, &mut hints)?;
    let system = system(request, &mut hints);
    let messages = messages::messages(request, &mut hints)?;
    let mut fields = BodyFields::of_size(expected_size(request));
    fields.put("model", &request.model.id)?;
    fields.put("max_tokens", &if request.model.output > 0 { request.model.output } else { MAX_TOKENS })?;
    if !system.is_empty() {
        fields.put("system", &system)?;
    }
    fields.put("messages", &messages)?;
    if !tools.is_empty() {
        fields.put("tools", &tools)?;
        if options.flag("disableParallelToolUse")?.unwrap_or(false) {
            fields.put("tool_choice", &serde_json::json!({"type": "auto", "disable_parallel_tool_use": true}))?;
        }
    }
    fields.put("stream", &true)?;
    fields.put_if("thinking", thinking(&options)?)?;
    let efforts = ["low", "medium", "high", "xhigh", "max"];
    let effort = options.word("effort", "one of low, medium, high, xhigh, max", &efforts)?;
    fields.put_if("output_config", effort.map(|effort| serde_json::json!({"effort": effort})))?;
    fields.put_if("service_tier", options.text("serviceTier")?)?;
    controls(&mut fields, request, PROTOCOL, &CONTROLS)?;
    overlay(&mut fields, request, &OWNED)?;
    Ok(fields.body())
}

/// How many places may be marked for the cache, and for how long.
fn hints(request: &Request, options: &ProtocolOptions<'_>, hosted: &[&RawValue]) -> Result<Hints, BodyError> {
    let off = options.word("cache", "one of auto, none", &["auto", "none"])? == Some("none");
    let ttl = options.read("cacheTtl", "a number of seconds", |value| value.as_u64())?;
    // What is asked once is not read again.
    if off || request.purpose != Purpose::Turn {
        return Ok(Hints::none());
    }
    let taken = hosted
        .iter()
        .filter(|tool| serde_json::from_str(tool.get()).is_ok_and(|tool: Value| tool.get("cache_control").is_some()));
    Ok(Hints::new(ttl, taken.count()))
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnthropicTool<'a> {
    Ours {
        name: Cow<'a, str>,
        description: &'a str,
        input_schema: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// One that the provider executes, as the option has it.
    Hosted(&'a RawValue),
}

/// The tools of a request, then those that the provider executes; none where calls are not allowed.
fn tools<'a>(
    request: &'a Request,
    hosted: Vec<&'a RawValue>,
    hints: &mut Hints,
) -> Result<Vec<AnthropicTool<'a>>, BodyError> {
    let mut tools = Vec::with_capacity(request.tools.len() + hosted.len());
    if request.tool_choice == ToolChoice::None {
        return Ok(tools);
    }
    for (at, tool) in described(request)?.into_iter().enumerate() {
        let Described { name, description, schema } = tool;
        let cache_control = if at + 1 == request.tools.len() { hints.take() } else { None };
        tools.push(AnthropicTool::Ours { name, description, input_schema: schema, cache_control });
    }
    tools.extend(hosted.into_iter().map(AnthropicTool::Hosted));
    Ok(tools)
}

/// The system texts, each for itself; the last one is marked for the cache.
fn system<'a>(request: &'a Request, hints: &mut Hints) -> Vec<content::ContentBlock<'a>> {
    let texts: Vec<&str> = request
        .system
        .iter()
        .map(|system| system.text.as_str())
        .filter(|text| !super::conversation::is_blank(text))
        .collect();
    let last = texts.len();
    let marked = |(at, text): (usize, &'a str)| {
        let cache_control = if at + 1 == last { hints.take() } else { None };
        content::ContentBlock::Text { text: text.into(), citations: None, cache_control }
    };
    texts.into_iter().enumerate().map(marked).collect()
}

/// How much the model may think: the protocol's own fields, or as AI-SDK settings call them.
fn thinking(options: &ProtocolOptions<'_>) -> Result<Option<Value>, BodyError> {
    options.read("thinking", "an object with a type", |value| {
        let Value::Object(given) = value else { return None };
        let named = |(name, value): (String, Value)| match name.as_str() {
            "budgetTokens" => ("budget_tokens".to_owned(), value),
            _ => (name, value),
        };
        let thinking: Map<String, Value> = given.into_iter().map(named).collect();
        thinking.get("type").is_some_and(Value::is_string).then_some(Value::Object(thinking))
    })
}
