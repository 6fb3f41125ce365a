//! The prefix of a request, piece by piece, and where it is no longer that of the one before.

use super::{Break, Cause, Measure, Shared, cause};
use crate::body_view::BodyView;
use crate::{IndexedRequest, Lack};
use annals_core::event::Prices;
use annals_core::{CallId, Digest, Seq, canonical};
use annals_projections::{Block, BuiltRequest, RequestHead, RequestMessage, RequestMessages, estimate};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// A piece of a prefix.
pub(super) struct Piece {
    /// Its part: `tools`, `system 0`, `message 3`.
    pub(super) part: String,
    /// Its JSON.
    text: String,
    digest: Digest,
    chars: u64,
    /// The event that put it there.
    pub(super) seq: Option<Seq>,
    /// Which call it is the result of.
    pub(super) call: Option<CallId>,
}

impl Piece {
    fn of(part: String, value: &serde_json::Value, seq: Option<Seq>) -> Self {
        let text = canonical::value(value);
        let chars = text.chars().count() as u64;
        Self { part, digest: Digest::of(text.as_bytes()), text, chars, seq, call: None }
    }
}

/// How much some pieces are.
#[derive(Clone, Copy, Default)]
struct Total {
    bytes: u64,
    chars: u64,
    blocks: u64,
}

impl Total {
    fn and(self, piece: &Piece) -> Self {
        Self { bytes: self.bytes + piece.text.len() as u64, chars: self.chars + piece.chars, blocks: self.blocks + 1 }
    }

    fn plus(self, other: Self) -> Self {
        let Self { bytes, chars, blocks } = other;
        Self { bytes: self.bytes + bytes, chars: self.chars + chars, blocks: self.blocks + blocks }
    }

    fn measure(self) -> Measure {
        Measure { bytes: self.bytes, tokens: estimate(self.chars), blocks: self.blocks }
    }
}

/// What is measured: a request as its recorded body has it, else as the events have it.
pub(crate) struct PrefixSource<'r> {
    pub(crate) built: &'r BuiltRequest<'r>,
    pub(crate) body: Option<&'r BodyView>,
}

impl PrefixSource<'_> {
    fn messages(&self) -> Box<dyn Iterator<Item = &RequestMessage> + '_> {
        match self.body {
            Some(body) => Box::new(body.request.messages.iter().map(|lowered| &lowered.message)),
            None => Box::new(self.built.messages().map(|lowered| &lowered.message)),
        }
    }
}

/// What comes before the messages of a request: the same for many requests.
struct HeadPieces {
    /// The head of a request as the events have it.
    of: Option<Arc<RequestHead>>,
    pieces: Vec<Piece>,
    options: String,
    /// Whether the first system text is the agent's own.
    agent_text: bool,
}

impl HeadPieces {
    fn of(measured: &PrefixSource<'_>) -> Self {
        let head = &measured.built.head;
        let (tools, system) = match measured.body {
            Some(body) => (&body.request.tools, &body.request.system),
            None => (&head.tools, &head.system),
        };
        let is_volatile = |number: &usize| measured.body.is_some_and(|body| body.volatile.contains(number));
        let mut pieces = Vec::new();
        for tool in tools {
            pieces.push(Piece::of("tools".to_owned(), &serde_json::to_value(tool).unwrap_or_default(), None));
        }
        for (number, system) in system.iter().enumerate().filter(|(number, _)| !is_volatile(number)) {
            let seq = system.spans.iter().find_map(|span| span.seq);
            let text = serde_json::Value::String(system.text.clone());
            pieces.push(Piece::of(format!("system {number}"), &text, seq));
        }
        let options = canonical::value(&serde_json::to_value(&head.options).unwrap_or_default());
        let agent_text = system.first().is_some_and(|it| it.spans.iter().all(|span| span.seq.is_none()));
        Self { of: measured.body.is_none().then(|| head.clone()), pieces, options, agent_text }
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

/// What the next request is compared with, apart from its pieces.
struct Before {
    step: IndexedRequest,
    head: Rc<HeadPieces>,
    lacks: BTreeSet<Lack>,
    /// The event that opened its baseline.
    epoch: Option<Seq>,
    /// How much it is, without what was added for it alone.
    lasting: Total,
}

/// The prefixes of turn requests one after another. A request costs what it does not share with the one before it.
#[derive(Default)]
pub(crate) struct Prefixes {
    before: Option<Before>,
    /// The pieces of the messages of the newest request.
    pieces: Vec<Piece>,
    /// How much the pieces up to each one are, that one included.
    totals: Vec<Total>,
    /// The first piece of each message.
    starts: Vec<usize>,
    /// How many pieces, at the end, were added for the newest request alone.
    added: usize,
    /// The messages of the newest request, where they are those of its body.
    body: Option<RequestMessages>,
}

impl Prefixes {
    /// The request before; `None` for the first.
    pub(crate) fn before(&self) -> Option<&IndexedRequest> {
        self.before.as_ref().map(|before| &before.step)
    }

    /// Compares a request with the one before. The cause of a break is not looked for.
    pub(crate) fn measure(
        &mut self,
        step: &IndexedRequest,
        request: &PrefixSource<'_>,
        lacks: BTreeSet<Lack>,
        epoch: Option<Seq>,
        ttl_ms: u64,
    ) -> Shared {
        self.next(step, request, lacks, epoch, ttl_ms).0
    }

    /// Compares a request with the one before; a break's cause is looked for where the events between them are read.
    pub(super) fn next(
        &mut self,
        step: &IndexedRequest,
        request: &PrefixSource<'_>,
        lacks: BTreeSet<Lack>,
        epoch: Option<Seq>,
        ttl_ms: u64,
    ) -> (Shared, Option<cause::Differs>) {
        let head = match self.before.as_ref().map(|before| &before.head) {
            Some(head)
                if request.body.is_none()
                    && head.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, &request.built.head)) =>
            {
                head.clone()
            }
            _ => Rc::new(HeadPieces::of(request)),
        };
        let old_added = self.added;
        let (start, removed) = self.replace(request);
        let whole = head.pieces.iter().fold(Total::default(), Total::and).plus(self.total(self.pieces.len()));
        let lasting =
            head.pieces.iter().fold(Total::default(), Total::and).plus(self.total(self.pieces.len() - self.added));
        let mut shared = Shared {
            step: step.clone(),
            whole: whole.measure(),
            shared: Measure::default(),
            before: self.before.as_ref().map(|before| before.lasting.measure()),
            gap_ms: self.before().map(|before| step.at.millis().saturating_sub(before.at.millis())),
            broken: None,
            options_differ: false,
            options_fact: None,
            usage: step.answer.and_then(|answer| answer.usage),
            unrecorded: 0,
            anomaly: None,
        };
        let differs = self.before.as_ref().and_then(|before| {
            let pair = RequestPair { all: self, before, removed: &removed, start, old_added, head: &head, epoch };
            pair.compare(&mut shared, &lacks, request.built.head.model.prices, ttl_ms)
        });
        self.before = Some(Before { step: step.clone(), head, lacks, epoch, lasting });
        (shared, differs)
    }

    /// How much the first `count` pieces of messages are.
    fn total(&self, count: usize) -> Total {
        count.checked_sub(1).and_then(|at| self.totals.get(at)).copied().unwrap_or_default()
    }

    /// Takes in the messages of a request; gives how many pieces are those of the one before, and the others of that one.
    fn replace(&mut self, request: &PrefixSource<'_>) -> (usize, Vec<Piece>) {
        let before = std::mem::replace(&mut self.body, request.body.map(|body| body.request.messages.clone()));
        let same = match (before, &self.body) {
            (None, None) => request.built.same,
            (Some(before), Some(body)) => before.iter().zip(body.iter()).take_while(|(a, b)| a == b).count(),
            _ => 0,
        };
        let same = same.min(self.starts.len());
        let start = self.starts.get(same).copied().unwrap_or(self.pieces.len());
        let removed = self.pieces.split_off(start);
        self.totals.truncate(start);
        self.starts.truncate(same);
        for (number, message) in request.messages().enumerate().skip(same) {
            self.starts.push(self.pieces.len());
            for block in &message.blocks {
                let value = serde_json::json!({ "role": message.role, "block": block });
                let mut piece = Piece::of(format!("message {number}"), &value, block.seq());
                if let Block::Result { result, .. } = block {
                    piece.call = Some(result.id.clone());
                }
                self.totals.push(self.total(self.pieces.len()).and(&piece));
                self.pieces.push(piece);
            }
        }
        // What the runtime adds for this request alone cannot be shared by the next one.
        self.added = match request.body {
            Some(_) => 0,
            None => self.pieces.iter().rev().take_while(|piece| piece.seq.is_none()).count(),
        };
        (start, removed)
    }
}

/// A request and the one before it.
struct RequestPair<'a> {
    all: &'a Prefixes,
    before: &'a Before,
    /// The pieces of the one before that are not in this one.
    removed: &'a [Piece],
    /// How many pieces of messages both have.
    start: usize,
    old_added: usize,
    head: &'a HeadPieces,
    epoch: Option<Seq>,
}

impl RequestPair<'_> {
    fn compare(
        &self,
        shared: &mut Shared,
        lacks: &BTreeSet<Lack>,
        prices: Prices,
        ttl_ms: u64,
    ) -> Option<cause::Differs> {
        let before = self.before;
        let lacks = &before.lacks | lacks;
        shared.options_differ = before.head.options != self.head.options && !lacks.contains(&Lack::Options);
        let (old_head, new_head) = (before.head.known(&lacks), self.head.known(&lacks));
        let old_len = old_head.len() + self.start + self.removed.len();
        let kept = old_len - self.old_added;
        let old = |at: usize| match at.checked_sub(old_head.len()) {
            None => old_head.get(at).copied(),
            Some(at) if at < self.start => self.all.pieces.get(at),
            Some(at) => self.removed.get(at - self.start),
        };
        let new = |at: usize| match at.checked_sub(new_head.len()) {
            None => new_head.get(at).copied(),
            Some(at) => self.all.pieces.get(at),
        };
        let other_model = before.step.model != shared.step.model;
        let same = if other_model { 0 } else { self.same(&old_head, &new_head) };
        let of_head =
            |count: usize| new_head.iter().take(count).fold(Total::default(), |total, piece| total.and(piece));
        let of_new = |count: usize| of_head(count).plus(self.all.total(count.saturating_sub(new_head.len())));
        shared.shared = of_new(same).measure();
        if let (false, Some(a), Some(b)) = (other_model, old(same), new(same)) {
            let (bytes, chars) = common(&a.text, &b.text);
            shared.shared.bytes += bytes;
            shared.shared.tokens += estimate(chars);
        }
        let differs = if other_model {
            Some(cause::Differs::Model)
        } else if let Some(first) = old(same).filter(|_| same < kept) {
            let kept = cause::PrefixBasis { agent_text: before.head.agent_text, epoch: before.epoch };
            let basis = cause::PrefixBasis { agent_text: self.head.agent_text, epoch: self.epoch };
            Some(cause::Differs::of(Some(first), new(same), &kept, &basis))
        } else {
            // The prefix is unchanged. Whether the provider still had it, only the provider can say.
            let missed = shared.usage.is_some_and(|usage| usage.cache_read == 0 && usage.cache_write > 0);
            let late = shared.gap_ms.is_some_and(|gap| gap > ttl_ms);
            (missed && late).then_some(cause::Differs::Time)
        };
        shared.broken = differs.as_ref().map(|differs| {
            // This request could share no more than all of itself.
            let of_old = old_head.iter().fold(Total::default(), |total, piece| total.and(piece));
            let removed = self.removed.len().saturating_sub(self.old_added);
            let of_removed = self.removed.iter().take(removed).fold(Total::default(), Total::and);
            let of_old = of_old.plus(self.all.total(self.start)).plus(of_removed).measure();
            let most = of_old.tokens.min(of_new(new_head.len() + self.all.pieces.len()).measure().tokens);
            let (part, tokens) = match (differs, new(same)) {
                (cause::Differs::Time, _) => (String::new(), shared.shared.tokens),
                (_, Some(piece)) => (piece.part.clone(), most.saturating_sub(shared.shared.tokens)),
                (_, None) => ("end".to_owned(), most.saturating_sub(shared.shared.tokens)),
            };
            Break { cause: Cause::Unknown, fact: None, part, tokens, price: price(tokens, prices) }
        });
        differs
    }

    /// How many leading pieces are the same in both.
    fn same(&self, old_head: &[&Piece], new_head: &[&Piece]) -> usize {
        let heads = old_head.iter().zip(new_head).take_while(|(a, b)| a.digest == b.digest).count();
        if heads < old_head.len().max(new_head.len()) {
            return heads;
        }
        let added = self.all.pieces.get(self.start..).unwrap_or_default();
        let alike = self.removed.iter().zip(added).take_while(|(a, b)| a.digest == b.digest).count();
        heads + self.start + alike
    }
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
