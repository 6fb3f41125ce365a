//! What is configured of a server.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// An MCP server: a program that speaks the protocol over stdin and stdout, or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// The program; empty for an address.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Environment variables besides those that every server sees.
    pub environment: Vec<(String, String)>,
    /// URL of the server, for servers reached over HTTP.
    pub http: Option<McpEndpoint>,
    /// Which of its tools are offered; `None` for all.
    pub tools: Option<Vec<String>>,
    /// Which of its tools are not offered.
    pub denied_tools: Vec<String>,
    /// How long it may take to start and to list its tools.
    pub start_timeout: Duration,
    /// How long a call may take.
    pub timeout: Duration,
}

/// A server that is reached by HTTP (streamable HTTP).
#[derive(Clone, PartialEq, Eq)]
pub struct McpEndpoint {
    /// Its address.
    pub url: String,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// A token for the header `Authorization`; with one there is no login.
    pub bearer: Option<String>,
    /// The id under which this client is registered there; without one it registers itself at a login.
    pub client_id: Option<String>,
    /// The address of a document that describes this client (CIMD): its id where the authorization server takes such documents and
    /// there is no other id.
    pub client_document: Option<String>,
    /// The secret that belongs to it, if there is one.
    pub client_secret: Option<String>,
    /// The folder for what a login gives; without one there is none.
    pub credentials: Option<PathBuf>,
}

impl fmt::Debug for McpEndpoint {
    /// Without headers and token, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpEndpoint").field("url", &self.url).finish_non_exhaustive()
    }
}

impl McpServer {
    /// A server with the usual limits: 30 seconds for its start, two minutes for a call. It sees no variables but `PATH`,
    /// `HOME` and similar ones, and all of its tools are offered.
    pub fn new(name: impl Into<String>, program: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            http: None,
            tools: None,
            denied_tools: Vec::new(),
            start_timeout: Duration::from_secs(30),
            timeout: Duration::from_secs(120),
        }
    }

    /// A server at an address, with the usual limits.
    pub fn at(name: impl Into<String>, url: impl Into<String>) -> Self {
        let endpoint = McpEndpoint {
            url: url.into(),
            headers: Vec::new(),
            bearer: None,
            client_id: None,
            client_document: None,
            client_secret: None,
            credentials: None,
        };
        Self { http: Some(endpoint), ..Self::new(name, "") }
    }

    /// Whether a tool of the server is offered.
    pub(super) fn offers(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name == tool))
            && !self.denied_tools.iter().any(|name| name == tool)
    }
}
