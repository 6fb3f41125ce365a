//! Providers that the configuration of an agent names, with addresses of their own.

use super::Variable;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// A provider of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConfiguredProvider {
    /// How the configuration calls it.
    pub name: String,
    /// What precedes the paths of its requests.
    pub url: String,
}

impl ConfiguredProvider {
    /// The first part of its local path.
    pub fn route(&self) -> String {
        let plain = |character: char| if character.is_ascii_alphanumeric() { character } else { '-' };
        format!("provider-{}", self.name.chars().map(plain).collect::<String>())
    }
}

/// The providers with addresses in the configuration of OpenCode: its variables, the files of the project, those of the user.
pub(super) fn of_opencode(variable: Variable<'_>, directory: &Path) -> Vec<ConfiguredProvider> {
    let names = ["opencode.json", "opencode.jsonc", "config.json"];
    let home = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let home = home.or_else(|| variable("HOME").map(|home| Path::new(&home).join(".config")));
    let folders = directory.ancestors().map(Path::to_path_buf).chain(home.map(|home| home.join("opencode")));
    let files = folders.flat_map(|folder| names.map(|name| folder.join(name)));
    let files = variable("OPENCODE_CONFIG").map(PathBuf::from).into_iter().chain(files);
    let texts =
        variable(super::OPENCODE).into_iter().chain(files.filter_map(|file| std::fs::read_to_string(file).ok()));
    let mut providers: Vec<ConfiguredProvider> = Vec::new();
    for config in texts.filter_map(|text| serde_json::from_str::<Value>(&without_comments(&text)).ok()) {
        let none = Map::new();
        let named = config.get("provider").and_then(Value::as_object).unwrap_or(&none);
        for (name, provider) in named {
            let url = provider.pointer("/options/baseURL").and_then(Value::as_str);
            if let Some(url) = url.filter(|_| providers.iter().all(|known| known.name != *name)) {
                providers.push(ConfiguredProvider { name: name.clone(), url: expanded(url, variable) });
            }
        }
    }
    providers.retain(|provider| provider.url.starts_with("http"));
    providers
}

/// The provider that the configuration of Codex selects, if it has an address.
pub(super) fn of_codex(variable: Variable<'_>) -> Option<ConfiguredProvider> {
    let home = variable("CODEX_HOME").map(PathBuf::from);
    let home = home.or_else(|| variable("HOME").map(|home| Path::new(&home).join(".codex")))?;
    selected(&std::fs::read_to_string(home.join("config.toml")).ok()?)
}

/// The provider that a `config.toml` selects: `model_provider` and `base_url` of its table.
fn selected(toml: &str) -> Option<ConfiguredProvider> {
    let value = |line: &str, key: &str| {
        let rest = line.strip_prefix(key)?.trim_start().strip_prefix('=')?.trim();
        let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        Some(rest.get(1..)?.split(quote).next()?.to_owned())
    };
    let top = toml.lines().map(str::trim).take_while(|line| !line.starts_with('['));
    let name = top.filter_map(|line| value(line, "model_provider")).last()?;
    let headers = [format!("[model_providers.{name}]"), format!("[model_providers.\"{name}\"]")];
    let mut lines =
        toml.lines().map(str::trim).skip_while(|line| !headers.iter().any(|header| line.starts_with(header)));
    lines.next()?;
    let url = lines.take_while(|line| !line.starts_with('[')).find_map(|line| value(line, "base_url"))?;
    Some(ConfiguredProvider { name, url })
}

/// `{env:NAME}` in an address.
fn expanded(url: &str, variable: Variable<'_>) -> String {
    let Some((before, rest)) = url.split_once("{env:") else { return url.to_owned() };
    let Some((name, behind)) = rest.split_once('}') else { return url.to_owned() };
    format!("{before}{}{behind}", variable(name).unwrap_or_default())
}

/// JSON of a text that may have comments, and commas before a closing bracket.
fn without_comments(text: &str) -> String {
    let mut json = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let length = match character {
            '"' => string_length(rest),
            '/' if rest.starts_with("//") => {
                rest = rest.get(rest.find('\n').unwrap_or(rest.len())..).unwrap_or_default();
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = rest.find("*/").and_then(|end| rest.get(end + 2..)).unwrap_or_default();
                continue;
            }
            '}' | ']' => {
                let kept = json.trim_end();
                if let Some(kept) = kept.strip_suffix(',') {
                    json.truncate(kept.len());
                }
                1
            }
            other => other.len_utf8(),
        };
        json.push_str(rest.get(..length).unwrap_or(rest));
        rest = rest.get(length..).unwrap_or_default();
    }
    json
}

/// The length of the string with which a text begins.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_of_configurations_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let config = r#"{ // mine
            "provider": {"ollama": {"options": {"baseURL": "http://localhost:11434/v1",}}, "none": {}, }
        }"#;
        std::fs::write(folder.path().join("opencode.jsonc"), config).unwrap();
        let variable = |name: &str| (name == "CODEX_HOME").then(|| folder.path().to_string_lossy().into_owned());
        let found = of_opencode(&variable, folder.path());
        let ollama = ConfiguredProvider { name: "ollama".into(), url: "http://localhost:11434/v1".into() };
        assert_eq!(found, [ollama]);
        let toml = "model = \"m\"\nmodel_provider = \"local\" # mine\n[model_providers.local]\nname = \"L\"\nbase_url = 'http://localhost:1/v1'\n";
        std::fs::write(folder.path().join("config.toml"), toml).unwrap();
        let local = ConfiguredProvider { name: "local".into(), url: "http://localhost:1/v1".into() };
        assert_eq!(of_codex(&variable), Some(local));
        assert_eq!(selected("model_provider = \"openai\"\n"), None);
    }
}
