//! What has to be known until an erasure is finished, and how many there were.

use super::NatsEraseError;
use crate::log::ReadError;
use crate::nats::api::{ApiError, AskInfo, GetMessage, StreamInfo};
use crate::nats::connection::Patience;
use crate::nats::log::{NatsStore, unreadable};
use crate::nats::message::{EXPECTED_STREAM, StreamMessage};
use annals_core::{BlobHash, SessionId};
use async_nats::HeaderMap;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How many sessions or blobs one message of the record names.
const PART: usize = 8_000;

/// A pending erasure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureRecord {
    /// The sessions that texts are erased in.
    pub sessions: BTreeSet<SessionId>,
    /// The blobs of erased texts.
    pub blobs: BTreeSet<BlobHash>,
}

impl ErasureRecord {
    /// In parts that messages hold.
    fn parts(&self) -> Vec<Self> {
        let (mut sessions, mut blobs) = (self.sessions.iter().copied(), self.blobs.iter().copied());
        let mut parts = Vec::new();
        loop {
            let part =
                Self { sessions: sessions.by_ref().take(PART).collect(), blobs: blobs.by_ref().take(PART).collect() };
            if part == Self::default() && !parts.is_empty() {
                return parts;
            }
            parts.push(part);
        }
    }
}

impl NatsStore {
    fn record_subject(&self) -> String {
        format!("$KV.{}.erasing", self.layout.lease_bucket())
    }

    fn count_subject(&self) -> String {
        format!("$KV.{}.erasures", self.layout.lease_bucket())
    }

    async fn put(&self, subject: String, payload: Bytes) -> Result<(), ApiError> {
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED_STREAM, self.layout.lease_stream().as_str());
        let mut patience = Patience::new(&self.connection);
        loop {
            match self.connection.publish(subject.clone(), headers.clone(), payload.clone()).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_passing() && patience.again(&error).await => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn key(&self, subject: String) -> Result<Option<StreamMessage>, ReadError> {
        let get = GetMessage { last_by_subj: Some(subject), ..GetMessage::default() };
        self.ask_leader(&self.layout.lease_stream(), &get).await
    }

    /// Makes a record durable. The last part is written last: a record without it is none. Of an earlier, unfinished erasure all stays.
    pub(super) async fn save_record(&self, record: &ErasureRecord) -> Result<(), NatsEraseError> {
        let mut whole = self.load_record().await?.unwrap_or_default();
        whole.sessions.extend(&record.sessions);
        whole.blobs.extend(&record.blobs);
        let parts = whole.parts();
        for (at, part) in parts.iter().enumerate() {
            let body = serde_json::to_vec(part).map_err(std::io::Error::other)?;
            self.put(format!("{}.{at}", self.record_subject()), body.into()).await?;
        }
        Ok(self.put(self.record_subject(), parts.len().to_string().into()).await?)
    }

    /// The record; `None` when no erasure is pending.
    pub(in crate::nats) async fn load_record(&self) -> Result<Option<ErasureRecord>, NatsEraseError> {
        let Some(count) = self.key(self.record_subject()).await? else { return Ok(None) };
        let count: usize = String::from_utf8_lossy(&count.payload).parse().unwrap_or_default();
        let mut record = ErasureRecord::default();
        for at in 0..count {
            let Some(part) = self.key(format!("{}.{at}", self.record_subject())).await? else { continue };
            let part: ErasureRecord = serde_json::from_slice(&part.payload).map_err(std::io::Error::other)?;
            record.sessions.extend(part.sessions);
            record.blobs.extend(part.blobs);
        }
        Ok(Some(record))
    }

    /// Removes the record: the erasure is finished. First what makes it one.
    pub(super) async fn remove_record(&self) -> Result<(), NatsEraseError> {
        let stream = self.layout.lease_stream();
        self.destroy(&stream, &self.record_subject(), u64::MAX).await?;
        self.destroy(&stream, &format!("{}.*", self.record_subject()), u64::MAX).await?;
        Ok(())
    }

    /// Counts an erasure, so that machines drop what they keep of the store.
    pub(super) async fn note_erased(&self) -> Result<(), NatsEraseError> {
        let count = self.erasures().await?.saturating_add(1);
        Ok(self.put(self.count_subject(), count.to_string().into()).await?)
    }

    /// How many times texts were removed.
    pub(in crate::nats) async fn erasures(&self) -> Result<u64, ReadError> {
        let count = self.key(self.count_subject()).await?;
        Ok(count.and_then(|count| String::from_utf8_lossy(&count.payload).parse().ok()).unwrap_or_default())
    }

    /// The streams that an erasure is about, each with the beginning of its subjects.
    pub(super) fn streams_of(&self, record: &ErasureRecord) -> Vec<(String, String)> {
        let shards: BTreeSet<u32> = record.sessions.iter().map(|session| self.layout.shard_of(*session)).collect();
        let name = &self.layout.name;
        let of_shard = |shard| (self.layout.stream(shard), format!("{name}.sess.{shard}"));
        let mut streams: Vec<(String, String)> = shards.into_iter().map(of_shard).collect();
        if !record.blobs.is_empty() {
            streams.push((self.layout.blob_stream(), format!("{name}.blob")));
        }
        streams
    }

    /// The servers that have not stored yet that texts are gone.
    pub(super) async fn unconfirmed(&self, record: &ErasureRecord) -> Result<BTreeSet<String>, ReadError> {
        let mut unconfirmed = BTreeSet::new();
        for (stream, _) in self.streams_of(record) {
            let subject = format!("$JS.API.STREAM.INFO.{stream}");
            let info: StreamInfo = self.connection.ask(&subject, &AskInfo::default()).await.map_err(unreadable)?;
            // A server alone has no cluster.
            let Some(peers) = info.cluster.filter(|_| info.config.num_replicas > 1) else { continue };
            let replicas = peers.replicas.unwrap_or_default();
            let behind = replicas.iter().filter(|peer| peer.offline || !peer.current || peer.lag > 0);
            unconfirmed.extend(behind.map(|peer| peer.name.clone()));
            if peers.leader.is_none() || replicas.len() + 1 < info.config.num_replicas {
                unconfirmed.insert(format!("the servers of {stream}"));
            }
        }
        Ok(unconfirmed)
    }
}
