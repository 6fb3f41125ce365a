//! Messages of the protocol, as far as they are used.

use super::peer::McpOffer;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What is sent: a request has an id, a notification has none.
#[derive(Serialize)]
pub(super) struct Outgoing<'a, P> {
    pub(super) jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<u64>,
    pub(super) method: &'a str,
    pub(super) params: P,
}

/// What arrives: a request, a notification, or an answer.
#[derive(Deserialize)]
pub(super) struct Incoming {
    pub(super) id: Option<Value>,
    pub(super) method: Option<String>,
    #[serde(default)]
    pub(super) params: Value,
    pub(super) result: Option<Box<RawValue>>,
    pub(super) error: Option<RemoteError>,
}

/// The parameters of a request by name, each as it is written.
pub(super) type Params = BTreeMap<String, Box<RawValue>>;

/// Parameters of values.
pub(super) fn params<const N: usize>(values: [(&str, Value); N]) -> Params {
    values.into_iter().map(|(name, value)| (name.to_owned(), raw(&value))).collect()
}

/// A value as it is written.
pub(super) fn raw(value: &impl Serialize) -> Box<RawValue> {
    // Values of JSON can be written.
    serde_json::value::to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// The answer to `server/discover`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Discovered {
    supported_versions: Vec<String>,
    #[serde(default)]
    capabilities: Value,
    #[serde(default, rename = "_meta")]
    meta: Value,
    instructions: Option<String>,
}

impl Discovered {
    /// Whether the server knows a version.
    pub(super) fn knows(&self, version: &str) -> bool {
        self.supported_versions.iter().any(|known| known == version)
    }

    /// What the server says of itself.
    pub(super) fn offer(self, version: &str) -> McpOffer {
        let server = self.meta.get("io.modelcontextprotocol/serverInfo").cloned().unwrap_or_default();
        let Self { capabilities, instructions, .. } = self;
        Initialized { protocol_version: version.into(), capabilities, server_info: server, instructions }.offer()
    }
}

/// An answer that asks for something first.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InputRequired {
    #[serde(default)]
    result_type: String,
    #[serde(default)]
    pub(super) input_requests: Map<String, Value>,
    pub(super) request_state: Option<String>,
}

impl InputRequired {
    /// Whether it is such an answer.
    pub(super) fn is_so(&self) -> bool {
        self.result_type == "input_required"
    }
}

/// An error as an answer.
#[derive(Deserialize)]
pub(super) struct RemoteError {
    #[serde(default)]
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
}

/// The answer to `initialize`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initialized {
    pub(super) protocol_version: String,
    #[serde(default)]
    capabilities: Value,
    #[serde(default)]
    server_info: Value,
    instructions: Option<String>,
}

impl Initialized {
    /// What the server says of itself.
    pub(super) fn offer(self) -> McpOffer {
        let of = |name: &str| self.server_info.get(name).and_then(Value::as_str).unwrap_or_default();
        McpOffer {
            implementation: format!("{} {}", of("name"), of("version")).trim().to_owned(),
            resources: self.capabilities.get("resources").is_some(),
            prompts: self.capabilities.get("prompts").is_some(),
            instructions: self.instructions.unwrap_or_default(),
            protocol: self.protocol_version,
        }
    }
}

/// The answer to `tools/list`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ToolPage {
    pub(super) tools: Vec<RemoteTool>,
    pub(super) next_cursor: Option<String>,
}

/// A tool of a server.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RemoteTool {
    pub(super) name: String,
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) input_schema: Value,
}

/// The answer to `resources/list` and `resources/templates/list`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourcePage {
    #[serde(default, alias = "resourceTemplates")]
    pub(super) resources: Vec<RemoteResource>,
    pub(super) next_cursor: Option<String>,
}

/// A resource of a server, or a template of one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteResource {
    /// Its address, or a pattern of addresses.
    #[serde(alias = "uriTemplate")]
    pub uri: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// What the server says of it.
    pub description: Option<String>,
}

/// The answer to `prompts/list`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptPage {
    #[serde(default)]
    pub(super) prompts: Vec<RemotePrompt>,
    pub(super) next_cursor: Option<String>,
}

/// A prompt of a server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RemotePrompt {
    /// Its name.
    pub name: String,
    /// What the server says of it.
    pub description: Option<String>,
    /// Its arguments, in order.
    #[serde(default)]
    pub arguments: Vec<RemoteArgument>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RemoteArgument {
    /// Its name.
    pub name: String,
}

/// The answer to `resources/read`.
#[derive(Deserialize)]
pub(super) struct ResourceContents {
    #[serde(default)]
    pub(super) contents: Vec<EmbeddedResource>,
}

/// The answer to `prompts/get`.
#[derive(Deserialize)]
pub(super) struct FilledPrompt {
    #[serde(default)]
    pub(super) messages: Vec<PromptMessage>,
}

/// A message of a prompt.
#[derive(Deserialize)]
pub(super) struct PromptMessage {
    pub(super) role: String,
    pub(super) content: McpContent,
}

/// The answer to `tools/call`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct McpResult {
    #[serde(default)]
    pub(super) content: Vec<McpContent>,
    pub(super) structured_content: Option<Box<RawValue>>,
    #[serde(default)]
    pub(super) is_error: bool,
}

/// One block of a result.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum McpContent {
    Text {
        text: String,
    },
    Image {
        data: String,
    },
    Audio {},
    ResourceLink {
        uri: String,
        name: Option<String>,
    },
    Resource {
        resource: EmbeddedResource,
    },
    #[serde(other)]
    Other,
}

/// A resource within a result: text, or bytes in base64.
#[derive(Deserialize)]
pub(super) struct EmbeddedResource {
    pub(super) uri: String,
    pub(super) text: Option<String>,
    pub(super) blob: Option<String>,
}
