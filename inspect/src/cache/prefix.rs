//! The prefix of a request, piece by piece, and where it is no longer that of the one before.

use super::{Break, Cause, Measure, Shared, cause};
use crate::{IndexedRequest, Lack};
use annals_core::event::Prices;
use annals_core::{Digest, Seq, canonical};
use annals_projections::{Request, SessionView, estimate};
use std::collections::BTreeSet;

/// A piece of a prefix.
pub(super) struct Piece {
    /// Its part: `tools`, `system 0`, `message 3`.
    pub(super) part: String,
    /// Its JSON.
    text: String,
    digest: Digest,
    /// The event that put it there.
    pub(super) seq: Option<Seq>,
}

/// What the next request is compared with.
pub(super) struct Before {
    pub(super) step: IndexedRequest,
    pieces: Vec<Piece>,
    /// Whether its last message is for it alone.
    added: usize,
    options: String,
    lacks: BTreeSet<Lack>,
    view: cause::PrefixBasis,
}

impl Before {
    pub(super) fn of(step: &IndexedRequest, request: &Request, lacks: BTreeSet<Lack>, view: &SessionView) -> Self {
        let pieces = pieces(request);
        // What the runtime adds for this request alone is no part of what the next one could share.
        let added = pieces.iter().rev().take_while(|it| it.seq.is_none() && it.part.starts_with("message")).count();
        let options = canonical::value(&serde_json::to_value(&request.options).unwrap_or_default());
        Self { step: step.clone(), pieces, added, options, lacks, view: cause::PrefixBasis::of(request, view) }
    }

    /// Its pieces, without those of which one of two requests lacks the record: they cannot be compared.
    fn known(&self, lacks: &BTreeSet<Lack>) -> Vec<&Piece> {
        let first_text = self.pieces.iter().find(|piece| piece.part.starts_with("system")).map(|piece| &piece.part);
        // A baseline that was not recorded is compared nevertheless: only another epoch can have brought another one.
        let unknown = |piece: &Piece| {
            let agent = piece.seq.is_none() && Some(&piece.part) == first_text;
            (agent && lacks.contains(&Lack::AgentText)) || (piece.part == "tools" && lacks.contains(&Lack::Tools))
        };
        self.pieces.iter().filter(|piece| !unknown(piece)).collect()
    }
}

/// The blocks of a request in the order of its prefix.
fn pieces(request: &Request) -> Vec<Piece> {
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
    fn of<'a>(pieces: impl IntoIterator<Item = &'a Piece>) -> Self {
        let (mut bytes, mut chars, mut blocks) = (0, 0, 0);
        for piece in pieces {
            bytes += piece.text.len() as u64;
            chars += piece.text.chars().count() as u64;
            blocks += 1;
        }
        Self { bytes, tokens: estimate(chars), blocks }
    }
}

/// Compares a request with the one before; a break's cause is looked for where the events between them are read.
pub(super) fn compare(
    before: Option<&Before>,
    now: &Before,
    prices: Prices,
    ttl_ms: u64,
) -> (Shared, Option<cause::Differs>) {
    let lasting = |of: &Before| of.pieces.len() - of.added;
    let mut shared = Shared {
        step: now.step.clone(),
        whole: Measure::of(&now.pieces),
        shared: Measure::default(),
        before: before.map(|before| Measure::of(before.pieces.iter().take(lasting(before)))),
        gap_ms: before.map(|before| now.step.at.millis().saturating_sub(before.step.at.millis())),
        broken: None,
        options_differ: false,
        options_fact: None,
        usage: now.step.answer.and_then(|answer| answer.usage),
        anomaly: None,
    };
    let Some(before) = before else { return (shared, None) };
    let lacks = &before.lacks | &now.lacks;
    shared.options_differ = before.options != now.options && !lacks.contains(&Lack::Options);
    let (old, new) = (before.known(&lacks), now.known(&lacks));
    let kept = old.len() - before.added;
    let other_model = before.step.model != now.step.model;
    let same = old.iter().zip(&new).take_while(|(a, b)| a.digest == b.digest).count();
    let same = if other_model { 0 } else { same };
    shared.shared = Measure::of(new.iter().take(same).copied());
    if let (false, Some(a), Some(b)) = (other_model, old.get(same), new.get(same)) {
        let (bytes, chars) = common(&a.text, &b.text);
        shared.shared.bytes += bytes;
        shared.shared.tokens += estimate(chars);
    }
    let differs = if other_model {
        Some(cause::Differs::Model)
    } else if let Some(first) = old.iter().take(kept).nth(same) {
        Some(cause::Differs::of(Some(first), new.get(same).copied(), &before.view, &now.view))
    } else {
        // The prefix is unchanged. Whether the provider still had it, only the provider can say.
        let missed = shared.usage.is_some_and(|usage| usage.cache_read == 0 && usage.cache_write > 0);
        let late = shared.gap_ms.is_some_and(|gap| gap > ttl_ms);
        (missed && late).then_some(cause::Differs::Time)
    };
    shared.broken = differs.as_ref().map(|differs| {
        // This request could share no more than all of itself.
        let most = Measure::of(old.iter().take(kept).copied()).tokens.min(Measure::of(new.iter().copied()).tokens);
        let (part, tokens) = match (differs, new.get(same)) {
            (cause::Differs::Time, _) => (String::new(), shared.shared.tokens),
            (_, Some(piece)) => (piece.part.clone(), most.saturating_sub(shared.shared.tokens)),
            (_, None) => ("end".to_owned(), most.saturating_sub(shared.shared.tokens)),
        };
        Break { cause: Cause::Unknown, fact: None, part, tokens, price: price(tokens, prices) }
    });
    (shared, differs)
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
