//! OpenAI Responses.

mod decoder;
mod input;
mod items;

use super::body::{BodyFields, expected_size};
use super::chat::{Described, EFFORT, EFFORTS, VERBOSITIES, VERBOSITY, described};
use super::options::{Control, ControlKind, ProtocolOptions, controls, overlay};
use super::{BodyError, Protocol};
use crate::provider::RequestBody;
use annals_core::SessionId;
use annals_projections::{Request, ToolChoice};
use decoder::ResponsesDecoder;
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

const PROTOCOL: Protocol = Protocol::OpenAiResponses;

/// What the protocol says itself.
const OWNED: [&str; 5] = ["model", "input", "tools", "tool_choice", "stream"];

const OPTIONS: [&str; 10] = [
    "hostedTools",
    "include",
    "instructions",
    "parallelToolCalls",
    "promptCacheKey",
    "reasoningEffort",
    "reasoningSummary",
    "serviceTier",
    "store",
    "textVerbosity",
];

const CONTROLS: [Control; 3] = [
    Control { name: "max_tokens", field: "max_output_tokens", kind: ControlKind::Count },
    Control { name: "temperature", field: "temperature", kind: ControlKind::Number },
    Control { name: "top_p", field: "top_p", kind: ControlKind::Number },
];

/// A decoder for one answer.
pub(super) fn decoder() -> ResponsesDecoder {
    ResponsesDecoder::default()
}

/// Writes a request; encoding 1.
pub(super) fn encode(request: &Request, session: SessionId) -> Result<RequestBody, BodyError> {
    let options = ProtocolOptions::of(request, PROTOCOL, "openai", &OPTIONS)?;
    let mut fields = BodyFields::of_size(expected_size(request));
    fields.put("model", &request.model.id)?;
    fields.put("input", &input::items(request))?;
    let tools = tools(request, &options)?;
    if !tools.is_empty() {
        fields.put("tools", &tools)?;
        if request.tool_choice == ToolChoice::None {
            fields.put("tool_choice", "none")?;
        }
    }
    let store = options.flag("store")?.unwrap_or(false);
    fields.put("store", &store)?;
    let key = options.text_or("promptCacheKey", &session.to_string())?;
    fields.put_if("prompt_cache_key", key.unwrap_or_else(|| Some(session.to_string())))?;
    fields.put("stream", &true)?;
    fields.put_if("instructions", options.text("instructions")?)?;
    let reasoning = Reasoning {
        effort: options.word("reasoningEffort", EFFORT, &EFFORTS)?,
        summary: options.word(
            "reasoningSummary",
            "one of auto, concise, detailed",
            &["auto", "concise", "detailed"],
        )?,
    };
    let is_set = reasoning.effort.is_some() || reasoning.summary.is_some();
    let reasons = is_set || reasons_by_default(&request.model.id);
    fields.put_if("reasoning", is_set.then_some(reasoning))?;
    match options.list("include")? {
        // Nothing is stored at the provider: what the next request needs must come with the answer.
        included if included.is_empty() && options.raw("include").is_none() && reasons && !store => {
            fields.put("include", &["reasoning.encrypted_content"])?;
        }
        included if !included.is_empty() => fields.put("include", &included)?,
        _ => {}
    }
    let verbosity = options.word("textVerbosity", VERBOSITY, &VERBOSITIES)?;
    fields.put_if("text", verbosity.map(|verbosity| serde_json::json!({"verbosity": verbosity})))?;
    fields.put_if("service_tier", options.text("serviceTier")?)?;
    fields.put_if("parallel_tool_calls", options.flag("parallelToolCalls")?)?;
    controls(&mut fields, request, PROTOCOL, &CONTROLS)?;
    overlay(&mut fields, request, &OWNED)?;
    Ok(fields.body())
}

/// Whether a model reasons by default, by its name. Other models refuse requests for their reasoning.
fn reasons_by_default(id: &str) -> bool {
    let name = id.rsplit('/').next().unwrap_or(id);
    let begins =
        |start: &&str| name.strip_prefix(*start).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']));
    ["o1", "o3", "o4", "gpt-5", "codex"].iter().any(begins) && !name.contains("-chat")
}

#[derive(Serialize)]
struct Reasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResponsesTool<'a> {
    Ours(ResponsesFunction<'a>),
    /// One that the provider executes, as the option has it.
    Hosted(&'a RawValue),
}

#[derive(Serialize)]
struct ResponsesFunction<'a> {
    r#type: &'static str,
    name: Cow<'a, str>,
    description: &'a str,
    parameters: &'a RawValue,
    strict: bool,
}

impl<'a> From<Described<'a>> for ResponsesFunction<'a> {
    fn from(Described { name, description, schema }: Described<'a>) -> Self {
        Self { r#type: "function", name, description, parameters: schema, strict: false }
    }
}

/// The tools of a request, then those that the provider executes; the latter only where calls are allowed.
fn tools<'a>(request: &'a Request, options: &'a ProtocolOptions<'a>) -> Result<Vec<ResponsesTool<'a>>, BodyError> {
    let mut tools: Vec<ResponsesTool<'a>> =
        described(request)?.into_iter().map(|tool| ResponsesTool::Ours(tool.into())).collect();
    if request.tool_choice == ToolChoice::Auto {
        tools.extend(options.list("hostedTools")?.into_iter().map(ResponsesTool::Hosted));
    }
    Ok(tools)
}
