//! MCP servers (`docs/mcp.md`).

use crate::agent::free;
use crate::settings::MergedSettings;
use crate::variables::Variables;
use annals_tools::mcp::{McpEndpoint, McpServer};
use std::path::Path;
use std::time::Duration;

/// The longest name of a server, in bytes: it is a part of the names of its tools.
const LONGEST_NAME: usize = 32;

/// The folder, next to the user's configuration, with what logins at servers gave.
pub(crate) const LOGINS: &str = "mcp-logins";

/// Whether a server can have a name.
///
/// # Errors
/// Why not.
pub fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) || name.contains("__") {
        return Err(format!(
            "{name:?} cannot name a server: use at most {LONGEST_NAME} letters, digits, `-` and single `_`"
        ));
    }
    Ok(())
}

/// The server of a name; `None` if it is switched off. What logins gave is in `logins`.
///
/// # Errors
/// What is wrong with it.
pub fn server(
    settings: &MergedSettings,
    variables: &Variables,
    logins: &Path,
    name: &str,
) -> Result<Option<McpServer>, String> {
    check_name(name)?;
    let texts = |key| settings.texts(&["mcp", name, key]);
    let text = |key| settings.text(&["mcp", name, key]);
    let mut command = texts("command").unwrap_or_default().into_iter();
    let program = command.next().filter(|program| !program.is_empty());
    let usual = match (program, text("url")) {
        (Some(program), None) => McpServer::new(name, program),
        (None, Some(url)) if url.starts_with("https://") || url.starts_with("http://") => McpServer::at(name, url),
        (None, Some(url)) => return Err(format!("{url:?} is not an address: it begins with https:// or http://")),
        (Some(_), Some(_)) => return Err("a server has a `command` or a `url`, not both".into()),
        (None, None) => {
            return Err(
                "a server needs its program or its address: write `command = [\"program\", \"argument\"]` or `url = \"https://...\"`"
                    .into(),
            );
        }
    };
    if settings.flag(&["mcp", name, "enabled"]) == Some(false) {
        return Ok(None);
    }
    let time = |key| settings.count(&["mcp", name, key]).map(Duration::from_millis);
    let set = free(settings, &["mcp", name, "env"]).into_iter();
    let set = set.filter_map(|(variable, value)| Some((variable, value.as_str()?.to_owned())));
    let passed = texts("pass_env").unwrap_or_default().into_iter();
    let passed = passed.filter_map(|variable| variables.get(&variable).map(|value| (variable, value)));
    let http = usual.http.clone().map(|endpoint| {
        let headers = free(settings, &["mcp", name, "headers"]).into_iter();
        McpEndpoint {
            headers: headers.filter_map(|(header, value)| Some((header, value.as_str()?.to_owned()))).collect(),
            bearer: text("bearer_env").and_then(|variable| variables.get(variable)),
            client_id: text("oauth_client_id").map(str::to_owned),
            client_document: text("oauth_client_document").map(str::to_owned),
            client_secret: text("oauth_secret_env").and_then(|variable| variables.get(variable)),
            credentials: Some(logins.to_owned()),
            ..endpoint
        }
    });
    Ok(Some(McpServer {
        http,
        arguments: command.collect(),
        environment: passed.chain(set).collect(),
        tools: texts("tools"),
        denied_tools: texts("deny_tools").unwrap_or_default(),
        start_timeout: time("start_timeout_ms").unwrap_or(usual.start_timeout),
        timeout: time("timeout_ms").unwrap_or(usual.timeout),
        ..usual
    }))
}
