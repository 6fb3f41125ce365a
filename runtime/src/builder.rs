//! A runtime in few lines (`docs/library.md`).

use crate::permission::{Approver, FixedApprover};
use crate::ports::{Clock, Ids, NoEntropy, OutputFiles, Provider, SeededIds, SystemClock};
use crate::settings::{FixedDefinitions, LocationServices, Ports, Settings, bare_agent};
use crate::state::Runtime;
use crate::testing::MemoryOutputs;
use crate::tools::{RegistrationError, Tool};
use annals_core::event::{AgentProfile, ModelProfile};
use annals_store::EventLog;
use std::sync::Arc;

/// Builds a [`Runtime`] with the usual ports: the machine's clock, random ids, the same services at every location, long tool
/// outputs in memory, and an approver that rejects what no rule allows.
#[derive(Clone)]
pub struct RuntimeBuilder {
    log: Arc<dyn EventLog>,
    provider: Arc<dyn Provider>,
    clock: Arc<dyn Clock>,
    ids: Option<Arc<dyn Ids>>,
    outputs: Option<Arc<dyn OutputFiles>>,
    approver: Arc<dyn Approver>,
    services: LocationServices,
    definitions: FixedDefinitions,
    tools: Vec<Arc<dyn Tool>>,
    settings: Settings,
}

/// A runtime cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildRuntimeError {
    /// The system gives no entropy for ids.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
    /// A tool cannot be offered.
    #[error(transparent)]
    Tools(#[from] RegistrationError),
}

impl Runtime {
    /// A builder of a runtime over a log whose requests `provider` sends.
    pub fn builder(log: Arc<dyn EventLog>, provider: Arc<dyn Provider>) -> RuntimeBuilder {
        RuntimeBuilder {
            log,
            provider,
            clock: Arc::new(SystemClock::local()),
            ids: None,
            outputs: None,
            approver: Arc::new(FixedApprover::rejecting("no rule")),
            services: LocationServices::default(),
            definitions: FixedDefinitions::default(),
            tools: Vec::new(),
            settings: Settings::default(),
        }
    }
}

impl RuntimeBuilder {
    /// Defines a model.
    #[must_use]
    pub fn model(mut self, model: ModelProfile) -> Self {
        self.definitions = self.definitions.model(model);
        self
    }

    /// Defines an agent by its name and system text.
    #[must_use]
    pub fn agent(self, name: &str, system: impl Into<String>) -> Self {
        self.agent_profile(AgentProfile { system: Some(system.into().into()), ..bare_agent(&name.into()) })
    }

    /// Defines an agent with its rules and its maximum of steps.
    #[must_use]
    pub fn agent_profile(mut self, agent: AgentProfile) -> Self {
        self.definitions = self.definitions.agent(agent);
        self
    }

    /// Offers a tool to every agent.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Sets who answers permission questions.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = approver;
        self
    }

    /// Sets the services of every location: Context Sources, skills, files. Tools of the builder are added to its tools.
    #[must_use]
    pub fn services(mut self, services: LocationServices) -> Self {
        self.services = services;
        self
    }

    /// Sets where long tool outputs are kept.
    #[must_use]
    pub fn outputs(mut self, outputs: Arc<dyn OutputFiles>) -> Self {
        self.outputs = Some(outputs);
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the source of ids.
    #[must_use]
    pub fn ids(mut self, ids: Arc<dyn Ids>) -> Self {
        self.ids = Some(ids);
        self
    }

    /// Sets limits and behaviour.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// The runtime.
    ///
    /// # Errors
    /// When the system gives no entropy for ids, or a tool has a name that is taken or not allowed.
    pub fn build(self) -> Result<Runtime, BuildRuntimeError> {
        let Self { log, provider, clock, ids, outputs, approver, services, definitions, tools, settings } = self;
        services.tools.register(tools)?.detach();
        let ids = match ids {
            Some(ids) => ids,
            None => Arc::new(SeededIds::from_entropy()?),
        };
        let outputs = outputs.unwrap_or_else(|| Arc::new(MemoryOutputs::new(clock.clone())));
        let (locations, definitions) = (Arc::new(services), Arc::new(definitions));
        Ok(Runtime::new(Ports { log, provider, clock, ids, outputs, approver, locations, definitions }, settings))
    }
}
