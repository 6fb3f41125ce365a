//! What a host is made of beside the store: what configuration, environment and options decide.

use annals_core::event::Location;
use annals_runtime::ports::Provider;
use annals_runtime::settings::{Definitions, LocationServices};
use annals_runtime::subagents::Subagent;
use annals_runtime::tools::ToolRegistry;
use annals_runtime::{Boxed, Settings};
use annals_store::disk::StorePath;
use std::sync::Arc;

/// What a host is made of beside the store.
pub struct HostParts {
    /// Where models answer.
    pub provider: Arc<dyn Provider>,
    /// What agents and models are.
    pub definitions: Arc<dyn Definitions>,
    /// Limits and manners.
    pub settings: Settings,
    /// What is there at a Location.
    pub services_at: Arc<dyn ServicesAt>,
    /// Agents that tasks may be given to.
    pub subagents: Vec<Subagent>,
}

/// Says what is there at a Location. Asked once for each.
pub trait ServicesAt: Send + Sync {
    /// The services of a Location; its own tools are registered in `tools`. `store` is where captures of files lie. May
    /// block.
    fn services(&self, location: &Location, tools: ToolRegistry, store: &StorePath) -> LocationServices;

    /// What a person should know of a Location before anything runs there: nothing, as a rule.
    fn remarks<'a>(&'a self, location: &'a Location) -> Boxed<'a, Vec<String>> {
        let _ = location;
        Box::pin(std::future::ready(Vec::new()))
    }
}
