//! How a fork reads through to its ancestors: nothing is copied, so its history is in several logs
//! (`docs/reference/fork.md`).

use crate::log::{ReadError, Slice};
use annals_core::event::SessionEvent;
use annals_core::{Batch, Event, Seq, SessionId};
use std::sync::Arc;

/// How a session's own log begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birth {
    /// The Seq of its first own event: 0, or a fork's cut.
    pub first: Seq,
    /// The session whose log comes before, for a fork.
    pub parent: Option<SessionId>,
}

impl Birth {
    /// The birth that the first batch of a log records.
    pub fn of(batch: &Batch) -> Self {
        let parent = match batch.events.first() {
            Some(Event::Session(SessionEvent::Forked(fork))) => Some(fork.parent),
            _ => None,
        };
        Self { first: batch.first, parent }
    }
}

/// The part of one session's own log that is in view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineageSpan {
    /// Whose log.
    pub session: SessionId,
    /// The first Seq in view.
    pub from: Seq,
    /// The first Seq that is not: the cut of the fork above; `u64::MAX` for the session itself.
    pub until: Seq,
}

/// The logs that a session reads through. **Invariant**: the spans are dense and rise to the session's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    session: SessionId,
    /// Oldest first.
    spans: Vec<LineageSpan>,
    /// An ancestor that the store does not hold: nothing below this Seq can be read.
    missing: Option<(SessionId, Seq)>,
}

impl Lineage {
    /// Follows a session to its oldest ancestor. `birth` says how a session's own log begins.
    ///
    /// # Errors
    /// [`ReadError::NoSession`] when there is no such session; the errors of `birth`.
    pub fn of(
        session: SessionId,
        mut birth: impl FnMut(SessionId) -> Result<Option<Birth>, ReadError>,
    ) -> Result<Self, ReadError> {
        let own = birth(session)?.ok_or(ReadError::NoSession(session))?;
        let mut spans = vec![LineageSpan { session, from: own.first, until: Seq(u64::MAX) }];
        let (mut until, mut parent, mut missing) = (own.first, own.parent, None);
        while let Some(ancestor) = parent.filter(|_| until > Seq::ZERO) {
            let seen = ancestor == session || spans.iter().any(|span| span.session == ancestor);
            let Some(found) = birth(ancestor)?.filter(|_| !seen) else {
                missing = Some((ancestor, until));
                break;
            };
            // `append_rules::fork_prev` refuses a parent that wrote nothing before the cut; a damaged log may still name one.
            if found.first < until {
                spans.push(LineageSpan { session: ancestor, from: found.first, until });
                until = found.first;
            }
            parent = found.parent;
        }
        spans.reverse();
        Ok(Self { session, spans, missing })
    }

    /// The spans, oldest first.
    pub fn spans(&self) -> &[LineageSpan] {
        &self.spans
    }

    /// Whose own log holds `seq`, as this session reads it. Says nothing about whether the log is that long.
    pub fn holder(&self, seq: Seq) -> Option<SessionId> {
        self.spans.iter().find(|span| span.from <= seq && seq < span.until).map(|span| span.session)
    }

    /// Reads forwards. `page(session, from, limit)` gives up to `limit` Batches of a session's own log that end after
    /// `from`, oldest first.
    ///
    /// # Errors
    /// When an ancestor that is needed is missing; the errors of `page`.
    pub fn read(
        &self,
        from: Seq,
        limit: usize,
        mut page: impl FnMut(SessionId, Seq, usize) -> Result<Vec<Arc<Batch>>, ReadError>,
    ) -> Result<Vec<Slice>, ReadError> {
        self.reaches(from)?;
        let mut slices = Vec::new();
        for span in self.spans.iter().filter(|span| span.until > from) {
            if slices.len() >= limit {
                break;
            }
            let start = from.max(span.from);
            let wanted = limit - slices.len();
            let found = page(span.session, start, wanted)?;
            let ends = found.last().map_or(start, |last| last.next());
            let short = found.len() < wanted && ends < span.until && span.session != self.session;
            let in_view = found.into_iter().take_while(|batch| batch.first < span.until);
            slices.extend(in_view.map(|batch| slice(batch, start, span.until)));
            if short {
                // What was found is given first; the next read begins at the hole and reports it.
                return if slices.is_empty() { Err(self.hole(span, ends)) } else { Ok(slices) };
            }
        }
        Ok(slices)
    }

    /// Reads backwards. `page(session, before, limit)` gives up to `limit` Batches of a session's own log that begin
    /// before `before`, newest first.
    ///
    /// # Errors
    /// When an ancestor that is needed is missing; the errors of `page`.
    pub fn read_back(
        &self,
        before: Seq,
        limit: usize,
        mut page: impl FnMut(SessionId, Seq, usize) -> Result<Vec<Arc<Batch>>, ReadError>,
    ) -> Result<Vec<Slice>, ReadError> {
        let mut slices = Vec::new();
        for span in self.spans.iter().rev().filter(|span| span.from < before) {
            if slices.len() >= limit {
                return Ok(slices);
            }
            let end = before.min(span.until);
            let found = page(span.session, end, limit - slices.len())?;
            slices.extend(found.into_iter().map(|batch| slice(batch, span.from, end)));
        }
        if slices.is_empty() && limit > 0 && before > Seq::ZERO {
            self.reaches(Seq::ZERO)?;
        }
        Ok(slices)
    }

    fn hole(&self, span: &LineageSpan, seq: Seq) -> ReadError {
        let LineageSpan { session, until, .. } = span;
        let reason = format!("inherited from session {session}, which ends here and not at event {until}");
        ReadError::Damaged { session: self.session, seq, reason }
    }

    fn reaches(&self, from: Seq) -> Result<(), ReadError> {
        match self.missing {
            Some((ancestor, until)) if from < until => Err(ReadError::Damaged {
                session: self.session,
                seq: from,
                reason: format!("the events before {until} are in session {ancestor}, which is not in this store"),
            }),
            _ => Ok(()),
        }
    }
}

/// What a batch shows between two places.
pub(crate) fn slice(batch: Arc<Batch>, from: Seq, until: Seq) -> Slice {
    let (from, until) = (from.max(batch.first), until.min(batch.next()));
    Slice { batch, from, until }
}
