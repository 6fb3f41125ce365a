//! Appending: one batch of a session on its way at a time, each only after the message that it was decided on.

use super::api::{ApiError, WRONG_LAST, WRONG_LAST_PENDING};
use super::connection::Patience;
use super::log::{NatsStore, unwritable};
use super::message::written;
use super::reading::Last;
use crate::append_rules::{self, Placement};
use crate::log::{AppendError, Appended, Committed, Draft, Head, ReadError};
use annals_core::{Batch, BlobHash, Digest, Event, Seq, SessionId, SessionKey};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How many sessions are remembered that this process appends to.
const SESSIONS: usize = 4096;

/// What this process knows of the sessions that it appends to.
#[derive(Debug, Default)]
pub struct Writers(Mutex<HashMap<SessionId, Arc<tokio::sync::Mutex<Option<Known>>>>>);

/// Where a session ends, as far as this process knows.
#[derive(Clone, Debug)]
pub struct Known {
    head: Head,
    /// The number of its last message.
    token: u64,
    key: Option<SessionKey>,
    /// The batch that brought the key.
    key_at: Seq,
}

impl Writers {
    fn of(&self, session: SessionId) -> Arc<tokio::sync::Mutex<Option<Known>>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= SESSIONS {
            all.retain(|_, known| Arc::strong_count(known) > 1);
        }
        all.entry(session).or_default().clone()
    }
}

fn unread(error: ReadError) -> AppendError {
    match error {
        ReadError::Io { source } => AppendError::Io { source },
        ReadError::Closed => AppendError::Closed,
        other => AppendError::Io { source: Arc::new(std::io::Error::other(other)) },
    }
}

/// What the tries of one append came to so far.
#[derive(Default)]
struct Tries {
    /// A try whose answer was lost: its batch may be stored.
    unknown: Option<Digest>,
    /// Another writer's message was on its way.
    contended: bool,
}

impl NatsStore {
    pub async fn append(&self, draft: Draft) -> Result<Committed, AppendError> {
        let known = self.writers.of(draft.session);
        let mut known = known.lock().await;
        let mut patience = Patience::new(&self.connection);
        let mut tries = Tries::default();
        if known.is_none() {
            *known = self.load(draft.session).await?;
        }
        loop {
            // What is remembered may be old: only what the leader says refuses a batch.
            let fits = matches!(
                append_rules::place(&draft, known.as_ref().map(|known| known.head)),
                Ok(Placement::Next { .. } | Placement::Created | Placement::Forked(_))
            );
            if !fits {
                *known = self.load(draft.session).await?;
            }
            let error = match self.attempt(&draft, &mut known, &mut tries).await? {
                Ok(committed) => return Ok(committed),
                Err(error) => error,
            };
            // Read what is there now: the answer was lost, or another writer was faster.
            *known = None;
            if !patience.again(&error).await {
                return Err(match (tries.unknown, tries.contended) {
                    (Some(_), _) => AppendError::Unknown,
                    (None, true) => AppendError::Contended { session: draft.session },
                    (None, false) => unwritable(error),
                });
            }
            *known = self.load(draft.session).await?;
        }
    }

    /// One try. The inner error: look again.
    async fn attempt(
        &self,
        draft: &Draft,
        known: &mut Option<Known>,
        tries: &mut Tries,
    ) -> Result<Result<Committed, ApiError>, AppendError> {
        let (session, seq) = (draft.session, draft.expected);
        let head = known.as_ref().map(|known| known.head);
        let of_session = known.as_ref().and_then(|known| known.key);
        let (prev, key) = match append_rules::place(draft, head)? {
            Placement::Next { prev } => (Some(prev), append_rules::sealing_key(draft, of_session)?),
            Placement::Created => (None, append_rules::sealing_key(draft, None)?),
            Placement::Forked(fork) => {
                let last = Seq(fork.cut.0.saturating_sub(1));
                let holds = match self.read(fork.parent, last, 1).await {
                    Ok(found) => found.into_iter().next(),
                    Err(ReadError::NoSession(_) | ReadError::Damaged { .. }) => None,
                    Err(error) => return Err(unread(error)),
                };
                let prev = append_rules::fork_prev(draft, fork, holds.as_ref().map(|slice| &*slice.batch))?;
                (Some(prev), append_rules::sealing_key(draft, None)?)
            }
            Placement::Behind => return self.behind(draft, head, of_session, tries).await.map(Ok),
        };
        self.blobs.bring(named_by(draft)).await.map_err(unwritable)?;
        let local = super::blobs::LocalBlobs(self.blobs.clone());
        let sealed = append_rules::seal(draft.clone(), prev, key.as_ref(), &local)?;
        for blob in &sealed.needed {
            if !self.blobs.has(blob).await.map_err(unwritable)? {
                return Err(AppendError::MissingBlob { session, seq, blob: *blob });
            }
        }
        for (hash, text) in &sealed.blobs {
            self.blobs.put(*hash, text).await.map_err(unwritable)?;
        }
        let shard = self.layout.shard_of(session);
        let stream = self.layout.stream(shard);
        let brings = sealed.batch.events.first().is_some_and(|event| event.stored_key().is_some());
        let key_at = match known.as_ref() {
            Some(known) if !brings => known.key_at,
            _ => seq,
        };
        let token = known.as_ref().map_or(0, |known| known.token);
        let (headers, payload) = written(&sealed.batch, &sealed.encoded, &stream, token, key_at);
        match self.connection.publish(self.layout.subject(session), headers, payload).await {
            Ok(ack) if ack.stream == stream && !ack.duplicate => {
                let batch = Arc::new(sealed.batch);
                let head = Head { next: batch.next(), digest: batch.digest, at: batch.at };
                *known = Some(Known { head, token: ack.seq, key, key_at });
                self.places.note(session, batch.first, ack.seq);
                Ok(Ok(Committed { position: self.position(session, ack.seq), batch, known: false }))
            }
            Ok(ack) => {
                let description = format!("stream {} acknowledged what was sent to {stream}", ack.stream);
                Err(unwritable(ApiError::Refused { code: 0, description }))
            }
            Err(error) if error.is(WRONG_LAST) => Ok(Err(error)),
            Err(error) if error.is(WRONG_LAST_PENDING) => {
                tries.contended = true;
                Ok(Err(error))
            }
            Err(error) if error.is_passing() => {
                tries.unknown = Some(sealed.batch.digest);
                Ok(Err(error))
            }
            Err(error) => Err(unwritable(error)),
        }
    }

    /// The log is further on: what begins at the draft's place may be the same batch.
    async fn behind(
        &self,
        draft: &Draft,
        head: Option<Head>,
        key: Option<SessionKey>,
        tries: &Tries,
    ) -> Result<Committed, AppendError> {
        let conflict = || append_rules::conflict(draft, head.map_or(Seq::ZERO, |head| head.next));
        let own = match self.birth(draft.session).await.map_err(unread)? {
            Some(birth) if draft.expected >= birth.first => {
                self.own_from(draft.session, draft.expected, 1).await.map_err(unread)?
            }
            _ => Vec::new(),
        };
        let Some(found) = own.first().filter(|found| found.batch.first == draft.expected) else {
            return Err(conflict());
        };
        self.blobs.bring(named_by(draft)).await.map_err(unwritable)?;
        let local = super::blobs::LocalBlobs(self.blobs.clone());
        if !append_rules::is_duplicate(draft, &found.batch, key.as_ref(), &local)? {
            return Err(conflict());
        }
        // A try of this very call may have written it.
        let known = tries.unknown != Some(found.batch.digest);
        Ok(Committed { batch: found.batch.clone(), position: self.position(draft.session, found.seq), known })
    }

    /// Where a session ends, from the leader.
    async fn load(&self, session: SessionId) -> Result<Option<Known>, AppendError> {
        let Some(last) = self.last(session).await.map_err(unread)? else { return Ok(None) };
        let Last { message, first, head } = &last;
        let key_at = message.key_at().unwrap_or(*first);
        let batch = match key_at == *first {
            true => message.batch(),
            false => {
                let found = self.own_from(session, key_at, 1).await.map_err(unread)?;
                found.into_iter().next().map(|stored| stored.batch)
            }
        };
        let lost = || AppendError::Misplaced { session, reason: append_rules::LOST_END };
        let batch = batch.filter(|batch| batch.first == key_at).ok_or_else(lost)?;
        Ok(Some(Known { head: *head, token: message.seq, key: batch.session_key(), key_at }))
    }

    pub async fn append_all(&self, drafts: Vec<Draft>) -> Appended {
        crate::log::append_each(drafts, |draft| Box::pin(self.append(draft))).await
    }
}

/// The blobs that a draft names.
fn named_by(draft: &Draft) -> Vec<BlobHash> {
    let Draft { session, expected: first, at, ref events, ref states, .. } = *draft;
    if events.is_empty() {
        return Vec::new();
    }
    let events: Vec<Event> = events.clone();
    let batch = Batch { session, first, at, prev: None, events, digest: Digest([0; 32]), states: states.clone() };
    batch.blobs().into_iter().map(|named| named.blob).collect()
}
