//! SubjectListing sessions: the subjects of one stream after another.

use super::api::{AskInfo, StreamInfo};
use super::log::{NatsStore, unreadable};
use crate::log::{PageToken, ReadError, SessionHead, SessionListPage};
use annals_core::SessionId;
use futures_util::{StreamExt, TryStreamExt, stream};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// How many heads are asked for at a time.
const AT_A_TIME: usize = 64;
/// How long the list of a stream serves for further pages.
const FRESH: Duration = Duration::from_secs(30);

/// The sessions of one stream, by id.
#[derive(Clone, Debug)]
pub struct SubjectListing {
    shard: u32,
    since: Instant,
    sessions: Arc<[SessionId]>,
}

impl NatsStore {
    /// See [`crate::EventLog::sessions_page`].
    pub async fn sessions_page(&self, from: Option<PageToken>, limit: usize) -> Result<SessionListPage, ReadError> {
        let (mut shard, mut after) = from.map_or((0, None), |from| (from.shard, from.after));
        let mut chosen: Vec<SessionId> = Vec::new();
        while chosen.len() < limit && shard < self.layout.shards {
            let all = self.sessions_of(shard, after.is_some()).await?;
            let start = after.map_or(0, |after| all.partition_point(|session| *session <= after));
            let rest = all.get(start..).unwrap_or_default();
            let taken = rest.len().min(limit - chosen.len());
            chosen.extend(rest.iter().take(taken));
            if taken < rest.len() {
                after = chosen.last().copied();
                break;
            }
            (shard, after) = (shard + 1, None);
        }
        let heads = stream::iter(chosen)
            .map(|session| async move {
                let last = match self.last_whole(session).await {
                    // Nothing under its subject is a batch.
                    Err(ReadError::Damaged { .. }) => None,
                    last => last?,
                };
                Ok::<_, ReadError>(last.map(|last| SessionHead { session, head: last.head }))
            })
            .buffered(AT_A_TIME);
        let sessions: Vec<Option<SessionHead>> = heads.try_collect().await?;
        let mut sessions: Vec<SessionHead> = sessions.into_iter().flatten().collect();
        sessions.sort_by_key(|one| one.session);
        let next = (shard < self.layout.shards).then_some(PageToken { shard, after });
        Ok(SessionListPage { sessions, next })
    }

    /// The number of the last message of a stream.
    pub async fn last_of(&self, shard: u32) -> Result<u64, ReadError> {
        self.last_number(&self.layout.stream(shard)).await
    }

    /// The number of the last message of a stream.
    pub async fn last_number(&self, stream: &str) -> Result<u64, ReadError> {
        let subject = format!("$JS.API.STREAM.INFO.{stream}");
        let info: Result<StreamInfo, _> = self.connection.ask(&subject, &AskInfo::default()).await;
        Ok(info.map_err(unreadable)?.state.last_seq)
    }

    /// How many messages the streams of sessions had in all.
    pub async fn count(&self) -> Result<u64, ReadError> {
        let all = futures_util::future::try_join_all((0..self.layout.shards).map(|shard| self.last_of(shard)));
        Ok(all.await?.into_iter().sum())
    }

    async fn sessions_of(&self, shard: u32, continues: bool) -> Result<Arc<[SessionId]>, ReadError> {
        let known = self.listing.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known.filter(|known| continues && known.shard == shard && known.since.elapsed() < FRESH) {
            return Ok(known.sessions);
        }
        let (since, mut sessions, mut offset) = (Instant::now(), Vec::new(), 0);
        loop {
            let ask = AskInfo { subjects_filter: Some(self.layout.subjects(shard)), offset: Some(offset) };
            let subject = format!("$JS.API.STREAM.INFO.{}", self.layout.stream(shard));
            let info: StreamInfo = self.connection.ask(&subject, &ask).await.map_err(unreadable)?;
            let subjects = info.state.subjects.unwrap_or_default();
            offset += subjects.len();
            let id = |subject: &String| subject.rsplit('.').next().and_then(|id| id.parse::<SessionId>().ok());
            sessions.extend(subjects.keys().filter_map(id));
            if subjects.is_empty() || offset >= info.total {
                break;
            }
        }
        sessions.sort_unstable();
        sessions.dedup();
        let sessions: Arc<[SessionId]> = sessions.into();
        let listing = SubjectListing { shard, since, sessions: sessions.clone() };
        *self.listing.lock().unwrap_or_else(PoisonError::into_inner) = Some(listing);
        Ok(sessions)
    }
}
