//! What a host consists of besides the store: what configuration, environment and options decide.

use annals_runtime::Settings;
use annals_runtime::host::ServicesAt;
use annals_runtime::ports::Provider;
use annals_runtime::settings::Definitions;
use annals_runtime::subagents::Subagent;
use std::sync::Arc;

/// What a host consists of besides the store.
pub struct HostParts {
    /// Sends requests to models.
    pub provider: Arc<dyn Provider>,
    /// The definitions of agents and models.
    pub definitions: Arc<dyn Definitions>,
    /// Limits and behaviour.
    pub settings: Settings,
    /// Determines the services of a Location.
    pub services_at: Arc<dyn ServicesAt>,
    /// Agents that tasks may be given to.
    pub subagents: Vec<Subagent>,
}
