//! The chain: what a batch must say, given the one before it (`fixtures/FORMAT.md`, section 4).

use super::flaw::Flaw;
use annals_core::event::SessionEvent;
use annals_core::{Batch, Digest, Event, Seq, SessionId};

/// The batch before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub session: SessionId,
    pub first: Seq,
    pub next: Seq,
    pub digest: Digest,
}

impl Link {
    pub fn of(batch: &Batch) -> Self {
        Self { session: batch.session, first: batch.first, next: batch.next(), digest: batch.digest }
    }
}

/// What comes before the next batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    /// Nothing: the next batch begins everything.
    Start,
    /// This batch.
    After(Link),
    /// A Batch whose content was altered: only the digest that it carries is used.
    Altered(Digest),
    /// Something that could not be read: the damage is reported, the next batch is taken as it is.
    Unknown,
}

impl Chain {
    /// Checks a batch, whose content has the digest `found`, against what comes before it, and continues from it from then
    /// on. Each damage is reported once: the digest that a batch carries is what the next one is compared with.
    pub fn take(&mut self, batch: &Batch, found: Option<Digest>, mut report: impl FnMut(Flaw)) {
        let begin = |reason: &str| Flaw::Begin { reason: reason.into() };
        let first = batch.events.first();
        let (mut prev, mut seq) = (batch.prev, batch.first);
        match *self {
            Self::Start => {
                (prev, seq) = (None, Seq::ZERO);
                if !matches!(first, Some(Event::Session(SessionEvent::Created(_)))) {
                    report(begin("the first batch does not begin with session.created"));
                }
            }
            Self::After(link) if link.session == batch.session => {
                (prev, seq) = (Some(link.digest), link.next);
                if first.is_some_and(Event::begins) {
                    report(begin("the session begins a second time"));
                }
            }
            Self::After(link) => {
                prev = Some(link.digest);
                if batch.first <= link.first || batch.first > link.next {
                    seq = link.next;
                }
                let fits = |event: &Event| {
                    matches!(event, Event::Session(SessionEvent::Forked(fork))
                        if fork.parent == link.session && fork.cut == batch.first && fork.parent_digest == link.digest)
                };
                if !first.is_some_and(fits) {
                    report(begin("another session follows here, and it is not a fork of the one before it"));
                }
            }
            Self::Altered(digest) => prev = Some(digest),
            Self::Unknown => {}
        }
        if batch.events.iter().skip(1).any(|event| event.stored_key().is_some()) {
            report(begin("session.created, session.forked or texts.erased is not the first event of its batch"));
        }
        if seq != batch.first {
            report(Flaw::Seq { expected: seq, found: batch.first });
        }
        if prev != batch.prev {
            report(Flaw::Prev { expected: prev, found: batch.prev });
        }
        *self = if found == Some(batch.digest) { Self::After(Link::of(batch)) } else { Self::Altered(batch.digest) };
    }
}
