//! What a provider's prompt cache could keep: the prefix that each request shares with the one before it, and each break.
//!
//! A cache is per model and keeps a prefix. The prefix here is what every protocol puts first, in this order: tools,
//! system texts, messages. It is compared block by block, and byte by byte in the first block that differs. Summary and
//! title requests have prefixes of their own and are left out.

mod cause;
mod prefix;

pub use cause::Cause;

use super::{AskError, Fact, IndexedRequest, Lack, RequestIndex, SessionAt, each_request};
use annals_core::event::{Purpose, Usage};
use annals_core::{Digest, Seq};
pub(crate) use prefix::Prefixes;
use serde::Serialize;
use std::collections::BTreeSet;

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

/// Answers what a cache could keep. One fold from the view before the first request that is shown.
///
/// # Errors
/// When the log cannot be read.
pub async fn ask(past: &SessionAt, asking: Asking) -> Result<Cached, AskError> {
    let steps = past.steps().await?;
    // One more: the first that is shown is compared with it.
    let count = asking.last.map_or(usize::MAX, |last| last.saturating_add(1));
    let turns = steps.requests.iter().rev().filter(|step| step.purpose == Purpose::Turn).take(count);
    let mut turns: Vec<IndexedRequest> = turns.collect();
    turns.reverse();
    let mut answer = Cached { requests: Vec::new(), damaged: 0, breaks: 0, price: 0, lacks: BTreeSet::new() };
    let mut prefixes = Prefixes::default();
    let mut open: Vec<(usize, Seq, Seq, cause::Differs)> = Vec::new();
    each_request(past, turns, |step, built, epoch| {
        let (request, lacks) = match built {
            Ok(built) => built,
            Err(error) => {
                answer.requests.push(Shared::damaged(step, error.to_string()));
                return;
            }
        };
        answer.lacks.extend(lacks.iter().copied());
        let before = prefixes.before().map(|before| before.seq);
        let (shared, differs) = prefixes.next(step, &request, lacks, epoch, asking.ttl_ms);
        if let (Some(differs), Some(before)) = (differs, before) {
            open.push((answer.requests.len(), before, step.seq, differs));
        }
        answer.requests.push(shared);
    })
    .await?;
    for (at, from, until, differs) in open {
        let mut between = Vec::new();
        past.each(from, until, |record| between.extend(cause::Between::of(record, past.session))).await?;
        let (cause, fact) = differs.explain(&between);
        if let Some(broken) = answer.requests.get_mut(at).and_then(|shared| shared.broken.as_mut()) {
            (broken.cause, broken.fact) = (cause, fact);
        }
    }
    named(past, &steps, &mut answer).await?;
    if asking.last.is_some_and(|last| answer.requests.len() > last) {
        answer.requests.remove(0);
    }
    answer.damaged = answer.requests.iter().filter(|shared| shared.anomaly.is_some()).count() as u64;
    answer.breaks = answer.requests.iter().filter(|shared| shared.broken.is_some()).count() as u64;
    answer.price = answer.requests.iter().filter_map(|shared| shared.broken.as_ref()?.price).sum();
    if answer.requests.iter().any(|shared| shared.step.answer.is_some() && shared.usage.is_none()) {
        answer.lacks.insert(Lack::Usage);
    }
    Ok(answer)
}

/// Names the events that no look between two requests finds: where what a request was given again had been recorded.
async fn named(past: &SessionAt, steps: &RequestIndex, answer: &mut Cached) -> Result<(), AskError> {
    let recorded = |digest: Option<Digest>| digest.and_then(|digest| steps.recorded_at(digest));
    let given = |shared: &Shared| match shared.broken.as_ref().filter(|broken| broken.fact.is_none())?.cause {
        Cause::Tools => recorded(shared.step.tools),
        Cause::AgentText | Cause::AgentSwitch => recorded(shared.step.agent_profile),
        _ => None,
    };
    let options = |shared: &Shared| recorded(shared.step.options).filter(|_| shared.options_differ);
    let wanted: BTreeSet<Seq> = answer.requests.iter().flat_map(|it| [given(it), options(it)]).flatten().collect();
    let facts = past.facts(&wanted).await?;
    let fact = |seq: Option<Seq>| seq.and_then(|seq| facts.get(&seq).copied());
    for shared in &mut answer.requests {
        shared.options_fact = fact(options(shared));
        let given = fact(given(shared));
        if let Some(broken) = &mut shared.broken {
            broken.fact = broken.fact.or(given);
        }
    }
    Ok(())
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
            anomaly: Some(anomaly),
        }
    }
}
