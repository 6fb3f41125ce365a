//! Prompts and resources of servers in what the user types: `/mcp__SERVER__PROMPT`, `@SERVER:URI`.

use super::client::McpClient;
use super::error::McpError;
use super::settings::McpServer;
use super::tool::plain;
use super::{McpServers, content};
use annals_core::event::Attachment;
use annals_runtime::tools::ToolError;
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// A prompt of a server, filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpPrompt {
    /// Its text.
    pub text: String,
    /// What comes with it.
    pub attachments: Vec<Attachment>,
}

impl McpServers {
    /// The server that a command `mcp__SERVER__PROMPT` names, and the prompt.
    fn of_command<'a>(&self, name: &'a str) -> Option<(McpServer, &'a str)> {
        let name = name.strip_prefix("mcp__")?;
        let found = self.servers().into_iter().filter_map(|server| {
            let prompt = name.strip_prefix(&plain(&server.name))?.strip_prefix("__")?;
            Some((server, prompt))
        });
        found.max_by_key(|(server, _)| server.name.len())
    }

    /// Whether a command (without its slash) names a prompt of a server that is configured.
    pub fn is_prompt(&self, name: &str) -> bool {
        self.of_command(name).is_some()
    }

    /// Fills the prompt that a command names; the words are its arguments, in order.
    ///
    /// # Errors
    /// When the server has no such prompt, or does not answer.
    pub async fn prompt(&self, directory: &Path, name: &str, words: &[String]) -> Result<McpPrompt, McpError> {
        let missing = |why: String| McpError::Invalid { method: "prompts/get", why };
        let Some((server, prompt)) = self.of_command(name) else { return Err(missing("no such server".into())) };
        let client = self.client(&server, &directory.to_string_lossy());
        let prompts = client.prompts().await?;
        let names = || prompts.iter().map(|one| plain(&one.name)).collect::<Vec<_>>().join(", ");
        let found = prompts.iter().find(|one| plain(&one.name) == prompt);
        let found = found.ok_or_else(|| missing(format!("{} has no such prompt; it has: {}", server.name, names())))?;
        let last = found.arguments.len().saturating_sub(1);
        let argument = |(at, argument): (usize, &super::RemoteArgument)| {
            // The last argument takes what is left.
            let value = match at == last {
                true => words.get(at..).unwrap_or_default().join(" "),
                false => words.get(at).cloned().unwrap_or_default(),
            };
            (!value.is_empty()).then(|| (argument.name.clone(), Value::from(value)))
        };
        let arguments: Map<String, Value> = found.arguments.iter().enumerate().filter_map(argument).collect();
        let (text, attachments) = content::prompt(client.prompt(&found.name, arguments).await?);
        Ok(McpPrompt { text, attachments })
    }

    /// Reads the resource that `SERVER:URI` names; `None` when no server has that name.
    pub async fn mentioned(&self, directory: &Path, mention: &str) -> Option<Result<McpPrompt, ToolError>> {
        let (server, uri) = mention.split_once(':')?;
        let server = self.servers().into_iter().find(|one| one.name == server).filter(|_| !uri.is_empty())?;
        let client = self.client(&server, &directory.to_string_lossy());
        Some(read(&client, uri).await)
    }
}

async fn read(client: &Arc<McpClient>, uri: &str) -> Result<McpPrompt, ToolError> {
    let contents = client.resource(uri).await.map_err(|error| ToolError(error.to_string()))?;
    let output = content::resource(contents)?;
    Ok(McpPrompt { text: output.text.unwrap_or_default(), attachments: output.attachments })
}
