//! Reading a session through to what it inherits.

use super::log::NatsStore;
use super::message::StreamMessage;
use super::places::NatsBatch;
use super::reading::damaged;
use crate::lineage::{Birth, Lineage, slice};
use crate::log::{ReadError, Slice};
use annals_core::{Batch, Event, Seq, SessionId};
use std::collections::BTreeMap;
use std::sync::Arc;

impl NatsStore {
    /// How a session's own log begins.
    pub async fn birth(&self, session: SessionId) -> Result<Option<Birth>, ReadError> {
        if let Some(birth) = self.places.birth(session) {
            return Ok(Some(birth));
        }
        let Some(message) = self.first_of(session).await? else { return Ok(None) };
        let batch = message.batch().ok_or_else(|| damaged(session, Seq::ZERO, "its first batch is damaged"))?;
        let birth = Birth::of(&batch);
        self.places.note_birth(session, birth);
        Ok(Some(birth))
    }

    /// The first batch of a session. Older messages under its subject may be originals that are being erased.
    async fn first_of(&self, session: SessionId) -> Result<Option<StreamMessage>, ReadError> {
        let mut last = self.last_whole(session).await?;
        while let Some(now) = &last {
            let own = self.parts(session, now).into_iter().next();
            let subject = own.map_or_else(|| self.layout.subject(session), |part| part.subject);
            let first = self.next_from(session, &subject, 1).await?;
            let begins = |batch: &Batch| batch.events.first().is_some_and(Event::begins);
            if first.as_ref().and_then(StreamMessage::batch).is_some_and(|batch| begins(&batch)) {
                return Ok(first);
            }
            let again = self.last_whole(session).await?;
            if again.as_ref().is_some_and(|again| again.generation == now.generation) {
                return match first {
                    Some(first) => Ok(Some(first)),
                    None => Err(damaged(session, Seq::ZERO, "its first batch is missing in the cluster")),
                };
            }
            last = again;
        }
        Ok(None)
    }

    /// How a session reads through to its ancestors.
    pub async fn lineage(&self, session: SessionId) -> Result<Lineage, ReadError> {
        let mut births = BTreeMap::new();
        let mut next = Some(session);
        while let Some(of) = next {
            let birth = self.birth(of).await?;
            births.insert(of, birth);
            next = birth.and_then(|birth| birth.parent).filter(|parent| !births.contains_key(parent));
        }
        Lineage::of(session, |session| Ok(births.get(&session).copied().flatten()))
    }

    /// See [`crate::EventLog::read`].
    pub async fn read(&self, session: SessionId, from: Seq, limit: usize) -> Result<Vec<Slice>, ReadError> {
        let birth = self.birth(session).await?.ok_or(ReadError::NoSession(session))?;
        if from >= birth.first {
            let found = self.own_from(session, from, limit).await?;
            return Ok(found.into_iter().map(|stored| slice(stored.batch, from, Seq(u64::MAX))).collect());
        }
        let lineage = self.lineage(session).await?;
        let (mut pages, mut count) = (BTreeMap::new(), 0);
        for span in lineage.spans().iter().filter(|span| span.until > from) {
            if count >= limit {
                break;
            }
            let found = self.own_from(span.session, from.max(span.from), limit - count).await?;
            count += found.iter().filter(|stored| stored.batch.first < span.until).count();
            pages.insert(span.session, batches(found));
        }
        lineage.read(from, limit, |session, _, _| Ok(pages.remove(&session).unwrap_or_default()))
    }

    /// See [`crate::EventLog::read_back`].
    pub async fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Result<Vec<Slice>, ReadError> {
        let lineage = self.lineage(session).await?;
        let (mut pages, mut count) = (BTreeMap::new(), 0);
        for span in lineage.spans().iter().rev().filter(|span| span.from < before) {
            if count >= limit {
                break;
            }
            let found = self.own_before(span.session, before.min(span.until), limit - count).await?;
            count += found.len();
            pages.insert(span.session, batches(found));
        }
        lineage.read_back(before, limit, |session, _, _| Ok(pages.remove(&session).unwrap_or_default()))
    }
}

fn batches(found: Vec<NatsBatch>) -> Vec<Arc<Batch>> {
    found.into_iter().map(|stored| stored.batch).collect()
}
