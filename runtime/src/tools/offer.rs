//! The tools of one turn.

use super::CallError;
use super::registry::{Registered, ToolRegistry};
use annals_core::event::ToolsRecorded;
use std::sync::Arc;

/// What one request offers, by name, with the registrations that were meant. The default offers nothing: a last step.
#[derive(Clone, Default)]
pub struct Offered(Vec<Arc<Registered>>);

impl Offered {
    /// Sorted by name already.
    pub(super) fn new(tools: Vec<Arc<Registered>>) -> Self {
        Self(tools)
    }

    /// All but those of some permission actions.
    #[must_use]
    pub fn without(mut self, hidden: impl Fn(&str) -> bool) -> Self {
        self.0.retain(|tool| !hidden(tool.action()));
        self
    }

    /// Whether nothing is offered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tools, by name.
    pub fn tools(&self) -> &[Arc<Registered>] {
        &self.0
    }

    /// The definitions as a request sends them, and as the log records them.
    pub fn definitions(&self) -> ToolsRecorded {
        ToolsRecorded { tools: self.0.iter().map(|tool| tool.definition().clone()).collect() }
    }

    /// The tool that a call of this turn means, if it is still the one that was offered. What runs afterwards runs on
    /// this registration to its end.
    ///
    /// # Errors
    /// [`CallError::Unknown`] for a name that was not offered, [`CallError::Stale`] for one that now names another
    /// registration by now, or for none.
    pub fn resolve(&self, registry: &ToolRegistry, name: &str) -> Result<Arc<Registered>, CallError> {
        let offered = self.0.iter().find(|tool| tool.definition().name == name);
        let offered = offered.ok_or_else(|| CallError::Unknown(name.into()))?;
        match registry.current(name) {
            Some(current) if Arc::ptr_eq(&current, offered) => Ok(current),
            _ => Err(CallError::Stale(name.into())),
        }
    }
}
