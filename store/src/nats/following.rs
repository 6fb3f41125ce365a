//! Following: pages are read as everywhere; what servers announce as stored only says when to look again.

use super::api::GetMessage;
use super::connection::Patience;
use super::followed_shard::{FollowedShard, ReadBatch, ShardPage, read_batch};
use super::generation::SubjectGeneration;
use super::log::{NatsStore, unreadable};
use super::message::StreamMessage;
use super::reading::damaged;
use crate::following::{FollowSource, FollowedBatch, following};
use crate::log::{Boxed, Followed, Following, Position, ReadError, Scope, Slice, StoreCursor, StorePlace};
use annals_core::event::SessionEvent;
use annals_core::{Batch, Event, Seq, SessionId};
use futures_util::StreamExt;
use std::collections::BTreeSet;
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
            let began = shards.map(|(next, _)| next);
            following(NatsAllPages { store, heard, cursor: from, from: began, parts: Vec::new() }, length)
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
                    let last = self.store.last_whole(self.session).await?.ok_or(ReadError::NoSession(self.session))?;
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
    /// Where following began.
    cursor: StoreCursor,
    /// The next number of each shard that was not given yet.
    from: Result<Vec<u64>, ReadError>,
    parts: Vec<FollowedShard>,
}

impl FollowSource for NatsAllPages {
    fn next(&mut self) -> Boxed<'_, Result<Vec<FollowedBatch>, ReadError>> {
        Box::pin(async move {
            let mut from = self.from.clone()?;
            if self.parts.is_empty() {
                for (shard, next) in (0..self.store.layout.shards).zip(&from) {
                    let began_at = self.store.last_of(shard).await?;
                    let gaps = self.cursor.gaps(shard as usize);
                    self.parts.push(FollowedShard::new((*next).max(1), began_at, &gaps));
                }
            }
            let mut given = Vec::new();
            loop {
                let filled = (0..self.parts.len()).map(|shard| self.read(shard));
                let filled: Vec<_> = futures_util::future::try_join_all(filled).await?;
                for (part, page) in self.parts.iter_mut().zip(filled) {
                    part.take(page);
                }
                while given.len() < PAGE
                    && let Some((shard, read)) = self.take()
                {
                    given.push(self.given(&mut from, shard, read));
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

impl NatsAllPages {
    fn given(&mut self, from: &mut [u64], shard: usize, read: ReadBatch) -> FollowedBatch {
        let ReadBatch { batch, seq, place: behind, was, .. } = read;
        if let (Some(part), Some(was)) = (self.parts.get_mut(shard), was) {
            part.resolve(was);
        }
        if let Some(next) = from.get_mut(shard) {
            *next = behind + 1;
        }
        let cursor = StoreCursor::sharded(from.to_vec(), u32::try_from(shard).unwrap_or(u32::MAX));
        let gaps = from.iter().zip(&mut self.parts).map(|(next, part)| part.gaps_before(*next)).collect();
        let cursor = cursor.amid_erasures(gaps);
        let place = StorePlace { position: self.store.position(batch.session, seq), cursor };
        let slice = Slice { from: batch.first, until: batch.next(), batch };
        let new = self.parts.get(shard).is_some_and(|part| behind > part.began_at);
        FollowedBatch { new, item: Followed::Batch { slice, place: Some(place) } }
    }

    /// Reads on in one stream, if nothing of it is ready.
    async fn read(&self, shard: usize) -> Result<ShardPage, ReadError> {
        let Some(part) = self.parts.get(shard) else { return Ok(ShardPage::default()) };
        let nothing = |next| Ok(ShardPage { next, ..ShardPage::default() });
        if !part.ready.is_empty() {
            return nothing(part.next);
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
            if !found.is_empty() {
                return self.page(part, found).await;
            }
            match lagged {
                _ if part.next > due => return nothing(part.next),
                // A replica that lags, unless the leader has nothing either: then what was there was erased.
                false => lagged = true,
                true => {
                    let gap = part.next..due + 1;
                    return Ok(ShardPage { next: gap.end, gaps: vec![gap], ..ShardPage::default() });
                }
            }
        }
    }

    /// The batches of messages. Behind a marker are those that this follower did not get before they were erased.
    async fn page(&self, part: &FollowedShard, found: Vec<StreamMessage>) -> Result<ShardPage, ReadError> {
        let mut page = ShardPage { next: part.next, ..ShardPage::default() };
        // Of a session that was erased twice both copies may be there.
        let mut claimed = BTreeSet::new();
        for message in found {
            if message.seq > page.next {
                page.gaps.push(page.next..message.seq);
            }
            page.next = message.seq + 1;
            let session = message.session().unwrap_or(SessionId([0; 16]));
            if !message.is_marker() {
                match read_batch(&message, session, message.seq) {
                    Ok(read) => page.batches.push(read),
                    // It is for those who read its session, and for verification.
                    Err(error) => tracing::warn!(seq = message.seq, subject = %message.subject, %error, "not followed"),
                }
                continue;
            }
            let Some(generation) = message.generation() else {
                return Err(damaged(session, message.first().unwrap_or_default(), "its marker is damaged"));
            };
            let copies = self.store.copies(session, &generation).await?;
            let missed = copies.iter().filter(|copy| part.missed(copy.was(), &page.gaps) && claimed.insert(copy.was()));
            let read = |copy| {
                let read = read_batch(copy, session, message.seq - 1)?;
                Ok(ReadBatch { was: Some(copy.was()), ..read })
            };
            let mut missed: Vec<ReadBatch> = missed.map(read).collect::<Result<_, ReadError>>()?;
            // With the last one the marker is passed.
            missed.last_mut().into_iter().for_each(|last| last.place = message.seq);
            page.batches.extend(missed);
        }
        Ok(page)
    }

    /// The next batch of all streams: the oldest of those that are due.
    fn take(&mut self) -> Option<(usize, ReadBatch)> {
        // What was there when following began comes before what is new.
        let old = |part: &FollowedShard| part.ready.front().is_some_and(|read| read.place <= part.began_at);
        let any_old = self.parts.iter().any(old);
        if self.parts.iter().any(FollowedShard::is_behind) {
            // Another page has to be read first, so that times are compared.
            return None;
        }
        let candidates = self.parts.iter().enumerate().filter(|(_, part)| !any_old || old(part));
        let (mut shard, _) = candidates
            .filter_map(|(shard, part)| part.ready.front().map(|read| (shard, read.time.clone())))
            .min_by(|a, b| a.1.cmp(&b.1))?;
        // A fork comes after what it inherits.
        for _ in 0..self.parts.len() {
            match self.parts.get(shard).and_then(|part| part.ready.front()).and_then(|read| parent_of(&read.batch)) {
                Some((parent, cut)) => match self.waiting(parent, cut) {
                    Some(other) if other != shard => shard = other,
                    _ => break,
                },
                None => break,
            }
        }
        let read = self.parts.get_mut(shard)?.ready.pop_front()?;
        Some((shard, read))
    }

    /// The shard in which a batch before `cut` of a session was read and not given.
    fn waiting(&self, session: SessionId, cut: Seq) -> Option<usize> {
        let holds = |read: &ReadBatch| read.batch.session == session && read.batch.first < cut;
        self.parts.iter().position(|part| part.ready.iter().any(holds))
    }
}

impl NatsStore {
    /// The copies of a session that are behind a marker; none when they were erased again, since then another marker follows.
    async fn copies(
        &self,
        session: SessionId,
        generation: &SubjectGeneration,
    ) -> Result<Vec<StreamMessage>, ReadError> {
        let subject = self.layout.generation_subject(session, &generation.id);
        let copies = self.messages(session, &subject, 1, generation.last).await?;
        let whole = copies.last().and_then(StreamMessage::head).is_some_and(|head| head.next == generation.until);
        Ok(if whole { copies } else { Vec::new() })
    }
}

fn parent_of(batch: &Batch) -> Option<(SessionId, Seq)> {
    match batch.events.first() {
        Some(Event::Session(SessionEvent::Forked(fork))) => Some((fork.parent, fork.cut)),
        _ => None,
    }
}
