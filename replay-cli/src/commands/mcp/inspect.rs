//! What one server offers.

use crate::command_context::CommandContext;
use crate::error::{CliError, McpCommandError, Verdict};
use crate::json;
use crate::layout::{clip, plain};
use crate::style::{Emphasis, counted};
use annals_inspect::timeline::one_line;
use annals_tools::mcp::{McpListed, McpListing, McpOffer, McpServer, McpServers, RemotePrompt, RemoteResource};
use serde_json::{Value, json};
use std::io::Write;

/// Starts a server, or connects to it, and shows what it offers.
pub(super) async fn run(
    server: McpServer,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let servers = McpServers::new(vec![server]);
    let Some(listing) = servers.list(&cli.environment.directory).await.into_iter().next() else {
        return Ok(Verdict::BadNews);
    };
    let (resources, prompts) = further(&listing).await.map_err(McpCommandError::Server)?;
    let McpListing { server, offered, .. } = listing;
    let (offer, tools) = offered.map_err(McpCommandError::Server)?;
    if cli.style.json {
        json::object(out, &in_json(&server, &offer, &tools, &resources, &prompts))?;
        return Ok(Verdict::Fine);
    }
    let implementation = if offer.implementation.is_empty() { server } else { offer.implementation };
    let title = format!("{} · protocol {}", plain(&implementation), plain(&offer.protocol));
    writeln!(out, "{}", cli.style.paint(Emphasis::Strong, &title))?;
    if !offer.instructions.is_empty() {
        writeln!(out, "{}", plain(&one_line(&offer.instructions)))?;
    }
    let mut section = |title: String, lines: Vec<(String, String)>| -> std::io::Result<()> {
        writeln!(out, "\n{}", cli.style.paint(Emphasis::Strong, &title))?;
        for (name, about) in lines {
            let line = format!("  {}  {}", plain(&name), plain(&one_line(&about)));
            writeln!(out, "{}", clip(line.trim_end(), cli.style.width))?;
        }
        Ok(())
    };
    section(
        counted(tools.len() as u64, "tool"),
        tools.into_iter().map(|one| (one.offered, one.description)).collect(),
    )?;
    if !resources.is_empty() {
        let rows = resources.iter().map(|one| (one.uri.clone(), one.description.clone().unwrap_or(one.name.clone())));
        section(counted(resources.len() as u64, "resource"), rows.collect())?;
    }
    if !prompts.is_empty() {
        let rows = prompts.iter().map(|one| (named(one), one.description.clone().unwrap_or_default()));
        section(counted(prompts.len() as u64, "prompt"), rows.collect())?;
    }
    Ok(Verdict::Fine)
}

async fn further(
    listing: &McpListing,
) -> Result<(Vec<RemoteResource>, Vec<RemotePrompt>), annals_tools::mcp::McpError> {
    let Ok((offer, _)) = &listing.offered else { return Ok((Vec::new(), Vec::new())) };
    let resources = if offer.resources { listing.resources().await? } else { Vec::new() };
    let prompts = if offer.prompts { listing.prompts().await? } else { Vec::new() };
    Ok((resources, prompts))
}

/// `NAME ARGUMENT ARGUMENT`
fn named(prompt: &RemotePrompt) -> String {
    let arguments = prompt.arguments.iter().map(|argument| argument.name.to_uppercase());
    std::iter::once(prompt.name.clone()).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn in_json(
    server: &str,
    offer: &McpOffer,
    tools: &[McpListed],
    resources: &[RemoteResource],
    prompts: &[RemotePrompt],
) -> Value {
    let tools =
        tools.iter().map(|one| json!({"name": one.name, "offered_as": one.offered, "description": one.description}));
    let resources =
        resources.iter().map(|one| json!({"uri": one.uri, "name": one.name, "description": one.description}));
    let prompts = prompts.iter().map(|one| {
        let arguments: Vec<&str> = one.arguments.iter().map(|argument| argument.name.as_str()).collect();
        json!({"name": one.name, "description": one.description, "arguments": arguments})
    });
    json!({
        "server": server,
        "protocol": offer.protocol,
        "implementation": offer.implementation,
        "instructions": offer.instructions,
        "tools": tools.collect::<Vec<_>>(),
        "resources": resources.collect::<Vec<_>>(),
        "prompts": prompts.collect::<Vec<_>>(),
    })
}
