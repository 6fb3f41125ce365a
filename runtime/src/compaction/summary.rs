//! The summary request: one attempt, one message, no tools (spec 9.3).

use crate::bus::{Delta, Fragment, Notice};
use crate::lane::Decision;
use crate::ports::{ProviderEvent, ProviderRequest};
use crate::turn::{Runner, Shape, Stop, cost, interrupted};
use crate::wire::encode;
use annals_core::Text;
use annals_core::event::{Failure, Finish, Purpose, Usage};
use annals_projections::rebuild;
use futures_util::StreamExt;
use std::sync::Arc;

/// A summary and what it used.
pub(super) struct Summary {
    pub(super) text: String,
    pub(super) usage: Option<Usage>,
    pub(super) cost: u64,
}

/// Why there is none, and what the attempt used.
pub(super) struct Unsummarised {
    pub(super) error: Failure,
    pub(super) usage: Option<Usage>,
    pub(super) cost: u64,
    /// Set when the run ends because of it, whatever needed the summary.
    pub(super) stop: Option<Stop>,
}

/// Asks for a summary, once.
pub(super) async fn ask(runner: &Runner, shape: &Shape, prompt: String) -> Result<Result<Summary, Unsummarised>, Stop> {
    let request = announce(runner, shape, prompt.into()).await?;
    let (id, session) = (request.id, request.session);
    let mut answer = runner.shared.ports.provider.send(request);
    let (mut text, mut usage) = (String::new(), None);
    let (error, stop) = loop {
        let event = match runner.unless_interrupted(answer.next()).await {
            Ok(event) => event,
            Err(stop) => break (Failure { message: "Compaction cancelled".into(), ..interrupted() }, Some(stop)),
        };
        match event {
            Some(Ok(ProviderEvent::TextDelta { text: piece, .. })) => {
                text.push_str(&piece);
                let fragment = Fragment::Summary;
                runner.shared.bus.tell(&Notice::Delta(Delta { session, request: id, fragment, text: piece }));
            }
            Some(Ok(ProviderEvent::Usage(reported))) => usage = Some(reported),
            Some(Ok(ProviderEvent::Finished(finish))) => match unfinished(finish, &text) {
                Some(why) => break (plain(why), None),
                None => return Ok(Ok(Summary { text, usage, cost: cost(&shape.model.prices, usage) })),
            },
            // Whatever else it says is no part of a summary: it was offered no tools.
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                let (kind, message) = (error.kind.as_str().into(), error.message.into());
                break (Failure { kind, message, status: error.status }, None);
            }
            None => break (plain("the summary broke off"), None),
        }
    };
    Ok(Err(Unsummarised { error, usage, cost: cost(&shape.model.prices, usage), stop }))
}

/// Why an answer that is complete is no summary.
fn unfinished(finish: Finish, text: &str) -> Option<&'static str> {
    match finish {
        Finish::Length => Some("the summary was cut off at the output limit"),
        Finish::ContentFilter => Some("the summary was cut off by a filter"),
        Finish::Error => Some("the summary ended with an error"),
        Finish::Stop | Finish::ToolCalls | Finish::Other => text.trim().is_empty().then_some("the summary is blank"),
    }
}

fn plain(message: &str) -> Failure {
    Failure { kind: "compaction-failed".into(), message: message.into(), status: None }
}

async fn announce(runner: &Runner, shape: &Shape, prompt: Text) -> Result<ProviderRequest, Stop> {
    let session = runner.lane.session();
    let id = runner.shared.ports.ids.request(runner.shared.ports.clock.now());
    let blobs = runner.lane.blobs();
    runner
        .lane
        .decide(|view| {
            let mut sent = shape.sent(id, Purpose::Summary, Some(prompt.clone()));
            let request = rebuild(view, &sent, &*blobs)?;
            sent.digest = request.digest();
            let body = encode(&request, session)?.map(Arc::new);
            sent.wire = body.as_ref().map(|body| body.digest);
            let parent = view.session.parent.as_ref().map(|parent| parent.session);
            let request = Arc::new(request);
            let request = ProviderRequest { session, parent, id, attempt: 1, request, body };
            Ok(Decision::append(vec![sent.into()], request))
        })
        .await
}
