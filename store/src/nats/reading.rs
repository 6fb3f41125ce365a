//! Reading a session: the head from the leader, pages from any replica, each checked to be dense up to that head.

use super::api::{GetMessage, GotMessage, NO_MESSAGE};
use super::log::{NatsStore, unreadable};
use super::message::{StreamMessage, from_leader};
use crate::lineage::{Birth, Lineage, slice};
use crate::log::{Head, Position, ReadError, Slice, StoreCursor};
use annals_core::{Batch, Seq, SessionId};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// How many messages are asked for at a time.
const PAGE: usize = 500;
/// How many batches a place is looked for at least when reading backwards.
const BACK: u64 = 16;
/// How often a replica that lags is asked before the leader is.
const LAGS: u32 = 2;
/// How many sessions are remembered.
const SESSIONS: usize = 4096;
/// How many places of a session are remembered.
const PLACES: usize = 4096;

/// The last batch of a session.
#[derive(Clone, Debug)]
pub struct Last {
    pub message: StreamMessage,
    pub first: Seq,
    pub head: Head,
}

/// A batch and its number in its stream.
#[derive(Clone, Debug)]
pub struct NatsBatch {
    pub batch: Arc<Batch>,
    pub seq: u64,
}

/// Where batches of sessions are in their streams, as far as it was seen. Never wrong: what is stored stays where it is.
#[derive(Debug, Default)]
pub struct KnownPlaces(Mutex<HashMap<SessionId, SessionPlaces>>);

#[derive(Clone, Debug, Default)]
struct SessionPlaces {
    birth: Option<Birth>,
    /// By the first event.
    at: BTreeMap<Seq, u64>,
}

impl KnownPlaces {
    fn with<T>(&self, session: SessionId, call: impl FnOnce(&mut SessionPlaces) -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= SESSIONS && !all.contains_key(&session) {
            all.clear();
        }
        call(all.entry(session).or_default())
    }

    pub fn note(&self, session: SessionId, first: Seq, seq: u64) {
        self.with(session, |places| {
            if places.at.len() >= PLACES {
                places.at.clear();
            }
            places.at.insert(first, seq);
        });
    }

    /// The nearest places at or before an event, and after it.
    fn around(&self, session: SessionId, seq: Seq) -> (Option<(Seq, u64)>, Option<u64>) {
        self.with(session, |places| {
            let before = places.at.range(..=seq).next_back().map(|(first, at)| (*first, *at));
            let after = places.at.range(seq.plus(1)..).next().map(|(_, at)| *at);
            (before, after)
        })
    }
}

pub fn damaged(session: SessionId, seq: Seq, reason: &str) -> ReadError {
    ReadError::Damaged { session, seq, reason: reason.to_owned() }
}

impl NatsStore {
    /// A message from the leader of a stream.
    pub async fn ask_leader(&self, stream: &str, get: &GetMessage) -> Result<Option<StreamMessage>, ReadError> {
        let subject = format!("$JS.API.STREAM.MSG.GET.{stream}");
        match self.connection.ask::<GotMessage>(&subject, get).await {
            Ok(got) => from_leader(got.message).map(Some).map_err(unreadable),
            Err(error) if error.is(NO_MESSAGE) => Ok(None),
            Err(error) => Err(unreadable(error)),
        }
    }

    /// The last batch of a session's own log.
    pub async fn last(&self, session: SessionId) -> Result<Option<Last>, ReadError> {
        let get = GetMessage { last_by_subj: Some(self.layout.subject(session)), ..GetMessage::default() };
        let stream = self.layout.stream(self.layout.shard_of(session));
        let Some(message) = self.ask_leader(&stream, &get).await? else { return Ok(None) };
        let (Some(first), Some(head)) = (message.first(), message.head()) else {
            return Err(damaged(session, Seq::ZERO, "its last message has no valid headers"));
        };
        self.places.note(session, first, message.seq);
        Ok(Some(Last { message, first, head }))
    }

    /// The first message of a session from a number in its stream on.
    pub async fn next_from(&self, session: SessionId, seq: u64) -> Result<Option<StreamMessage>, ReadError> {
        let next_by_subj = Some(self.layout.subject(session));
        let get = GetMessage { seq: Some(seq.max(1)), next_by_subj, ..GetMessage::default() };
        self.ask_leader(&self.layout.stream(self.layout.shard_of(session)), &get).await
    }

    /// How a session's own log begins.
    pub async fn birth(&self, session: SessionId) -> Result<Option<Birth>, ReadError> {
        if let Some(birth) = self.places.with(session, |places| places.birth) {
            return Ok(Some(birth));
        }
        let Some(message) = self.next_from(session, 1).await? else { return Ok(None) };
        let batch = message.batch().ok_or_else(|| damaged(session, Seq::ZERO, "its first batch is damaged"))?;
        let birth = Birth::of(&batch);
        self.places.note(session, birth.first, message.seq);
        self.places.with(session, |places| places.birth = Some(birth));
        Ok(Some(birth))
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

    /// The number of the message that holds an event of a session's own log, which ends at `last`.
    async fn locate(&self, session: SessionId, seq: Seq, last: &Last) -> Result<u64, ReadError> {
        if seq >= last.first {
            return Ok(last.message.seq);
        }
        let (before, after) = self.places.around(session, seq);
        let mut low = before.map_or(1, |(_, at)| at);
        if before.is_some_and(|(first, _)| first == seq) {
            return Ok(low);
        }
        let mut high = after.unwrap_or(last.message.seq).min(last.message.seq);
        // What holds the event is a message of the session in `low..high`: the first one behind the middle says in which half.
        while low < high {
            let middle = low + (high - low) / 2;
            let message = self.next_from(session, middle).await?;
            let found = message.and_then(|message| Some((message.first()?, message.head()?.next, message.seq)));
            let Some((first, next, at)) = found else {
                return Err(damaged(session, seq, "its messages have no headers"));
            };
            self.places.note(session, first, at);
            if first <= seq && seq < next {
                return Ok(at);
            }
            if first > seq {
                high = middle;
            } else {
                low = at + 1;
            }
        }
        Ok(low)
    }

    /// Up to `limit` batches of a session's own log from the one that holds `from` on.
    pub async fn own_from(&self, session: SessionId, from: Seq, limit: usize) -> Result<Vec<NatsBatch>, ReadError> {
        let last = self.last(session).await?.ok_or(ReadError::NoSession(session))?;
        self.own_up_to(session, from, limit, &last).await
    }

    async fn own_up_to(
        &self,
        session: SessionId,
        from: Seq,
        limit: usize,
        last: &Last,
    ) -> Result<Vec<NatsBatch>, ReadError> {
        let mut found: Vec<NatsBatch> = Vec::new();
        if from >= last.head.next || limit == 0 {
            return Ok(found);
        }
        let stream = self.layout.stream(self.layout.shard_of(session));
        let mut at = self.locate(session, from, last).await?;
        let (mut due, mut lagged) = (None, 0);
        while found.len() < limit && at <= last.message.seq {
            if at == last.message.seq {
                self.take(session, &last.message, &mut due, &mut found)?;
                break;
            }
            let batch = Some((limit - found.len()).min(PAGE));
            let subject = Some(self.layout.subject(session));
            let get = GetMessage { seq: Some(at), next_by_subj: subject, batch, ..GetMessage::default() };
            let page = match self.connection.direct(&stream, &get).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::debug!(%error, "a replica did not answer; the leader is asked");
                    Vec::new()
                }
            };
            let before = found.len();
            let wanted = at..=last.message.seq;
            for message in page.iter().filter(|message| wanted.contains(&message.seq)) {
                let is_next = due.is_none_or(|due| message.first() == Some(due));
                if !is_next {
                    break;
                }
                self.take(session, message, &mut due, &mut found)?;
                at = message.seq + 1;
            }
            if found.len() > before {
                lagged = 0;
                continue;
            }
            lagged += 1;
            if lagged < LAGS {
                continue;
            }
            // The replica lags: the leader has it.
            match self.next_from(session, at).await? {
                Some(message) if message.seq <= last.message.seq => {
                    self.take(session, &message, &mut due, &mut found)?;
                    at = message.seq + 1;
                }
                _ if found.is_empty() => {
                    return Err(damaged(session, due.unwrap_or(from), "a message is missing in the cluster"));
                }
                _ => break,
            }
        }
        let named = found.iter().flat_map(|stored| stored.batch.blobs()).map(|named| named.blob);
        self.blobs.bring(named.collect::<Vec<_>>()).await.map_err(unreadable)?;
        Ok(found)
    }

    /// Adds a batch if it is the one that is due.
    fn take(
        &self,
        session: SessionId,
        message: &StreamMessage,
        due: &mut Option<Seq>,
        found: &mut Vec<NatsBatch>,
    ) -> Result<(), ReadError> {
        let place = due.or_else(|| message.first()).unwrap_or_default();
        let Some(batch) = message.batch().filter(|batch| batch.session == session) else {
            // What is before it is given; the next read begins here.
            return if found.is_empty() { Err(damaged(session, place, "the batch here is damaged")) } else { Ok(()) };
        };
        if due.is_some_and(|due| batch.first != due) {
            return Err(damaged(session, place, "a batch is missing before the next one"));
        }
        self.places.note(session, batch.first, message.seq);
        *due = Some(batch.next());
        found.push(NatsBatch { batch, seq: message.seq });
        Ok(())
    }

    /// Up to `limit` batches of a session's own log that begin before `before`, newest first.
    async fn own_before(&self, session: SessionId, before: Seq, limit: usize) -> Result<Vec<NatsBatch>, ReadError> {
        let last = self.last(session).await?.ok_or(ReadError::NoSession(session))?;
        let first = self.birth(session).await?.map_or(Seq::ZERO, |birth| birth.first);
        let end = before.min(last.head.next);
        if end <= first || limit == 0 {
            return Ok(Vec::new());
        }
        let mut wanted = (limit as u64).saturating_mul(2).max(BACK);
        loop {
            let from = Seq(end.0.saturating_sub(wanted)).max(first);
            let mut found = Vec::new();
            let mut next = from;
            while next < end {
                let page = self.own_up_to(session, next, PAGE, &last).await?;
                let Some(ends) = page.last().map(|stored| stored.batch.next()) else { break };
                next = ends;
                found.extend(page.into_iter().filter(|stored| stored.batch.first < end));
            }
            if found.len() >= limit || from == first {
                found.reverse();
                found.truncate(limit);
                return Ok(found);
            }
            wanted = wanted.saturating_mul(4);
        }
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

    /// See [`crate::EventLog::last_before`].
    pub async fn last_before(&self, cursor: &StoreCursor) -> Result<Option<Slice>, ReadError> {
        let (next, shard) = cursor.shards(self.layout.shards as usize)?;
        let before = next.get(shard as usize).and_then(|next| next.checked_sub(1)).filter(|before| *before > 0);
        let Some(before) = before else { return Ok(None) };
        let get = GetMessage { seq: Some(before), ..GetMessage::default() };
        let message = self.ask_leader(&self.layout.stream(shard), &get).await?;
        let batch = message.and_then(|message| message.batch());
        Ok(batch.map(|batch| Slice { from: batch.first, until: batch.next(), batch }))
    }

    /// The number of a batch in the whole store.
    pub fn position(&self, session: SessionId, seq: u64) -> Position {
        let (shards, shard) = (u64::from(self.layout.shards), u64::from(self.layout.shard_of(session)));
        Position(seq.saturating_mul(shards).saturating_add(shard))
    }
}

fn batches(found: Vec<NatsBatch>) -> Vec<Arc<Batch>> {
    found.into_iter().map(|stored| stored.batch).collect()
}
