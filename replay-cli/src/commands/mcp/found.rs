//! Servers that other agents have, added to the configuration.

use crate::command_context::CommandContext;
use crate::error::{CliError, McpCommandError, Verdict};
use crate::layout::plain;
use crate::style::counted;
use annals_config::{WrittenServer, check_server_name, write_server};
use serde_json::{Map, Value};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Adds what is found in a file, or in those of this project and of the user.
pub(super) fn run(file: Option<&Path>, cli: &CommandContext, out: &mut dyn Write) -> Result<Verdict, CliError> {
    let here = &cli.environment.directory;
    let files = match file {
        Some(file) => vec![here.join(file)],
        None => usual(cli),
    };
    let own = super::file(false, cli)?;
    let (mut added, mut read) = (0, 0);
    for path in files {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if file.is_none() && error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(CliError::File { path, source }),
        };
        read += 1;
        let servers =
            servers(&path, &text, here).map_err(|why| McpCommandError::NotRead { file: path.clone(), why })?;
        for (name, value) in servers {
            let name: String =
                name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
            let line = match (written(&value), check_server_name(&name)) {
                (_, Err(why)) => format!("{name}: left out: {why}"),
                (None, _) => format!("{name}: left out: neither a command nor an address"),
                (Some(server), Ok(())) => match write_server(&own, &name, &server, false)? {
                    true => {
                        added += 1;
                        format!("{name}: added, from {}", path.display())
                    }
                    false => format!("{name}: there already"),
                },
            };
            writeln!(out, "{}", plain(&line))?;
        }
    }
    if read == 0 {
        cli.remark("no file with MCP servers was found: .mcp.json, ~/.claude.json, ~/.codex/config.toml");
    }
    cli.remark(&format!("{} added to {}", counted(added, "server"), plain(&own.display().to_string())));
    Ok(Verdict::Fine)
}

fn usual(cli: &CommandContext) -> Vec<PathBuf> {
    let mut files = vec![cli.environment.directory.join(".mcp.json")];
    if let Some(home) = cli.environment.variables.get("HOME").map(PathBuf::from) {
        files.extend([home.join(".claude.json"), home.join(".codex/config.toml")]);
    }
    files
}

/// The servers of a file by name, in the words of its agent.
fn servers(path: &Path, text: &str, here: &Path) -> Result<Map<String, Value>, String> {
    let value: Value = match path.extension().is_some_and(|kind| kind == "toml") {
        true => annals_config::toml_value(text)?,
        false => serde_json::from_str(text).map_err(|error| error.to_string())?,
    };
    let table = |value: &Value, name: &str| value.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
    let mut servers = table(&value, "mcpServers");
    servers.extend(table(&value, "mcp_servers"));
    // Claude Code keeps those of a project among its projects.
    let project = value.get("projects").and_then(|projects| projects.get(here.to_str()?));
    servers.extend(project.map(|project| table(project, "mcpServers")).unwrap_or_default());
    Ok(servers)
}

fn written(value: &Value) -> Option<WrittenServer> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let pairs = |name: &str| {
        let pairs = value.get(name).and_then(Value::as_object).into_iter().flatten();
        pairs.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
    };
    let arguments = value.get("args").and_then(Value::as_array).into_iter().flatten();
    let arguments = arguments.filter_map(|one| one.as_str().map(str::to_owned));
    let command: Vec<String> = text("command").into_iter().chain(arguments).collect();
    let url = if text("command").is_some() { None } else { Some(text("url")?) };
    Some(WrittenServer {
        command: if url.is_some() { Vec::new() } else { command },
        url,
        env: pairs("env"),
        pass_env: Vec::new(),
        headers: [pairs("headers"), pairs("http_headers")].concat(),
        bearer_env: text("bearer_token_env_var"),
    })
}
