//! A store in a cluster as an [`EventLog`].

use super::address::NatsAddress;
use super::api::ApiError;
use super::appending::Writers;
use super::blobs::{LocalBlobs, NatsBlobs};
use super::connection::{NatsConnection, OnNotice, one_call};
use super::error::NatsError;
use super::layout::StoreLayout;
use super::leases::NatsLeases;
use super::places::KnownPlaces;
use super::sessions::SubjectListing;
use super::{create, following};
use crate::log::{
    AppendError, Appended, Boxed, Committed, Draft, EventLog, Following, Head, PageToken, Promises, ReadError, Scope,
    SessionLeases, SessionListPage, Slice, StoreCursor, Stray,
};
use annals_core::{BlobHash, Blobs, Digest, Seq, SessionId};
use std::fmt::{self, Debug};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// How a store in a cluster is opened.
#[derive(Clone)]
pub struct NatsOptions {
    /// Where large texts are kept on this machine; in memory without one.
    pub cache: Option<PathBuf>,
    /// Whether texts are added to that folder.
    pub caches: bool,
    /// Hears that a call waits for the cluster.
    pub notice: OnNotice,
}

impl Default for NatsOptions {
    fn default() -> Self {
        Self { cache: None, caches: true, notice: Arc::new(|_| {}) }
    }
}

impl Debug for NatsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsOptions").field("cache", &self.cache).finish_non_exhaustive()
    }
}

/// An [`EventLog`] in a cluster. A clone is the same log.
#[derive(Clone, Debug)]
pub struct NatsLog {
    pub(super) store: Arc<NatsStore>,
}

#[derive(Debug)]
pub(super) struct NatsStore {
    pub address: NatsAddress,
    pub connection: Arc<NatsConnection>,
    pub layout: StoreLayout,
    pub blobs: Arc<NatsBlobs>,
    pub writers: Writers,
    pub places: KnownPlaces,
    pub listing: Mutex<Option<SubjectListing>>,
    pub leases: NatsLeases,
}

impl NatsLog {
    /// Opens a store in a cluster, and checks that it keeps what it acknowledges.
    pub async fn open(address: &NatsAddress, options: NatsOptions) -> Result<Self, NatsError> {
        let connection = Arc::new(NatsConnection::open(address, options.notice).await?);
        let layout = create::check(address, &connection).await?;
        let (stream, name) = (layout.blob_stream(), layout.name.clone());
        let blobs = Arc::new(NatsBlobs::new(connection.clone(), stream, &name, options.cache, options.caches));
        let leases = NatsLeases::new(connection.clone(), layout.clone());
        let store = NatsStore {
            address: address.clone(),
            connection,
            layout,
            blobs,
            writers: Writers::default(),
            places: KnownPlaces::default(),
            listing: Mutex::default(),
            leases,
        };
        Ok(Self { store: Arc::new(store) })
    }

    /// Which store it is.
    pub fn address(&self) -> &NatsAddress {
        &self.store.address
    }

    /// The rights to run sessions.
    pub fn leases(&self) -> &NatsLeases {
        &self.store.leases
    }

    /// Waits until leases that were dropped are given back: otherwise other processes wait until they expire.
    pub async fn close(&self) {
        self.store.leases.given_back().await;
    }

    /// About how many batches the store has.
    pub async fn count(&self) -> Result<u64, ReadError> {
        self.store.count().await
    }

    /// The number of the stream that holds a session.
    pub fn shard_of(&self, session: SessionId) -> u32 {
        self.store.layout.shard_of(session)
    }

    /// Over how many streams sessions are spread.
    pub fn shards(&self) -> u32 {
        self.store.layout.shards
    }
}

pub(super) fn unreadable(error: ApiError) -> ReadError {
    ReadError::Io { source: Arc::new(io::Error::other(error)) }
}

pub(super) fn unwritable(error: ApiError) -> AppendError {
    match error {
        ApiError::NoAnswer(_) => AppendError::Unknown,
        refused @ ApiError::Refused { .. } => AppendError::Io { source: Arc::new(io::Error::other(refused)) },
    }
}

impl EventLog for NatsLog {
    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        Box::pin(one_call(async move { self.store.append(draft).await }))
    }

    fn append_all(&self, drafts: Vec<Draft>) -> Boxed<'_, Appended> {
        Box::pin(async move { self.store.append_all(drafts).await })
    }

    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>> {
        Box::pin(one_call(async move { Ok(self.store.last_whole(session).await?.map(|last| last.head)) }))
    }

    fn promises(&self) -> Promises {
        Promises { acknowledged: self.store.layout.acknowledged(), ordered: false }
    }

    fn sessions_page(&self, from: Option<PageToken>, limit: usize) -> Boxed<'_, Result<SessionListPage, ReadError>> {
        Box::pin(async move { self.store.sessions_page(from, limit).await })
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(one_call(async move { self.store.read(session, from, limit).await }))
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(one_call(async move { self.store.read_back(session, before, limit).await }))
    }

    fn follow(&self, scope: Scope) -> Following {
        following::follow(self.store.clone(), scope)
    }

    fn last_before(&self, cursor: &StoreCursor) -> Boxed<'_, Result<Option<Slice>, ReadError>> {
        let cursor = cursor.clone();
        Box::pin(async move { self.store.last_before(&cursor).await })
    }

    fn put_blob(&self, text: String) -> Boxed<'_, Result<BlobHash, AppendError>> {
        Box::pin(one_call(async move {
            let hash = Digest::of(text.as_bytes());
            self.store.blobs.put(hash, &text).await.map_err(unwritable)?;
            Ok(hash)
        }))
    }

    fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        Arc::new(LocalBlobs(self.store.blobs.clone()))
    }

    fn strays(&self, session: Option<SessionId>) -> Boxed<'_, Result<Vec<Stray>, ReadError>> {
        Box::pin(async move { self.store.strays(session).await })
    }

    fn leases(&self) -> Option<Arc<dyn SessionLeases>> {
        Some(Arc::new(self.store.leases.clone()))
    }
}
