//! The tool `read_resource`: what MCP servers offer besides tools.

use super::client::McpClient;
use super::tool::{plain, tool_error};
use super::{MCP, content};
use annals_core::Json;
use annals_core::event::ToolDefinition;
use annals_runtime::Boxed;
use annals_runtime::tools::{CallContext, CallInput, Tool, ToolError, ToolOutput};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// The tool's name.
pub(super) const READ_RESOURCE: &str = "read_resource";

const ABOUT: &str = "Reads a resource of an MCP server by its URI. Without `uri`, lists the resources that there are.";

/// Reads and lists resources.
pub(super) struct ResourceTool(pub(super) Vec<Arc<McpClient>>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResourceInput {
    server: Option<String>,
    uri: Option<String>,
}

impl ResourceTool {
    /// The servers that an input is about.
    fn named(&self, input: &ResourceInput) -> Result<Vec<&Arc<McpClient>>, String> {
        let names = || self.0.iter().map(|client| client.settings().name.as_str()).collect::<Vec<_>>().join(", ");
        let clients: Vec<_> = match &input.server {
            Some(server) => self.0.iter().filter(|client| client.settings().name == *server).collect(),
            None => self.0.iter().collect(),
        };
        match (clients.len(), &input.uri) {
            (0, _) => Err(format!("there is no such server; servers with resources: {}", names())),
            (2.., Some(_)) => Err(format!("name the server of the resource, one of: {}", names())),
            _ => Ok(clients),
        }
    }
}

fn read(input: &CallInput) -> Result<ResourceInput, String> {
    serde_json::from_str(input.text()).map_err(|error| error.to_string())
}

impl Tool for ResourceTool {
    fn definition(&self) -> ToolDefinition {
        let servers: Vec<&str> = self.0.iter().map(|client| client.settings().name.as_str()).collect();
        let schema = json!({
            "type": "object",
            "properties": {
                "server": {"type": "string", "enum": servers},
                "uri": {"type": "string", "description": "What to read; left out, resources are listed."},
            },
            "additionalProperties": false,
        });
        ToolDefinition { name: READ_RESOURCE.into(), description: ABOUT.into(), schema: Json::canonical(&schema) }
    }

    fn action(&self) -> String {
        MCP.into()
    }

    /// `SERVER/URI`; for a list `SERVER/resources`.
    fn resources(&self, input: &CallInput) -> Vec<String> {
        let Ok(input) = read(input) else { return vec!["*".into()] };
        let Ok(clients) = self.named(&input) else { return vec!["*".into()] };
        let uri = input.uri.as_deref().unwrap_or("resources");
        clients.iter().map(|client| format!("{}/{uri}", plain(&client.settings().name))).collect()
    }

    fn validate(&self, input: &CallInput) -> Result<(), String> {
        self.named(&read(input)?).map(|_| ())
    }

    fn execute<'a>(&'a self, input: CallInput, context: CallContext) -> Boxed<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let input = read(&input).map_err(ToolError)?;
            let clients = self.named(&input).map_err(ToolError)?;
            let mut lines = Vec::new();
            for client in clients {
                let server = &client.settings().name;
                let failed = |error| tool_error(server, &error);
                if let Some(uri) = &input.uri {
                    let _running = client.elicitor().during(context.session, context.call);
                    return content::resource(client.resource(uri).await.map_err(failed)?);
                }
                let (known, patterns) = (client.resources().await, client.templates().await);
                for one in known.map_err(failed)?.into_iter().chain(patterns.map_err(failed)?) {
                    let about = one.description.unwrap_or_default();
                    lines.push(format!("{server} {} {} {}", one.uri, one.name, about.trim()).trim_end().to_owned());
                }
            }
            match lines.is_empty() {
                true => Ok(ToolOutput::text("There are no resources.")),
                false => Ok(ToolOutput::text(lines.join("\n"))),
            }
        })
    }
}
