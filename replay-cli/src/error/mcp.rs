//! Why a command about MCP servers gave no answer.

use annals_tools::mcp::McpError;
use std::path::PathBuf;

/// A command about MCP servers gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum McpCommandError {
    /// No server of that name is configured, or it is switched off.
    #[error("there is no MCP server {name:?}; {}", shown(known))]
    Unknown {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A server without a program or an address.
    #[error(
        "a server needs its program or its address: annals mcp add NAME COMMAND..., or annals mcp add NAME --url URL"
    )]
    Nothing,
    /// A server with both.
    #[error("a server is a program or an address, not both")]
    Both,
    /// The name cannot be one.
    #[error("{0}")]
    Name(String),
    /// Not of the form NAME=VALUE.
    #[error("{text:?} is not NAME{sign}VALUE")]
    NoPair {
        /// The text.
        text: String,
        /// The sign between name and value.
        sign: char,
    },
    /// There is one of that name.
    #[error("{} has a server {name:?} already; to replace it: --force", file.display())]
    There {
        /// The name.
        name: String,
        /// The file.
        file: PathBuf,
    },
    /// There is none of that name.
    #[error("{} has no server {name:?}", file.display())]
    NotThere {
        /// The name.
        name: String,
        /// The file.
        file: PathBuf,
    },
    /// A file of another agent cannot be read.
    #[error("{}: {why}", file.display())]
    NotRead {
        /// The file.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// The server gives no answer.
    #[error(transparent)]
    Server(McpError),
}

impl McpCommandError {
    /// Whether the command was used wrongly.
    pub fn is_wrong_use(&self) -> bool {
        matches!(
            self,
            Self::Unknown { .. }
                | Self::Nothing
                | Self::Both
                | Self::Name(_)
                | Self::NoPair { .. }
                | Self::There { .. }
                | Self::NotThere { .. }
        )
    }
}

fn shown(names: &[String]) -> String {
    match names {
        [] => "none is configured".into(),
        names => format!("there are {}", names.join(", ")),
    }
}
