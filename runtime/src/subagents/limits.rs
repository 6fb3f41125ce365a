//! What a child may do: no more than those above it (`docs/reference/turn.md#children`).

use super::TASK;
use crate::outcome::LogError;
use crate::state::RuntimeState;
use crate::tools::InheritedDenials;
use annals_core::event::{AgentProfile, Effect, Purpose, Rule};
use annals_core::{AgentName, SessionId};
use annals_projections::SessionView;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The action patterns that a child is denied unless its agent allows them by name.
const NOT_FOR_CHILDREN: [&str; 2] = [TASK, "todo*"];

/// Those of a session; none for one that no other began, or whose parent is not in this store, as after an import. The
/// agent that counts is that of the turn whose call began or last resumed the child.
pub(crate) async fn limits_of(shared: &Arc<RuntimeState>, view: &SessionView) -> Result<InheritedDenials, LogError> {
    let mut limits = Vec::new();
    let (mut child, mut parent) = (view.session.id, view.session.parent.clone());
    let mut seen: BTreeSet<SessionId> = child.into_iter().collect();
    while let Some(above) = parent.take().filter(|above| seen.insert(above.session)) {
        // An imported child's parent may not be in this store; then a person continues the child.
        if shared.ports.log.head(above.session).await?.is_none() {
            break;
        }
        let view = shared.lane(above.session).view().await?;
        let agent = child.map_or_else(|| view.session.agent.clone(), |child| caller(&view, child));
        limits.push(rules(shared, &view, &agent));
        (child, parent) = (view.session.id, view.session.parent.clone());
    }
    Ok(InheritedDenials::of(limits))
}

/// The rules of an agent above: as it is defined now; without a definition, as the log recorded it last; and
/// if that is unknown too, everything is denied, so that a missing definition never allows what was denied.
fn rules(shared: &Arc<RuntimeState>, parent: &SessionView, agent: &AgentName) -> Vec<Rule> {
    let recorded = || parent.profiles.agents.get(parent.profiles.agent.get(agent)?).cloned();
    match shared.ports.definitions.agent(agent).or_else(recorded) {
        Some(profile) => profile.permissions,
        None => vec![Rule { action: "*".into(), resource: "*".into(), effect: Effect::Deny }],
    }
}

fn caller(parent: &SessionView, child: SessionId) -> AgentName {
    let started = parent.session.children.iter().rfind(|one| one.child == child).map(|one| one.seq);
    let turns = parent.requests.marks.iter().filter(|mark| mark.purpose == Purpose::Turn);
    let mut before = turns.filter(|mark| started.is_none_or(|started| mark.seq < started));
    before.next_back().map_or_else(|| parent.session.agent.clone(), |mark| mark.agent)
}

/// An agent as a child has it: without tasks and todos of its own, unless its own rules, without those for every agent, allow
/// them by name.
pub(crate) fn as_child(mut profile: AgentProfile, own: &[Rule]) -> AgentProfile {
    for action in NOT_FOR_CHILDREN {
        let is_it = |rule: &Rule| match action.strip_suffix('*') {
            Some(stem) => rule.action.starts_with(stem),
            None => rule.action == action,
        };
        let named = |rule: &Rule| rule.effect == Effect::Allow && is_it(rule);
        if !own.iter().any(named) {
            profile.permissions.push(Rule { action: action.into(), resource: "*".into(), effect: Effect::Deny });
        }
    }
    profile
}
