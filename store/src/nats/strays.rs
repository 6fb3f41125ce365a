//! Messages that are not batches: damaged ones, and what others published under the subjects of a store.

use super::api::GetMessage;
use super::log::{NatsStore, unreadable};
use super::message::StreamMessage;
use super::places::Last;
use crate::log::{ReadError, Stray};
use annals_core::SessionId;

/// How many messages are asked for at a time.
const PAGE: usize = 500;

/// Why a message is neither a batch nor a marker, where reading its session does not report it.
fn stray(message: &StreamMessage, stream: &str) -> Option<Stray> {
    let (number, session) = (message.seq, message.session());
    let what = match session {
        None => format!("message {number} of {stream} has the subject {}, which names no session", message.subject),
        Some(_) if message.first().is_none() || message.head().is_none() => {
            format!("message {number} of {stream} is not a batch: its headers are missing or damaged")
        }
        Some(_) => return None,
    };
    Some(Stray { session, what })
}

impl NatsStore {
    /// The last batch of a session's own log; the last that is whole, where what follows it is none.
    pub async fn last_whole(&self, session: SessionId) -> Result<Option<Last>, ReadError> {
        let damage = match self.last(session).await {
            Err(error @ ReadError::Damaged { .. }) => error,
            last => return last,
        };
        let stream = self.layout.stream(self.layout.shard_of(session));
        let subject = self.layout.subject(session);
        let newest = GetMessage { last_by_subj: Some(subject.clone()), ..GetMessage::default() };
        let until = self.ask_leader(&stream, &newest).await?.map_or(0, |message| message.seq);
        let messages = self.messages(session, &subject, 1, until).await?;
        let whole = messages.into_iter().rev().find_map(|message| {
            let (first, head, generation) = (message.first()?, message.head()?, message.generation());
            (message.is_marker() || message.batch().is_some()).then_some(Last { message, first, head, generation })
        });
        whole.map(Some).ok_or(damage)
    }

    /// See [`crate::EventLog::strays`].
    pub async fn strays(&self, session: Option<SessionId>) -> Result<Vec<Stray>, ReadError> {
        let mut found = Vec::new();
        let shards = match session {
            Some(session) => vec![(self.layout.shard_of(session), self.layout.subject(session))],
            None => (0..self.layout.shards).map(|shard| (shard, self.layout.subjects(shard))).collect(),
        };
        for (shard, subject) in shards {
            let (stream, until) = (self.layout.stream(shard), self.last_of(shard).await?);
            let mut at = 1;
            while at <= until {
                let next_by_subj = Some(subject.clone());
                let get = GetMessage { seq: Some(at), next_by_subj, batch: Some(PAGE), ..GetMessage::default() };
                let page = self.connection.direct(&stream, &get).await.map_err(unreadable)?;
                let page: Vec<StreamMessage> = page.into_iter().filter(|message| message.seq >= at).collect();
                found.extend(page.iter().filter_map(|message| stray(message, &stream)));
                let Some(last) = page.last() else { break };
                at = last.seq + 1;
            }
        }
        Ok(found)
    }
}
