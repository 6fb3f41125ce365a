//! The summary request: one attempt, one message, no tools (`docs/reference/compaction.md#the-summary-request`).

use crate::bus::{Delta, Fragment, Notice};
use crate::turn::one_shot::{self, OneShotAnswer, OneShotEnd};
use crate::turn::{RequestProfile, Runner, Stop, cost, failure};
use annals_core::event::{Failure, Finish, Purpose, Usage};

/// A summary and what it used.
pub(super) struct SummaryAnswer {
    pub(super) text: String,
    pub(super) usage: Option<Usage>,
    pub(super) cost: u64,
}

/// Why there is no summary, and what the attempt used.
pub(super) struct SummaryFailure {
    pub(super) error: Failure,
    pub(super) usage: Option<Usage>,
    pub(super) cost: u64,
    /// Set when the run ends because of it.
    pub(super) stop: Option<Stop>,
}

/// How the one attempt ended. Either is recorded.
pub(super) enum SummaryEnd {
    Written(SummaryAnswer),
    Failed(SummaryFailure),
}

/// Asks for a summary, once.
///
/// # Errors
/// When the run ends before the request is recorded.
pub(super) async fn ask(runner: &Runner, profile: &RequestProfile, prompt: String) -> Result<SummaryEnd, Stop> {
    let announced = one_shot::record_request(runner, profile, Purpose::Summary, prompt.into(), |_| true).await?;
    // No view makes it superfluous, so it is recorded unless the run ends.
    let Some(request) = announced else { return Err(Stop::Interrupted) };
    let (id, session) = (request.id, runner.lane.session());
    let heard = |piece: &str| {
        let (fragment, text) = (Fragment::Summary, piece.to_owned());
        runner.shared.bus.publish(&Notice::Delta(Delta { session, request: id, fragment, text }));
    };
    let OneShotAnswer { text, usage, ended } = one_shot::ask(runner, request, heard).await;
    let cost = cost(&profile.model.prices, usage);
    let (error, stop) = match ended {
        OneShotEnd::Finished(finish) => match unfinished(finish, &text) {
            None => return Ok(SummaryEnd::Written(SummaryAnswer { text, usage, cost })),
            Some(why) => (plain(why), None),
        },
        OneShotEnd::Failed(error) => (failure(&error), None),
        OneShotEnd::Cut => (plain("the summary broke off"), None),
        OneShotEnd::Interrupted(stop) => (one_shot::cancelled("Compaction cancelled"), Some(stop)),
    };
    Ok(SummaryEnd::Failed(SummaryFailure { error, usage, cost, stop }))
}

/// Why a complete answer cannot be used as a summary.
fn unfinished(finish: Finish, text: &str) -> Option<&'static str> {
    match finish {
        Finish::Length => Some("the summary was cut off at the output limit"),
        Finish::ContentFilter => Some("the summary was cut off by a filter"),
        Finish::Error => Some("the summary ended with an error"),
        Finish::Stop | Finish::ToolCalls | Finish::Other | Finish::Paused => {
            text.trim().is_empty().then_some("the summary is blank")
        }
    }
}

fn plain(message: &str) -> Failure {
    Failure { kind: "compaction-failed".into(), message: message.into(), status: None }
}
