//! What agents and models are, as the runtime asks (`docs/reference/turn.md#boundary`), and whether the files make
//! sense together.

use crate::agent::free;
use crate::config::Config;
use crate::extensions;
use crate::mcp;
use crate::problem::Problem;
use crate::reading::{Setting, shown};
use crate::retention::RetentionRule;
use annals_core::event::{AgentProfile, ModelProfile, RequestOptions, Rule};
use annals_core::{AgentName, ModelName};
use annals_guard::redaction::Redactor;
use annals_providers::catalog::{for_owners, partition};
use annals_providers::wire::Protocol;
use annals_runtime::ports::SystemClock;
use annals_runtime::settings::Definitions;
use serde_json::{Map, Value};

impl Definitions for Config {
    fn agent(&self, agent: &AgentName) -> Option<AgentProfile> {
        Some(self.agents.get(agent)?.profile(""))
    }

    fn agent_on(&self, agent: &AgentName, model: &ModelName) -> Option<AgentProfile> {
        let known = self.catalog.model(model);
        Some(self.agents.get(agent)?.profile(known.as_ref().map_or(model.as_str(), |model| &model.id)))
    }

    fn own_rules(&self, agent: &AgentName) -> Vec<Rule> {
        self.agents.get(agent).map(|agent| agent.own_rules().to_vec()).unwrap_or_default()
    }

    fn model(&self, model: &ModelName) -> Option<ModelProfile> {
        match self.catalog.model(model)?.profile() {
            Ok(profile) => Some(profile),
            Err(error) => {
                tracing::warn!(%model, %error, "a model is listed that cannot be spoken to");
                None
            }
        }
    }

    /// What suits the server, the provider's settings over it, then the model's, then the agent's
    /// (`docs/configuration.md#models`).
    fn options(&self, agent: &AgentName, model: &ModelName) -> RequestOptions {
        let Some(known) = self.catalog.model(model) else { return RequestOptions::default() };
        let mut settings = known.server_defaults();
        lay(&mut settings, free(&self.settings, &["providers", &known.provider, "options"]));
        lay(&mut settings, free(&self.settings, &["models", model.as_str(), "options"]));
        if let Some(agent) = self.agents.get(agent) {
            // An agent may be used with any provider.
            lay(&mut settings, for_owners(agent.options.clone()));
        }
        // A model without a supported protocol has no profile, and gets no requests.
        let Ok(route) = known.route else { return RequestOptions::default() };
        match partition(route.protocol, &settings) {
            Ok(options) => options,
            // Each of them was taken apart when it was loaded.
            Err(error) => {
                tracing::warn!(%model, %error, "settings of requests make no sense together and are left out");
                RequestOptions::default()
            }
        }
    }
}

/// Lays settings over others, tables into tables.
fn lay(under: &mut Map<String, Value>, over: Map<String, Value>) {
    for (name, value) in over {
        match (under.get_mut(&name), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => lay(inner, value),
            (_, value) => drop(under.insert(name, value)),
        }
    }
}

impl Config {
    /// Notes what makes no sense, though every key and value is one.
    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        let mut wrong = |setting: &Setting, why: String| {
            let message = format!("`{}`: {why}", shown(&setting.path));
            problems.push(Problem { origin: setting.origin.clone(), message });
        };
        for setting in self.settings.all() {
            let path: Vec<&str> = setting.path.iter().map(String::as_str).collect();
            let text = setting.value.as_str().unwrap_or_default();
            match path.as_slice() {
                ["model" | "small_model"] | ["agents", _, "model"] | ["compaction", "model"]
                    if !text.split_once('/').is_some_and(|(provider, id)| !provider.is_empty() && !id.is_empty()) =>
                {
                    wrong(setting, format!("{text:?} names no model; a model is named \"provider/id\""));
                }
                ["agent"] if !self.selectable().any(|agent| agent.as_str() == text) => {
                    let names: Vec<&str> = self.selectable().map(AgentName::as_str).collect();
                    let why = match self.agents.contains_key(&text.into()) {
                        true => format!("agent {text:?} is hidden and cannot be selected"),
                        false => format!("there is no agent {text:?}"),
                    };
                    wrong(setting, format!("{why}; there are {}", names.join(", ")));
                }
                ["compaction", "agent"] if !self.agents.contains_key(&text.into()) => {
                    let names: Vec<&str> = self.agents.keys().map(AgentName::as_str).collect();
                    wrong(setting, format!("there is no agent {text:?}; there are {}", names.join(", ")));
                }
                ["mcp", name] => {
                    if let Err(why) = mcp::server(&self.settings, &self.variables, &self.logins(), name) {
                        wrong(setting, why);
                    }
                }
                ["lsp" | "custom_tools" | "context" | "hooks", name] => {
                    if let Err(why) = extensions::check(&self.settings, &path, name) {
                        wrong(setting, why);
                    }
                }
                ["websearch", "command" | "provider" | "url" | "key_env"] => {
                    if let Err(why) = extensions::check(&self.settings, &path, "") {
                        wrong(setting, why);
                    }
                }
                ["retention", rule] => {
                    if let Err(why) = RetentionRule::read(rule, setting) {
                        wrong(setting, why);
                    }
                }
                ["time_zone"] => {
                    if let Err(error) = SystemClock::in_zone(text) {
                        wrong(setting, format!("{error}; a zone is named as in \"Europe/Lisbon\" or \"UTC\""));
                    }
                }
                ["redaction", "patterns", kind] => {
                    if let Err(error) = Redactor::default().with_pattern(kind, text) {
                        wrong(setting, error.to_string());
                    }
                }
                [.., "options", name] => {
                    let one: Map<String, Value> = [((*name).to_owned(), setting.value.clone())].into_iter().collect();
                    let spoken: Vec<Protocol> = match path.as_slice() {
                        ["models", model, ..] => self.route(model).into_iter().collect(),
                        _ => Protocol::ALL.to_vec(),
                    };
                    if let Some(error) = spoken.into_iter().find_map(|protocol| partition(protocol, &one).err()) {
                        wrong(setting, error.to_string());
                    }
                }
                _ => {}
            }
        }
    }

    fn route(&self, model: &str) -> Option<Protocol> {
        self.catalog.model(&model.into())?.route.ok().map(|route| route.protocol)
    }
}
