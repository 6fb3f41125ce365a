//! What a provider's prompt cache could keep: the prefix that each request shares with the one before it, and each break.
//!
//! A cache is per model and keeps a prefix. The prefix here is what every protocol puts first, in this order: tools,
//! system texts, messages. It is compared block by block, and byte by byte in the first block that differs. Summary and
//! title requests have prefixes of their own and are left out.

mod cause;
mod prefix;

pub use cause::Cause;

use super::{AskError, Fact, IndexedRequest, Lack, RequestIndex, SessionAt};
use crate::request::{Walked, walk};
use annals_core::event::{Purpose, Usage};
use annals_core::{Digest, Seq};
use annals_projections::SharedProfile;
pub(crate) use prefix::{PrefixSource, Prefixes};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What a provider's cache could keep of a session's requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cached {
    /// Every turn request, oldest first.
    pub requests: Vec<Shared>,
    /// How many of them cannot be rebuilt: the log is damaged.
    pub damaged: u64,
    /// How many broke the prefix.
    pub breaks: u64,
    /// What the breaks cost together, in nano-dollars, as far as prices were recorded.
    pub price: u64,
    /// What the log lacks for a complete answer.
    pub lacks: BTreeSet<Lack>,
}

/// One request compared with the one before.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shared {
    /// Which request.
    pub step: IndexedRequest,
    /// All of its prefix.
    pub whole: Measure,
    /// What it shares with the turn request before it.
    pub shared: Measure,
    /// All of the one before; `None` for the first.
    pub before: Option<Measure>,
    /// Milliseconds since the one before was sent.
    pub gap_ms: Option<u64>,
    /// Why it does not begin with all of the one before.
    #[serde(rename = "break")]
    pub broken: Option<Break>,
    /// Whether request options differ from those of the one before: some providers keep a cache for each.
    pub options_differ: bool,
    /// The event that recorded these options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options_fact: Option<Fact>,
    /// What the provider reported.
    pub usage: Option<Usage>,
    /// How many answers were given since the one before of which no request was recorded: what a cache had then is not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub unrecorded: u64,
    /// Why it cannot be rebuilt, in a damaged log: then nothing of it is measured, and the next one is compared with the
    /// newest that can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anomaly: Option<String>,
}

/// How much of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measure {
    /// Bytes of the blocks' canonical JSON.
    pub bytes: u64,
    /// Estimate in tokens: a quarter of the characters.
    pub tokens: u64,
    /// Whole blocks: tool definitions, system texts, pieces of messages.
    pub blocks: u64,
}

/// A prefix that could have been kept and was not.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Break {
    /// The cause.
    pub cause: Cause,
    /// The event that caused it, if one did.
    pub fact: Option<Fact>,
    /// The first part of this request that differs: `tools`, `system 0`, `message 3`.
    pub part: String,
    /// Tokens sent anew that the one before had sent already.
    pub tokens: u64,
    /// What that costs beyond a cache read, in nano-dollars; `None` without recorded prices.
    pub price: Option<u64>,
}

/// How to ask.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    /// Limits the answer to the newest turn requests.
    pub last: Option<usize>,
    /// How long a provider keeps an unused prefix, in milliseconds.
    pub ttl_ms: u64,
}

/// Sums over all visited requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheTotals {
    /// How many requests there were.
    pub requests: u64,
    /// How many of them cannot be rebuilt: the log is damaged.
    pub damaged: u64,
    /// How many broke the prefix.
    pub breaks: u64,
    /// What the breaks cost together, in nano-dollars, as far as prices were recorded.
    pub price: u64,
    /// What the log lacks for a complete answer.
    pub lacks: BTreeSet<Lack>,
}

/// Answers what a cache could keep. One fold from the view before the first request that is shown.
///
/// # Errors
/// When the log cannot be read.
pub async fn ask(past: &SessionAt, asking: Asking) -> Result<Cached, AskError> {
    let mut requests = Vec::new();
    let totals = each(past, asking, |shared| {
        requests.push(shared);
        Ok::<(), AskError>(())
    });
    let CacheTotals { damaged, breaks, price, lacks, .. } = totals.await?;
    Ok(Cached { requests, damaged, breaks, price, lacks })
}

/// The same request by request, each as soon as it is compared.
///
/// # Errors
/// When the log cannot be read, or the visitor has enough.
pub async fn each<E: From<AskError>>(
    past: &SessionAt,
    asking: Asking,
    mut visit: impl FnMut(Shared) -> Result<(), E>,
) -> Result<CacheTotals, E> {
    let steps = past.steps().await.map_err(AskError::from)?;
    let is_turn = |step: &IndexedRequest| step.purpose == Purpose::Turn;
    let newest = asking.last.map(|last| {
        // One more: the first that is shown is compared with it.
        let turns = steps.requests.iter().rev().filter(is_turn).take(last.saturating_add(1));
        let mut turns: Vec<IndexedRequest> = turns.collect();
        turns.reverse();
        turns
    });
    let mut unseen = newest.as_ref().zip(asking.last).map_or(0, |(turns, last)| turns.len().saturating_sub(last));
    let shapes: Vec<&SharedProfile> = match &newest {
        Some(turns) => turns.iter().map(|step| &*step.shape).collect(),
        None => steps.requests.shapes().collect(),
    };
    let facts = recorded(past, &steps, &shapes).await?;
    let turns: Box<dyn Iterator<Item = IndexedRequest> + Send> = match newest.clone() {
        Some(turns) => Box::new(turns.into_iter()),
        None => Box::new(steps.requests.iter().filter(is_turn)),
    };
    let fact = |digest: Option<Digest>| facts.get(&steps.recorded_at(digest?)?).copied();
    let (mut prefixes, mut between) = (Prefixes::default(), Vec::new());
    let mut totals = CacheTotals::default();
    // A recording is measured as it was sent.
    walk(past, turns, steps.is_recording(), |walked| {
        let (step, built, body, epoch) = match walked {
            Walked::Request { step, built, body, epoch } => (step, built, body, epoch),
            Walked::Event(record) => {
                between.extend(cause::Between::of(record, past.session));
                return Ok(());
            }
        };
        let shared = match built {
            Err(error) => Shared::damaged(step, error.to_string()),
            Ok((request, mut lacks)) => {
                let body = body.as_deref();
                let linked = body.is_some_and(|body| body.is_with_provider);
                if body.is_some() {
                    lacks.clear();
                    lacks.extend(linked.then_some(Lack::Provider));
                }
                totals.lacks.extend(lacks.iter().copied());
                let measured = PrefixSource { built: &request, body: body.filter(|_| !linked) };
                let from = prefixes.before().map_or(Seq::ZERO, |before| before.seq);
                let unrecorded = steps.unrecorded(from..step.seq).len() as u64;
                let (mut shared, mut differs) = prefixes.next(step, &measured, lacks, epoch, asking.ttl_ms);
                shared.unrecorded = unrecorded;
                if unrecorded > 0 {
                    (differs, shared.broken) = (None, None);
                }
                if let (Some(differs), Some(broken)) = (differs, &mut shared.broken) {
                    (broken.cause, broken.fact) = differs.explain(&between);
                }
                between.clear();
                shared.options_fact = fact(step.options).filter(|_| shared.options_differ);
                if let Some(broken) = shared.broken.as_mut().filter(|broken| broken.cause == Cause::Unknown)
                    && body.is_some()
                {
                    // Parts that an agent moves are the same to the events.
                    broken.cause = Cause::Edited;
                }
                if let Some(broken) = shared.broken.as_mut().filter(|broken| broken.fact.is_none()) {
                    // No event between the two says it: where what the request was given again had been recorded.
                    broken.fact = match broken.cause {
                        Cause::Tools => fact(step.tools),
                        Cause::AgentText | Cause::AgentSwitch => fact(step.agent_profile),
                        _ => None,
                    };
                }
                shared
            }
        };
        if unseen > 0 {
            unseen -= 1;
            return Ok(());
        }
        totals.add(&shared);
        visit(shared)
    })
    .await?;
    Ok(totals)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The events that recorded what these requests were given.
async fn recorded(
    past: &SessionAt,
    steps: &RequestIndex,
    shapes: &[&SharedProfile],
) -> Result<BTreeMap<Seq, Fact>, AskError> {
    let digests = shapes.iter().flat_map(|shape| [shape.tools, shape.agent_profile, shape.options]).flatten();
    let wanted: BTreeSet<Seq> = digests.filter_map(|digest| steps.recorded_at(digest)).collect();
    Ok(past.facts(&wanted).await?)
}

impl Cached {
    /// Sums over its requests.
    pub fn totals(&self) -> CacheTotals {
        let Self { requests, damaged, breaks, price, lacks } = self;
        let requests = requests.len() as u64;
        CacheTotals { requests, damaged: *damaged, breaks: *breaks, price: *price, lacks: lacks.clone() }
    }
}

impl CacheTotals {
    fn add(&mut self, shared: &Shared) {
        self.requests += 1;
        self.damaged += u64::from(shared.anomaly.is_some());
        self.breaks += u64::from(shared.broken.is_some());
        let price = shared.broken.as_ref().and_then(|broken| broken.price).unwrap_or_default();
        self.price = self.price.saturating_add(price);
        if shared.step.answer.is_some() && shared.usage.is_none() {
            self.lacks.insert(Lack::Usage);
        }
    }
}

impl Shared {
    /// A request that a damaged log does not give back, in its place.
    fn damaged(step: &IndexedRequest, anomaly: String) -> Self {
        Self {
            step: step.clone(),
            whole: Measure::default(),
            shared: Measure::default(),
            before: None,
            gap_ms: None,
            broken: None,
            options_differ: false,
            options_fact: None,
            usage: step.answer.and_then(|answer| answer.usage),
            unrecorded: 0,
            anomaly: Some(anomaly),
        }
    }
}
