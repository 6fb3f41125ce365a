//! Reading a session: the head from the leader, pages from any replica, each checked to be dense up to that head.

use super::api::{GetMessage, GotMessage, NO_MESSAGE};
use super::log::{NatsStore, unreadable};
use super::message::{StreamMessage, from_leader};
use super::places::{Last, NatsBatch, SubjectPart};
use crate::log::{Position, ReadError, Slice, StoreCursor};
use annals_core::{Seq, SessionId};

/// How many messages are asked for at a time.
const PAGE: usize = 500;
/// How many batches a place is looked for at least when reading backwards.
const BACK: u64 = 16;
/// How often a replica that lags is asked before the leader is.
const LAGS: u32 = 2;

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
        let generation = message.generation();
        self.places.are_of(session, generation.as_ref());
        if !message.is_marker() {
            self.places.note(session, first, message.seq);
        }
        Ok(Some(Last { message, first, head, generation }))
    }

    /// The parts of a session's own log, oldest first.
    pub fn parts(&self, session: SessionId, last: &Last) -> Vec<SubjectPart> {
        let generation = last.generation.as_ref();
        let copies = generation.map(|generation| SubjectPart {
            subject: self.layout.generation_subject(session, &generation.id),
            low: 1,
            high: generation.last,
            until: generation.until,
        });
        let own = SubjectPart {
            subject: self.layout.subject(session),
            low: generation.map_or(1, |generation| generation.last + 1),
            high: last.message.seq,
            until: last.head.next,
        };
        copies.into_iter().chain([own]).collect()
    }

    /// The first message of a subject of a session from a number in its stream on.
    pub async fn next_from(
        &self,
        session: SessionId,
        subject: &str,
        seq: u64,
    ) -> Result<Option<StreamMessage>, ReadError> {
        let next_by_subj = Some(subject.to_owned());
        let get = GetMessage { seq: Some(seq.max(1)), next_by_subj, ..GetMessage::default() };
        self.ask_leader(&self.layout.stream(self.layout.shard_of(session)), &get).await
    }

    /// The number of the message that holds an event of a part of a session's own log.
    async fn locate(&self, session: SessionId, seq: Seq, part: &SubjectPart) -> Result<u64, ReadError> {
        let (before, after) = self.places.around(session, seq);
        if let Some((first, at)) = before
            && first == seq
        {
            return Ok(at);
        }
        let mut low = before.map_or(part.low, |(_, at)| at.max(part.low));
        let mut high = after.unwrap_or(part.high).min(part.high);
        // What holds the event is a message of the session in `low..high`: the first one behind the middle says in which half.
        while low < high {
            let middle = low + (high - low) / 2;
            let message = self.next_from(session, &part.subject, middle).await?;
            let marker = message.as_ref().is_some_and(StreamMessage::is_marker);
            let found = message.and_then(|message| Some((message.first()?, message.head()?.next, message.seq)));
            let Some((first, next, at)) = found else {
                return Err(damaged(session, seq, "its messages have no headers"));
            };
            if !marker {
                self.places.note(session, first, at);
            }
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
        let mut last = self.last_whole(session).await?.ok_or(ReadError::NoSession(session))?;
        loop {
            match self.own_up_to(session, from, limit, &last).await {
                Err(error @ ReadError::Damaged { .. }) if !self.was_erased(session, &mut last).await? => {
                    return Err(error);
                }
                // Texts were erased while it was read: once more.
                Err(ReadError::Damaged { .. }) => {}
                read => return read,
            }
        }
    }

    /// Whether another generation of a session is in force by now. Brings `last` up to date then.
    async fn was_erased(&self, session: SessionId, last: &mut Last) -> Result<bool, ReadError> {
        let now = self.last_whole(session).await?.ok_or(ReadError::NoSession(session))?;
        if now.generation == last.generation {
            return Ok(false);
        }
        *last = now;
        Ok(true)
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
        let mut due = None;
        for part in self.parts(session, last) {
            let from = due.unwrap_or(from);
            if found.len() >= limit || from >= part.until {
                continue;
            }
            let known = Some(&last.message).filter(|message| message.seq == part.high && !message.is_marker());
            self.take_part(session, from, limit, &part, known, &mut due, &mut found).await?;
            if due.is_some_and(|due| due < part.until) {
                break;
            }
        }
        let named = found.iter().flat_map(|stored| stored.batch.blobs()).map(|named| named.blob);
        self.blobs.bring(named.collect::<Vec<_>>()).await.map_err(unreadable)?;
        Ok(found)
    }

    /// Reads a part of a session from the batch that holds `from` on. `known`: its last message, which was read already.
    #[allow(clippy::too_many_arguments, reason = "one loop of `own_up_to`, which it is a part of")]
    async fn take_part(
        &self,
        session: SessionId,
        from: Seq,
        limit: usize,
        part: &SubjectPart,
        known: Option<&StreamMessage>,
        due: &mut Option<Seq>,
        found: &mut Vec<NatsBatch>,
    ) -> Result<(), ReadError> {
        let stream = self.layout.stream(self.layout.shard_of(session));
        let mut at = match known.filter(|known| known.first().is_some_and(|first| from >= first)) {
            Some(known) => known.seq,
            None => self.locate(session, from, part).await?,
        };
        let (mut lagged, began) = (0, found.len());
        while found.len() < limit && at <= part.high {
            if let Some(known) = known.filter(|known| known.seq == at) {
                return self.take(session, known, due, found);
            }
            let batch = Some((limit - found.len()).min(PAGE));
            let subject = Some(part.subject.clone());
            let get = GetMessage { seq: Some(at), next_by_subj: subject, batch, ..GetMessage::default() };
            let page = match self.connection.direct(&stream, &get).await {
                Ok(page) => page,
                Err(error) => {
                    tracing::debug!(%error, "a replica did not answer; the leader is asked");
                    Vec::new()
                }
            };
            let before = found.len();
            let wanted = at..=part.high;
            for message in page.iter().filter(|message| wanted.contains(&message.seq)) {
                let is_next = due.is_none_or(|due| message.first() == Some(due));
                if !is_next {
                    break;
                }
                self.take(session, message, due, found)?;
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
            match self.next_from(session, &part.subject, at).await? {
                Some(message) if message.seq <= part.high => {
                    self.take(session, &message, due, found)?;
                    at = message.seq + 1;
                }
                _ if found.len() == began => {
                    return Err(damaged(session, due.unwrap_or(from), "a message is missing in the cluster"));
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// The messages of a subject of a session with the numbers from `from` to `until`, as far as they are there.
    pub async fn messages(
        &self,
        session: SessionId,
        subject: &str,
        from: u64,
        until: u64,
    ) -> Result<Vec<StreamMessage>, ReadError> {
        let stream = self.layout.stream(self.layout.shard_of(session));
        let (mut found, mut at) = (Vec::<StreamMessage>::new(), from.max(1));
        while at <= until {
            let get = GetMessage {
                seq: Some(at),
                next_by_subj: Some(subject.to_owned()),
                batch: Some(PAGE),
                ..GetMessage::default()
            };
            let page = self.connection.direct(&stream, &get).await.unwrap_or_default();
            let before = found.len();
            found.extend(page.into_iter().filter(|message| (at..=until).contains(&message.seq)));
            if found.len() == before {
                // The replica lags, or this is the end: the leader knows.
                let next = self.next_from(session, subject, at).await?;
                let Some(next) = next.filter(|next| next.seq <= until) else { break };
                found.push(next);
            }
            at = found.last().map_or(at, |last| last.seq) + 1;
        }
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
    pub async fn own_before(&self, session: SessionId, before: Seq, limit: usize) -> Result<Vec<NatsBatch>, ReadError> {
        let last = self.last_whole(session).await?.ok_or(ReadError::NoSession(session))?;
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
                let page = self.own_from(session, next, PAGE).await?;
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

    /// See [`crate::EventLog::last_before`].
    pub async fn last_before(&self, cursor: &StoreCursor) -> Result<Option<Slice>, ReadError> {
        let (next, shard) = cursor.shards(self.layout.shards as usize)?;
        let before = next.get(shard as usize).and_then(|next| next.checked_sub(1)).filter(|before| *before > 0);
        let Some(before) = before else { return Ok(None) };
        let get = GetMessage { seq: Some(before), ..GetMessage::default() };
        let message = self.ask_leader(&self.layout.stream(shard), &get).await?;
        let message = match message.as_ref().filter(|message| message.is_marker()).map(StreamMessage::generation) {
            Some(generation) => {
                let get = GetMessage { seq: generation.map(|generation| generation.last), ..GetMessage::default() };
                self.ask_leader(&self.layout.stream(shard), &get).await?
            }
            None => message,
        };
        let batch = message.and_then(|message| message.batch());
        Ok(batch.map(|batch| Slice { from: batch.first, until: batch.next(), batch }))
    }

    /// The number of a batch in the whole store.
    pub fn position(&self, session: SessionId, seq: u64) -> Position {
        let (shards, shard) = (u64::from(self.layout.shards), u64::from(self.layout.shard_of(session)));
        Position(seq.saturating_mul(shards).saturating_add(shard))
    }
}
