//! Attempts of one request until there is an answer, or none will come (`docs/reference/turn.md#retries`).

use super::announce::Durable;
use super::reply::{Received, Reply};
use super::retry::{ATTEMPTS, failure};
use super::{Runner, Shape, Stop, cost};
use crate::lane::Decision;
use crate::outcome::RunError;
use crate::outcome::interrupted;
use crate::ports::{ProviderError, ProviderErrorKind, ProviderRequest};
use annals_core::Event;
use annals_core::event::{Failure, StepFailed, StepStarted, SyntheticAdded, Usage};

/// What the model is told after its answer broke off.
const CONTINUE: &str = "Your previous answer broke off before it was complete. What arrived of it stands above. Go on \
from there without repeating it.";

/// How an exchange ended, if the turn goes on.
pub(super) enum Exchanged {
    /// With an answer, all of whose calls are settled.
    Ended {
        /// Whether the model waits for results.
        continues: bool,
    },
    /// The provider found the request too large before it answered anything.
    Overflow(Refused),
}

/// A refusal before any output.
pub(super) struct Refused {
    pub(super) error: ProviderError,
    pub(super) usage: Option<Usage>,
    /// What was refused.
    pub(super) request: Durable,
}

/// Sends a durable request, and sends it again while a retry is due.
///
/// # Errors
/// The last attempt's error when nothing is left to try; it is an assistant message by then.
pub(super) async fn exchange(runner: &Runner, shape: &Shape, mut request: Durable) -> Result<Exchanged, Stop> {
    loop {
        let (error, broke_off, retried, usage, cost) = {
            let files = runner.files_before().await;
            let mut reply = Reply::new(runner, shape, &request, files);
            match attempt(runner, &request, &mut reply).await? {
                Received::Complete(finish) => {
                    return Ok(Exchanged::Ended { continues: reply.complete(finish).await? });
                }
                Received::Interrupted => return Err(reply.interrupt().await?),
                Received::Failed(error) => {
                    let (usage, cost) = reply.usage();
                    let broke_off = reply.has_begun();
                    // After a call, a retry of an answer that breaks the protocol would invite the same call again.
                    let repeats_a_call = error.kind == ProviderErrorKind::Violation && reply.has_called();
                    let retried = error.kind.retried(broke_off) && !repeats_a_call;
                    if broke_off {
                        reply.fail(failure(&error)).await?;
                    }
                    (error, broke_off, retried, usage, cost)
                }
            }
        };
        if error.kind == ProviderErrorKind::Overflow && !broke_off {
            return Ok(Exchanged::Overflow(Refused { error, usage, request }));
        }
        if !retried || request.sent.attempt >= ATTEMPTS {
            return Err(match broke_off {
                true => failed(error, request.sent.attempt),
                false => give_up(runner, shape, Refused { error, usage, request }).await?,
            });
        }
        // What a partial answer used stands in its own failure.
        let (usage, cost) = if broke_off { (None, 0) } else { (usage, cost) };
        let scheduled = runner.scheduled(request.sent.attempt, &error, usage, cost);
        let told: Option<Event> = broke_off.then(|| SyntheticAdded { text: CONTINUE.into() }.into());
        runner.record_retry(&request, &scheduled, told).await?;
        if let Err(stop) = runner.wait_for(&scheduled).await {
            if !broke_off {
                fail_unanswered(runner, shape, &request, interrupted(), None).await?;
            }
            return Err(stop);
        }
        request.again(runner).await?;
    }
}

#[tracing::instrument(level = "debug", skip_all, fields(
    session = %runner.lane.session(), request = %request.sent.request, attempt = request.sent.attempt,
))]
async fn attempt(runner: &Runner, request: &Durable, reply: &mut Reply<'_>) -> Result<Received, Stop> {
    let answer = runner.shared.ports.provider.send(ProviderRequest {
        session: runner.lane.session(),
        parent: request.parent,
        id: request.sent.request,
        attempt: request.sent.attempt,
        request: request.request.clone(),
        body: request.body.clone(),
    });
    reply.receive(answer).await
}

/// Records a failure before any output as the turn's answer; gives how the run ends.
pub(super) async fn give_up(runner: &Runner, shape: &Shape, refused: Refused) -> Result<Stop, Stop> {
    fail_unanswered(runner, shape, &refused.request, failure(&refused.error), refused.usage).await?;
    Ok(failed(refused.error, refused.request.sent.attempt))
}

async fn fail_unanswered(
    runner: &Runner,
    shape: &Shape,
    request: &Durable,
    error: Failure,
    usage: Option<Usage>,
) -> Result<(), Stop> {
    let (agent, model) = (shape.agent.agent.clone(), shape.model.model.clone());
    let cost = cost(&shape.model.prices, usage);
    let events = [StepStarted { agent, model, files: None }.into(), StepFailed { error, usage, cost }.into()];
    runner
        .lane
        .decide(|view| match request.holds(view) {
            true => Ok(Decision::append(events.to_vec(), ())),
            false => Err(runner.lost(request, view)),
        })
        .await
}

/// How a run ends after so many attempts.
fn failed(error: ProviderError, attempts: u32) -> Stop {
    let ProviderError { kind, mut message, .. } = error;
    if attempts > 1 {
        message = format!("{} ({attempts} attempts)", message.trim_end());
    }
    RunError::Provider { kind, message }.into()
}
