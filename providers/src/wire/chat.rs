//! OpenAI Chat Completions, and what is compatible with it.

mod calls;
mod decoder;
mod messages;
mod reasoning_fragment;

use crate::provider::RequestBody;
use decoder::ChatDecoder;

use super::body::{BodyFields, expected_size, received};
use super::options::{Control, ControlKind, ProtocolOptions, controls, overlay};
use super::{BodyError, Protocol, names};
use annals_core::SessionId;
use annals_projections::{Request, ToolChoice};
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

const PROTOCOL: Protocol = Protocol::OpenAiChat;

/// What the protocol says itself.
const OWNED: [&str; 6] = ["model", "messages", "tools", "tool_choice", "stream", "stream_options"];

const OPTIONS: [&str; 10] = [
    "emptyContent",
    "maxTokensField",
    "parallelToolCalls",
    "promptCacheKey",
    "reasoningEffort",
    "reasoningField",
    "serviceTier",
    "store",
    "streamUsage",
    "textVerbosity",
];

/// The efforts that OpenAI's models know.
pub(super) const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
pub(super) const EFFORT: &str = "one of none, minimal, low, medium, high, xhigh, max";
pub(super) const VERBOSITIES: [&str; 3] = ["low", "medium", "high"];
pub(super) const VERBOSITY: &str = "one of low, medium, high";

/// What servers want to have otherwise in messages.
#[derive(Clone, Copy)]
struct Dialect {
    reasoning: ReasoningField,
    /// Whether an answer of calls alone has an empty text; without it, it has `null`.
    empty_text: bool,
    /// Whether messages follow each other as models of Mistral want them.
    mistral: bool,
}

/// Which field of an answer reasoning is sent back in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReasoningField {
    Content,
    Short,
    Nowhere,
}

/// A decoder for one answer.
pub(super) fn decoder() -> ChatDecoder {
    ChatDecoder::default()
}

/// Writes a request; encoding 1.
pub(super) fn encode(request: &Request, session: SessionId) -> Result<RequestBody, BodyError> {
    let options = ProtocolOptions::of(request, PROTOCOL, "openai", &OPTIONS)?;
    let expected = "one of reasoning_content, reasoning, none";
    let reasoning = match options.word("reasoningField", expected, &["reasoning_content", "reasoning", "none"])? {
        Some("reasoning") => ReasoningField::Short,
        Some("none") => ReasoningField::Nowhere,
        _ => ReasoningField::Content,
    };
    let empty = options.word("emptyContent", "one of null, text", &["null", "text"])?;
    let mistral = messages::is_mistral(&request.model.id);
    let dialect = Dialect { reasoning, empty_text: empty == Some("text"), mistral };
    let mut fields = BodyFields::of_size(expected_size(request));
    fields.put("model", &request.model.id)?;
    fields.put("messages", &messages::messages(request, dialect))?;
    if !request.tools.is_empty() {
        let tools: Vec<ChatTool> = described(request)?.into_iter().map(ChatTool::from).collect();
        fields.put("tools", &tools)?;
        if request.tool_choice == ToolChoice::None {
            fields.put("tool_choice", "none")?;
        }
    }
    fields.put("stream", &true)?;
    if options.flag("streamUsage")?.unwrap_or(true) {
        fields.put("stream_options", &serde_json::json!({"include_usage": true}))?;
    }
    let expected = "max_tokens or max_completion_tokens";
    let limit = options.word("maxTokensField", expected, &["max_tokens", "max_completion_tokens"])?;
    let table = [
        Control { name: "max_tokens", field: limit.unwrap_or("max_tokens"), kind: ControlKind::Count },
        Control { name: "temperature", field: "temperature", kind: ControlKind::Number },
        Control { name: "top_p", field: "top_p", kind: ControlKind::Number },
        Control { name: "top_k", field: "top_k", kind: ControlKind::Whole },
        Control { name: "frequency_penalty", field: "frequency_penalty", kind: ControlKind::Number },
        Control { name: "presence_penalty", field: "presence_penalty", kind: ControlKind::Number },
        Control { name: "seed", field: "seed", kind: ControlKind::Whole },
        Control { name: "stop", field: "stop", kind: ControlKind::Texts },
    ];
    controls(&mut fields, request, PROTOCOL, &table)?;
    fields.put_if("parallel_tool_calls", options.flag("parallelToolCalls")?)?;
    fields.put_if("prompt_cache_key", options.text_or("promptCacheKey", &session.to_string())?.flatten())?;
    fields.put_if("reasoning_effort", options.word("reasoningEffort", EFFORT, &EFFORTS)?)?;
    fields.put_if("service_tier", options.text("serviceTier")?)?;
    fields.put_if("store", options.flag("store")?)?;
    fields.put_if("verbosity", options.word("textVerbosity", VERBOSITY, &VERBOSITIES)?)?;
    overlay(&mut fields, request, &OWNED)?;
    Ok(fields.body())
}

#[derive(Serialize)]
struct ChatTool<'a> {
    r#type: &'static str,
    function: ChatFunction<'a>,
}

#[derive(Serialize)]
struct ChatFunction<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    parameters: &'a RawValue,
}

impl<'a> From<Described<'a>> for ChatTool<'a> {
    fn from(Described { name, description, schema }: Described<'a>) -> Self {
        Self { r#type: "function", function: ChatFunction { name, description, parameters: schema } }
    }
}

/// A tool definition as every protocol needs it.
pub(super) struct Described<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) description: &'a str,
    pub(super) schema: &'a RawValue,
}

/// Reads the tool definitions of a request: each under the name that its calls have, the schema as it was received.
///
/// # Errors
/// If one is not JSON, its blob is missing, or two would have the same name.
pub(super) fn described(request: &Request) -> Result<Vec<Described<'_>>, BodyError> {
    let mut known: BTreeMap<Cow<'_, str>, &str> = BTreeMap::new();
    let mut all = Vec::with_capacity(request.tools.len());
    for tool in &request.tools {
        let name = names::tool(&tool.name);
        if let Some(first) = known.insert(name.clone(), &tool.name) {
            let (first, second) = (first.to_owned(), tool.name.clone());
            return Err(BodyError::SameName { first, second, name: name.into_owned() });
        }
        let missing = || BodyError::NotJson {
            what: format!("the definition of tool {}", tool.name),
            why: "a blob that it refers to is missing".into(),
        };
        let schema = tool.schema.0.inline().ok_or_else(missing)?;
        let description = tool.description.inline().ok_or_else(missing)?;
        let schema = received(|| format!("the schema of tool {}", tool.name), schema)?;
        all.push(Described { name, description, schema });
    }
    Ok(all)
}
