//! Messages of the protocol, as far as they are used.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

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
    pub(super) result: Option<Box<RawValue>>,
    pub(super) error: Option<RemoteError>,
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

/// What `tools/call` takes.
#[derive(Serialize)]
pub(super) struct CallParams<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: &'a RawValue,
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
