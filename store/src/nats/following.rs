//! Following: pages are read as everywhere; what servers announce as stored only says when to look again.

use super::api::GetMessage;
use super::connection::Patience;
use super::log::{NatsStore, unreadable};
use super::message::StreamMessage;
use super::reading::damaged;
use crate::following::{FollowSource, FollowedBatch, following};
use crate::log::{Boxed, Followed, Following, Position, ReadError, Scope, Slice, StoreCursor, StorePlace};
use annals_core::event::SessionEvent;
use annals_core::{Batch, Event, Seq, SessionId};
use futures_util::StreamExt;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How many batches a follower takes at a time.
const PAGE: usize = 256;
/// How often it is looked whether an announcement was lost.
const POLL: Duration = Duration::from_secs(2);

pub fn follow(store: Arc<NatsStore>, scope: Scope) -> Following {
    match scope {
        Scope::Session { session, from } => {
            let (length, _) = announced(&store, Some(session));
            following(NatsSessionPages { store, session, from, began_at: None }, length)
        }
        Scope::All { from } => {
            let (length, heard) = announced(&store, None);
            let shards = from.shards(store.layout.shards as usize);
            following(NatsAllPages { store, heard, from: shards.map(|(next, _)| next), parts: Vec::new() }, length)
        }
    }
}

/// The newest number that was announced of each shard.
type Heard = Arc<Mutex<Vec<u64>>>;

/// What changes whenever something of a session, or of any, was stored, and every two seconds.
fn announced(store: &Arc<NatsStore>, session: Option<SessionId>) -> (watch::Receiver<Position>, Heard) {
    let (changes, length) = watch::channel(Position(0));
    let heard: Heard = Arc::new(Mutex::new(vec![0; store.layout.shards as usize]));
    let (subject, all) = (store.layout.live(session), heard.clone());
    let client = store.connection.client.clone();
    store.connection.spawn(async move {
        let mut live = client.subscribe(subject).await.ok();
        loop {
            let next = async {
                match &mut live {
                    Some(live) => live.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = changes.closed() => return,
                message = next => match message {
                    Some(message) => note(&message, &all),
                    None => live = None,
                },
                () = tokio::time::sleep(POLL) => {}
            }
            changes.send_modify(|position| position.0 += 1);
        }
    });
    (length, heard)
}

fn note(message: &async_nats::Message, heard: &Heard) {
    let shard = message.subject.split('.').nth(2).and_then(|shard| shard.parse::<usize>().ok());
    let seq = message.headers.as_ref().and_then(|headers| headers.get("Nats-Sequence"));
    let seq = seq.and_then(|seq| seq.as_str().parse::<u64>().ok());
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    if let (Some(slot), Some(seq)) = (shard.and_then(|shard| heard.get_mut(shard)), seq) {
        *slot = (*slot).max(seq);
    }
}

struct NatsSessionPages {
    store: Arc<NatsStore>,
    session: SessionId,
    from: Seq,
    /// Where the session ended when it was read first.
    began_at: Option<Seq>,
}

impl FollowSource for NatsSessionPages {
    fn next(&mut self) -> Boxed<'_, Result<Vec<FollowedBatch>, ReadError>> {
        Box::pin(async move {
            let began_at = match self.began_at {
                Some(began_at) => began_at,
                None => {
                    let last = self.store.last(self.session).await?.ok_or(ReadError::NoSession(self.session))?;
                    *self.began_at.insert(last.head.next)
                }
            };
            let slices = self.store.read(self.session, self.from, PAGE).await?;
            if let Some(last) = slices.last() {
                self.from = last.until;
            }
            let page = |slice: Slice| FollowedBatch {
                new: slice.batch.first >= began_at,
                item: Followed::Batch { slice, place: None },
            };
            Ok(slices.into_iter().map(page).collect())
        })
    }
}

/// All streams, merged by the times of their servers.
struct NatsAllPages {
    store: Arc<NatsStore>,
    heard: Heard,
    /// The next number of each shard that was not given yet.
    from: Result<Vec<u64>, ReadError>,
    parts: Vec<FollowedShard>,
}

/// One stream.
struct FollowedShard {
    /// What was read and not given.
    ready: VecDeque<(StreamMessage, Arc<Batch>)>,
    /// The next number to read.
    next: u64,
    /// The last number when following began.
    began_at: u64,
}

impl FollowSource for NatsAllPages {
    fn next(&mut self) -> Boxed<'_, Result<Vec<FollowedBatch>, ReadError>> {
        Box::pin(async move {
            let mut from = self.from.clone()?;
            if self.parts.is_empty() {
                for (shard, next) in (0..self.store.layout.shards).zip(&from) {
                    let began_at = self.store.last_of(shard).await?;
                    self.parts.push(FollowedShard { ready: VecDeque::new(), next: (*next).max(1), began_at });
                }
            }
            let mut given = Vec::new();
            loop {
                let filled = (0..self.parts.len()).map(|shard| self.read(shard));
                let filled: Vec<_> = futures_util::future::try_join_all(filled).await?;
                for (part, (found, next)) in self.parts.iter_mut().zip(filled) {
                    part.ready.extend(found);
                    part.next = next;
                }
                while given.len() < PAGE
                    && let Some((shard, message, batch)) = self.take()
                {
                    given.push(self.given(&mut from, shard, message.seq, batch));
                }
                if !given.is_empty() || !self.parts.iter().any(FollowedShard::is_behind) {
                    break;
                }
            }
            let named: Vec<_> = given.iter().flat_map(|one| named(&one.item)).collect();
            self.store.blobs.bring(named).await.map_err(unreadable)?;
            self.from = Ok(from);
            Ok(given)
        })
    }
}

fn named(item: &Followed) -> Vec<annals_core::BlobHash> {
    match item {
        Followed::Batch { slice, .. } => slice.batch.blobs().into_iter().map(|named| named.blob).collect(),
        Followed::Synced => Vec::new(),
    }
}

impl FollowedShard {
    /// Whether something that was there when following began has to be read first.
    fn is_behind(&self) -> bool {
        self.ready.is_empty() && self.next <= self.began_at
    }
}

impl NatsAllPages {
    fn given(&self, from: &mut [u64], shard: usize, seq: u64, batch: Arc<Batch>) -> FollowedBatch {
        if let Some(next) = from.get_mut(shard) {
            *next = seq + 1;
        }
        let cursor = StoreCursor::sharded(from.to_vec(), u32::try_from(shard).unwrap_or(u32::MAX));
        let place = StorePlace { position: self.store.position(batch.session, seq), cursor };
        let slice = Slice { from: batch.first, until: batch.next(), batch };
        let new = self.parts.get(shard).is_some_and(|part| seq > part.began_at);
        FollowedBatch { new, item: Followed::Batch { slice, place: Some(place) } }
    }

    /// Reads on in one stream, if nothing of it is ready. Gives what it found and the next number.
    async fn read(&self, shard: usize) -> Result<(Vec<(StreamMessage, Arc<Batch>)>, u64), ReadError> {
        let Some(part) = self.parts.get(shard) else { return Ok((Vec::new(), 0)) };
        if !part.ready.is_empty() {
            return Ok((Vec::new(), part.next));
        }
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner).get(shard).copied().unwrap_or_default();
        // Up to here something is due.
        let due = part.began_at.max(heard);
        let stream = self.store.layout.stream(shard as u32);
        let next_by_subj = Some(self.store.layout.subjects(shard as u32));
        let mut patience = Patience::new(&self.store.connection);
        let mut lagged = false;
        loop {
            let get = GetMessage { seq: Some(part.next), next_by_subj: next_by_subj.clone(), ..GetMessage::default() };
            let found = match lagged {
                false => {
                    let get = GetMessage { batch: Some(PAGE), ..get };
                    match self.store.connection.direct(&stream, &get).await {
                        Ok(found) => found,
                        Err(error) if patience.again(&error).await => continue,
                        Err(error) => return Err(unreadable(error)),
                    }
                }
                true => self.store.ask_leader(&stream, &get).await?.into_iter().collect(),
            };
            let found: Vec<StreamMessage> = found.into_iter().filter(|message| message.seq >= part.next).collect();
            match found.last().map(|message| message.seq) {
                Some(last) => {
                    let next = last + 1;
                    let read = found.into_iter().map(|message| {
                        let session = message.session().unwrap_or(SessionId([0; 16]));
                        let place = message.first().unwrap_or_default();
                        let batch =
                            message.batch().ok_or_else(|| damaged(session, place, "the batch here is damaged"))?;
                        Ok((message, batch))
                    });
                    return Ok((read.collect::<Result<_, ReadError>>()?, next));
                }
                None if part.next > due => return Ok((Vec::new(), part.next)),
                // A replica that lags, unless the leader has nothing either: then what was there was erased.
                None if !lagged => lagged = true,
                None => return Ok((Vec::new(), due + 1)),
            }
        }
    }

    /// The next batch of all streams: the oldest of those that are due.
    fn take(&mut self) -> Option<(usize, StreamMessage, Arc<Batch>)> {
        // What was there when following began comes before what is new.
        let old = |part: &FollowedShard| part.ready.front().is_some_and(|(message, _)| message.seq <= part.began_at);
        let any_old = self.parts.iter().any(old);
        if self.parts.iter().any(FollowedShard::is_behind) {
            // Another page has to be read first, so that times are compared.
            return None;
        }
        let candidates = self.parts.iter().enumerate().filter(|(_, part)| !any_old || old(part));
        let (mut shard, _) = candidates
            .filter_map(|(shard, part)| part.ready.front().map(|(message, _)| (shard, message.time.clone())))
            .min_by(|a, b| a.1.cmp(&b.1))?;
        // A fork comes after what it inherits.
        for _ in 0..self.parts.len() {
            match self.parts.get(shard).and_then(|part| part.ready.front()).and_then(|(_, batch)| parent_of(batch)) {
                Some((parent, cut)) => match self.waiting(parent, cut) {
                    Some(other) if other != shard => shard = other,
                    _ => break,
                },
                None => break,
            }
        }
        let (message, batch) = self.parts.get_mut(shard)?.ready.pop_front()?;
        Some((shard, message, batch))
    }

    /// The shard in which a batch before `cut` of a session was read and not given.
    fn waiting(&self, session: SessionId, cut: Seq) -> Option<usize> {
        let holds = |(_, batch): &(StreamMessage, Arc<Batch>)| batch.session == session && batch.first < cut;
        self.parts.iter().position(|part| part.ready.iter().any(holds))
    }
}

fn parent_of(batch: &Batch) -> Option<(SessionId, Seq)> {
    match batch.events.first() {
        Some(Event::Session(SessionEvent::Forked(fork))) => Some((fork.parent, fork.cut)),
        _ => None,
    }
}
