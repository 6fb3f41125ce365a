//! What the configuration adds without Rust: language servers, searches, tools, context sources and hooks by command
//! (`docs/extending.md`).

use crate::agent::free;
use crate::config::Config;
use crate::settings::MergedSettings;
use crate::variables::Variables;
use annals_core::Key;
use annals_tools::{
    ContextProgram, CustomTool, ExternalProgram, Hook, HookMoment, HookPrograms, LanguageServer, LanguageServers,
    LookWhen, SearchProvider, WebSearch,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The time limits of programs without others, in milliseconds.
const TOOL_MS: u64 = 120_000;
const CONTEXT_MS: u64 = 5_000;
const HOOK_MS: u64 = 30_000;

/// How long errors of language servers are waited for without another time, in milliseconds.
const DIAGNOSTICS_MS: u64 = 5_000;

/// The program at a path, if it is named.
fn program(
    settings: &MergedSettings,
    variables: Option<&Variables>,
    path: &[&str],
    usual_ms: u64,
) -> Option<ExternalProgram> {
    let at = |key| [path, &[key]].concat();
    let words = settings.texts(&at("command"))?;
    words.first().filter(|program| !program.is_empty())?;
    let passed = settings.texts(&at("pass_env")).unwrap_or_default();
    let value = |name: String| variables.and_then(|variables| variables.get(&name)).map(|value| (name, value));
    let limit = Duration::from_millis(settings.count(&at("timeout_ms")).unwrap_or(usual_ms));
    Some(ExternalProgram { words, environment: passed.into_iter().filter_map(value).collect(), limit })
}

/// Whether what a table says makes sense; `path` is that of the table.
///
/// # Errors
/// What is wrong.
pub(crate) fn check(settings: &MergedSettings, path: &[&str], name: &str) -> Result<(), String> {
    let missing = || "it needs its program: write `command = [\"program\", \"argument\"]`".to_owned();
    match path {
        ["websearch", ..] => search(settings, None).map(drop),
        ["context", _] => {
            program(settings, None, path, 0).ok_or_else(missing)?;
            let own = key(settings, name)?;
            let same = |other: &&str| *other < name && key(settings, other).is_ok_and(|other| other == own);
            match settings.names(&["context"]).into_iter().find(same) {
                Some(other) => Err(format!("its key {own} is that of `context.{other}` as well; set another `key`")),
                None => Ok(()),
            }
        }
        ["custom_tools", _] => {
            program(settings, None, path, 0).ok_or_else(missing)?;
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.len() <= 64;
            match is_name && name.chars().all(plain) {
                true => Ok(()),
                false => {
                    Err(format!("{name:?} cannot name a tool: a letter, then at most 63 letters, digits, `_` or `-`"))
                }
            }
        }
        ["hooks", _] => {
            program(settings, None, path, 0).ok_or_else(missing)?;
            moment(settings, name).map(drop).ok_or_else(|| "it needs `on`: when it is run".to_owned())
        }
        _ => {
            program(settings, None, path, 0).ok_or_else(missing)?;
            match settings.texts(&["lsp", name, "extensions"]).is_some_and(|all| !all.is_empty()) {
                true => Ok(()),
                false => Err("it needs the extensions of its files: write `extensions = [\"rs\"]`".into()),
            }
        }
    }
}

fn key(settings: &MergedSettings, name: &str) -> Result<Key, String> {
    let usual = format!("config/{}", name.to_lowercase());
    let text = settings.text(&["context", name, "key"]).unwrap_or(&usual);
    match text.parse::<Key>() {
        Ok(_) if text.starts_with("core/") => Err(format!("the key {text:?} is one of Annals' own")),
        Ok(key) => Ok(key),
        Err(error) => Err(format!("{error}; set `key = \"config/name\"`")),
    }
}

fn moment(settings: &MergedSettings, name: &str) -> Option<HookMoment> {
    match settings.text(&["hooks", name, "on"])? {
        "before_tool" => Some(HookMoment::BeforeTool),
        "after_tool" => Some(HookMoment::AfterTool),
        "boundary" => Some(HookMoment::Boundary),
        "compaction" => Some(HookMoment::Compaction),
        _ => None,
    }
}

fn search(settings: &MergedSettings, variables: Option<&Variables>) -> Result<Option<WebSearch>, String> {
    let text = |key| settings.text(&["websearch", key]);
    if let Some(program) = program(settings, variables, &["websearch"], HOOK_MS) {
        return Ok(Some(WebSearch::Program(program)));
    }
    let Some(provider) = text("provider").and_then(SearchProvider::named) else {
        return match text("url").or(text("key_env")) {
            Some(_) => Err("`websearch` needs a `provider` or a `command`".into()),
            None => Ok(None),
        };
    };
    let url = text("url").or(provider.url()).ok_or("this provider needs `url`, the address of its search")?;
    let key_env = text("key_env").or(provider.key_env()).map(str::to_owned);
    Ok(Some(WebSearch::Service { provider, url: url.to_owned(), key_env }))
}

impl Config {
    /// Time limits of calls by the names of tools; that of `bash` is apart.
    pub fn tool_limits(&self) -> BTreeMap<String, Duration> {
        let mut limits = self.time_limits();
        limits.remove("bash");
        limits.into_iter().map(|(tool, ms)| (tool, Duration::from_millis(ms))).collect()
    }

    /// The time limit of commands without another, in milliseconds.
    pub fn command_limit_ms(&self) -> Option<u64> {
        self.time_limits().remove("bash")
    }

    fn time_limits(&self) -> BTreeMap<String, u64> {
        let all = free(&self.settings, &["tools", "time_limits"]);
        all.into_iter().filter_map(|(tool, ms)| Some((tool, ms.as_u64().filter(|ms| *ms > 0)?))).collect()
    }

    /// Who searches the web; `None` where that is not configured.
    pub fn search(&self) -> Option<WebSearch> {
        // It was tried when it was loaded.
        search(&self.settings, Some(&self.variables)).ok().flatten()
    }

    /// The language servers that are enabled and installed.
    pub fn language_servers(&self) -> LanguageServers {
        let wait = self.settings.count(&["tools", "diagnostics_ms"]).unwrap_or(DIAGNOSTICS_MS);
        let of = |name: &str| {
            let at = |key| ["lsp", name, key];
            let server = LanguageServer {
                name: name.to_owned(),
                command: self.settings.texts(&at("command"))?,
                extensions: self.settings.texts(&at("extensions")).unwrap_or_default(),
            };
            let enabled = self.settings.flag(&at("enabled")).unwrap_or(true);
            (enabled && server.is_installed()).then_some(server)
        };
        let servers =
            if wait == 0 { Vec::new() } else { self.settings.names(&["lsp"]).into_iter().filter_map(of).collect() };
        LanguageServers::new(servers, Duration::from_millis(wait))
    }

    /// Tools by command.
    pub fn custom_tools(&self) -> Vec<CustomTool> {
        let of = |name: &str| {
            let at = |key| ["custom_tools", name, key];
            let schema = json!({
                "type": "object",
                "properties": Value::Object(free(&self.settings, &at("parameters"))),
                "required": self.settings.texts(&at("required")).unwrap_or_default(),
            });
            Some(CustomTool {
                name: name.to_owned(),
                description: self.settings.text(&at("description")).unwrap_or_default().to_owned(),
                schema,
                program: program(&self.settings, Some(&self.variables), &["custom_tools", name], TOOL_MS)?,
            })
        };
        self.settings.names(&["custom_tools"]).into_iter().filter_map(of).collect()
    }

    /// Context sources by command.
    pub fn context_programs(&self) -> Vec<ContextProgram> {
        let of = |name: &str| {
            let at = |key| ["context", name, key];
            let every = self.settings.count(&at("every_ms")).filter(|ms| *ms > 0).map(Duration::from_millis);
            let when = match (self.settings.text(&at("when")), every) {
                (Some("once"), _) => LookWhen::Once,
                (_, Some(pause)) => LookWhen::Every(pause),
                _ => LookWhen::Boundary,
            };
            Some(ContextProgram {
                key: key(&self.settings, name).ok()?,
                heading: self.settings.text(&at("heading")).unwrap_or_default().to_owned(),
                changed: self.settings.text(&at("changed")).map(str::to_owned),
                removed: self.settings.text(&at("removed")).filter(|text| !text.is_empty()).map(str::to_owned),
                program: program(&self.settings, Some(&self.variables), &["context", name], CONTEXT_MS)?,
                when,
            })
        };
        self.settings.names(&["context"]).into_iter().filter_map(of).collect()
    }

    /// Hooks by command.
    pub fn hooks(&self) -> HookPrograms {
        let of = |name: &str| {
            Some(Hook {
                name: name.to_owned(),
                moment: moment(&self.settings, name)?,
                tools: self.settings.texts(&["hooks", name, "tools"]).unwrap_or_default(),
                program: program(&self.settings, Some(&self.variables), &["hooks", name], HOOK_MS)?,
            })
        };
        HookPrograms::new(self.settings.names(&["hooks"]).into_iter().filter_map(of).collect(), self.directory())
    }
}
