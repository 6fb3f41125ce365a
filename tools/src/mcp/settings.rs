//! What is configured of a server.

use std::time::Duration;

/// An MCP server: a program that speaks the protocol over stdin and stdout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Environment variables besides those that every server sees.
    pub environment: Vec<(String, String)>,
    /// Which of its tools are offered; `None` for all.
    pub tools: Option<Vec<String>>,
    /// Which of its tools are not offered.
    pub denied_tools: Vec<String>,
    /// How long it may take to start and to list its tools.
    pub start_timeout: Duration,
    /// How long a call may take.
    pub timeout: Duration,
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
            tools: None,
            denied_tools: Vec::new(),
            start_timeout: Duration::from_secs(30),
            timeout: Duration::from_secs(120),
        }
    }

    /// Whether a tool of the server is offered.
    pub(super) fn offers(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name == tool))
            && !self.denied_tools.iter().any(|name| name == tool)
    }
}
