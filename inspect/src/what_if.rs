//! What would have been sent if one decision had been different: the recorded session, projected again without a model.
//!
//! Answers and calls stay as they were recorded; only what the runtime decides is decided again: the system prompt, context
//! updates, compactions, profiles. `docs/questions/what-if.md`.

mod answer;
mod change;
mod counterfactual;
mod tune;

pub use answer::{CompactionOutcomeIf, WhatIfAnswer, WhatIfCompaction, WhatIfRequest, WhatIfSide, WhatIfTotals};
pub use change::{CompactionRules, TextRedaction, WhatIfChange};
pub use tune::{TunedSetting, tune};

use crate::cache::{PrefixSource, Prefixes};
use crate::diff::compare;
use crate::recorded_body::RecordedPieces;
use crate::request_fold::RequestFold;
use crate::{AskError, IndexedRequest, SessionAt};
use annals_core::event::{ModelProfile, Prices, Purpose, StepEvent, Usage};
use annals_core::{Event, ModelName};
use annals_projections::{BuiltRequest, Request, SessionView, estimate};
use annals_store::Slice;
use counterfactual::Counterfactual;

/// What is known of models beyond the log: a profile where the log has none, and prices.
pub type KnownModel<'a> = &'a (dyn Fn(&ModelName) -> Option<ModelProfile> + Send + Sync);

/// A question.
#[derive(Clone, Debug)]
pub struct WhatIf {
    /// The decisions that change.
    pub changes: Vec<WhatIfChange>,
    /// The settings of compactions that hold otherwise.
    pub rules: CompactionRules,
    /// How long a provider keeps an unused prefix, in milliseconds.
    pub ttl_ms: u64,
    /// The request of which every part that differs is shown, as numbered by `annals cache`; the first that differs without it.
    pub step: Option<u64>,
}

/// One side of a comparison: the requests as they were, or as they would have been.
struct Measured {
    request: Request,
    tokens: u64,
    shared: u64,
    price: Option<u64>,
    broke: bool,
}

/// Projects a session again under changed decisions.
pub async fn ask(past: &SessionAt, question: &WhatIf, known: KnownModel<'_>) -> Result<WhatIfAnswer, AskError> {
    let steps = past.steps().await?;
    let numbered: Vec<(u64, IndexedRequest)> = (1..)
        .zip(steps.requests.iter())
        .filter(|(_, step)| step.purpose == Purpose::Turn && step.seq < past.until)
        .collect();
    let found = change_places(past, &question.changes).await?;
    let mut other = Counterfactual::new(question, found, known);
    let mut answer = WhatIfAnswer::new(past.session, &question.changes);
    let mut actual = RequestFold::new(SessionView::default());
    let mut pieces = RecordedPieces::default();
    let (mut before, mut after) = (Prefixes::default(), Prefixes::default());
    let mut ahead = numbered.iter().peekable();
    let mut pages = past.log().pages(past.session, annals_core::Seq::ZERO..past.until);
    while let Some(slices) = pages.next_page().await? {
        for record in slices.iter().flat_map(Slice::records) {
            if let Some((number, step)) = ahead.next_if(|(_, step)| step.seq == record.seq) {
                let sent = match record.event {
                    Event::Step(StepEvent::RequestSent(sent)) => Some(&**sent),
                    _ => None,
                };
                let body = sent.and_then(|sent| pieces.view(sent, &mut actual, past.blobs()));
                answer.differing += u64::from(body.is_some_and(|body| !body.difference.is_none()));
                let (shape, lacks) = crate::request::shape(step, sent, &mut actual.view);
                answer.lacks.extend(lacks.iter().copied());
                let epoch = actual.view.epochs.current.as_ref().map(|epoch| epoch.mark.seq);
                let built = actual.build(&shape, past.blobs());
                let from = before.before().map_or(annals_core::Seq::ZERO, |before| before.seq);
                let is_known = steps.unrecorded(from..step.seq).is_empty();
                answer.unknown += u64::from(!is_known);
                let one = built.map(|built| {
                    let request = PrefixSource { built: &built, body: None };
                    let shared = before.measure(step, &request, lacks.clone(), epoch, question.ttl_ms);
                    measured(&built, &shared, is_known, known)
                });
                let limits = one.as_ref().ok().map(|one| other.limits(&question.rules, &one.request.model));
                let was_too_large = one
                    .as_ref()
                    .ok()
                    .zip(limits)
                    .is_some_and(|(one, limits)| question.rules.auto && limits.exceeded_by(one.request.chars()));
                let two = other.request(step, sent, was_too_large, past.blobs(), |built, epoch| {
                    let request = PrefixSource { built, body: None };
                    let shared = after.measure(step, &request, lacks, epoch, question.ttl_ms);
                    measured(built, &shared, is_known, known)
                });
                match (one, two) {
                    (Ok(one), Ok(two)) => answer.add(*number, step, one, two, question.step),
                    _ => answer.damaged += 1,
                }
            }
            pieces.note(&record);
            actual.apply(&record);
            actual.restore(past, &record).await?;
            other.apply(&record, past.blobs());
        }
    }
    answer.finish(other.finish());
    Ok(answer)
}

/// Measures a request. `is_known` says whether the requests before it are: otherwise nothing is known to be in a cache.
fn measured(
    built: &BuiltRequest<'_>,
    shared: &crate::cache::Shared,
    is_known: bool,
    known: KnownModel<'_>,
) -> Measured {
    let request = built.request();
    let prices = prices(&request.model, known);
    let tokens = estimate(request.chars());
    // The prefix is measured as JSON, which is longer than the texts in it.
    let kept = u128::from(tokens) * u128::from(shared.shared.tokens) / u128::from(shared.whole.tokens.max(1));
    let kept = if is_known { u64::try_from(kept).unwrap_or(tokens).min(tokens) } else { 0 };
    let fresh = tokens - kept;
    let usage = match prices.cache_write {
        0 => Usage { input: fresh, cache_read: kept, ..Usage::default() },
        _ => Usage { cache_write: fresh, cache_read: kept, ..Usage::default() },
    };
    let price = (prices != Prices::default()).then(|| prices.cost(usage));
    Measured { tokens, shared: kept, price, broke: is_known && shared.broken.is_some(), request }
}

fn prices(model: &ModelProfile, known: KnownModel<'_>) -> Prices {
    match model.prices == Prices::default() {
        true => known(&model.model).map(|profile| profile.prices).unwrap_or_default(),
        false => model.prices,
    }
}

/// Whether each change replaces something that the log contains.
async fn change_places(past: &SessionAt, changes: &[WhatIfChange]) -> Result<Vec<bool>, AskError> {
    let mut found = vec![false; changes.len()];
    past.each(annals_core::Seq::ZERO, past.until, |record| {
        for (change, found) in changes.iter().zip(&mut found).filter(|(_, found)| !**found) {
            drop(change.event(record.event.clone(), past.blobs(), found));
        }
    })
    .await?;
    Ok(found)
}

/// Where requests differ first.
fn difference(one: &Measured, two: &Measured) -> Option<(crate::diff::First, Vec<crate::diff::Part>)> {
    if one.request.digest() == two.request.digest() {
        return None;
    }
    let (first, parts) = compare(&one.request, &two.request);
    first.map(|first| (first, parts))
}
