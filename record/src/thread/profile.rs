//! What shapes a recorded request: agent, model, tools, options.

use super::{RequestFacts, ThreadError};
use annals_core::event::{
    AgentProfile, AgentProfileRecorded, ModelProfile, ModelProfileRecorded, OptionsRecorded, Prices, RequestOptions,
    SystemMessages, ToolsRecorded,
};
use annals_core::{AgentName, Event};
use annals_projections::SessionView;
use annals_providers::catalog::Catalog;

/// Agent, model, tools and options of a request.
pub(super) struct RecordedShape {
    pub(super) agent: AgentProfile,
    pub(super) model: ModelProfile,
    pub(super) tools: Option<ToolsRecorded>,
    pub(super) options: RequestOptions,
}

impl RecordedShape {
    pub(super) fn of(agent: &AgentName, facts: &RequestFacts) -> Self {
        let tools = &facts.conversation.tools;
        Self {
            agent: AgentProfile { agent: agent.clone(), system: None, steps: None, permissions: Vec::new() },
            model: model(facts),
            tools: (!tools.is_empty()).then(|| ToolsRecorded { tools: tools.clone() }),
            options: facts.conversation.options.clone(),
        }
    }

    pub(super) fn prices(&self) -> Prices {
        self.model.prices
    }

    /// The parts that the log does not have yet.
    pub(super) fn unrecorded(&self, view: &SessionView) -> Result<Vec<Event>, ThreadError> {
        let known = &view.profiles;
        let mut events: Vec<Event> = Vec::new();
        if !known.agents.contains_key(&self.agent.digest()?) {
            events.push(AgentProfileRecorded { profile: self.agent.clone() }.into());
        }
        if !known.models.contains_key(&self.model.digest()?) {
            events.push(ModelProfileRecorded { profile: self.model.clone() }.into());
        }
        if let Some(tools) = &self.tools
            && !known.tools.contains_key(&tools.digest()?)
        {
            events.push(tools.clone().into());
        }
        if !known.options.contains_key(&self.options.digest()?) {
            events.push(OptionsRecorded { options: self.options.clone() }.into());
        }
        Ok(events)
    }
}

/// The profile of the model. What the body says in other ways than ours is in the recorded pieces: the number of the encoding
/// names none of our encoders.
fn model(facts: &RequestFacts) -> ModelProfile {
    let catalog = Catalog::built_in();
    let listed = catalog.model(&facts.model);
    let prices = catalog.prices(&facts.model).unwrap_or_default();
    ModelProfile {
        model: facts.model.clone(),
        id: facts.conversation.model.clone(),
        context: listed.as_ref().map_or(0, |model| model.context),
        output: listed.as_ref().map_or(0, |model| model.output),
        system_messages: SystemMessages::Native,
        media: vec!["*/*".to_owned()],
        prices,
        protocol: facts.protocol.to_owned(),
        encoding: 0,
    }
}
