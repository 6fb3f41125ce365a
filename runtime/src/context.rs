//! System Context with the world: sources that are loaded, the registry of a location, and the built-in sources.
//!
//! What an observation decides is `annals_core::context`; this module makes observations. At a Safe Provider-Turn
//! Boundary [`compose`] runs every producer once and [`SystemContext::observe`] every loader once, each concurrently, so
//! that nothing is loaded twice (`docs/reference/context.md#composition`). `docs/system-context.md`
//! says how to write a source.

mod builtins;
mod fault;
pub mod instructions;
mod references;
mod registry;
mod skills;
mod source;
mod system;
mod xml;

pub use builtins::{Builtins, date, environment};
pub use fault::{ContextError, Fault};
pub(crate) use fault::{caught, panic_message};
pub use instructions::Instructions;
pub use references::{Reference, ReferenceCatalogue};
pub use registry::{Boundary, DuplicateContribution, Producer, Registration, Registry};
pub use skills::{Skill, SkillCatalogue};
pub use source::{ContextSource, Loaded, Source};
pub use system::{Observations, SystemContext};
pub use xml::escaped;

use annals_core::Key;
use annals_core::event::Rule;

/// What is composed after the registry's contributions, for the agent of a turn.
#[derive(Clone, Copy, Default)]
pub struct Guidance<'a> {
    /// The agent's permission rules; `None` for an agent without a definition, which gets no skill guidance.
    pub rules: Option<&'a [Rule]>,
    /// The skills of the location.
    pub skills: Option<&'a dyn SkillCatalogue>,
    /// The project references of the location.
    pub references: Option<&'a dyn ReferenceCatalogue>,
}

/// The System Context of one turn: registry contributions by key, then skill guidance, then reference guidance, all
/// produced concurrently.
///
/// # Errors
/// When a producer fails, or two sources have one key.
#[tracing::instrument(level = "debug", skip_all, fields(session = %boundary.session, agent = %boundary.agent))]
pub async fn compose(
    registry: &Registry,
    boundary: &Boundary,
    guidance: Guidance<'_>,
) -> Result<SystemContext, ContextError> {
    let (contributed, skills, references) = futures_util::join!(
        registry.load(boundary),
        skills::guidance(guidance.skills, guidance.rules),
        references::guidance(guidance.references),
    );
    SystemContext::combine([contributed?, skills?, references?])
}

/// A key that is a constant of this crate.
fn own_key(text: &'static str) -> Key {
    text.parse().expect("keys written in this crate follow the pattern of keys")
}

#[cfg(test)]
mod tests;
