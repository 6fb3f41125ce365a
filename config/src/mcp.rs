//! MCP servers (`docs/mcp.md`).

use crate::agent::free;
use crate::settings::MergedSettings;
use crate::variables::Variables;
use annals_tools::mcp::McpServer;
use std::time::Duration;

/// The longest name of a server, in bytes: it is a part of the names of its tools.
const LONGEST_NAME: usize = 32;

/// The server of a name; `None` if it is switched off.
///
/// # Errors
/// What is wrong with it.
pub fn server(settings: &MergedSettings, variables: &Variables, name: &str) -> Result<Option<McpServer>, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) || name.contains("__") {
        return Err(format!(
            "{name:?} cannot name a server: use at most {LONGEST_NAME} letters, digits, `-` and single `_`"
        ));
    }
    let texts = |key| settings.texts(&["mcp", name, key]);
    let mut command = texts("command").unwrap_or_default().into_iter();
    let Some(program) = command.next().filter(|program| !program.is_empty()) else {
        return Err("a server needs its program: write `command = [\"program\", \"argument\"]`".into());
    };
    if settings.flag(&["mcp", name, "enabled"]) == Some(false) {
        return Ok(None);
    }
    let usual = McpServer::new(name, program);
    let time = |key| settings.count(&["mcp", name, key]).map(Duration::from_millis);
    let set = free(settings, &["mcp", name, "env"]).into_iter();
    let set = set.filter_map(|(variable, value)| Some((variable, value.as_str()?.to_owned())));
    let passed = texts("pass_env").unwrap_or_default().into_iter();
    let passed = passed.filter_map(|variable| variables.get(&variable).map(|value| (variable, value)));
    Ok(Some(McpServer {
        arguments: command.collect(),
        environment: passed.chain(set).collect(),
        tools: texts("tools"),
        denied_tools: texts("deny_tools").unwrap_or_default(),
        start_timeout: time("start_timeout_ms").unwrap_or(usual.start_timeout),
        timeout: time("timeout_ms").unwrap_or(usual.timeout),
        ..usual
    }))
}
