//! The provider of a scenario: returns the queued answers and records the requests.

use super::ScriptedWorld;
use super::declared::PerformActions;
use crate::action::{AnswerScript, AttemptScript, CrashPoint, FailureScript};
use crate::crash::CrashSwitch;
use annals_core::canonical;
use annals_runtime::Boxed;
use annals_runtime::ports::{AnswerStream, Provider, ProviderError, ProviderRequest};
use annals_runtime::testing::{ScriptedAttempt, ScriptedCall, ScriptedEnd, ScriptedProvider};
use std::sync::Arc;

/// The provider of one process.
pub(crate) struct ScenarioProvider {
    world: Arc<ScriptedWorld>,
    crash: CrashSwitch,
    perform: PerformActions,
}

impl ScenarioProvider {
    /// `crash` ends the process; `perform` runs the actions of a `during`.
    pub fn new(world: Arc<ScriptedWorld>, crash: CrashSwitch, perform: PerformActions) -> Self {
        Self { world, crash, perform }
    }

    fn scripted(&self, attempt: AttemptScript) -> ScriptedAttempt {
        let (mut scripted, actions) = match attempt {
            AttemptScript::Answer(answer) => {
                let AnswerScript { text, reasoning, calls, usage, finish, during } = *answer;
                let calls = calls.into_iter().map(|call| ScriptedCall {
                    call: call.id,
                    tool: call.tool,
                    input: canonical::value(&call.input),
                });
                let outcome = finish.map_or(ScriptedEnd::Usual, ScriptedEnd::Finish);
                (ScriptedAttempt { reasoning, text, calls: calls.collect(), usage, outcome, during: None }, during)
            }
            AttemptScript::Failing(failing) => {
                let FailureScript { kind, status, retry_after_ms, after_text, usage } = failing;
                let message = format!("the provider failed: {kind}");
                let error = ProviderError { kind, status, retry_after_ms, message };
                let outcome = ScriptedEnd::Error(error);
                (ScriptedAttempt { text: after_text, usage, outcome, ..ScriptedAttempt::default() }, Vec::new())
            }
        };
        let (world, crash, perform) = (self.world.clone(), self.crash.clone(), self.perform.clone());
        scripted.during = Some(Arc::new(move || -> Boxed<'static, ()> {
            let (world, crash, perform, actions) = (world.clone(), crash.clone(), perform.clone(), actions.clone());
            Box::pin(async move {
                perform(actions).await;
                world.crash_at(CrashPoint::DuringStream, &crash).await;
            })
        }));
        scripted
    }
}

impl Provider for ScenarioProvider {
    fn send(&self, request: ProviderRequest) -> AnswerStream {
        let attempt = {
            let mut state = self.world.state();
            state.requests.push(request.request.to_json());
            let attempt = state.attempts.pop_front();
            #[cfg(test)]
            state.answering.clone_from(&attempt);
            attempt
        };
        let ok =
            || AttemptScript::Answer(Box::new(AnswerScript { text: Some("ok".to_owned()), ..AnswerScript::default() }));
        ScriptedProvider::new([self.scripted(attempt.unwrap_or_else(ok))]).send(request)
    }
}
