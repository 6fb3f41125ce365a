//! Overwriting messages: a purge alone only marks them, and leaves their bytes in the files of the servers.

use super::NatsEraseError;
use crate::disk::ErasedCopies;
use crate::log::EventLog;
use crate::nats::api::{
    ApiError, AskInfo, DeleteMessage, GetMessage, NO_MESSAGE, NO_SUCH_NUMBER, NOT_DELETED, Purge, StreamInfo,
};
use crate::nats::log::{NatsLog, NatsStore, unreadable};
use annals_core::{BlobHash, SessionId};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::de::IgnoredAny;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How many messages are overwritten at a time.
const AT_A_TIME: usize = 32;
/// How many messages are looked for at a time.
const PAGE: usize = 256;

impl NatsStore {
    /// Refuses a store whose messages cannot be overwritten.
    pub(super) async fn check_deletable(&self) -> Result<(), NatsEraseError> {
        for wanted in self.layout.streams() {
            let subject = format!("$JS.API.STREAM.INFO.{}", wanted.name);
            let info: StreamInfo = self.connection.ask(&subject, &AskInfo::default()).await?;
            if info.config.deny_delete {
                return Err(NatsEraseError::Undeletable(wanted.name));
            }
        }
        // Of a subject without messages: it says whether this user may.
        let stream = self.layout.lease_stream();
        let nothing = Purge { filter: format!("$KV.{}.erasing.none", self.layout.lease_bucket()), seq: u64::MAX };
        let done = self.connection.ask(&format!("$JS.API.STREAM.PURGE.{stream}"), &nothing).await;
        let _: IgnoredAny = done.map_err(NatsEraseError::NotPermitted)?;
        Ok(())
    }

    /// Overwrites the messages of a subject up to a number on every replica, and removes them. Gives how many.
    pub(super) async fn destroy(&self, stream_name: &str, subject: &str, until: u64) -> Result<u64, NatsEraseError> {
        let (mut count, mut at) = (0, 1);
        loop {
            let next_by_subj = Some(subject.to_owned());
            let get = GetMessage { seq: Some(at), next_by_subj, ..GetMessage::default() };
            let page = GetMessage { batch: Some(PAGE), ..get.clone() };
            let found = self.connection.direct(stream_name, &page).await.unwrap_or_default();
            let mut found: Vec<u64> = found.iter().map(|message| message.seq).filter(|seq| *seq >= at).collect();
            if found.is_empty() {
                // A replica may lag; the leader does not.
                found.extend(self.ask_leader(stream_name, &get).await?.map(|message| message.seq));
            }
            let Some(last) = found.last().copied() else { break };
            let chosen: Vec<u64> = found.into_iter().filter(|seq| *seq <= until).collect();
            if chosen.is_empty() {
                break;
            }
            count += chosen.len() as u64;
            let deletions = stream::iter(chosen).map(|seq| self.overwrite(stream_name, seq));
            deletions.buffer_unordered(AT_A_TIME).try_collect::<Vec<()>>().await?;
            at = last + 1;
        }
        let purge = Purge { filter: subject.to_owned(), seq: until.saturating_add(1) };
        let done: Result<IgnoredAny, ApiError> =
            self.connection.ask(&format!("$JS.API.STREAM.PURGE.{stream_name}"), &purge).await;
        done?;
        Ok(count)
    }

    async fn overwrite(&self, stream_name: &str, seq: u64) -> Result<(), NatsEraseError> {
        let subject = format!("$JS.API.STREAM.MSG.DELETE.{stream_name}");
        let done: Result<IgnoredAny, ApiError> = self.connection.ask(&subject, &DeleteMessage { seq }).await;
        match done {
            Ok(_) => Ok(()),
            // It is gone: a deletion whose answer was lost, or one that a replica does not know of.
            Err(error) if error.is(NO_SUCH_NUMBER) || error.is(NO_MESSAGE) => Ok(()),
            Err(error) if error.is(NOT_DELETED) => match self.is_there(stream_name, seq).await? {
                false => Ok(()),
                true => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    async fn is_there(&self, stream_name: &str, seq: u64) -> Result<bool, NatsEraseError> {
        let get = GetMessage { seq: Some(seq), ..GetMessage::default() };
        Ok(self.ask_leader(stream_name, &get).await?.is_some())
    }

    /// The subjects that match, with how many messages each has.
    pub(super) async fn subjects_like(
        &self,
        stream_name: &str,
        filter: &str,
    ) -> Result<BTreeMap<String, u64>, NatsEraseError> {
        let mut found = BTreeMap::new();
        loop {
            let ask = AskInfo { subjects_filter: Some(filter.to_owned()), offset: Some(found.len()) };
            let subject = format!("$JS.API.STREAM.INFO.{stream_name}");
            let info: StreamInfo = self.connection.ask(&subject, &ask).await.map_err(unreadable)?;
            let subjects = info.state.subjects.unwrap_or_default();
            let ended = subjects.is_empty();
            found.extend(subjects);
            if ended || found.len() >= info.total {
                return Ok(found);
            }
        }
    }

    /// Removes blobs that no batch of the store names any more.
    pub(super) async fn remove_blobs(
        self: &Arc<Self>,
        blobs: &BTreeSet<BlobHash>,
        erased: &mut ErasedCopies,
    ) -> Result<(), NatsEraseError> {
        if blobs.is_empty() {
            return Ok(());
        }
        let stream_name = self.layout.blob_stream();
        // What is stored from here on is of a batch that names it again (`named_texts`).
        let until = self.last_number(&stream_name).await?;
        let mut named: BTreeMap<BlobHash, BTreeSet<SessionId>> = BTreeMap::new();
        let log = NatsLog { store: self.clone() };
        for session in log.sessions().all().await?.into_iter().map(|head| head.session) {
            let Some(last) = self.last(session).await? else { continue };
            for batch in self.own_batches(session, &last).await?.iter().map(|(_, batch)| batch) {
                for blob in batch.blobs().into_iter().map(|named| named.blob).filter(|blob| blobs.contains(blob)) {
                    named.entry(blob).or_default().insert(session);
                }
            }
        }
        for blob in blobs.iter().filter(|blob| !named.contains_key(*blob)) {
            let subject = self.blobs.subject(blob);
            // What names the chunks goes first: a blob is there whole, or not at all.
            let gone = self.destroy(&stream_name, &subject, until).await?;
            self.destroy(&stream_name, &format!("{subject}.*"), until).await?;
            self.blobs.forget(blob);
            erased.blobs += u64::from(gone > 0);
        }
        erased.shared = named;
        Ok(())
    }
}
