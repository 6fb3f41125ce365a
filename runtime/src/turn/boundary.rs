//! The Safe Provider-Turn Boundary, in its exact order (`docs/reference/turn.md#boundary`).

use super::epoch::{self, EpochCheck};
use super::promotion::promote;
use super::request_profile::RequestProfile;
use super::{Runner, Selected, Stop, TurnState};
use crate::context::{Boundary, Guidance, Observations, compose};
use crate::settings::LoadOrder;
use annals_core::event::Switch;
use annals_guard::redaction::Redaction;
use annals_projections::SessionView;

/// Prepares the next request: an epoch is current, pending inputs are promoted, context changes are decided. What it decides
/// is appended with the request, unless something else of this process comes first.
///
/// If another agent is selected meanwhile under the policy `replace`, the boundary starts over; inputs that were promoted
/// stay promoted.
#[tracing::instrument(level = "debug", skip_all, fields(session = %runner.lane.session()))]
pub(super) async fn prepare(runner: &Runner, state: &mut TurnState) -> Result<RequestProfile, Stop> {
    loop {
        runner.check_not_interrupted()?;
        let view = runner.lane.view().await?;
        runner.check_location(&view)?;
        if let Some(hooks) = &runner.shared.settings.hooks {
            runner.unless_interrupted(hooks.at_boundary(runner.lane.session(), &runner.location.directory)).await?;
        }
        let selected = match state.selected.take() {
            Some(selected) if !selected.is_overtaken(&view) => selected,
            _ => Selected::of(&view),
        };
        let begun = view.epochs.current.is_none();
        if view.session.parent.is_none()
            && let Some(renewal) = &runner.services.renewal
        {
            runner.unless_interrupted(renewal.renew()).await?;
        }
        if begun && !epoch::begin(runner, &selected, &view).await? {
            continue;
        }
        if begun && runner.shared.ports.definitions.model(&selected.model).is_some() {
            // A window that cannot hold the session is refused before its input is promoted.
            RequestProfile::of_turn(runner, &selected, state.step, &*runner.lane.view().await?)?;
        }
        if !promote(runner, state).await? {
            continue;
        }
        if !begun && epoch::check(runner, &selected, &view).await? == EpochCheck::Overtaken {
            continue;
        }
        let view = runner.lane.staged_view().await?;
        let mut profile = RequestProfile::of_turn(runner, &selected, state.step, &view)?;
        profile.rate = runner.lane.token_rate(&selected.model).await?;
        if !profile.record_turn(runner).await? {
            continue;
        }
        state.selected = Some(selected);
        return Ok(profile);
    }
}

impl Selected {
    /// Whether another agent was selected since, so that under the policy `replace` no epoch may start or continue for
    /// this one.
    pub(super) fn is_overtaken(&self, view: &SessionView) -> bool {
        view.session.policy.agent_switch == Switch::Replace && view.session.agent != self.agent
    }
}

impl Runner {
    /// Observes every Context Source of a turn, once. Secrets are replaced before anything is compared or recorded.
    #[tracing::instrument(level = "debug", skip_all, fields(session = %self.lane.session(), agent = %selected.agent))]
    pub(super) async fn observe(&self, selected: &Selected, view: &SessionView) -> Result<Observations, Stop> {
        let boundary = Boundary {
            session: self.lane.session(),
            agent: selected.agent.clone(),
            location: self.location.clone(),
            discovered: view.session.instructions.clone(),
        };
        let profile = self.agent(&selected.agent);
        let guidance = Guidance {
            rules: profile.as_ref().map(|profile| profile.permissions.as_slice()),
            skills: self.services.skills.as_deref().map(|skills| skills as _),
            references: self.services.references.as_deref().map(|references| references as _),
        };
        let observed = self.unless_interrupted(async {
            let context = compose(&self.services.registry, &boundary, guidance).await?;
            match self.shared.settings.sources {
                LoadOrder::AtOnce => context.observe().await,
                LoadOrder::InOrder => context.observe_in_order().await,
            }
        });
        let mut observations: Observations = observed.await??;
        let mut redaction = Redaction::new(self.shared.settings.redactor.as_ref());
        observations.sources.iter_mut().for_each(|source| redaction.observed(&mut source.observed));
        Ok(observations)
    }
}
