//! The scripted provider: it answers what the script queued, and keeps what reached it.

use super::World;
use super::declared::Perform;
use crate::action::{Answer, Attempt, CrashPoint, Failing};
use crate::death::Death;
use annals_core::canonical;
use annals_providers::provider::{ScriptedAttempt as Scripted, ScriptedCall, ScriptedEnd as Outcome};
use annals_runtime::Boxed;
use annals_runtime::ports::{AnswerStream as Stream, Provider, ProviderError, ProviderRequest, ScriptedProvider};
use std::sync::Arc;

/// The provider of one process.
pub(crate) struct Answering {
    world: Arc<World>,
    death: Death,
    perform: Perform,
}

impl Answering {
    /// Answers for `world` in a process that may die; `perform` runs what a `during` says.
    pub fn new(world: Arc<World>, death: Death, perform: Perform) -> Self {
        Self { world, death, perform }
    }

    fn scripted(&self, attempt: Attempt) -> Scripted {
        let (mut scripted, actions) = match attempt {
            Attempt::Answer(answer) => {
                let Answer { text, reasoning, calls, usage, finish, during } = *answer;
                let calls = calls.into_iter().map(|call| ScriptedCall {
                    call: call.id,
                    tool: call.tool,
                    input: canonical::value(&call.input),
                });
                let outcome = finish.map_or(Outcome::Usual, Outcome::Finish);
                (Scripted { reasoning, text, calls: calls.collect(), usage, outcome, during: None }, during)
            }
            Attempt::Failing(failing) => {
                let Failing { kind, status, retry_after_ms, after_text, usage } = failing;
                let message = format!("the provider failed: {kind}");
                let error = ProviderError { kind, status, retry_after_ms, message };
                let outcome = Outcome::Error(error);
                (Scripted { text: after_text, usage, outcome, ..Scripted::default() }, Vec::new())
            }
        };
        let (world, death, perform) = (self.world.clone(), self.death.clone(), self.perform.clone());
        scripted.during = Some(Arc::new(move || -> Boxed<'static, ()> {
            let (world, death, perform, actions) = (world.clone(), death.clone(), perform.clone(), actions.clone());
            Box::pin(async move {
                perform(actions).await;
                world.crash_at(CrashPoint::DuringStream, &death).await;
            })
        }));
        scripted
    }
}

impl Provider for Answering {
    fn send(&self, request: ProviderRequest) -> Stream {
        let attempt = {
            let mut state = self.world.state();
            state.requests.push(request.request.to_json());
            let attempt = state.attempts.pop_front();
            #[cfg(test)]
            state.answering.clone_from(&attempt);
            attempt
        };
        let ok = || Attempt::Answer(Box::new(Answer { text: Some("ok".to_owned()), ..Answer::default() }));
        ScriptedProvider::new([self.scripted(attempt.unwrap_or_else(ok))]).send(request)
    }
}
