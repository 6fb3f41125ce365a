//! What editors ask, as far as it is read.

use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewSessionParams {
    pub(super) cwd: PathBuf,
    #[serde(default)]
    pub(super) mcp_servers: Vec<ClientMcpServer>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoadSessionParams {
    pub(super) session_id: String,
    pub(super) cwd: PathBuf,
    #[serde(default)]
    pub(super) mcp_servers: Vec<ClientMcpServer>,
}

/// An MCP server that the editor passes on.
#[derive(Debug, Deserialize)]
pub(super) struct ClientMcpServer {
    pub(super) name: String,
    pub(super) command: Option<String>,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: Vec<NamedValue>,
    pub(super) url: Option<String>,
    #[serde(default)]
    pub(super) headers: Vec<NamedValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NamedValue {
    pub(super) name: String,
    pub(super) value: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct ListSessionsParams {
    pub(super) cwd: Option<PathBuf>,
    pub(super) cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionParams {
    pub(super) session_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetModeParams {
    pub(super) session_id: String,
    pub(super) mode_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetConfigParams {
    pub(super) session_id: String,
    pub(super) config_id: String,
    pub(super) value: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PromptParams {
    pub(super) session_id: String,
    pub(super) prompt: Vec<PromptBlock>,
}

/// A part of a prompt.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum PromptBlock {
    Text {
        text: String,
    },
    Image {
        data: String,
        #[serde(rename = "mimeType")]
        mime: String,
    },
    Audio {
        data: String,
        #[serde(rename = "mimeType")]
        mime: String,
    },
    ResourceLink {
        name: String,
        uri: String,
    },
    Resource {
        resource: EmbeddedFile,
    },
}

/// A file whose content the editor sends.
#[derive(Debug, Deserialize)]
pub(super) struct EmbeddedFile {
    pub(super) uri: String,
    pub(super) text: Option<String>,
    pub(super) blob: Option<String>,
    #[serde(rename = "mimeType")]
    pub(super) mime: Option<String>,
}
