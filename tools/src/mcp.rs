//! Tools of MCP servers: programs that offer tools over stdin and stdout (Model Context Protocol, `docs/mcp.md`).
//!
//! A server is started when a location is prepared, in the directory of the location, and ends with the host. Its tools
//! are listed once and registered as `mcp__SERVER__TOOL`. A server that ended is started again by the next call; the call
//! that it did not answer is not repeated.
//!
//! ```text
//! McpServers ─► tool (Tool) ─► client (handshake, list, call) ─► connection (JSON-RPC over a process) ─► message
//!                  └─► content (results)
//! ```

mod client;
mod connection;
mod content;
mod error;
mod message;
mod settings;
mod tool;

#[cfg(test)]
mod tests;

pub use error::McpError;
pub use settings::McpServer;

use annals_runtime::tools::{Tool, ToolRegistry};
use client::McpClient;
use futures_util::future::join_all;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Mutex;
use tool::McpTool;

/// The permission action of calls of MCP servers; the resource is `SERVER/TOOL`.
pub const MCP: &str = "mcp";

/// MCP servers of every location. Clones share their processes, which end with the last clone and the last registered tool.
#[derive(Clone, Default)]
pub struct McpServers {
    servers: Vec<McpServer>,
    /// Directories in which they were started.
    started: Arc<Mutex<BTreeSet<String>>>,
}

/// The tools of one server, or why there are none.
pub struct McpListing {
    /// The server's name.
    pub server: String,
    /// Its tools by the names that models call them by, with the server's own names and descriptions.
    pub tools: Result<Vec<McpListed>, McpError>,
    client: Arc<McpClient>,
}

/// A tool that a server offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpListed {
    /// The name that models call it by.
    pub offered: String,
    /// The permission resource: `SERVER/TOOL`.
    pub resource: String,
    /// The server's name of it.
    pub name: String,
    /// What the server says of it; may be empty.
    pub description: String,
    schema: serde_json::Value,
}

impl fmt::Debug for McpServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServers").field("servers", &self.servers).finish_non_exhaustive()
    }
}

impl McpServers {
    /// These servers, none of them started yet.
    pub fn new(servers: Vec<McpServer>) -> Self {
        Self { servers, started: Arc::default() }
    }

    /// Starts the servers in a directory and registers their tools there; the second time nothing happens. Returns a remark
    /// for the user about each server or tool that is not offered.
    pub async fn start(&self, directory: &str, registry: &ToolRegistry) -> Vec<String> {
        if self.servers.is_empty() || !self.started.lock().await.insert(directory.to_owned()) {
            return Vec::new();
        }
        let (mut remarks, mut tools) = (Vec::new(), BTreeMap::new());
        for McpListing { server, tools: listed, client } in self.list(Path::new(directory)).await {
            let listed = match listed {
                Ok(listed) => listed,
                Err(error) => {
                    remarks.push(format!("MCP server {server}: {error}; its tools are not offered"));
                    continue;
                }
            };
            for tool in listed {
                if tools.contains_key(&tool.offered) {
                    remarks.push(format!("MCP server {server}: two of its tools would be called {}", tool.offered));
                    continue;
                }
                let offered = tool.offered.clone();
                tools.insert(offered, Arc::new(McpTool::new(client.clone(), tool)) as Arc<dyn Tool>);
            }
        }
        match registry.register(tools.into_values()) {
            Ok(layer) => layer.detach(),
            Err(error) => remarks.push(format!("the tools of MCP servers are not offered: {error}")),
        }
        remarks
    }

    /// Starts the servers in a directory and lists their tools, the servers in the order of their names. They end when the
    /// list is dropped.
    pub async fn list(&self, directory: &Path) -> Vec<McpListing> {
        let listing = |settings: &McpServer| {
            let client = Arc::new(McpClient::new(settings.clone(), directory.to_owned()));
            async move {
                let tools = client.tools().await.map(|tools| tool::listed(client.settings(), tools));
                McpListing { server: client.settings().name.clone(), tools, client }
            }
        };
        join_all(self.servers.iter().map(listing)).await
    }
}
