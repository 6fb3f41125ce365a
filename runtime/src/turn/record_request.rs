//! The request: built from views alone, durable before it is sent (`docs/reference/turn.md#request`).

use super::context_budget::ContextBudget;
use super::{RequestProfile, Runner, Stop};
use crate::lane::Decision;
use annals_core::event::{Purpose, RequestSent};
use annals_core::{Seq, SessionId};
use annals_projections::{Request, RequestBuilder, SessionView};
use annals_providers::wire::{RequestBody, encode};
use std::sync::Arc;

/// A request that is recorded and may be sent.
pub(super) struct RecordedRequest {
    pub(super) sent: Box<RequestSent>,
    pub(super) request: Arc<Request>,
    /// The bytes that `request.sent` names by `wire`.
    pub(super) body: Option<Arc<RequestBody>>,
    /// The Seq of `request.sent`.
    pub(super) seq: Seq,
    /// Its size in characters.
    chars: u64,
    /// The session that began this one, if any.
    pub(super) parent: Option<SessionId>,
}

/// The decision about a request.
pub(super) enum RequestDecision {
    /// It is recorded: send exactly these bytes.
    Sent(RecordedRequest),
    /// Another agent was selected under the policy `replace`, or the epoch ended: the boundary starts over.
    Overtaken,
    /// It exceeds the limit; nothing was recorded.
    TooLarge(Box<Request>),
}

/// Builds the request of a turn and records it, as this attempt.
#[tracing::instrument(level = "debug", skip_all, fields(session = %runner.lane.session()))]
pub(super) async fn record_request(
    runner: &Runner,
    profile: &RequestProfile,
    budget: &ContextBudget,
    attempt: u32,
) -> Result<RequestDecision, Stop> {
    runner.check_not_interrupted()?;
    let id = runner.shared.ports.ids.request(runner.shared.ports.clock.now());
    let selected = profile.selected();
    let blobs = runner.lane.blobs();
    let decided = runner
        .lane
        .decide_staged(|view, requests| {
            runner.check_location(view)?;
            if view.epochs.current.is_none() || selected.is_overtaken(view) {
                return Ok(Decision::nothing(RequestDecision::Overtaken));
            }
            let mut sent = RequestSent { attempt, ..profile.sent(id, Purpose::Turn, None) };
            let built = requests.build(view, &sent, &*blobs)?;
            let (request, digest, chars) = (built.request(), built.digest(), built.chars());
            if budget.exceeds(runner, profile, chars) {
                return Ok(Decision::nothing(RequestDecision::TooLarge(Box::new(request))));
            }
            sent.digest = digest;
            let body = encode(&request, runner.lane.session())?.map(Arc::new);
            let durable = RecordedRequest { chars, ..RecordedRequest::of(view, sent, request, body) };
            let sent = (*durable.sent).clone();
            Ok::<_, Stop>(Decision::append(vec![sent.into()], RequestDecision::Sent(durable)))
        })
        .await?;
    if let Some(RequestDecision::Sent(request)) = &decided {
        runner.lane.note_request(request.seq, request.chars).await;
    }
    Ok(decided.unwrap_or(RequestDecision::Overtaken))
}

impl RecordedRequest {
    fn of(view: &SessionView, sent: RequestSent, request: Request, body: Option<Arc<RequestBody>>) -> Self {
        let parent = view.session.parent.as_ref().map(|parent| parent.session);
        let sent = RequestSent { wire: body.as_ref().map(|body| body.digest), ..sent };
        Self { sent: Box::new(sent), request: Arc::new(request), body, seq: view.cut().next, chars: 0, parent }
    }

    /// Whether its turn may still record the answer: no revert removed it, and no other runner of
    /// this log has sent a request since, which would have settled this one's open work.
    pub(super) fn is_current(&self, view: &SessionView) -> bool {
        let newest = view.requests.marks.iter().rev().find(|mark| mark.purpose == Purpose::Turn);
        newest.is_some_and(|newest| newest.seq == self.seq) && !self.is_removed(view)
    }

    /// Whether a committed revert removed the turn that sent it.
    pub(super) fn is_removed(&self, view: &SessionView) -> bool {
        view.transcript.is_removed(self.seq)
    }

    /// Records the next attempt. It is the same request unless the history changed meanwhile (a part of an answer
    /// stays): then it has an id of its own, under the same budget of attempts. If that one is too large, returns false and
    /// records nothing.
    pub(super) async fn again(&mut self, runner: &Runner, profile: &RequestProfile) -> Result<bool, Stop> {
        let other = runner.shared.ports.ids.request(runner.shared.ports.clock.now());
        let blobs = runner.lane.blobs();
        let (mut sent, body) = ((*self.sent).clone(), self.body.clone());
        sent.attempt += 1;
        let this = &*self;
        let next = |view: &SessionView, requests: &mut RequestBuilder| {
            runner.check_location(view)?;
            // A revert was committed meanwhile, so that what this turn answers is gone; or another runner of this log
            // has taken the turn over, and answers it itself.
            if view.epochs.current.is_none() || !this.is_current(view) {
                return Err(runner.superseded(this, view));
            }
            let built = requests.build(view, &sent, &*blobs)?;
            let (request, digest, chars) = (built.request(), built.digest(), built.chars());
            if digest != sent.digest && ContextBudget::exceeds_model(runner, profile, chars) {
                return Ok(Decision::nothing(None));
            }
            let (request_id, body) = match digest == sent.digest {
                true => (sent.request, body.clone()),
                false => (other, encode(&request, runner.lane.session())?.map(Arc::new)),
            };
            let sent = RequestSent { digest, request: request_id, ..sent.clone() };
            let durable = Self { chars, ..Self::of(view, sent, request, body) };
            let sent = (*durable.sent).clone();
            Ok::<_, Stop>(Decision::append(vec![sent.into()], Some(durable)))
        };
        let Some(next) = runner.lane.decide_request(next).await? else { return Ok(false) };
        runner.lane.note_request(next.seq, next.chars).await;
        *self = next;
        Ok(true)
    }
}
