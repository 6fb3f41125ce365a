//! The profile of a request (agent, model, tools, options): recorded once per change, named by hash
//! (`docs/reference/turn.md#boundary`).

use super::{Runner, Selected, Stop, small_window};
use crate::bus::Notice;
use crate::lane::{Decision, Lane};
use crate::outcome::RunError;
use crate::settings::bare_agent;
use crate::tools::Offered;
use annals_core::event::{
    AgentProfile, AgentProfileRecorded, ModelProfile, ModelProfileRecorded, OptionsRecorded, Prices, Purpose,
    RequestOptions, RequestSent, ToolsRecorded, Usage,
};
use annals_core::{Blobs, Digest, Event, RequestId, Text};
use annals_guard::redaction::Redaction;
use annals_projections::{Profiles, SCRIPTED_PROTOCOL, SessionView, TokenRate, running_inputs};
use std::collections::BTreeMap;

/// Agent, model, tools and options of one request.
pub(crate) struct RequestProfile {
    pub(crate) agent: AgentProfile,
    pub(crate) model: ModelProfile,
    pub(crate) offered: Offered,
    pub(crate) last_step: bool,
    /// How many tokens its model's provider counts.
    pub(crate) rate: TokenRate,
    /// Whether a one-shot request has the text of its agent.
    pub(crate) with_system: bool,
    /// Tools that are not offered since the window is small.
    left_out: Vec<String>,
    options: RequestOptions,
    tools: ToolsRecorded,
    named: ProfileDigests,
    /// `redaction.applied`, if secrets were replaced.
    redacted: Option<Event>,
}

/// What the inputs of the running work brought for its turns.
struct BroughtByInputs<'a> {
    /// Their system texts, oldest first.
    system: Vec<&'a Text>,
    /// Whether tools are offered; of two inputs that choose for one name the newer counts.
    tools: BTreeMap<String, bool>,
}

impl<'a> BroughtByInputs<'a> {
    fn of(view: &'a SessionView, model: &ModelProfile) -> Self {
        let mut brought = Self { system: Vec::new(), tools: BTreeMap::new() };
        // Most sessions have none.
        if view.inbox.configured.is_empty() {
            return brought;
        }
        let inputs = running_inputs(&view.history, model);
        for configured in inputs.into_iter().filter_map(|input| view.inbox.configured.get(input)) {
            brought.system.extend(&configured.system);
            brought.tools.extend(configured.tools.iter().map(|(name, offered)| (name.clone(), *offered)));
        }
        brought
    }

    /// Adds the texts to that of the agent.
    fn follow(&self, agent: &mut AgentProfile, blobs: &dyn Blobs) {
        if self.system.is_empty() {
            return;
        }
        let own = agent.system.iter().chain(self.system.iter().copied());
        let texts: Vec<String> = own.map(|text| text.resolve(blobs).into_owned()).collect();
        agent.system = Some(texts.join("\n\n").into());
    }
}

/// The hashes that `request.sent` names them by.
struct ProfileDigests {
    agent: Digest,
    model: Digest,
    options: Digest,
    tools: Option<Digest>,
}

impl RequestProfile {
    /// The profile of a turn's request. The last allowed step offers no tools.
    ///
    /// # Errors
    /// [`RunError::UnknownModel`], [`RunError::WindowTooSmall`].
    pub(super) fn of_turn(runner: &Runner, selected: &Selected, step: u32, view: &SessionView) -> Result<Self, Stop> {
        let agent = runner.agent_on(selected);
        let mut agent = agent.unwrap_or_else(|| bare_agent(&selected.agent));
        let model = definition(runner, selected)?;
        let brought = BroughtByInputs::of(view, &model);
        brought.follow(&mut agent, &*runner.lane.blobs());
        let last_step = agent.steps.is_some_and(|steps| step >= steps);
        let offered =
            if last_step { Offered::default() } else { runner.services.tools.materialise(&agent.permissions) };
        let offered = offered.without(|action| runner.limits.hide(action)).chosen(&brought.tools);
        let (offered, left_out) = small_window::fitted(runner, &agent, &model, offered, view)?;
        Ok(Self { left_out, ..Self::new(runner, agent, selected, offered, last_step)? })
    }

    /// The profile of a one-shot request: no tools.
    ///
    /// # Errors
    /// [`RunError::UnknownModel`].
    pub(crate) fn of_summary(runner: &Runner, selected: &Selected) -> Result<Self, Stop> {
        let agent = runner.agent_on(selected);
        let agent = agent.unwrap_or_else(|| bare_agent(&selected.agent));
        Self::new(runner, agent, selected, Offered::default(), false)
    }

    fn new(
        runner: &Runner,
        mut agent: AgentProfile,
        selected: &Selected,
        offered: Offered,
        last_step: bool,
    ) -> Result<Self, Stop> {
        let definitions = &runner.shared.ports.definitions;
        let model = definition(runner, selected)?;
        let mut options = definitions.options(&selected.agent, &selected.model);
        let mut tools = offered.definitions();
        // Before any hash is taken: the hashes name what the model reads.
        let mut redaction = Redaction::new(runner.shared.settings.redactor.as_ref());
        agent.system.iter_mut().for_each(|text| redaction.repeated(text));
        tools.tools.iter_mut().for_each(|tool| redaction.definition(tool));
        redaction.options(&mut options);
        let named = ProfileDigests {
            agent: agent.digest()?,
            model: model.digest()?,
            options: options.digest()?,
            tools: if offered.is_empty() { None } else { Some(tools.digest()?) },
        };
        let (rate, with_system, left_out) = (TokenRate::UNREPORTED, false, Vec::new());
        let redacted = redaction.applied();
        Ok(Self { agent, model, offered, last_step, rate, with_system, left_out, options, tools, named, redacted })
    }

    /// Resolves the name of a call: to the only offered tool that differs from it in case alone, unless the protocol is
    /// scripted; otherwise the name as received.
    pub(super) fn tool_name(&self, name: String) -> String {
        let offered = || self.offered.tools().iter().map(|tool| &tool.definition().name);
        if self.model.protocol == SCRIPTED_PROTOCOL || offered().any(|other| *other == name) {
            return name;
        }
        let mut alike = offered().filter(|other| other.eq_ignore_ascii_case(&name));
        match (alike.next(), alike.next()) {
            (Some(tool_name), None) => tool_name.clone(),
            _ => name,
        }
    }

    /// Records the parts that the log does not contain yet.
    pub(crate) async fn record(&self, lane: &Lane) -> Result<(), Stop> {
        lane.decide(|view| Ok(Decision::append(self.unrecorded(&view.profiles), ()))).await
    }

    /// Records a turn's parts with its request; a set of tools that is new and has been reduced is published. Returns `false`
    /// when the boundary must start over.
    pub(super) async fn record_turn(&self, runner: &Runner) -> Result<bool, Stop> {
        let decided = runner.lane.stage(|view| {
            let new = self.named.tools.is_some_and(|tools| !view.profiles.tools.contains_key(&tools));
            Ok::<_, Stop>(Decision::append(self.unrecorded(&view.profiles), new))
        });
        let Some(new) = decided.await? else { return Ok(false) };
        if new && !self.left_out.is_empty() {
            let (session, model, left_out) = (runner.lane.session(), self.model.model.clone(), self.left_out.clone());
            runner.shared.bus.publish(&Notice::ToolsReduced { session, model, left_out });
        }
        Ok(true)
    }

    fn unrecorded(&self, known: &Profiles) -> Vec<Event> {
        let ProfileDigests { agent, model, options, tools } = &self.named;
        let mut events: Vec<Event> = Vec::new();
        if known.agent.get(&self.agent.agent) != Some(agent) {
            events.push(AgentProfileRecorded { profile: self.agent.clone() }.into());
        }
        if known.model.get(&self.model.model) != Some(model) {
            events.push(ModelProfileRecorded { profile: self.model.clone() }.into());
        }
        if tools.is_some_and(|tools| !known.tools.contains_key(&tools)) {
            events.push(self.tools.clone().into());
        }
        if !known.options.contains_key(options) {
            events.push(OptionsRecorded { options: self.options.clone() }.into());
        }
        if !events.is_empty() {
            events.extend(self.redacted.clone());
        }
        events
    }

    /// Agent and model of the request.
    pub(super) fn selected(&self) -> Selected {
        Selected { agent: self.agent.agent.clone(), model: self.model.model.clone() }
    }

    /// The first attempt of a request with this profile, before its digest is known.
    pub(crate) fn sent(&self, request: RequestId, purpose: Purpose, prompt: Option<Text>) -> RequestSent {
        RequestSent {
            request,
            purpose,
            attempt: 1,
            digest: Digest([0; 32]),
            wire: None,
            agent: self.agent.agent.clone(),
            model: self.model.model.clone(),
            agent_profile: self.named.agent,
            model_profile: self.named.model,
            tools: self.named.tools,
            options: self.named.options,
            last_step: self.last_step,
            prompt,
        }
    }
}

fn definition(runner: &Runner, selected: &Selected) -> Result<ModelProfile, Stop> {
    let model = runner.shared.ports.definitions.model(&selected.model);
    model.ok_or_else(|| RunError::UnknownModel(selected.model.clone()).into())
}

/// The cost of an attempt in nano-dollars; 0 without usage.
pub(crate) fn cost(prices: &Prices, usage: Option<Usage>) -> u64 {
    usage.map_or(0, |usage| prices.cost(usage))
}
