//! Where a fork comes from. OpenCode copies the messages of a session under new ids, with their times, and does not name the session.

use super::super::sink::{ForkPoint, RecordedStart};
use super::v1::V1Mapper;
use annals_core::event::SessionForked;
use annals_core::{Digest, Seq, SessionId, StoredKey, Time};

/// A message of a session: when it was created (ms), and its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSpan {
    /// When it was created (ms).
    pub created: u64,
    /// The number of its first event.
    pub first: Seq,
    /// The number after its last event.
    pub end: Seq,
}

/// A session that a fork may come from.
#[derive(Clone, Debug)]
pub struct ForkSource {
    /// Its id in the log.
    pub session: SessionId,
    /// Its messages, in order.
    pub messages: Vec<MessageSpan>,
    /// Where an earlier import of the fork cut it: its messages need not be known then.
    pub cut: Option<Seq>,
}

impl ForkSource {
    /// The message that was created at a time (ms).
    pub fn message(&self, created: u64) -> Option<MessageSpan> {
        let recorded = self.cut.map(|cut| MessageSpan { created, first: cut, end: cut });
        recorded.or_else(|| self.messages.iter().find(|message| message.created == created).copied())
    }

    /// The session that an earlier import of a fork recorded.
    pub fn recorded(fork: ForkPoint) -> Self {
        Self { session: fork.parent, messages: Vec::new(), cut: Some(fork.cut) }
    }
}

impl V1Mapper {
    pub(super) fn remember(&mut self, message: &str, created: Time, first: Seq) {
        let span = MessageSpan { created: created.millis(), first, end: self.next };
        self.messages.push((message.to_owned(), span));
    }

    /// Notes that the events up to here belong to a message.
    pub(super) fn extend(&mut self, message: &str) {
        let next = self.next;
        if let Some((_, span)) = self.messages.iter_mut().rfind(|(id, _)| id == message) {
            span.end = next;
        }
    }

    /// The messages so far, for the forks of this session.
    pub fn spans(&self) -> Vec<MessageSpan> {
        self.messages.iter().map(|(_, span)| *span).collect()
    }

    /// Whether a message of this time was copied from another session.
    pub fn is_copy(&self, created: u64) -> bool {
        created > 0 && created < self.info.created
    }

    /// Leaves a copied message out, if the session that it was copied from is known.
    pub(super) fn leaves_out(
        &mut self,
        id: &str,
        created: Time,
        agent: Option<&String>,
        model: Option<&String>,
    ) -> bool {
        if self.copies.contains(id) {
            return true;
        }
        if self.begun || !self.is_copy(created.millis()) {
            return false;
        }
        if let (None, Some(RecordedStart::Forked(fork))) = (&self.source, &self.start) {
            self.source = Some(ForkSource::recorded(*fork));
        }
        let Some(span) = self.source.as_ref().and_then(|source| source.message(created.millis())) else {
            return false;
        };
        self.copies.insert(id.to_owned());
        self.messages.push((id.to_owned(), span));
        self.cut = self.cut.max(Some(span.end));
        self.info.agent = agent.cloned().or(self.info.agent.take());
        self.info.model = model.cloned().or(self.info.model.take());
        true
    }

    /// Names the session that it is a fork of. What an earlier import recorded stays.
    pub fn set_source(&mut self, source: ForkSource) {
        if self.start.is_none() {
            self.source = Some(source);
        }
    }

    /// Whether the session that it is a fork of is known, or does not matter.
    pub fn knows_source(&self) -> bool {
        self.source.is_some() || self.start.is_some()
    }

    /// Begins as a fork, if copies were left out. Returns whether it does.
    pub(super) fn begins_as_fork(&mut self) -> bool {
        if let (Some(source), Some(cut)) = (&self.source, self.cut) {
            let forked = SessionForked {
                parent: source.session,
                cut,
                parent_digest: Digest([0; 32]),
                title: self.info.title.clone(),
                origin: Some(self.info.origin(self.form)),
                key: StoredKey::NONE,
            };
            self.fork = Some(ForkPoint { parent: source.session, cut });
            self.next = cut;
            self.push(self.created_at_line, Time(self.info.created), vec![forked.into()]);
            return true;
        }
        false
    }
}
