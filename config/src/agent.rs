//! Agents as the configuration has them.

use crate::problem::{ConfigError, Problem};
use crate::settings::MergedSettings;
use annals_core::event::{AgentProfile, Rule};
use annals_core::{AgentName, ModelName};
use annals_providers::catalog::system_text;
use serde_json::{Map, Value};
use std::path::Path;

/// Who works with an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// People.
    Primary,
    /// Models, which give it tasks.
    Subagent,
    /// Both.
    All,
    /// The runtime, for its own requests.
    Hidden,
}

/// An agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// The name that sessions and `--agent` use.
    pub name: AgentName,
    /// Its purpose.
    pub description: String,
    /// Who works with it.
    pub mode: Mode,
    /// The model it begins with.
    pub model: Option<ModelName>,
    /// Its settings, in the shape of the AI SDK.
    pub options: Map<String, Value>,
    text: Option<String>,
    note: Option<String>,
    steps: Option<u32>,
    rules: Vec<Rule>,
    /// Those of `rules` that are its own.
    own_rules: Vec<Rule>,
}

impl Agent {
    /// Whether models may give it tasks.
    pub fn takes_tasks(&self) -> bool {
        matches!(self.mode, Mode::Subagent | Mode::All)
    }

    /// Whether users switch to it while they work: one that only takes tasks is chosen by name.
    pub fn is_mode(&self) -> bool {
        matches!(self.mode, Mode::Primary | Mode::All)
    }

    /// Whether a session may have it.
    pub fn is_selectable(&self) -> bool {
        self.mode != Mode::Hidden
    }

    /// Its rules without those for every agent.
    pub fn own_rules(&self) -> &[Rule] {
        &self.own_rules
    }

    /// Its profile for a model, which is named as its provider names it: its own text, else the one for the model's
    /// family, then its note.
    pub fn profile(&self, model: &str) -> AgentProfile {
        let text = self.text.as_deref().unwrap_or_else(|| system_text(model));
        let system = match &self.note {
            Some(note) if text.is_empty() => note.clone(),
            Some(note) => format!("{text}\n\n{note}"),
            None => text.to_owned(),
        };
        AgentProfile {
            agent: self.name.clone(),
            system: (!system.is_empty()).then(|| system.into()),
            steps: self.steps,
            permissions: self.rules.clone(),
        }
    }

    /// One whose system text is a Markdown file, with these rules. Those of a list of tools only deny.
    pub(crate) fn of_text(name: &str, description: String, mode: Mode, text: String, rules: Vec<Rule>) -> Self {
        Self {
            name: name.into(),
            description,
            mode,
            model: None,
            options: Map::new(),
            text: Some(text),
            note: None,
            steps: None,
            rules,
            own_rules: Vec::new(),
        }
    }

    /// The same whose own definition names tools.
    pub(crate) fn naming(self, own_rules: Vec<Rule>) -> Self {
        Self { own_rules, ..self }
    }

    /// The same with a model and a number of steps.
    pub(crate) fn with(self, model: Option<ModelName>, steps: Option<u32>) -> Self {
        Self { model, steps, ..self }
    }

    /// Reads one.
    pub(crate) fn read(
        settings: &MergedSettings,
        name: &str,
        file: impl Fn(&crate::reading::Setting) -> std::path::PathBuf,
        problems: &mut Vec<Problem>,
    ) -> Result<Self, ConfigError> {
        let own = |key| ["agents", name, key];
        let steps = settings.get(&own("steps"));
        let steps = steps.and_then(|setting| {
            let steps = setting.value.as_u64().and_then(|steps| u32::try_from(steps).ok()).filter(|steps| *steps > 0);
            if steps.is_none() {
                let message = format!("`agents.{name}.steps`: expected a whole number, 1 or more");
                problems.push(Problem { origin: setting.origin.clone(), message });
            }
            steps
        });
        let text = match (settings.text(&own("text")), settings.get(&own("text_file"))) {
            (Some(text), _) => Some(text.to_owned()),
            (None, Some(setting)) => Some(read_text(&file(setting))?),
            (None, None) => None,
        };
        let mut rules = settings.all_rules();
        let own_rules = settings.rules(&own("permissions"));
        rules.extend(own_rules.iter().cloned());
        Ok(Self {
            name: name.into(),
            description: settings.text(&own("description")).unwrap_or_default().to_owned(),
            mode: match settings.text(&own("mode")) {
                Some("hidden") => Mode::Hidden,
                Some("subagent") => Mode::Subagent,
                Some("primary") => Mode::Primary,
                _ => Mode::All,
            },
            model: settings.text(&own("model")).map(ModelName::from),
            options: free(settings, &own("options")),
            text,
            note: settings.text(&own("note")).map(str::to_owned),
            steps,
            rules,
            own_rules,
        })
    }
}

/// Settings by any name.
pub(crate) fn free(settings: &MergedSettings, path: &[&str]) -> Map<String, Value> {
    let mut all = Map::new();
    for name in settings.names(path) {
        let full: Vec<&str> = path.iter().copied().chain([name]).collect();
        if let Some(setting) = settings.get(&full) {
            all.insert(name.to_owned(), setting.value.clone());
        }
    }
    all
}

fn read_text(path: &Path) -> Result<String, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::File { path: path.to_owned(), source })?;
    Ok(text.trim_end().to_owned())
}
