//! Agents and prompt templates in Markdown files: `agents/*.md` and `commands/*.md` in the folders of the project, of the user, and
//! of Claude Code where there is no `AGENTS.md` (`docs/extending.md`).

use crate::agent::{Agent, Mode};
use crate::config::Config;
use crate::guard;
use annals_core::ModelName;
use annals_core::event::{Effect, Rule};
use annals_runtime::context::instructions::opted_out;
use annals_tools::skills::front_matter;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The largest file, in bytes, and how many of a folder are read.
const LARGEST: u64 = 256 * 1024;
const FILES: usize = 500;

/// The actions that a list of tools allows or leaves out, with the names that other agents have for them.
const TOOLS: [(&str, &[&str]); 12] = [
    ("read", &["read", "notebookread"]),
    ("edit", &["edit", "write", "multiedit", "apply_patch", "patch", "notebookedit"]),
    ("bash", &["bash"]),
    ("grep", &["grep"]),
    ("glob", &["glob"]),
    ("ls", &["ls", "list"]),
    ("task", &["task", "agent"]),
    ("todo", &["todo", "todowrite", "todoread"]),
    ("webfetch", &["webfetch"]),
    ("websearch", &["websearch"]),
    ("question", &["question", "askuserquestion"]),
    ("skill", &["skill"]),
];

/// A prompt with a name, to be sent as `/NAME ARGUMENTS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptTemplate {
    /// Its name, without the slash; of a file in a folder `folder:name`.
    pub name: String,
    /// What it does, for people.
    pub description: String,
    /// The agent that works on it.
    pub agent: Option<String>,
    /// The model that answers it, as `provider/id`.
    pub model: Option<ModelName>,
    /// The text with `$ARGUMENTS`, `$1`, `@file` and `` !`command` ``.
    pub text: String,
    /// Whether commands in it are run: not in those of an untrusted project.
    pub runs_commands: bool,
}

struct MarkdownFile {
    name: String,
    fields: BTreeMap<String, String>,
    body: String,
    of_project: bool,
    of_claude: bool,
}

impl Config {
    /// The prompt templates by name. Of several with one name the project's counts, then the user's.
    pub fn templates(&self) -> BTreeMap<String, PromptTemplate> {
        let mut templates = BTreeMap::new();
        for MarkdownFile { name, mut fields, body, of_project, .. } in self.markdown("commands") {
            let model = fields.remove("model").filter(|model| model.contains('/')).map(ModelName::from);
            templates.entry(name.clone()).or_insert(PromptTemplate {
                name,
                description: fields.remove("description").unwrap_or_default(),
                agent: fields.remove("agent"),
                model,
                text: body.trim().to_owned(),
                runs_commands: !of_project || self.is_trusted(),
            });
        }
        templates
    }

    /// The agents of Markdown files, those of the project first.
    pub(crate) fn markdown_agents(&self) -> Vec<Agent> {
        let agent = |found: MarkdownFile| {
            let MarkdownFile { name, mut fields, body, of_claude, .. } = found;
            let name = fields.remove("name").filter(|name| !name.trim().is_empty()).unwrap_or(name);
            let mode = match fields.get("mode").map(String::as_str) {
                Some("primary") => Mode::Primary,
                Some("subagent") => Mode::Subagent,
                Some("hidden") => Mode::Hidden,
                Some(_) => Mode::All,
                None if of_claude => Mode::Subagent,
                None => Mode::All,
            };
            let tools = fields.get("tools").map(|tools| ToolList::read(tools)).unwrap_or_default();
            let mut rules = self.settings.all_rules();
            rules.extend(tools.denied);
            let model = fields.remove("model").filter(|model| model.contains('/')).map(ModelName::from);
            let steps = fields.get("steps").and_then(|steps| steps.parse().ok()).filter(|steps| *steps > 0);
            let description = fields.remove("description").unwrap_or_default();
            let agent = Agent::of_text(name.trim(), description, mode, body.trim().to_owned(), rules);
            agent.with(model, steps).naming(tools.named)
        };
        self.markdown("agents").into_iter().map(agent).collect()
    }

    /// The folders of agents and the files in them.
    pub(crate) fn agent_files(&self) -> Vec<PathBuf> {
        let folders = self.folders().into_iter().map(|(folder, _)| folder.join("agents"));
        folders.flat_map(|folder| files(&folder).into_values().chain([folder]).collect::<Vec<_>>()).collect()
    }

    /// The folders with Markdown files: whether each is the project's, and one of Claude Code.
    fn folders(&self) -> Vec<(PathBuf, (bool, bool))> {
        let root = self.project.as_ref().map_or_else(|| self.bound(), |project| project.root.as_path());
        let mut folders = Vec::new();
        if !opted_out(|name| self.variables.get(name)) {
            folders.push((root.join(".annals"), (true, false)));
            folders.extend(self.claude_folder().map(|folder| (folder, (true, true))));
        }
        folders.push((self.places().user_dir.clone(), (false, false)));
        folders.extend(self.user_claude_folder().map(|folder| (folder, (false, true))));
        folders
    }

    fn markdown(&self, kind: &str) -> Vec<MarkdownFile> {
        let mut found = Vec::new();
        for (folder, whose) in self.folders() {
            self.read_folder(&folder.join(kind), whose, &mut found);
        }
        found
    }

    fn read_folder(&self, folder: &Path, (of_project, of_claude): (bool, bool), found: &mut Vec<MarkdownFile>) {
        for (name, path) in files(folder) {
            // As for instructions: what an untrusted project links to from outside is left out.
            let root = self.bound();
            let inside = path.strip_prefix(root).is_ok_and(|path| guard::stays(path, root));
            if of_project && !self.is_trusted() && !inside {
                continue;
            }
            let is_small = fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST);
            let Some(text) = is_small.then(|| fs::read_to_string(&path).ok()).flatten() else {
                tracing::warn!(path = %path.display(), "a Markdown file cannot be read and is left out");
                continue;
            };
            let (fields, body) = front_matter(&text);
            found.push(MarkdownFile { name, fields, body: body.to_owned(), of_project, of_claude });
        }
    }
}

/// The Markdown files of a folder and of those in it, by name.
fn files(folder: &Path) -> BTreeMap<String, PathBuf> {
    let mut all = BTreeMap::new();
    let listed = |folder: &Path| {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|one| one.path()).collect();
        paths.sort();
        paths
    };
    let stem = |path: &Path| {
        let is_markdown = path.extension().is_some_and(|extension| extension == "md");
        is_markdown.then(|| path.file_stem().map(|stem| stem.to_string_lossy().into_owned())).flatten()
    };
    for path in listed(folder) {
        match stem(&path) {
            Some(name) => drop(all.insert(name, path)),
            None if path.is_dir() => {
                let below = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                for path in listed(&path) {
                    if let Some(name) = stem(&path) {
                        all.insert(format!("{below}:{name}"), path);
                    }
                }
            }
            None => {}
        }
        if all.len() >= FILES {
            break;
        }
    }
    all
}

/// The rules of a list of tools.
#[derive(Debug, Default)]
struct ToolList {
    /// What it does not name is denied, and so is what it switches off (`bash: false`).
    denied: Vec<Rule>,
    /// What it names: no permission by itself.
    named: Vec<Rule>,
}

impl ToolList {
    fn read(tools: &str) -> Self {
        let tools = tools.to_lowercase();
        let switched: Vec<(&str, &str)> = tools
            .split_whitespace()
            .collect::<Vec<_>>()
            .windows(2)
            .filter_map(|pair| Some((pair.first()?.strip_suffix(':')?, *pair.last()?)))
            .collect();
        let words: BTreeSet<&str> = tools
            .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '*')))
            .filter(|word| !word.is_empty())
            .collect();
        let names_one = |names: &[&str]| names.iter().any(|name| words.contains(name));
        let is_denied = |names: &[&str]| match switched.is_empty() {
            true => !words.contains("*") && !names_one(names),
            false => switched.iter().any(|(tool, value)| *value == "false" && names.contains(tool)),
        };
        let rule = |action: &str, effect| Rule { action: action.into(), resource: "*".into(), effect };
        let (denied, others): (Vec<_>, Vec<_>) = TOOLS.iter().partition(|(_, names)| is_denied(names));
        Self {
            denied: denied.into_iter().map(|(action, _)| rule(action, Effect::Deny)).collect(),
            named: others
                .into_iter()
                .filter(|(_, names)| names_one(names))
                .map(|(action, _)| rule(action, Effect::Allow))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ToolList;

    #[test]
    fn a_list_of_tools_denies_the_others_in_every_spelling() {
        let actions =
            |tools: &str| ToolList::read(tools).denied.into_iter().map(|rule| rule.action).collect::<Vec<_>>();
        let all_but_reading =
            ["edit", "bash", "task", "todo", "webfetch", "websearch", "question", "skill"].map(str::to_owned);
        for tools in ["Read, Grep, Glob, LS", "[read, grep, glob, ls]", "- Read - Grep - Glob - LS"] {
            assert_eq!(actions(tools), all_but_reading, "{tools}");
        }
        assert_eq!(actions("write: false bash: false read: true"), ["edit", "bash"]);
        assert!(actions("*").is_empty());
        let named = |tools: &str| ToolList::read(tools).named.into_iter().map(|rule| rule.action).collect::<Vec<_>>();
        assert_eq!(named("Read, Task, TodoWrite"), ["read", "task", "todo"]);
        assert_eq!(named("todo: true bash: false"), ["todo"]);
        assert!(named("*").is_empty(), "no name");
    }
}
