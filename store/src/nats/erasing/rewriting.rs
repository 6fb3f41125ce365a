//! Copying a session without its erased texts, and putting the copies in the place of the originals.

use super::NatsEraseError;
use crate::disk::ErasedCopies;
use crate::log::ReadError;
use crate::nats::api::{WRONG_LAST, WRONG_LAST_PENDING};
use crate::nats::blobs::LocalBlobs;
use crate::nats::connection::Patience;
use crate::nats::generation::SubjectGeneration;
use crate::nats::leases::unique_name;
use crate::nats::log::NatsStore;
use crate::nats::message::{PublishPlace, StreamMessage, copied, marker};
use crate::nats::places::Last;
use crate::nats::reading::damaged;
use crate::text_removal::{ErasedSession, without_texts};
use annals_core::{Batch, Seq, SessionId, SessionKey, codec};
use std::collections::BTreeMap;

/// The messages of a session, oldest first.
struct OwnMessages(Vec<(StreamMessage, Batch)>);

/// Copies that are on their way.
struct Copies {
    generation: SubjectGeneration,
    subject: String,
    /// Where the next copy begins.
    next: Seq,
    key: Option<SessionKey>,
    key_at: Seq,
}

impl NatsStore {
    /// Removes the erased texts of a session from the cluster.
    pub(super) async fn remove_texts(
        &self,
        session: SessionId,
        erased: &mut ErasedCopies,
    ) -> Result<(), NatsEraseError> {
        let stream = self.layout.stream(self.layout.shard_of(session));
        // Generations that exist before a marker of this erasure is written: none of them can come into force after it.
        let older = self.subjects_like(&stream, &self.layout.generation_subject(session, "*")).await?;
        let Some(mut last) = self.last(session).await? else { return Ok(()) };
        let own = self.own_messages(session, &last).await?;
        if let Some(recorded) =
            recorded_erasures(session, &own).filter(|recorded| self.is_left(&own, recorded).unwrap_or(true))
        {
            let generation = self.rewrite(session, last, own, &recorded, erased).await?;
            last = self.last(session).await?.filter(|last| last.generation.as_ref() == Some(&generation)).ok_or(
                // Only another erasure puts another one in its place.
                NatsEraseError::Overtaken(session),
            )?;
        }
        let Some(generation) = &last.generation else { return Ok(()) };
        self.destroy(&stream, &self.layout.subject(session), generation.last).await?;
        let current = self.layout.generation_subject(session, &generation.id);
        for subject in older.into_keys().filter(|subject| *subject != current) {
            self.destroy(&stream, &subject, u64::MAX).await?;
        }
        Ok(())
    }

    /// Whether nothing of a session is to be removed any more.
    pub(super) async fn is_removed(&self, session: SessionId) -> Result<bool, NatsEraseError> {
        let stream = self.layout.stream(self.layout.shard_of(session));
        let Some(last) = self.last(session).await? else { return Ok(true) };
        let own = self.own_messages(session, &last).await?;
        let Some(recorded) = recorded_erasures(session, &own) else { return Ok(true) };
        let Some(generation) = last.generation.as_ref().filter(|_| !self.is_left(&own, &recorded).unwrap_or(true))
        else {
            return Ok(false);
        };
        let first = self.next_from(session, &self.layout.subject(session), 1).await?;
        let current = self.layout.generation_subject(session, &generation.id);
        let all = self.subjects_like(&stream, &self.layout.generation_subject(session, "*")).await?;
        Ok(first.is_some_and(|first| first.seq > generation.last) && all.keys().all(|subject| *subject == current))
    }

    async fn own_messages(&self, session: SessionId, last: &Last) -> Result<OwnMessages, NatsEraseError> {
        let own = self.own_batches(session, last).await?;
        let blobs = own.iter().flat_map(|(_, batch)| batch.blobs()).map(|named| named.blob);
        self.blobs.bring(blobs.collect::<Vec<_>>()).await?;
        Ok(OwnMessages(own))
    }

    /// Every batch of a session's own log with its message, whole.
    pub(super) async fn own_batches(
        &self,
        session: SessionId,
        last: &Last,
    ) -> Result<Vec<(StreamMessage, Batch)>, NatsEraseError> {
        let (mut own, mut due) = (Vec::new(), None);
        for part in self.parts(session, last) {
            for message in self.messages(session, &part.subject, part.low, part.high).await? {
                if message.is_marker() {
                    continue;
                }
                let first = message.first().unwrap_or_default();
                let batch = message.batch().filter(|batch| due.is_none_or(|due| batch.first == due));
                let batch = batch.ok_or_else(|| damaged(session, first, "the batch here is damaged"))?;
                due = Some(batch.next());
                own.push((message, Batch::clone(&batch)));
            }
        }
        match due == Some(last.head.next) {
            true => Ok(own),
            false => Err(damaged(session, due.unwrap_or_default(), "a message is missing in the cluster").into()),
        }
    }

    /// Whether a text that the log says is erased is still in a batch, or a key that its other texts do not need.
    fn is_left(&self, own: &OwnMessages, recorded: &ErasedSession) -> Result<bool, NatsEraseError> {
        let (blobs, mut key) = (LocalBlobs(self.blobs.clone()), None);
        for (_, batch) in own.0.iter().filter(|(_, batch)| batch.first < recorded.last) {
            key = batch.session_key().or(key);
            if without_texts(batch, recorded, key, &blobs)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes the copies, then the marker. Gives the generation that is in force then.
    async fn rewrite(
        &self,
        session: SessionId,
        mut last: Last,
        mut own: OwnMessages,
        recorded: &ErasedSession,
        erased: &mut ErasedCopies,
    ) -> Result<SubjectGeneration, NatsEraseError> {
        let id = unique_name()?;
        let subject = self.layout.generation_subject(session, &id);
        let generation = SubjectGeneration { id, until: Seq::ZERO, last: 0 };
        let before = last.generation.clone();
        let mut copies = Copies { generation, subject, next: Seq::ZERO, key: None, key_at: Seq::ZERO };
        let mut patience = Patience::new(&self.connection);
        loop {
            self.copy(&own, recorded, &mut copies, erased).await?;
            let stream = self.layout.stream(self.layout.shard_of(session));
            let key_at = last.message.key_at().unwrap_or(last.first);
            let generation = Some(&copies.generation);
            let place = PublishPlace { stream: &stream, token: last.message.seq, key_at, generation };
            let headers = marker(&place, &last.head);
            let published = self.connection.publish(self.layout.subject(session), headers, bytes::Bytes::new()).await;
            let error = match published {
                Ok(_) => return Ok(copies.generation),
                Err(error) if error.is_passing() || error.is(WRONG_LAST) || error.is(WRONG_LAST_PENDING) => error,
                Err(error) => return Err(error.into()),
            };
            let again = patience.again(&error).await;
            // The answer was lost, or something was appended meanwhile.
            last = self.last(session).await?.ok_or(ReadError::NoSession(session))?;
            match &last.generation {
                Some(now) if *now == copies.generation => return Ok(copies.generation),
                now if *now != before => return Err(NatsEraseError::Overtaken(session)),
                _ if !again => return Err(error.into()),
                _ => own = self.own_messages(session, &last).await?,
            }
        }
    }

    /// Copies what was not copied yet.
    async fn copy(
        &self,
        own: &OwnMessages,
        recorded: &ErasedSession,
        copies: &mut Copies,
        erased: &mut ErasedCopies,
    ) -> Result<(), NatsEraseError> {
        let blobs = LocalBlobs(self.blobs.clone());
        let from = copies.next;
        for (message, batch) in own.0.iter().filter(|(_, batch)| batch.first >= from) {
            copies.key = batch.session_key().or(copies.key);
            if batch.events.first().is_some_and(|event| event.stored_key().is_some()) || copies.generation.last == 0 {
                copies.key_at = batch.first;
            }
            let removed = match batch.first < recorded.last {
                true => without_texts(batch, recorded, copies.key, &blobs)?,
                false => None,
            };
            let (encoded, rewritten) = match &removed {
                Some(removed) => {
                    erased.batches += 1;
                    erased.texts += removed.texts;
                    (removed.encoded.clone(), &removed.batch)
                }
                None => (codec::encode(batch).map_err(std::io::Error::other)?, batch),
            };
            self.publish_copy(message, rewritten, &encoded, copies).await?;
            copies.next = batch.next();
            copies.generation.until = batch.next();
        }
        Ok(())
    }

    async fn publish_copy(
        &self,
        message: &StreamMessage,
        batch: &Batch,
        encoded: &[u8],
        copies: &mut Copies,
    ) -> Result<(), NatsEraseError> {
        let stream = self.layout.stream(self.layout.shard_of(batch.session));
        let place =
            PublishPlace { stream: &stream, token: copies.generation.last, key_at: copies.key_at, generation: None };
        let (headers, payload) = copied(batch, encoded, &place, message.was());
        let mut patience = Patience::new(&self.connection);
        loop {
            let sent = self.connection.publish(copies.subject.clone(), headers.clone(), payload.clone()).await;
            let error = match sent {
                Ok(ack) => {
                    copies.generation.last = ack.seq;
                    return Ok(());
                }
                Err(error) => error,
            };
            if error.is(WRONG_LAST) {
                // An earlier try is there, since no other process knows the subject.
                let from = copies.generation.last + 1;
                let there = self.next_from(batch.session, &copies.subject, from).await?;
                let there = there.filter(|there| there.first() == Some(batch.first) && there.payload == payload);
                copies.generation.last = there.ok_or(NatsEraseError::Overtaken(batch.session))?.seq;
                return Ok(());
            }
            let passing = error.is_passing() || error.is(WRONG_LAST_PENDING);
            if !(passing && patience.again(&error).await) {
                return Err(error.into());
            }
        }
    }
}

/// What a session's log says is erased; `None`: nothing.
fn recorded_erasures(session: SessionId, own: &OwnMessages) -> Option<ErasedSession> {
    let (mut sessions, mut keys) = (BTreeMap::new(), BTreeMap::new());
    own.0.iter().for_each(|(_, batch)| ErasedSession::note(&mut sessions, &mut keys, batch));
    sessions.remove(&session)
}
