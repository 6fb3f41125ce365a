//! What the agents above a child are denied, so that the child is denied it, too.

use annals_core::event::{Effect, Rule};
use annals_core::permission::{authorise, hides};

/// The rules of the agents that began a session, from its parent up. What one of them is denied, the child is denied.
#[derive(Clone, Debug, Default)]
pub(crate) struct InheritedDenials(Vec<Vec<Rule>>);

impl InheritedDenials {
    /// The rules of each agent above, from the parent up.
    pub(crate) fn of(above: Vec<Vec<Rule>>) -> Self {
        Self(above)
    }

    /// Whether an agent above is denied this.
    pub(crate) fn deny(&self, action: &str, resources: &[&str]) -> bool {
        self.0.iter().any(|rules| authorise(rules, &[], action, resources) == Effect::Deny)
    }

    /// Whether the tools of this action are hidden from an agent above.
    pub(crate) fn hide(&self, action: &str) -> bool {
        self.0.iter().any(|rules| hides(rules, action))
    }
}
