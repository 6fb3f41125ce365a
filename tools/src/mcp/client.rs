//! A server as its tools: handshake, list, call.

use super::connection::McpConnection;
use super::error::McpError;
use super::message::{CallParams, Initialized, McpResult, RemoteTool, ToolPage};
use super::settings::McpServer;
use serde_json::json;
use serde_json::value::RawValue;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Mutex;

/// The version that is asked for.
const PROTOCOL: &str = "2025-11-25";

/// The versions that are understood. They differ in nothing that is used here.
const PROTOCOLS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", PROTOCOL];

/// How many tools a server may have.
const MOST_TOOLS: usize = 500;

/// A server in a directory. It is started by the first request, and again by a request after it ended.
pub(super) struct McpClient {
    settings: McpServer,
    directory: PathBuf,
    current: Mutex<Option<Arc<McpConnection>>>,
}

impl McpClient {
    pub(super) fn new(settings: McpServer, directory: PathBuf) -> Self {
        Self { settings, directory, current: Mutex::default() }
    }

    pub(super) fn settings(&self) -> &McpServer {
        &self.settings
    }

    /// All tools of the server.
    pub(super) async fn tools(&self) -> Result<Vec<RemoteTool>, McpError> {
        let connection = self.connected().await?;
        let (mut tools, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
            let page: ToolPage = match connection.request("tools/list", params, self.settings.start_timeout).await {
                // A server without tools need not know the request.
                Err(McpError::Refused { code: -32601, .. }) if tools.is_empty() => return Ok(tools),
                page => page?,
            };
            tools.extend(page.tools);
            if tools.len() > MOST_TOOLS {
                let why = format!("it has more than {MOST_TOOLS} tools");
                return Err(McpError::Invalid { method: "tools/list", why });
            }
            match page.next_cursor {
                Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
                _ => return Ok(tools),
            }
        }
    }

    /// Calls a tool. A call that got no answer is not repeated.
    pub(super) async fn call(&self, name: &str, arguments: &RawValue) -> Result<McpResult, McpError> {
        let connection = self.connected().await?;
        connection.request("tools/call", CallParams { name, arguments }, self.settings.timeout).await
    }

    /// The running server; a new one if there is none, or if it has ended.
    async fn connected(&self) -> Result<Arc<McpConnection>, McpError> {
        let mut current = self.current.lock().await;
        if let Some(connection) = current.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        *current = None;
        let connection = Arc::new(McpConnection::start(&self.settings, &self.directory)?);
        let params = json!({
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": {"name": "annals", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer: Initialized = connection.request("initialize", params, self.settings.start_timeout).await?;
        if !PROTOCOLS.contains(&answer.protocol_version.as_str()) {
            return Err(McpError::Version(answer.protocol_version));
        }
        connection.notify("notifications/initialized").await;
        tracing::debug!(server = self.settings.name, version = answer.protocol_version, "an MCP server started");
        Ok(current.insert(connection).clone())
    }
}
