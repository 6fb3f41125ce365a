//! What an editor can select: agents as modes, and models.

use annals_config::Config;
use annals_core::{AgentName, ModelName};
use serde_json::{Value, json};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The option that selects a model.
pub(super) const MODEL: &str = "model";

/// The agents and models of a session, and which of them are selected.
pub(super) struct SelectableOptions {
    agents: Vec<(AgentName, String)>,
    models: Vec<OfferedModel>,
    current: Mutex<(AgentName, ModelName)>,
}

struct OfferedModel {
    model: ModelName,
    name: String,
    /// Its context limit in tokens; 0 when unknown.
    context: u64,
}

impl SelectableOptions {
    /// What a configuration offers: the agents that users switch between, and the models whose provider has a key.
    pub(super) fn of(config: &Config, agent: AgentName, model: ModelName) -> Self {
        let described = |agent: &AgentName| config.agents.get(agent).map(|agent| agent.description.clone());
        // One that was chosen by name is a mode of its session, too.
        let chosen =
            config.agents.keys().filter(|other| **other == agent && !config.modes().any(|mode| mode == *other));
        let agents = config.modes().chain(chosen);
        let agents = agents.map(|agent| (agent.clone(), described(agent).unwrap_or_default())).collect();
        let usable = config.catalog.models().filter(|known| known.model == model || config.has_key(&known.provider));
        let offered = |known: annals_providers::catalog::CatalogModel| OfferedModel {
            name: match known.model.as_str().split_once('/') {
                Some((provider, _)) if !known.name.is_empty() => format!("{} ({provider})", known.name),
                _ => known.model.to_string(),
            },
            context: known.context,
            model: known.model,
        };
        let mut models: Vec<OfferedModel> = usable.map(offered).collect();
        if !models.iter().any(|known| known.model == model) {
            let context = config.catalog.model(&model).map(|known| known.context).unwrap_or_default();
            models.insert(0, OfferedModel { name: model.to_string(), context, model: model.clone() });
        }
        Self { agents, models, current: Mutex::new((agent, model)) }
    }

    fn current(&self) -> MutexGuard<'_, (AgentName, ModelName)> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent that works.
    pub(super) fn agent(&self) -> AgentName {
        self.current().0.clone()
    }

    /// The model that answers.
    pub(super) fn model(&self) -> ModelName {
        self.current().1.clone()
    }

    pub(super) fn set_agent(&self, agent: AgentName) {
        self.current().0 = agent;
    }

    pub(super) fn set_model(&self, model: ModelName) {
        self.current().1 = model;
    }

    /// The agent of a mode.
    pub(super) fn mode(&self, mode: &str) -> Option<AgentName> {
        self.agents.iter().map(|(agent, _)| agent).find(|agent| agent.as_str() == mode).cloned()
    }

    /// The offered model of a name.
    pub(super) fn named(&self, model: &str) -> Option<ModelName> {
        self.models.iter().map(|known| &known.model).find(|known| known.as_str() == model).cloned()
    }

    /// The context limit of the model that answers, in tokens; 0 when unknown.
    pub(super) fn context(&self) -> u64 {
        let model = self.model();
        self.models.iter().find(|known| known.model == model).map(|known| known.context).unwrap_or_default()
    }

    /// The agents as modes.
    pub(super) fn modes(&self) -> Value {
        let modes = self.agents.iter().map(|(agent, description)| {
            let mut mode = json!({"id": agent.as_str(), "name": agent.as_str()});
            if let (false, Value::Object(fields)) = (description.is_empty(), &mut mode) {
                fields.insert("description".into(), description.as_str().into());
            }
            mode
        });
        json!({"currentModeId": self.agent().as_str(), "availableModes": modes.collect::<Vec<_>>()})
    }

    /// The options: which model answers.
    pub(super) fn options(&self) -> Value {
        let options = self.models.iter().map(|known| json!({"value": known.model.as_str(), "name": known.name}));
        json!([{
            "type": "select",
            "id": MODEL,
            "name": "Model",
            "category": MODEL,
            "currentValue": self.model().as_str(),
            "options": options.collect::<Vec<_>>(),
        }])
    }

    /// The options as an update.
    pub(super) fn update(&self) -> Value {
        json!({"sessionUpdate": "config_option_update", "configOptions": self.options()})
    }
}
