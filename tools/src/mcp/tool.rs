//! A tool of a server as a tool of a session.

use super::client::McpClient;
use super::content;
use super::error::McpError;
use super::message::RemoteTool;
use super::settings::McpServer;
use super::{MCP, McpListed};
use annals_core::Json;
use annals_core::event::ToolDefinition;
use annals_runtime::Boxed;
use annals_runtime::tools::{CallContext, CallInput, Tool, ToolError, ToolOutput};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;

/// The longest name of a tool, in bytes, and how much of a longer one is kept before a part of its hash.
const LONGEST_NAME: usize = 64;
const KEPT_NAME: usize = 55;

/// The longest description, in characters.
const LONGEST_DESCRIPTION: usize = 4_096;

/// Calls a tool of a server.
pub(super) struct McpTool {
    client: Arc<McpClient>,
    listed: McpListed,
}

impl McpTool {
    pub(super) fn new(client: Arc<McpClient>, listed: McpListed) -> Self {
        Self { client, listed }
    }

    fn tool_error(&self, error: &McpError) -> ToolError {
        tool_error(&self.client.settings().name, error)
    }
}

/// An error as the model reads it.
pub(super) fn tool_error(server: &str, error: &McpError) -> ToolError {
    let effect = match error {
        McpError::Ended(_) | McpError::Late { .. } | McpError::Invalid { .. } => {
            " Whether the call had an effect is not known."
        }
        McpError::Start { .. }
        | McpError::Refused { .. }
        | McpError::Version(_)
        | McpError::Unreachable { .. }
        | McpError::LoginNeeded { .. }
        | McpError::Login { .. } => "",
    };
    ToolError(format!("MCP server {server}: {error}.{effect}"))
}

impl Tool for McpTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.listed.offered.clone(),
            description: self.listed.description.clone().into(),
            schema: Json::canonical(&self.listed.schema),
        }
    }

    fn action(&self) -> String {
        MCP.into()
    }

    fn resources(&self, _: &CallInput) -> Vec<String> {
        vec![self.listed.resource.clone()]
    }

    /// The server checks the shape.
    fn validate(&self, _: &CallInput) -> Result<(), String> {
        Ok(())
    }

    fn execute<'a>(&'a self, input: CallInput, context: CallContext) -> Boxed<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let arguments = RawValue::from_string(input.text().to_owned()).map_err(|error| error.to_string())?;
            let _running = self.client.elicitor().during(context.session, context.call);
            let result = self.client.call(&self.listed.name, &arguments).await;
            content::output(result.map_err(|error| self.tool_error(&error))?)
        })
    }
}

/// The tools of a server that are offered, by the server's order.
pub(super) fn listed(server: &McpServer, tools: Vec<RemoteTool>) -> Vec<McpListed> {
    let tools = tools.into_iter().filter(|tool| server.offers(&tool.name));
    let listed = |RemoteTool { name, description, input_schema }| McpListed {
        offered: offered(&server.name, &name),
        resource: format!("{}/{}", plain(&server.name), plain(&name)),
        description: description.unwrap_or_default().trim().chars().take(LONGEST_DESCRIPTION).collect(),
        schema: schema(input_schema),
        name,
    };
    tools.map(listed).collect()
}

/// The name that models call a tool by.
pub(super) fn offered(server: &str, tool: &str) -> String {
    let name = format!("mcp__{}__{}", plain(server), plain(tool));
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let hash = blake3::hash(format!("{server}/{tool}").as_bytes()).to_hex();
    let (kept, hash): (String, String) = (name.chars().take(KEPT_NAME).collect(), hash.chars().take(8).collect());
    format!("{kept}_{hash}")
}

/// A name with nothing in it but what names of tools may hold.
pub(super) fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

/// The schema of an input: an object, without the name of a dialect.
fn schema(schema: Value) -> Value {
    let Value::Object(mut fields) = schema else { return json!({"type": "object"}) };
    fields.remove("$schema");
    fields.entry("type").or_insert_with(|| "object".into());
    Value::Object(fields)
}
