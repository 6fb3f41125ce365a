//! The agents: how each is pointed to the recorder.

mod configured;

use crate::proxy::Upstream;
use configured::{ConfiguredProvider, of_codex, of_opencode};
use serde_json::{Map, Value, json};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// How a recorded agent is pointed to the recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentKind {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// OpenCode.
    OpenCode,
    /// Gemini CLI.
    Gemini,
    /// Another program: the variables that SDKs read.
    Any,
}

/// A command cannot be pointed to the recorder.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A file of settings that the command names cannot be read.
    #[error("{}: {source}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What the system reported.
        #[source]
        source: std::io::Error,
    },
    /// The merged settings cannot be kept in a private file.
    #[error("the settings for the command cannot be kept in a private file: {0}")]
    Kept(#[source] io::Error),
    /// Settings are not a JSON object: correct them.
    #[error("the settings of the command (--settings) are not a JSON object")]
    NotSettings,
}

/// What a recorded command is started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The variables that are set.
    pub variables: Vec<(String, String)>,
}

/// How a command reaches the recorder.
#[derive(Clone, Copy)]
pub struct RecorderAddresses<'a> {
    /// The local address of a route, with the secret of the recorder: for variables and private files.
    pub base: &'a dyn Fn(&str) -> String,
    /// The same for arguments, which every user of the machine reads.
    pub shown: &'a dyn Fn(&str) -> String,
    /// Keeps settings in a file that only this user reads, and gives its path.
    pub keep: &'a dyn Fn(&str) -> io::Result<PathBuf>,
}

/// What surrounds a command.
pub(crate) type Variable<'v> = &'v dyn Fn(&str) -> Option<String>;

impl AgentKind {
    /// The kind of a name that a user gives.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "claude" | "claude-code" => Self::Claude,
            "codex" => Self::Codex,
            "opencode" => Self::OpenCode,
            "gemini" => Self::Gemini,
            "any" => Self::Any,
            _ => return None,
        })
    }

    /// The kind of a program, by its file name.
    pub fn of_program(program: &OsStr) -> Self {
        let name = Path::new(program).file_name().and_then(OsStr::to_str).unwrap_or_default();
        match name {
            "claude" => Self::Claude,
            "codex" => Self::Codex,
            "opencode" => Self::OpenCode,
            "gemini" => Self::Gemini,
            _ => Self::Any,
        }
    }

    /// The name that sessions are recorded under; for any other program its file name.
    pub fn recorded(self, program: Option<&OsStr>) -> String {
        let file = |program: &OsStr| Path::new(program).file_name().map(|name| name.to_string_lossy().into_owned());
        match self {
            Self::Claude => "claude-code".to_owned(),
            Self::Codex => "codex".to_owned(),
            Self::OpenCode => "opencode".to_owned(),
            Self::Gemini => "gemini".to_owned(),
            Self::Any => program.and_then(file).unwrap_or_else(|| "any".to_owned()),
        }
    }

    /// Where the requests of each route go: to `upstream` if it is given, else to where the variables of the SDKs and the
    /// settings of the agent point, else to the provider.
    pub fn upstreams(self, upstream: Option<&str>, variable: Variable<'_>, directory: &Path) -> Vec<Upstream> {
        let of = |names: &[&str]| names.iter().find_map(|name| variable(name).filter(|url| !url.trim().is_empty()));
        let settings = || match self {
            Self::Claude => claude_settings(variable, directory),
            _ => None,
        };
        let anthropic = upstream.map(str::to_owned).or_else(settings).or_else(|| of(&["ANTHROPIC_BASE_URL"]));
        let openai = upstream.map(str::to_owned).or_else(|| of(&["OPENAI_BASE_URL", "OPENAI_API_BASE"]));
        let gemini = upstream.map(str::to_owned).or_else(|| of(&["GOOGLE_GEMINI_BASE_URL"]));
        let route = |name: &str, url: Option<String>, usual: &str| {
            let url = url.unwrap_or_else(|| usual.to_owned());
            Upstream { name: name.to_owned(), url: root(&url).to_owned() }
        };
        let usual = vec![
            route("anthropic", anthropic, "https://api.anthropic.com"),
            route("openai", openai, "https://api.openai.com"),
            route("gemini", gemini, "https://generativelanguage.googleapis.com"),
        ];
        let configured = self.configured(variable, directory).into_iter().map(|provider| {
            let url = upstream.map(|upstream| format!("{}/v1", root(upstream)));
            Upstream { name: provider.route(), url: url.unwrap_or(provider.url) }
        });
        usual.into_iter().chain(configured).collect()
    }

    /// The providers with addresses that the agent's own configuration names.
    fn configured(self, variable: Variable<'_>, directory: &Path) -> Vec<ConfiguredProvider> {
        match self {
            Self::OpenCode => of_opencode(variable, directory),
            Self::Codex => of_codex(variable).into_iter().collect(),
            Self::Claude | Self::Gemini | Self::Any => Vec::new(),
        }
    }

    /// The variables that point programs to the recorder; `base` gives the local address of a route.
    pub fn variables(
        self,
        base: &dyn Fn(&str) -> String,
        variable: Variable<'_>,
        directory: &Path,
    ) -> Vec<(String, String)> {
        let anthropic = || ("ANTHROPIC_BASE_URL".to_owned(), base("anthropic"));
        let openai = || ("OPENAI_BASE_URL".to_owned(), format!("{}/v1", base("openai")));
        let gemini = || ("GOOGLE_GEMINI_BASE_URL".to_owned(), base("gemini"));
        let mut variables = match self {
            Self::Claude => vec![anthropic()],
            Self::Codex => vec![openai()],
            Self::Gemini => vec![gemini()],
            Self::OpenCode => {
                let configured = self.configured(variable, directory);
                vec![(OPENCODE.to_owned(), opencode(base, variable(OPENCODE), &configured))]
            }
            Self::Any => {
                let old = ("OPENAI_API_BASE".to_owned(), format!("{}/v1", base("openai")));
                vec![anthropic(), openai(), old, gemini()]
            }
        };
        // A proxy of the system does not lead back to this machine.
        for name in ["NO_PROXY", "no_proxy"] {
            let hosts = variable(name).filter(|hosts| !hosts.is_empty());
            let hosts =
                hosts.map_or_else(|| "127.0.0.1,localhost".to_owned(), |hosts| format!("{hosts},127.0.0.1,localhost"));
            variables.push((name.to_owned(), hosts));
        }
        variables
    }

    /// The command with what points it to the recorder. Arguments are added only if the program is that agent's.
    ///
    /// # Errors
    /// When settings that the command names cannot be read.
    pub fn launch(
        self,
        command: &[OsString],
        recorder: RecorderAddresses<'_>,
        variable: Variable<'_>,
        directory: &Path,
    ) -> Result<Launch, LaunchError> {
        let Some((program, arguments)) = command.split_first() else { return Ok(Launch::default()) };
        let mut arguments = arguments.to_vec();
        match Self::of_program(program) {
            Self::Claude if self == Self::Claude => arguments = with_settings(arguments, recorder)?,
            Self::Codex if self == Self::Codex => {
                // It reads the address from its own files and from arguments alone.
                let url = Value::from(format!("{}/v1", (recorder.shown)("openai")));
                arguments.splice(0..0, ["-c".into(), format!("openai_base_url={url}").into()]);
                for provider in self.configured(variable, directory) {
                    let url = Value::from((recorder.shown)(&provider.route()));
                    let set = format!("model_providers.{}.base_url={url}", provider.name);
                    arguments.splice(0..0, ["-c".into(), set.into()]);
                }
            }
            _ => {}
        }
        Ok(Launch {
            program: program.clone(),
            arguments,
            variables: self.variables(recorder.base, variable, directory),
        })
    }
}

/// The variable with a configuration of OpenCode.
const OPENCODE: &str = "OPENCODE_CONFIG_CONTENT";

/// An address without the version that clients append, or have appended.
fn root(url: &str) -> &str {
    let url = url.trim().trim_end_matches('/');
    ["/v1", "/v1beta"].iter().find_map(|version| url.strip_suffix(version)).unwrap_or(url)
}

/// The address that the settings of Claude Code name: they win over the variable.
fn claude_settings(variable: Variable<'_>, directory: &Path) -> Option<String> {
    let home = variable("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let home = home.or_else(|| variable("HOME").map(|home| Path::new(&home).join(".claude")));
    let project = directory.join(".claude");
    let files = [project.join("settings.local.json"), project.join("settings.json")].into_iter();
    files.chain(home.map(|home| home.join("settings.json"))).find_map(|file| {
        let settings: Value = serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()?;
        settings.pointer("/env/ANTHROPIC_BASE_URL")?.as_str().map(str::to_owned)
    })
}

/// The arguments of Claude Code with settings that point to the recorder, merged with those that the user gives.
fn with_settings(mut arguments: Vec<OsString>, recorder: RecorderAddresses<'_>) -> Result<Vec<OsString>, LaunchError> {
    let mut given = None;
    if let Some(at) = arguments.iter().position(|argument| argument == "--settings") {
        given = arguments.get(at + 1).cloned();
        arguments.drain(at..(at + 2).min(arguments.len()));
    } else if let Some(at) = arguments.iter().position(|argument| argument.to_string_lossy().starts_with("--settings="))
    {
        given = Some(arguments.remove(at).to_string_lossy()["--settings=".len()..].to_owned().into());
    }
    let mut settings = match given {
        None => Map::new(),
        Some(given) => {
            let text = given.to_string_lossy().trim().to_owned();
            let text = match text.starts_with('{') {
                true => text,
                false => std::fs::read_to_string(&text)
                    .map_err(|source| LaunchError::Settings { path: PathBuf::from(&text), source })?,
            };
            match serde_json::from_str(&text) {
                Ok(Value::Object(settings)) => settings,
                _ => return Err(LaunchError::NotSettings),
            }
        }
    };
    let variables = settings.entry("env").or_insert_with(|| json!({}));
    let Value::Object(variables) = variables else { return Err(LaunchError::NotSettings) };
    variables.insert("ANTHROPIC_BASE_URL".to_owned(), json!((recorder.base)("anthropic")));
    let file = (recorder.keep)(&Value::Object(settings).to_string()).map_err(LaunchError::Kept)?;
    arguments.splice(0..0, ["--settings".into(), file.into()]);
    Ok(arguments)
}

/// A configuration of OpenCode that points its providers to the recorder, laid over the one that is set.
fn opencode(base: &dyn Fn(&str) -> String, set: Option<String>, configured: &[ConfiguredProvider]) -> String {
    let set = set.and_then(|text| serde_json::from_str::<Value>(&text).ok()).filter(Value::is_object);
    let mut config = set.unwrap_or_else(|| json!({}));
    let usual = [("anthropic", "anthropic", "v1"), ("openai", "openai", "v1"), ("google", "gemini", "v1beta")];
    let usual = usual.map(|(provider, route, version)| (provider, format!("{}/{version}", base(route))));
    let own = configured.iter().map(|provider| (provider.name.as_str(), base(&provider.route())));
    for (provider, url) in usual.into_iter().chain(own) {
        let url = json!(url);
        let mut place = &mut config;
        for name in ["provider", provider, "options"] {
            if !place.get(name).is_some_and(Value::is_object) {
                place[name] = json!({});
            }
            place = &mut place[name];
        }
        place["baseURL"] = url;
    }
    config.to_string()
}

#[cfg(test)]
mod tests;
