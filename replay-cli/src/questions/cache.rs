//! What a provider's prompt cache could keep: the prefix that each request shares with the one before it, and each break.
//!
//! A cache is per model and keeps a prefix. The prefix here is what every protocol puts first, in this order: tools,
//! system texts, messages. It is compared block by block, and byte by byte in the first block that differs. Summary and
//! title requests have prefixes of their own and are left out.

mod cause;
mod draw;

pub use cause::Cause;
pub use draw::draw;
pub(crate) use draw::lacking;

use super::{AskError, Fact, Lack, Past, Step, each_request};
use annals_core::event::{Prices, Purpose, Usage};
use annals_core::{Digest, Seq, canonical};
use annals_projections::{Request, SessionView, estimate};
use serde::Serialize;
use std::collections::BTreeSet;

/// What a provider's cache could keep of a Session's requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cached {
    /// Every turn request, oldest first.
    pub requests: Vec<Shared>,
    /// How many broke the prefix.
    pub breaks: u64,
    /// What the breaks cost together, in nano-dollars, as far as prices were recorded.
    pub price: u64,
    /// What the log lacks for a complete answer.
    pub lacks: BTreeSet<Lack>,
}

/// One request beside the one before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shared {
    /// Which request.
    pub step: Step,
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
    /// What the provider reported.
    pub usage: Option<Usage>,
}

/// How much of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
pub struct Break {
    /// Why.
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
    /// Only the newest so many turn requests.
    pub last: Option<usize>,
    /// How long a provider keeps an unused prefix, in milliseconds.
    pub ttl_ms: u64,
}

/// A piece of a prefix.
pub(crate) struct Piece {
    /// Its part: `tools`, `system 0`, `message 3`.
    part: String,
    /// Its JSON.
    text: String,
    digest: Digest,
    /// The event that put it there.
    seq: Option<Seq>,
}

struct Before {
    step: Step,
    pieces: Vec<Piece>,
    /// Whether its last message is for it alone.
    added: usize,
    options: String,
    view: cause::Kept,
}

/// Answers what a cache could keep. One fold from the view before the first request that is shown.
///
/// # Errors
/// When the log cannot be read or lacks what shaped a recorded request.
pub async fn ask(past: &Past, asking: Asking) -> Result<Cached, AskError> {
    let steps = past.steps().await?;
    let mut turns: Vec<Step> = steps.steps.iter().filter(|step| step.purpose == Purpose::Turn).cloned().collect();
    if let Some(last) = asking.last {
        // One more: the first that is shown is compared with it.
        let from = turns.len().saturating_sub(last.saturating_add(1));
        turns.drain(..from);
    }
    let mut answer = Cached { requests: Vec::new(), breaks: 0, price: 0, lacks: BTreeSet::new() };
    let mut before: Option<Before> = None;
    let mut open: Vec<(usize, Seq, Seq, cause::Differs)> = Vec::new();
    let mut failed = None;
    each_request(past, &turns, |step, built, view| {
        let (request, lacks) = match built {
            Ok(built) => built,
            Err(source) => {
                failed.get_or_insert(AskError::Build { session: past.session, seq: step.seq, source });
                return;
            }
        };
        answer.lacks.extend(lacks);
        let now = Before::of(step, &request, view);
        let (shared, differs) = compare(before.as_ref(), &now, &request, asking.ttl_ms);
        if let (Some(differs), Some(before)) = (differs, &before) {
            open.push((answer.requests.len(), before.step.seq, step.seq, differs));
        }
        answer.requests.push(shared);
        before = Some(now);
    })
    .await?;
    if let Some(failed) = failed {
        return Err(failed);
    }
    for (at, from, until, differs) in open {
        let mut between = Vec::new();
        past.each(from, until, |record| between.extend(cause::Between::of(record, past.session))).await?;
        let (cause, fact) = differs.explain(&between);
        if let Some(broken) = answer.requests.get_mut(at).and_then(|shared| shared.broken.as_mut()) {
            (broken.cause, broken.fact) = (cause, fact);
        }
    }
    if asking.last.is_some_and(|last| answer.requests.len() > last) {
        answer.requests.remove(0);
    }
    answer.breaks = answer.requests.iter().filter(|shared| shared.broken.is_some()).count() as u64;
    answer.price = answer.requests.iter().filter_map(|shared| shared.broken.as_ref()?.price).sum();
    if answer.requests.iter().any(|shared| shared.step.answer.is_some() && shared.usage.is_none()) {
        answer.lacks.insert(Lack::Usage);
    }
    Ok(answer)
}

impl Before {
    fn of(step: &Step, request: &Request, view: &SessionView) -> Self {
        let pieces = pieces(request);
        // What the runtime adds for this request alone is no part of what the next one could share.
        let added = pieces.iter().rev().take_while(|it| it.seq.is_none() && it.part.starts_with("message")).count();
        let options = canonical::value(&serde_json::to_value(&request.options).unwrap_or_default());
        Self { step: step.clone(), pieces, added, options, view: cause::Kept::of(request, view) }
    }

    fn lasting(&self) -> &[Piece] {
        self.pieces.get(..self.pieces.len() - self.added).unwrap_or_default()
    }
}

/// The blocks of a request in the order of its prefix.
pub(crate) fn pieces(request: &Request) -> Vec<Piece> {
    let piece = |part: String, value: serde_json::Value, seq| {
        let text = canonical::value(&value);
        Piece { part, digest: Digest::of(text.as_bytes()), text, seq }
    };
    let mut pieces = Vec::new();
    for tool in &request.tools {
        pieces.push(piece("tools".to_owned(), serde_json::to_value(tool).unwrap_or_default(), None));
    }
    for (number, system) in request.system.iter().enumerate() {
        let seq = system.spans.iter().find_map(|span| span.seq);
        pieces.push(piece(format!("system {number}"), serde_json::Value::String(system.text.clone()), seq));
    }
    for (number, message) in request.messages.iter().enumerate() {
        for block in &message.blocks {
            let value = serde_json::json!({ "role": message.role, "block": block });
            pieces.push(piece(format!("message {number}"), value, block.seq()));
        }
    }
    pieces
}

impl Measure {
    fn of(pieces: &[Piece]) -> Self {
        let bytes = pieces.iter().map(|piece| piece.text.len() as u64).sum();
        let chars = pieces.iter().map(|piece| piece.text.chars().count() as u64).sum();
        Self { bytes, tokens: estimate(chars), blocks: pieces.len() as u64 }
    }
}

fn compare(before: Option<&Before>, now: &Before, request: &Request, ttl_ms: u64) -> (Shared, Option<cause::Differs>) {
    let whole = Measure::of(&now.pieces);
    let mut shared = Shared {
        step: now.step.clone(),
        whole,
        shared: Measure::default(),
        before: before.map(|before| Measure::of(before.lasting())),
        gap_ms: before.map(|before| now.step.at.millis().saturating_sub(before.step.at.millis())),
        broken: None,
        options_differ: before.is_some_and(|before| before.options != now.options),
        usage: now.step.answer.and_then(|answer| answer.usage),
    };
    let Some(before) = before else { return (shared, None) };
    let other_model = before.step.model != now.step.model;
    let same = before.pieces.iter().zip(&now.pieces).take_while(|(a, b)| a.digest == b.digest).count();
    let same = if other_model { 0 } else { same };
    shared.shared = Measure::of(now.pieces.get(..same).unwrap_or_default());
    if let (false, Some(a), Some(b)) = (other_model, before.pieces.get(same), now.pieces.get(same)) {
        let (bytes, chars) = common(&a.text, &b.text);
        shared.shared.bytes += bytes;
        shared.shared.tokens += estimate(chars);
    }
    let lost = before_tokens(&shared, whole).saturating_sub(shared.shared.tokens);
    let price = price(lost, request.model.prices);
    let broken = |part: String| Break { cause: Cause::Unknown, fact: None, part, tokens: lost, price };
    let differs = if other_model {
        Some(cause::Differs::Model)
    } else if same < before.lasting().len() {
        Some(cause::Differs::of(before.lasting().get(same), now.pieces.get(same), &before.view, &now.view))
    } else {
        // The prefix stands. Whether the provider still had it, only the provider can say.
        let missed = shared.usage.is_some_and(|usage| usage.cache_read == 0 && usage.cache_write > 0);
        let late = shared.gap_ms.is_some_and(|gap| gap > ttl_ms);
        (missed && late).then_some(cause::Differs::Time)
    };
    if let Some(differs) = &differs {
        let at = if other_model { now.pieces.first() } else { now.pieces.get(same) };
        let part = match (differs, at) {
            (cause::Differs::Time, _) => String::new(),
            (_, Some(piece)) => piece.part.clone(),
            (_, None) => "end".to_owned(),
        };
        shared.broken = Some(broken(part));
        if matches!(differs, cause::Differs::Time) {
            let tokens = shared.shared.tokens;
            shared.broken =
                shared.broken.map(|it| Break { tokens, price: self::price(tokens, request.model.prices), ..it });
        }
    }
    (shared, differs)
}

/// Tokens that this request could have shared at most: a shorter one cannot share more than itself.
fn before_tokens(shared: &Shared, whole: Measure) -> u64 {
    shared.before.map_or(0, |before| before.tokens.min(whole.tokens))
}

/// Bytes and characters that two texts begin with alike.
fn common(a: &str, b: &str) -> (u64, u64) {
    let alike = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
    alike.fold((0, 0), |(bytes, chars), (c, _)| (bytes + c.len_utf8() as u64, chars + 1))
}

/// What tokens sent anew cost beyond a read from the cache; `None` when no prices were recorded.
fn price(tokens: u64, prices: Prices) -> Option<u64> {
    let anew = if prices.cache_write > 0 { prices.cache_write } else { prices.input };
    (anew > 0).then(|| {
        let nano = u128::from(tokens) * u128::from(anew.saturating_sub(prices.cache_read)) / 1_000_000;
        u64::try_from(nano).unwrap_or(u64::MAX)
    })
}
