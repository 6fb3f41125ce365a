//! Rows of the table: a key, a value, and where it shows.

use super::BASE;
use annals_config::Config;
use annals_core::event::Effect;
use annals_core::permission::authorise;
use annals_providers::http::Endpoints;
use annals_runtime::settings::Definitions;
use annals_runtime::testing::ScriptedAttempt;
use annals_tools::mcp::McpEndpoint;

/// Where a value shows.
pub enum Seen {
    /// In what a provider is sent.
    Sent(&'static str),
    /// In what a provider is sent without it.
    NotSent(&'static str),
    /// In a part of the host.
    Part(fn(&Config) -> String, &'static str),
    /// In a part of the host, which is another one with it: it may be secret.
    Differs(fn(&Config) -> String),
}

/// A key with a value.
pub struct Row {
    pub key: &'static str,
    /// A configuration without the key, and the same one with it.
    pub base: String,
    pub toml: String,
    pub prompt: &'static str,
    pub answers: Vec<ScriptedAttempt>,
    pub seen: Seen,
}

impl Row {
    /// The same where the value continues a table that is there without it as well.
    pub fn below(self, table: &str) -> Self {
        let base = compose(&[BASE, table]);
        let toml = format!("{}\n{}", base, self.toml.lines().last().unwrap_or_default());
        Self { base, toml, ..self }
    }

    /// The same with settings that are there without it as well.
    pub fn with(self, settings: &str) -> Self {
        Self { base: compose(&[&self.base, settings]), toml: compose(&[&self.toml, settings]), ..self }
    }

    pub fn asked(self, prompt: &'static str) -> Self {
        Self { prompt, ..self }
    }

    pub fn answered(self, answers: Vec<ScriptedAttempt>) -> Self {
        Self { answers, ..self }
    }
}

/// One configuration of several: what is said before any table comes first, and the last one says it.
pub fn compose(parts: &[&str]) -> String {
    let mut tops: Vec<&str> = Vec::new();
    let mut tables = String::new();
    for part in parts {
        let begins = part.lines().position(|line| line.starts_with('[')).unwrap_or(usize::MAX);
        for (at, line) in part.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            if at >= begins {
                tables.push_str(line);
                tables.push('\n');
                continue;
            }
            let name = |line: &str| line.split(" = ").next().map(str::to_owned);
            tops.retain(|top| name(top) != name(line));
            tops.push(line);
        }
    }
    format!("{}\n{tables}", tops.join("\n"))
}

pub fn row(key: &'static str, value: &str, seen: Seen) -> Row {
    let toml = compose(&[BASE, value]);
    Row { key, base: compose(&[BASE]), toml, prompt: "Hello", answers: vec![ScriptedAttempt::text("ok"); 4], seen }
}

pub fn sent(key: &'static str, value: &str, expected: &'static str) -> Row {
    row(key, value, Seen::Sent(expected))
}

pub fn not_sent(key: &'static str, value: &str, expected: &'static str) -> Row {
    row(key, value, Seen::NotSent(expected))
}

pub fn part(key: &'static str, value: &str, of: fn(&Config) -> String, expected: &'static str) -> Row {
    row(key, value, Seen::Part(of, expected))
}

pub fn differs(key: &'static str, value: &str, of: fn(&Config) -> String) -> Row {
    row(key, value, Seen::Differs(of))
}

pub fn called(tool: &str, input: &str) -> Vec<ScriptedAttempt> {
    vec![ScriptedAttempt::call("c1", tool, input), ScriptedAttempt::text("ok"), ScriptedAttempt::text("ok")]
}

pub fn endpoint(config: &Config) -> String {
    let model = config.default_model(&config.default_agent()).unwrap_or_default();
    format!("{:?}", config.endpoint(&model))
}

pub fn bash(config: &Config) -> String {
    let rules = config.agent(&config.default_agent()).map(|profile| profile.permissions).unwrap_or_default();
    let effect: Effect = authorise(&rules, &[], "bash", &["ls"]);
    format!("{effect:?}")
}

pub fn known(config: &Config) -> String {
    let model = config.catalog.model(&"anthropic/claude-sonnet-5".into()).map(|model| model.name);
    format!("{model:?} {:?}", config.catalog.providers().map(|one| one.name).collect::<Vec<_>>())
}

pub const ALLOWED: &str = "permissions = [[\"*\", \"*\", \"allow\"]]\n";
pub const MODEL: &str = "[models.\"anthropic/claude-sonnet-5\"]\n";
pub const OWN: &str = "model = \"own/m\"\n[models.\"own/m\"]\ncontext = 100_000\n\
    [providers.own]\nbase_url = \"https://own/v1\"\nkey_env = \"OWN_PASSED\"\n";
pub const HELPER: &str = "[agents.helper]\ndescription = \"Helps with helping.\"\n";
pub const CUSTOM: &str = "[custom_tools.NAME]\ncommand = [\"true\"]\n";
pub const CONTEXT: &str = "[context.NAME]\ncommand = [\"sh\", \"-c\", \"echo said ${OWN_PASSED:-none}\"]\n";
pub const HOOK: &str =
    "[hooks.NAME]\non = \"after_tool\"\ncommand = [\"sh\", \"-c\", \"echo hooked ${OWN_PASSED:-none}\"]\n";
pub const SERVER: &str = "[mcp.NAME]\ncommand = [\"true\"]\n";
pub const REMOTE: &str = "[mcp.NAME]\nurl = \"https://mcp.example\"\n";
pub const LANGUAGE: &str = "[lsp.NAME]\ncommand = [\"true\"]\nextensions = [\"ownext\"]\n";
pub const SEARCH: &str = "[websearch]\ncommand = [\"true\"]\n";
pub const BRAVE: &str = "[websearch]\nprovider = \"brave\"\n";
pub const CONFINED: &str = "[sandbox]\nmode = \"read-only\"\n";

pub fn mcp(config: &Config) -> String {
    format!("{:?}", config.mcp())
}

/// What is sent to MCP servers at an address: it may be secret, so that no `Debug` shows it.
pub fn endpoints(config: &Config) -> String {
    let shown = |endpoint: McpEndpoint| {
        let McpEndpoint { url, headers, bearer, client_id, client_document, client_secret, credentials: _ } = endpoint;
        format!("{url} {headers:?} {bearer:?} {client_id:?} {client_document:?} {client_secret:?}")
    };
    config.mcp().into_iter().filter_map(|server| server.http).map(shown).collect::<Vec<_>>().join("\n")
}

pub fn lsp(config: &Config) -> String {
    format!("{:?}", config.language_servers())
}

pub fn search(config: &Config) -> String {
    format!("{:?}", config.search())
}

pub fn hooks(config: &Config) -> String {
    format!("{:?}", config.hooks())
}

pub fn tools(config: &Config) -> String {
    format!("{:?}", config.custom_tools())
}

pub fn context(config: &Config) -> String {
    format!("{:?}", config.context_programs())
}

pub fn compaction(config: &Config) -> String {
    format!("{:?}", config.compaction())
}

pub fn sandbox(config: &Config) -> String {
    format!("{:?}", config.sandbox())
}
