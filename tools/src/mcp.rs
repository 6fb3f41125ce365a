//! MCP servers: programs that speak the Model Context Protocol over stdin and stdout, and addresses (`docs/mcp.md`).
//!
//! A server is started, or connected to, when a location is prepared, in the directory of the location, and ends with the host. Its
//! tools are listed, and registered as `mcp__SERVER__TOOL`; if it says that they are others now, again when an epoch begins. A server that ended is started again by the next call; the call that
//! it did not answer is not repeated.
//!
//! ```text
//! McpServers ─► tool, resource (Tool) ─► client (lists, calls) ─► peer (lifecycle) ─► connection (over a process) ─► message
//!     │            └─► content (results)                             └─► http (over HTTP) ─► oauth (tokens, login)
//!     └─► prompts                           elicitation ◄──────────────── what servers ask the user
//! ```

mod client;
mod connection;
mod content;
mod elicitation;
mod error;
mod http;
mod message;
mod oauth;
mod peer;
mod prompts;
mod resource;
mod settings;
mod tool;

#[cfg(test)]
mod tests;

pub use error::McpError;
pub use message::{RemoteArgument, RemotePrompt, RemoteResource};
pub use oauth::{is_logged_in, log_in, log_out};
pub use peer::McpOffer;
pub use prompts::McpPrompt;
pub use settings::{McpEndpoint, McpServer};

use annals_runtime::prompt::UserPrompt;
use annals_runtime::tools::{Layer, Tool, ToolRegistry};
use client::McpClient;
use futures_util::future::join_all;
use resource::{READ_RESOURCE, ResourceTool};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tool::McpTool;

/// The permission action of calls of MCP servers; the resource is `SERVER/TOOL`.
pub const MCP: &str = "mcp";

/// MCP servers of every location. Clones share their processes, which end with the last clone and the last registered tool.
#[derive(Clone, Default)]
pub struct McpServers {
    user: Option<Arc<dyn UserPrompt>>,
    shared: Arc<Mutex<McpState>>,
}

#[derive(Default)]
struct McpState {
    servers: Vec<McpServer>,
    /// How often they were replaced.
    version: u64,
    /// Directories in which tools were registered, each with the version of the servers.
    started: BTreeMap<String, u64>,
    /// By directory and name.
    clients: BTreeMap<(String, String), Arc<McpClient>>,
    /// The tools that are registered in a directory.
    layers: BTreeMap<String, Layer>,
}

/// What one server offers.
pub struct McpListing {
    /// The server's name.
    pub server: String,
    /// What it says of itself, and its tools by the names that models call them by; or why there is nothing.
    pub offered: Result<(McpOffer, Vec<McpListed>), McpError>,
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
        f.debug_struct("McpServers").field("servers", &self.servers()).finish_non_exhaustive()
    }
}

impl McpServers {
    /// These servers, none of them started yet.
    pub fn new(servers: Vec<McpServer>) -> Self {
        let state = McpState { servers, ..McpState::default() };
        Self { shared: Arc::new(Mutex::new(state)), ..Self::default() }
    }

    /// Takes other servers in the place of these. Those that are the same continue; the others end once [`McpServers::renew`] has registered
    /// the tools of the new ones.
    pub fn replace(&self, servers: Vec<McpServer>) {
        let mut state = self.state();
        if state.servers != servers {
            state.clients.retain(|_, client| servers.contains(client.settings()));
            state.servers = servers;
            state.version += 1;
        }
    }

    /// The same, which may ask the user while their calls run.
    #[must_use]
    pub fn asking(self, user: Option<Arc<dyn UserPrompt>>) -> Self {
        Self { user, ..self }
    }

    fn state(&self) -> MutexGuard<'_, McpState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn servers(&self) -> Vec<McpServer> {
        self.state().servers.clone()
    }

    /// A server in a directory.
    fn client(&self, server: &McpServer, directory: &str) -> Arc<McpClient> {
        let new = || Arc::new(McpClient::new(server.clone(), directory.into(), self.user.clone()));
        self.state().clients.entry((directory.to_owned(), server.name.clone())).or_insert_with(new).clone()
    }

    /// Starts the servers in a directory and registers their tools there; the second time nothing happens. Returns a remark
    /// for the user about each server or tool that is not offered.
    pub async fn start(&self, directory: &str, registry: &ToolRegistry) -> Vec<String> {
        {
            let mut state = self.state();
            let version = state.version;
            if state.servers.is_empty() || state.started.contains_key(directory) {
                return Vec::new();
            }
            state.started.insert(directory.to_owned(), version);
        }
        self.register(directory, registry).await
    }

    /// Registers the tools of servers that said that they have others now, or that took the place of others. Called before each request.
    pub async fn renew(&self, directory: &str, registry: &ToolRegistry) -> Vec<String> {
        let (clients, replaced) = {
            let mut state = self.state();
            let version = state.version;
            let replaced = state.started.get(directory).copied().unwrap_or_default() != version;
            if replaced {
                state.started.insert(directory.to_owned(), version);
            }
            let here = state.clients.iter().filter(|((of, _), _)| of == directory);
            (here.map(|(_, client)| client.clone()).collect::<Vec<_>>(), replaced)
        };
        // Each is asked: one answer must not hide another.
        let changed = clients.iter().filter(|client| client.elicitor().has_other_tools()).count();
        if changed == 0 && !replaced { Vec::new() } else { self.register(directory, registry).await }
    }

    /// Lists the tools of all servers and registers them in the place of those that were registered before.
    async fn register(&self, directory: &str, registry: &ToolRegistry) -> Vec<String> {
        let (mut remarks, mut tools, mut with_resources) = (Vec::new(), BTreeMap::new(), Vec::new());
        for McpListing { server, offered, client } in self.list(Path::new(directory)).await {
            let (offer, listed) = match offered {
                Ok(offered) => offered,
                Err(error) => {
                    remarks.push(format!("MCP server {server}: {error}; its tools are not offered"));
                    continue;
                }
            };
            if offer.resources {
                with_resources.push(client.clone());
            }
            for tool in listed {
                if tools.contains_key(&tool.offered) {
                    remarks.push(format!("MCP server {server}: two of its tools would be called {}", tool.offered));
                    continue;
                }
                let offered = tool.offered.clone();
                tools.insert(offered, Arc::new(McpTool::new(client.clone(), tool)) as Arc<dyn Tool>);
            }
        }
        if !with_resources.is_empty() {
            tools.insert(READ_RESOURCE.into(), Arc::new(ResourceTool(with_resources)));
        }
        match registry.register(tools.into_values()) {
            // Those of before are closed once the new ones are there.
            Ok(layer) => drop(self.state().layers.insert(directory.to_owned(), layer)),
            Err(error) => remarks.push(format!("the tools of MCP servers are not offered: {error}")),
        }
        remarks
    }

    /// Starts the servers in a directory and lists their tools, the servers in the order of their names.
    pub async fn list(&self, directory: &Path) -> Vec<McpListing> {
        let directory = directory.to_string_lossy();
        let listing = |server: &McpServer| {
            let client = self.client(server, &directory);
            async move {
                let offered = async {
                    let tools = client.tools().await?;
                    Ok((client.offer().await?, tool::listed(client.settings(), tools)))
                };
                let offered = offered.await;
                McpListing { server: client.settings().name.clone(), offered, client }
            }
        };
        join_all(self.servers().iter().map(listing)).await
    }
}

impl McpListing {
    /// Its resources and the patterns of further ones.
    ///
    /// # Errors
    /// When it does not list them.
    pub async fn resources(&self) -> Result<Vec<RemoteResource>, McpError> {
        let known = self.client.resources().await?;
        Ok(known.into_iter().chain(self.client.templates().await?).collect())
    }

    /// Its prompts.
    ///
    /// # Errors
    /// When it does not list them.
    pub async fn prompts(&self) -> Result<Vec<RemotePrompt>, McpError> {
        self.client.prompts().await
    }
}
