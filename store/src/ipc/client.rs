//! A guest's side: the same [`EventLog`], over the owner's socket.

use super::owner_connections::{ConnectError, Lost, OwnerConnections, lost, unexpected};
use super::sealed_files::SealedFiles;
use super::wire::{Answer, Ask, Malformed, committed_of};
use crate::disk::FEW;
use crate::log::{
    AppendError, Boxed, Committed, Draft, EventLog, Followed, Following, Head, PageToken, Promises, ReadError, Scope,
    SessionHead, SessionListPage, Slice, StorePlace,
};
use crate::store_id::StoreId;
use annals_core::{Batch, BlobHash, Blobs, Digest, Seq, SessionId};
use futures_core::Stream;
use futures_util::{SinkExt, StreamExt, stream};
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

/// What a follower's connection gives.
pub(super) type RawFollowing = Pin<Box<dyn Stream<Item = Result<Result<Followed, ReadError>, Lost>> + Send>>;

/// An [`EventLog`] that another process owns. A clone is the same log.
#[derive(Clone, Debug)]
pub struct RemoteLog {
    remote: Arc<OwnerConnections>,
    files: Arc<SealedFiles>,
}

impl RemoteLog {
    /// Connects to the owner of the store in a folder.
    pub async fn connect(dir: &Path) -> Result<Self, ConnectError> {
        Self::connect_expecting(dir, None).await
    }

    /// Connects to the owner of the store in a folder, as long as it is this one.
    pub(super) async fn connect_expecting(dir: &Path, store: Option<StoreId>) -> Result<Self, ConnectError> {
        let log = Self { remote: Arc::new(OwnerConnections::new(dir, store)), files: Arc::default() };
        let connection = log.remote.connect().await?;
        log.remote.keep(connection);
        Ok(log)
    }

    /// Whether it reads sealed segments by itself by now.
    #[cfg(test)]
    pub(super) async fn reads_files(&self) -> bool {
        self.files.are_open().await
    }

    /// The id of the store, if its owner names one.
    pub(super) fn store(&self) -> Option<StoreId> {
        self.remote.store.get().copied()
    }

    pub(super) async fn append(&self, draft: &Draft) -> Result<Result<Committed, AppendError>, Lost> {
        let Draft { session, expected, at, ref events, digest, ref states } = *draft;
        // Packed here as well: large texts go before the batch, so that it fits a record on its way too. The owner seals it, with
        // the key and the digest before it, and finds its texts moved as it would have moved them.
        let (prev, events, states) = (None, events.clone(), states.clone());
        let batch = Batch { session, first: expected, at, prev, events, digest: Digest([0; 32]), states };
        let sealed = match batch.pack() {
            Ok(sealed) => sealed,
            Err(source) => return Ok(Err(AppendError::Seal { session, source })),
        };
        for (_, text) in sealed.blobs {
            if let Err(error) = self.put_blob(text).await? {
                return Ok(Err(error));
            }
        }
        match self.remote.ask(&Ask::Append { batch: sealed.encoded, digest }).await? {
            Answer::Committed { batch, position, known } => Ok(Ok(committed_of(&batch, position, known)?)),
            Answer::Refused { refusal } => Ok(Err(refusal.into())),
            other => Err(unexpected(&other)),
        }
    }

    pub(super) async fn head(&self, session: SessionId) -> Result<Result<Option<Head>, ReadError>, Lost> {
        match self.remote.ask(&Ask::Head { session }).await? {
            Answer::Head { head } => Ok(Ok(head.map(Into::into))),
            Answer::Unreadable { reason } => Ok(Err(reason.into())),
            other => Err(unexpected(&other)),
        }
    }

    pub(super) async fn sessions_page(
        &self,
        from: Option<PageToken>,
        limit: usize,
    ) -> Result<Result<SessionListPage, ReadError>, Lost> {
        let after = from.and_then(|from| from.session());
        match self.remote.ask(&Ask::Sessions { after, limit: limit as u64 }).await? {
            Answer::Sessions { heads, more } => {
                let heads = heads.into_iter();
                let sessions: Vec<_> =
                    heads.map(|(session, head)| SessionHead { session, head: head.into() }).collect();
                let next = sessions.last().filter(|_| more).map(|last| PageToken::after(last.session));
                Ok(Ok(SessionListPage { sessions, next }))
            }
            Answer::Unreadable { reason } => Ok(Err(reason.into())),
            other => Err(unexpected(&other)),
        }
    }

    /// Reads in pages: one answer holds only so much.
    pub(super) async fn read(
        &self,
        session: SessionId,
        mut place: Seq,
        limit: usize,
        back: bool,
    ) -> Result<Result<Vec<Slice>, ReadError>, Lost> {
        let mut all: Vec<Slice> = Vec::new();
        if !back && limit > FEW {
            all = self.files.read(&self.remote, session, place, limit).await;
            match all.last() {
                Some(_) if all.len() >= limit => return Ok(Ok(all)),
                Some(last) => place = last.until,
                None => {}
            }
        }
        loop {
            let limit = limit.saturating_sub(all.len()) as u64;
            let ask = match back {
                false => Ask::Read { session, from: place, limit },
                true => Ask::ReadBack { session, before: place, limit },
            };
            let page = match self.remote.ask(&ask).await? {
                Answer::Slices { slices } => slices,
                // What was read before a damaged place is given; the next read begins there and reports it.
                Answer::Unreadable { .. } if !all.is_empty() => return Ok(Ok(all)),
                Answer::Unreadable { reason } => return Ok(Err(reason.into())),
                other => return Err(unexpected(&other)),
            };
            self.files.sent(page.len());
            for slice in &page {
                all.push(slice.slice()?);
            }
            match all.last() {
                Some(last) if !page.is_empty() && limit > page.len() as u64 => {
                    place = if back { last.from } else { last.until };
                }
                _ => return Ok(Ok(all)),
            }
        }
    }

    pub(super) async fn put_blob(&self, text: String) -> Result<Result<BlobHash, AppendError>, Lost> {
        match self.remote.ask(&Ask::PutBlob { text }).await? {
            Answer::Stored { hash } => Ok(Ok(hash)),
            Answer::Refused { refusal } => Ok(Err(refusal.into())),
            other => Err(unexpected(&other)),
        }
    }

    /// A stream that ends with `Lost` when the owner goes.
    pub(super) fn follow_raw(&self, scope: Scope) -> RawFollowing {
        let remote = self.remote.clone();
        let opened = async move {
            let ask = match scope {
                Scope::Session { session, from } => Ask::FollowSession { session, from },
                Scope::All { from } => match from.dense() {
                    Ok(from) => Ask::FollowAll { from: from.0 },
                    Err(error) => {
                        let ended: RawFollowing = Box::pin(stream::once(async { Ok(Err(error)) }));
                        return Ok(ended);
                    }
                },
            };
            let mut connection = remote.connect().await.map_err(lost)?;
            connection.send(ask.write()?).await?;
            let following: RawFollowing =
                Box::pin(stream::unfold(Some((remote, connection)), |following| async move {
                    let (remote, mut connection) = following?;
                    let next = match remote.unless_hung(connection.next()).await {
                        Ok(next) => followed(next),
                        Err(lost) => Err(lost),
                    };
                    match next {
                        Ok(Ok(followed)) => Some((Ok(Ok(followed)), Some((remote, connection)))),
                        ended => Some((ended, None)),
                    }
                }));
            Ok::<_, Lost>(following)
        };
        let flattened = stream::once(opened).map(|opened| match opened {
            Ok(followed) => followed,
            Err(lost) => stream::once(async move { Err(lost) }).boxed(),
        });
        Box::pin(flattened.flatten())
    }
}

fn followed(frame: Option<io::Result<bytes::BytesMut>>) -> Result<Result<Followed, ReadError>, Lost> {
    let frame = frame.unwrap_or_else(|| Err(io::ErrorKind::ConnectionAborted.into()))?;
    match Answer::read(&frame)? {
        Answer::Followed { slice, position } => {
            Ok(Ok(Followed::Batch { slice: slice.slice()?, place: position.map(StorePlace::dense) }))
        }
        Answer::Synced => Ok(Ok(Followed::Synced)),
        Answer::Unreadable { reason } => Ok(Err(reason.into())),
        other => Err(unexpected(&other)),
    }
}

impl From<Malformed> for ReadError {
    fn from(error: Malformed) -> Self {
        Self::Io { source: Arc::new(error.into()) }
    }
}

fn read_error(lost: Lost) -> ReadError {
    ReadError::Io { source: Arc::new(lost) }
}

impl EventLog for RemoteLog {
    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        Box::pin(async move {
            self.append(&draft).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "the owner of the store ended while a batch was appended");
                Err(AppendError::Unknown)
            })
        })
    }

    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>> {
        Box::pin(async move { self.head(session).await.map_err(read_error)? })
    }

    fn promises(&self) -> Promises {
        Promises::ON_DEVICE
    }

    fn sessions_page(&self, from: Option<PageToken>, limit: usize) -> Boxed<'_, Result<SessionListPage, ReadError>> {
        Box::pin(async move { self.sessions_page(from, limit).await.map_err(read_error)? })
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move { self.read(session, from, limit, false).await.map_err(read_error)? })
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move { self.read(session, before, limit, true).await.map_err(read_error)? })
    }

    fn follow(&self, scope: Scope) -> Following {
        Box::pin(self.follow_raw(scope).map(|item| item.map_err(read_error)?))
    }

    fn put_blob(&self, text: String) -> Boxed<'_, Result<BlobHash, AppendError>> {
        Box::pin(async move { self.put_blob(text).await.unwrap_or(Err(AppendError::Unknown)) })
    }

    fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        self.remote.clone()
    }
}
