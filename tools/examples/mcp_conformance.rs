//! The client that the published conformance suite of the Model Context Protocol tests:
//!
//! ```sh
//! npx @modelcontextprotocol/conformance client --command target/debug/examples/mcp_conformance --suite all
//! ```

use annals_core::{Seq, SessionId};
use annals_providers::http::{PageRequest, page};
use annals_runtime::Boxed;
use annals_runtime::prompt::{UserPrompt, UserQuestion};
use annals_runtime::tools::{CallContext, CallInput, Cancel, Past, Permits, ProgressSender, ToolRegistry};
use annals_tools::mcp::{McpError, McpServer, McpServers, log_in};
use serde_json::Value;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A user who accepts what is offered.
struct Accepts;

impl UserPrompt for Accepts {
    fn ask(&self, _: UserQuestion) -> Boxed<'_, Option<String>> {
        Box::pin(async { Some(String::new()) })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().next_back().ok_or("the address of the server is missing")?;
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let text = |name: &str| context.get(name).and_then(Value::as_str).map(str::to_owned);
    let folder = tempfile::tempdir()?;
    let mut server = McpServer::at("conformance", url);
    if let Some(endpoint) = &mut server.http {
        endpoint.credentials = Some(folder.path().to_owned());
        endpoint.client_id = text("client_id");
        // The document that the suite expects.
        endpoint.client_document = Some("https://conformance-test.local/client-metadata.json".into());
        endpoint.client_secret = text("client_secret");
    }
    let mut logins = 0;
    loop {
        match attempt(&server, folder.path()).await? {
            Some(McpError::LoginNeeded { .. }) if logins < 3 => {
                logins += 1;
                let (sender, address) = tokio::sync::oneshot::channel();
                tokio::spawn(async move {
                    if let Ok(page) = address.await {
                        browse(page).await;
                    }
                });
                log_in(&server, move |page| drop(sender.send(page.to_owned()))).await?;
            }
            Some(error) => return Err(error.into()),
            None => return Ok(()),
        }
    }
}

/// Lists the tools and calls each of them.
async fn attempt(server: &McpServer, folder: &Path) -> Result<Option<McpError>, Box<dyn Error>> {
    let servers = McpServers::new(vec![server.clone()]).asking(Some(Arc::new(Accepts)));
    let Some(listing) = servers.list(folder).await.into_iter().next() else { return Ok(None) };
    let tools = match listing.offered {
        Ok((_, tools)) => tools,
        Err(error) => return Ok(Some(error)),
    };
    let registry = ToolRegistry::default();
    servers.start(&folder.to_string_lossy(), &registry).await;
    for tool in tools {
        let found = registry.materialise(&[]).resolve(&registry, &tool.offered)?;
        let input = CallInput::received(if tool.name == "add_numbers" { r#"{"a": 5, "b": 3}"# } else { "{}" });
        let context = CallContext {
            session: SessionId::from_parts(0, 1),
            agent: "build".into(),
            step: Seq(1),
            call: "c1".into(),
            authorised: found.demands(&input),
            permits: Permits::default(),
            cancellation: Cancel::default().watch(),
            progress: ProgressSender::default(),
            past: Past::default(),
        };
        match found.run(input, context).await {
            Ok(output) => eprintln!("{}: {:?}", tool.name, output.text),
            Err(error) if error.to_string().contains("annals mcp login") => {
                return Ok(Some(McpError::LoginNeeded { server: server.name.clone() }));
            }
            Err(error) => eprintln!("{}: {error}", tool.name),
        }
    }
    Ok(None)
}

/// Follows the redirects of a page, as a browser does.
async fn browse(mut url: String) {
    for _ in 0..5 {
        let request = PageRequest { url, largest: 4_096, limit: Duration::from_secs(10), ..PageRequest::default() };
        match page(request).await {
            Ok(answer) => match answer.location {
                Some(location) => url = location,
                None => return,
            },
            Err(error) => return eprintln!("{error}"),
        }
    }
}
