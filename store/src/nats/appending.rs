//! Appending: one batch of a session on its way at a time, each only after the message that it was decided on.

use super::api::{ApiError, WRONG_LAST, WRONG_LAST_PENDING};
use super::connection::{Patience, one_call};
use super::generation::SubjectGeneration;
use super::log::{NatsStore, unwritable};
use super::message::{EXPECTED_LAST, NewMessage, PublishPlace, written};
use super::named_texts::NamedTexts;
use super::places::Last;
use crate::append_rules::{self, Placement};
use crate::log::{AppendError, Appended, Committed, Draft, Head, ReadError};
use annals_core::text::Texts;
use annals_core::{Batch, BlobHash, Digest, Sealed, Seq, SessionId, SessionKey, Text};
use async_nats::HeaderMap;
use std::collections::{HashMap, VecDeque};
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
    generation: Option<SubjectGeneration>,
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

/// How many batches travel together: servers take up to 1,000.
const TOGETHER: usize = 500;
/// How many bytes they have at most.
const TOGETHER_BYTES: usize = 4 << 20;

/// A batch that is ready to be published.
struct Prepared {
    batch: Batch,
    encoded: Vec<u8>,
    /// Where the session ends with it; its number is not known yet.
    after: Known,
    named: NamedTexts,
}

impl Prepared {
    /// Its message, to be stored behind the last one of `known`.
    fn message(&self, subject: String, stream: &str, known: Option<&Known>) -> NewMessage {
        let token = known.map_or(0, |known| known.token);
        let Known { key_at, generation, .. } = &self.after;
        let place = PublishPlace { stream, token, key_at: *key_at, generation: generation.as_ref() };
        let (headers, payload) = written(&self.batch, &self.encoded, &place);
        NewMessage { subject, headers, payload }
    }
}

/// State of the tries of one append.
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
        self.append_to(draft, &mut known, Tries::default()).await
    }

    async fn append_to(
        &self,
        draft: Draft,
        known: &mut Option<Known>,
        mut tries: Tries,
    ) -> Result<Committed, AppendError> {
        let mut patience = Patience::new(&self.connection);
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
            let error = match self.attempt(&draft, known, &mut tries).await? {
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
        let session = draft.session;
        let head = known.as_ref().map(|known| known.head);
        let Some(prepared) = self.prepare(draft, known.as_ref()).await? else {
            let key = known.as_ref().and_then(|known| known.key);
            return self.behind(draft, head, key, tries).await.map(Ok);
        };
        let stream = self.layout.stream(self.layout.shard_of(session));
        let message = prepared.message(self.layout.subject(session), &stream, known.as_ref());
        let Prepared { batch, after, named, .. } = prepared;
        match self.connection.publish_message(message).await {
            Ok(ack) if ack.stream == stream && !ack.duplicate => {
                let batch = Arc::new(batch);
                *known = Some(Known { token: ack.seq, ..after });
                self.places.note(session, batch.first, ack.seq);
                if let Err(error) = self.keep_named(&[&named]).await {
                    tracing::debug!(%error, "it is not known whether a text is still there");
                    tries.unknown = Some(batch.digest);
                    return Ok(Err(ApiError::NoAnswer(error.to_string())));
                }
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
                tries.unknown = Some(batch.digest);
                Ok(Err(error))
            }
            Err(error) => Err(unwritable(error)),
        }
    }

    /// The batch that a draft makes in a session that ends at `known`, its texts durable; `None` when the log is further on.
    async fn prepare(&self, draft: &Draft, known: Option<&Known>) -> Result<Option<Prepared>, AppendError> {
        let (session, seq) = (draft.session, draft.expected);
        let head = known.map(|known| known.head);
        let of_session = known.and_then(|known| known.key);
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
            Placement::Behind => return Ok(None),
        };
        let mut draft = draft.clone();
        self.blobs.bring(named_by(&mut draft)).await.map_err(unwritable)?;
        let local = super::blobs::LocalBlobs(self.blobs.clone());
        let sealed = append_rules::seal(draft, prev, key.as_ref(), &local)?;
        let Sealed { batch, encoded, blobs, needed } = sealed;
        let named = match self.put_named(&needed, blobs).await? {
            Ok(named) => named,
            Err(blob) => return Err(AppendError::MissingBlob { session, seq, blob }),
        };
        let brings = batch.events.first().is_some_and(|event| event.stored_key().is_some());
        let key_at = match known {
            Some(known) if !brings => known.key_at,
            _ => seq,
        };
        let head = Head { next: batch.next(), digest: batch.digest, at: batch.at };
        let generation = known.and_then(|known| known.generation.clone());
        Ok(Some(Prepared { batch, encoded, after: Known { head, token: 0, key, key_at, generation }, named }))
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
        self.blobs.bring(named_by(&mut draft.clone())).await.map_err(unwritable)?;
        let local = super::blobs::LocalBlobs(self.blobs.clone());
        if !append_rules::is_duplicate(draft, &found.batch, key.as_ref(), &local)? {
            return Err(conflict());
        }
        let hashes = found.batch.blobs().into_iter().map(|named| named.blob).collect();
        self.keep_named(&[&NamedTexts { hashes, ..NamedTexts::default() }]).await?;
        // A try of this very call may have written it.
        let known = tries.unknown != Some(found.batch.digest);
        Ok(Committed { batch: found.batch.clone(), position: self.position(draft.session, found.seq), known })
    }

    /// Where a session ends, from the leader.
    async fn load(&self, session: SessionId) -> Result<Option<Known>, AppendError> {
        let Some(last) = self.last(session).await.map_err(unread)? else { return Ok(None) };
        let Last { message, first, head, generation } = &last;
        let key_at = message.key_at().unwrap_or(*first);
        let batch = match key_at == *first && !message.is_marker() {
            true => message.batch(),
            false => {
                let found = self.own_from(session, key_at, 1).await.map_err(unread)?;
                found.into_iter().next().map(|stored| stored.batch)
            }
        };
        let lost = || AppendError::Misplaced { session, reason: append_rules::LOST_END };
        let batch = batch.filter(|batch| batch.first == key_at).ok_or_else(lost)?;
        let (key, generation) = (batch.session_key(), generation.clone());
        Ok(Some(Known { head: *head, token: message.seq, key, key_at, generation }))
    }

    /// Appends drafts in their order: those of one session that follow each other travel together.
    pub async fn append_all(&self, drafts: Vec<Draft>) -> Appended {
        let (mut appended, mut rest) = (Appended::default(), VecDeque::from(drafts));
        while let Some(first) = rest.front() {
            let session = first.session;
            let count = rest.iter().take(TOGETHER).take_while(|draft| draft.session == session).count();
            let run: Vec<Draft> = rest.drain(..count).collect();
            let known = self.writers.of(session);
            let mut known = known.lock().await;
            if let Err(error) = self.append_run(run, &mut known, &mut appended.committed).await {
                appended.refused = Some(error);
                break;
            }
        }
        appended
    }

    /// Appends drafts of one session.
    async fn append_run(
        &self,
        drafts: Vec<Draft>,
        known: &mut Option<Known>,
        committed: &mut Vec<Committed>,
    ) -> Result<(), AppendError> {
        if drafts.len() > 1 && known.is_none() {
            *known = match drafts.first() {
                Some(first) => one_call(self.load(first.session)).await?,
                None => None,
            };
        }
        let mut tries: VecDeque<Option<Digest>> = VecDeque::new();
        let mut done = 0;
        if drafts.len() > 1 {
            let prepared = self.prepare_run(&drafts, known.as_ref()).await;
            match self.publish_run(prepared, known).await {
                Ok(stored) => {
                    done = stored.len();
                    committed.extend(stored);
                }
                // Which of them are there is found out one by one.
                Err(sent) => {
                    tries = sent.into_iter().map(Some).collect();
                    *known = None;
                }
            }
        }
        for draft in drafts.into_iter().skip(done) {
            let tries = Tries { unknown: tries.pop_front().flatten(), ..Tries::default() };
            if known.is_none() {
                *known = one_call(self.load(draft.session)).await?;
            }
            committed.push(one_call(self.append_to(draft, known, tries)).await?);
        }
        Ok(())
    }

    /// The batches that drafts make one after another, up to the first that is refused by itself, or is not new.
    async fn prepare_run(&self, drafts: &[Draft], known: Option<&Known>) -> Vec<Prepared> {
        let (mut prepared, mut bytes): (Vec<Prepared>, usize) = (Vec::new(), 0);
        for draft in drafts {
            let before = prepared.last().map(|one| &one.after).or(known);
            let Ok(Some(next)) = self.prepare(draft, before).await else { break };
            bytes += next.encoded.len();
            if bytes > TOGETHER_BYTES {
                break;
            }
            prepared.push(next);
        }
        prepared
    }

    /// Publishes batches together. The error: the digests of what may be stored, or not; empty when nothing is.
    async fn publish_run(
        &self,
        prepared: Vec<Prepared>,
        known: &mut Option<Known>,
    ) -> Result<Vec<Committed>, Vec<Digest>> {
        let Some((session, last)) = prepared.last().map(|last| (last.batch.session, last.after.clone())) else {
            return Ok(Vec::new());
        };
        if prepared.len() < 2 {
            return Ok(Vec::new());
        }
        let stream = self.layout.stream(self.layout.shard_of(session));
        // The server compares the first one; the others follow it.
        let mut messages = Vec::with_capacity(prepared.len());
        for (at, one) in prepared.iter().enumerate() {
            let message = one.message(self.layout.subject(session), &stream, known.as_ref());
            messages.push(if at == 0 { message } else { following(message) });
        }
        let digests: Vec<Digest> = prepared.iter().map(|one| one.batch.digest).collect();
        let count = prepared.len() as u64;
        let published = self.connection.publish_together(&messages).await;
        let last_seq = match published {
            Ok(ack) if ack.stream == stream && !ack.duplicate && ack.seq >= count => ack.seq,
            Ok(_) => return Err(digests),
            Err(error) => {
                tracing::debug!(%error, "batches were not stored together; they are appended one by one");
                return Err(if error.is_passing() { digests } else { Vec::new() });
            }
        };
        *known = Some(Known { token: last_seq, ..last });
        let named: Vec<&NamedTexts> = prepared.iter().map(|one| &one.named).collect();
        if let Err(error) = self.keep_named(&named).await {
            tracing::debug!(%error, "it is not known whether texts are still there");
            return Err(digests);
        }
        let stored = prepared.into_iter().zip(last_seq + 1 - count..).map(|(one, seq)| {
            self.places.note(session, one.batch.first, seq);
            Committed { position: self.position(session, seq), batch: Arc::new(one.batch), known: false }
        });
        Ok(stored.collect())
    }
}

/// A message that follows another one of its subject in the same publication.
fn following(message: NewMessage) -> NewMessage {
    let mut headers = HeaderMap::new();
    for (name, values) in message.headers.iter().filter(|(name, _)| name.to_string() != EXPECTED_LAST) {
        values.iter().for_each(|value| headers.append(name.clone(), value.clone()));
    }
    NewMessage { headers, ..message }
}

/// The blobs that a draft names. It stays as it is.
fn named_by(draft: &mut Draft) -> Vec<BlobHash> {
    let mut named = Vec::new();
    for event in &mut draft.events {
        event.texts(&mut |text| {
            if let Text::Blob(blob) = text {
                named.push(blob.blob);
            }
        });
    }
    named
}
