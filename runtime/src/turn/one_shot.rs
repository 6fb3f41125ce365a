//! One-shot requests, for summaries and titles: one prompt, one text, one attempt, no tools.

use super::{RequestProfile, Runner, Stop};
use crate::lane::Decision;
use crate::outcome::interrupted;
use crate::ports::{ProviderError, ProviderEvent, ProviderRequest};
use annals_core::event::{Failure, Finish, Purpose, RequestSent, Usage};
use annals_core::{RequestId, Text};
use annals_guard::redaction::Redaction;
use annals_projections::{SessionView, rebuild};
use annals_providers::wire::encode;
use futures_util::StreamExt;
use std::sync::Arc;

/// A one-shot request that is recorded and may be sent.
pub(crate) struct OneShot {
    pub(crate) id: RequestId,
    request: ProviderRequest,
}

/// The answer to a one-shot request.
pub(crate) struct OneShotAnswer {
    pub(crate) text: String,
    /// What the provider reported, also when the text is not used.
    pub(crate) usage: Option<Usage>,
    pub(crate) ended: OneShotEnd,
}

/// How the answer ended.
pub(crate) enum OneShotEnd {
    /// The text is complete.
    Finished(Finish),
    /// The provider failed.
    Failed(ProviderError),
    /// The stream ended before the answer was complete.
    Cut,
    /// The run was interrupted.
    Interrupted(Stop),
}

/// Records a request, if it is still `due` then.
///
/// # Errors
/// When the log refuses, or does not hold what shapes the request.
pub(crate) async fn record_request(
    runner: &Runner,
    profile: &RequestProfile,
    purpose: Purpose,
    mut prompt: Text,
    mut due: impl FnMut(&SessionView) -> bool,
) -> Result<Option<OneShot>, Stop> {
    let session = runner.lane.session();
    let id = runner.shared.ports.ids.request(runner.shared.ports.clock.now());
    let blobs = runner.lane.blobs();
    let mut redaction = Redaction::new(runner.shared.settings.redactor.as_ref());
    redaction.text(&mut prompt);
    let decide = |view: &SessionView| -> Result<_, Stop> {
        if !due(view) {
            return Ok(Decision::nothing(None));
        }
        let mut sent: RequestSent = profile.sent(id, purpose, Some(prompt.clone()));
        let request = rebuild(view, &sent, &*blobs)?;
        let request = request.without_system().filter(|_| !profile.with_system).unwrap_or(request);
        sent.digest = request.digest();
        let body = encode(&request, session)?.map(Arc::new);
        sent.wire = body.as_ref().map(|body| body.digest);
        let parent = view.session.parent.as_ref().map(|parent| parent.session);
        let size = (view.cut().next, request.chars());
        let request = ProviderRequest { session, parent, id, attempt: 1, request: Arc::new(request), body };
        let events = [sent.into()].into_iter().chain(redaction.applied()).collect();
        Ok(Decision::append(events, Some((OneShot { id, request }, size))))
    };
    let Some((one_shot, (seq, chars))) = runner.lane.decide(decide).await? else { return Ok(None) };
    if purpose == Purpose::Summary {
        runner.lane.note_request(seq, chars).await;
    }
    Ok(Some(one_shot))
}

/// Sends the request and collects the text; `heard` is called with each delta.
pub(crate) async fn ask(runner: &Runner, one_shot: OneShot, mut heard: impl FnMut(&str)) -> OneShotAnswer {
    let mut answer = runner.shared.ports.provider.send(one_shot.request);
    let (mut text, mut usage) = (String::new(), None);
    let ended = loop {
        match runner.unless_interrupted(answer.next()).await {
            Err(stop) => break OneShotEnd::Interrupted(stop),
            Ok(Some(Ok(ProviderEvent::TextDelta { text: piece, .. }))) => {
                text.push_str(&piece);
                heard(&piece);
            }
            Ok(Some(Ok(ProviderEvent::Usage(reported)))) => usage = Some(reported),
            Ok(Some(Ok(ProviderEvent::Finished(finish)))) => break OneShotEnd::Finished(finish),
            // Reasoning is not part of the text, and calls cannot come: no tools were offered.
            Ok(Some(Ok(_))) => {}
            Ok(Some(Err(error))) => break OneShotEnd::Failed(error),
            Ok(None) => break OneShotEnd::Cut,
        }
    };
    OneShotAnswer { text, usage, ended }
}

/// The failure that an interruption records.
pub(crate) fn cancelled(message: &str) -> Failure {
    Failure { message: message.into(), ..interrupted() }
}
