//! Attempts of one request until there is an answer, or none will come (`docs/reference/turn.md#retries`).

use super::answer::{AnswerEnd, AnswerRecorder};
use super::record_request::RecordedRequest;
use super::retry::{ATTEMPTS, failure};
use super::{RequestProfile, Runner, Stop, cost};
use crate::lane::Decision;
use crate::outcome::RunError;
use crate::outcome::interrupted;
use crate::ports::{ProviderError, ProviderErrorKind, ProviderRequest};
use annals_core::Event;
use annals_core::event::{Failure, StepFailed, StepStarted, SyntheticAdded, Usage};

/// The synthetic message after an answer that broke off.
const CONTINUE: &str = "Your previous answer was cut off before it was complete. The part that was received is above. \
Continue from there without repeating it.";

/// How an exchange ended, if the turn continues.
pub(super) enum ExchangeEnd {
    /// With an answer, all of whose calls are settled.
    Ended {
        /// Whether the model waits for results.
        continues: bool,
    },
    /// An answer broke off, and with what arrived of it the request is too large for another attempt.
    Outgrown {
        /// The number of that attempt.
        attempt: u32,
    },
    /// The provider found the request too large before it answered anything.
    Overflow(RefusedRequest),
}

/// A refusal before any output.
pub(super) struct RefusedRequest {
    pub(super) error: ProviderError,
    pub(super) usage: Option<Usage>,
    /// What was refused.
    pub(super) request: RecordedRequest,
}

/// Sends a durable request, and sends it again while a retry is due.
///
/// # Errors
/// The error of the last attempt, already recorded in the history.
pub(super) async fn exchange(
    runner: &Runner,
    profile: &RequestProfile,
    mut request: RecordedRequest,
) -> Result<ExchangeEnd, Stop> {
    loop {
        let (error, broke_off, retried, usage, cost) = {
            let files = runner.files_before().await;
            let mut recorder = AnswerRecorder::new(runner, profile, &request, files);
            match attempt(runner, &request, &mut recorder).await? {
                AnswerEnd::Complete(finish) => {
                    return Ok(ExchangeEnd::Ended { continues: recorder.complete(finish).await? });
                }
                AnswerEnd::Interrupted => return Err(recorder.interrupt().await?),
                AnswerEnd::Failed(error) => {
                    let (usage, cost) = recorder.usage();
                    let broke_off = recorder.has_begun();
                    // After a call, a retry of an answer that breaks the protocol would invite the same call again.
                    let repeats_a_call = error.kind == ProviderErrorKind::Violation && recorder.has_called();
                    let retried = error.kind.retried(broke_off) && !repeats_a_call;
                    if broke_off {
                        recorder.fail(failure(&error)).await?;
                    }
                    (error, broke_off, retried, usage, cost)
                }
            }
        };
        if error.kind == ProviderErrorKind::Overflow && !broke_off {
            return Ok(ExchangeEnd::Overflow(RefusedRequest { error, usage, request }));
        }
        if !retried || request.sent.attempt >= ATTEMPTS {
            return Err(match broke_off {
                true => failed(error, request.sent.attempt),
                false => give_up(runner, profile, RefusedRequest { error, usage, request }).await?,
            });
        }
        // The usage of a partial answer is in its `step.failed`: counted here as well, its cost would be doubled.
        let (usage, cost) = if broke_off { (None, 0) } else { (usage, cost) };
        let scheduled = runner.scheduled(request.sent.attempt, &error, usage, cost);
        let note: Option<Event> = broke_off.then(|| SyntheticAdded { text: CONTINUE.into() }.into());
        runner.record_retry(&request, &scheduled, note).await?;
        if let Err(stop) = runner.wait_for(&scheduled).await {
            if !broke_off {
                fail_unanswered(runner, profile, &request, interrupted(), None).await?;
            }
            return Err(stop);
        }
        if !request.again(runner, profile).await? {
            return Ok(ExchangeEnd::Outgrown { attempt: request.sent.attempt + 1 });
        }
    }
}

#[tracing::instrument(level = "debug", skip_all, fields(
    session = %runner.lane.session(), request = %request.sent.request, attempt = request.sent.attempt,
))]
async fn attempt(
    runner: &Runner,
    request: &RecordedRequest,
    recorder: &mut AnswerRecorder<'_>,
) -> Result<AnswerEnd, Stop> {
    let answer = runner.shared.ports.provider.send(ProviderRequest {
        session: runner.lane.session(),
        parent: request.parent,
        id: request.sent.request,
        attempt: request.sent.attempt,
        request: request.request.clone(),
        body: request.body.clone(),
    });
    recorder.receive(answer).await
}

/// Records a failure before any output as the turn's answer; gives how the run ends.
pub(super) async fn give_up(runner: &Runner, profile: &RequestProfile, refused: RefusedRequest) -> Result<Stop, Stop> {
    fail_unanswered(runner, profile, &refused.request, failure(&refused.error), refused.usage).await?;
    Ok(failed(refused.error, refused.request.sent.attempt))
}

async fn fail_unanswered(
    runner: &Runner,
    profile: &RequestProfile,
    request: &RecordedRequest,
    error: Failure,
    usage: Option<Usage>,
) -> Result<(), Stop> {
    let (agent, model) = (profile.agent.agent.clone(), profile.model.model.clone());
    let cost = cost(&profile.model.prices, usage);
    let events =
        [StepStarted { agent, model, files: None, answer: None }.into(), StepFailed { error, usage, cost }.into()];
    runner
        .lane
        .decide(|view| match request.is_current(view) {
            true => Ok(Decision::append(events.to_vec(), ())),
            false => Err(runner.superseded(request, view)),
        })
        .await
}

/// The end of a run after this number of attempts.
fn failed(error: ProviderError, attempts: u32) -> Stop {
    let mut message = error.message.clone();
    if attempts > 1 {
        message = format!("{} ({attempts} attempts)", message.trim_end());
    }
    RunError::Provider { kind: error.kind, message, source: error }.into()
}
