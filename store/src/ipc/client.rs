//! A guest's side: the same [`EventLog`], over the owner's socket.

use super::messages::Connection;
use super::socket;
use super::wire::{Answer, Ask, Malformed, committed_of, greeted, greeting, hello, store_of, understands};
use crate::displaced::Displaced;
use crate::hung_owner::HungOwner;
use crate::log::{
    AppendError, Boxed, Committed, Draft, EventLog, Followed, Following, Head, Position, ReadError, Scope, SessionHead,
    Slice,
};
use crate::store_id::StoreId;
use annals_core::{Batch, BlobHash, Blobs, Seq, SessionId};
use futures_core::Stream;
use futures_util::{SinkExt, StreamExt, stream};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::net::UnixStream;
use tokio_util::codec::Framed;

/// How many idle connections are kept.
const IDLE: usize = 64;

/// The owner is not there.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody answers: the owner went, or is not there yet.
    #[error("no process serves the store in {}: {source}", dir.display())]
    Absent {
        /// The store's folder.
        dir: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The owner is of another version: end it, or use that version.
    #[error("the store in {} is owned by another version of this program ({owner}; this is {ours}): end that one first", dir.display())]
    Version {
        /// The store's folder.
        dir: PathBuf,
        /// What the owner says it is.
        owner: String,
        /// What this process is.
        ours: String,
    },
    /// The owner serves another store than the one that was used before.
    #[error(transparent)]
    Displaced(Displaced),
    /// The owner is there and says nothing, as when it was stopped: let it go on, or end it.
    #[error(transparent)]
    OwnerHung(#[from] HungOwner),
}

/// How long an answer may take before the owner is asked whether it is there at all.
const ANSWER: Duration = Duration::from_secs(5);

/// How long the owner may take to say that it is there: a task of its own does that, however busy it is.
const HELLO: Duration = Duration::from_secs(5);

/// The connection broke while a call was under way: it may have been done or not.
pub(super) type Lost = io::Error;

/// What a follower's connection gives.
pub(super) type RawFollowing = Pin<Box<dyn Stream<Item = Result<Result<Followed, ReadError>, Lost>> + Send>>;

/// An [`EventLog`] that another process owns. A clone is the same log.
#[derive(Clone, Debug)]
pub struct RemoteLog {
    remote: Arc<Remote>,
}

#[derive(Debug)]
struct Remote {
    dir: PathBuf,
    /// The store of the first owner, or the one that was expected of it.
    store: OnceLock<StoreId>,
    idle: Mutex<Vec<Connection>>,
}

impl RemoteLog {
    /// Connects to the owner of the store in a folder.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect(dir: &Path) -> Result<Self, ConnectError> {
        Self::connect_expecting(dir, None).await
    }

    /// Connects to the owner of the store in a folder, as long as it is this one.
    pub(super) async fn connect_expecting(dir: &Path, store: Option<StoreId>) -> Result<Self, ConnectError> {
        let store = store.map_or_else(OnceLock::new, OnceLock::from);
        let log = Self { remote: Arc::new(Remote { dir: dir.to_owned(), store, idle: Mutex::default() }) };
        let connection = log.remote.connect().await?;
        log.remote.keep(connection);
        Ok(log)
    }

    /// The id of the store, if its owner names one.
    pub(super) fn store(&self) -> Option<StoreId> {
        self.remote.store.get().copied()
    }

    pub(super) async fn append(&self, draft: &Draft) -> Result<Result<Committed, AppendError>, Lost> {
        let Draft { session, expected, at, ref events, digest } = *draft;
        // Sealed here as well: large texts go before the Batch, so that it fits a record on its way too. The owner seals it
        // again, with the digest before it, and finds its texts moved as it would have moved them.
        let sealed = match Batch::seal(session, expected, at, None, events.clone()) {
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

    pub(super) async fn sessions(&self) -> Result<Result<Vec<SessionHead>, ReadError>, Lost> {
        match self.remote.ask(&Ask::Sessions).await? {
            Answer::Sessions { heads } => {
                let heads = heads.into_iter();
                Ok(Ok(heads.map(|(session, head)| SessionHead { session, head: head.into() }).collect()))
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
        loop {
            let limit = limit.saturating_sub(all.len()) as u64;
            let ask = match back {
                false => Ask::Read { session, from: place, limit },
                true => Ask::ReadBack { session, before: place, limit },
            };
            let page = match self.remote.ask(&ask).await? {
                Answer::Slices { slices } => slices,
                // What was read before a damaged place is given; the next read begins there and tells it.
                Answer::Unreadable { .. } if !all.is_empty() => return Ok(Ok(all)),
                Answer::Unreadable { reason } => return Ok(Err(reason.into())),
                other => return Err(unexpected(&other)),
            };
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
                Scope::All { from } => Ask::FollowAll { from: from.0 },
            };
            let mut connection = remote.connect().await.map_err(lost)?;
            connection.send(ask.write()?).await?;
            Ok::<_, Lost>(stream::unfold(Some((remote, connection)), |following| async move {
                let (remote, mut connection) = following?;
                let next = match remote.unless_hung(connection.next()).await {
                    Ok(next) => followed(next),
                    Err(lost) => Err(lost),
                };
                match next {
                    Ok(Ok(followed)) => Some((Ok(Ok(followed)), Some((remote, connection)))),
                    ended => Some((ended, None)),
                }
            }))
        };
        let flattened = stream::once(opened).map(|opened| match opened {
            Ok(followed) => followed.boxed(),
            Err(lost) => stream::once(async move { Err(lost) }).boxed(),
        });
        Box::pin(flattened.flatten())
    }
}

fn followed(frame: Option<io::Result<bytes::BytesMut>>) -> Result<Result<Followed, ReadError>, Lost> {
    let frame = frame.unwrap_or_else(|| Err(io::ErrorKind::ConnectionAborted.into()))?;
    match Answer::read(&frame)? {
        Answer::Followed { slice, position } => {
            Ok(Ok(Followed::Batch { slice: slice.slice()?, position: position.map(Position) }))
        }
        Answer::Synced => Ok(Ok(Followed::Synced)),
        Answer::Unreadable { reason } => Ok(Err(reason.into())),
        other => Err(unexpected(&other)),
    }
}

fn lost(error: ConnectError) -> Lost {
    match error {
        ConnectError::OwnerHung(hung_owner) => io::Error::new(io::ErrorKind::TimedOut, hung_owner),
        ConnectError::Displaced(displaced) => displaced.error(),
        other => io::Error::other(other),
    }
}

fn unexpected(answer: &Answer) -> Lost {
    io::Error::new(io::ErrorKind::InvalidData, format!("the owner of the store answered something else: {answer:?}"))
}

impl Remote {
    async fn connect(&self) -> Result<Connection, ConnectError> {
        let absent = |source| ConnectError::Absent { dir: self.dir.clone(), source };
        let ours = hello(self.store.get().copied());
        let gone = || io::Error::from(io::ErrorKind::ConnectionAborted);
        let greeting = async {
            let stream = loop {
                match socket::connect(&self.dir) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(socket::LOOK).await,
                    connected => break UnixStream::from_std(connected?)?,
                }
            };
            let mut connection = Framed::new(stream, greeting());
            connection.send(bytes::Bytes::from(ours.clone())).await?;
            let theirs = connection.next().await.unwrap_or_else(|| Err(gone()))?;
            *connection.codec_mut() = greeted();
            Ok((connection, theirs))
        };
        let greeted = tokio::time::timeout(HELLO, greeting).await.map_err(|_| HungOwner::of(&self.dir))?;
        let (connection, theirs) = greeted.map_err(absent)?;
        let owner = String::from_utf8_lossy(&theirs).into_owned();
        if !understands(&ours, &owner) {
            return Err(ConnectError::Version { dir: self.dir.clone(), owner, ours });
        }
        self.same_store(&owner).map_err(ConnectError::Displaced)?;
        Ok(connection)
    }

    /// Whether the store of a greeting is the one of the first owner.
    fn same_store(&self, hello: &str) -> Result<(), Displaced> {
        let Some(found) = store_of(hello) else { return Ok(()) };
        match *self.store.get_or_init(|| found) {
            expected if expected != found => {
                Err(Displaced::Replaced { dir: self.dir.clone(), expected, found: Some(found) })
            }
            _ => Ok(()),
        }
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE {
            idle.push(connection);
        }
    }

    /// Asks over an idle connection, or a new one. A call that is dropped half-way takes its connection with it.
    async fn ask(&self, ask: &Ask) -> Result<Answer, Lost> {
        let message = ask.write()?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mut connection) = idle {
            // An idle connection may be of an owner that went; asking twice is safe, whatever is asked.
            match self.unless_hung(exchange(&mut connection, message.clone())).await? {
                Ok(answer) => {
                    self.keep(connection);
                    return Ok(answer);
                }
                Err(error) => tracing::debug!(%error, "an idle connection to the store's owner had ended"),
            }
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        let mut connection = self.connect().await.map_err(lost)?;
        let answer = self.unless_hung(exchange(&mut connection, message)).await??;
        self.keep(connection);
        Ok(answer)
    }

    /// Waits for the owner as long as it says that it is there.
    async fn unless_hung<T>(&self, answer: impl Future<Output = T>) -> Result<T, Lost> {
        let mut answer = std::pin::pin!(answer);
        loop {
            if let Ok(answer) = tokio::time::timeout(ANSWER, &mut answer).await {
                return Ok(answer);
            }
            match self.connect().await {
                Ok(connection) => self.keep(connection),
                Err(ConnectError::OwnerHung(hung_owner)) => return Err(lost(hung_owner.into())),
                // It went, and the call ends with it.
                Err(error) => tracing::debug!(%error, "the owner of the store was asked whether it is there"),
            }
        }
    }
}

async fn exchange(connection: &mut Connection, message: bytes::Bytes) -> Result<Answer, Lost> {
    connection.send(message).await?;
    match connection.next().await {
        Some(frame) => Ok(Answer::read(&frame?)?),
        None => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}

/// Reads over a connection of its own, and blocks while it does: the port is not asynchronous.
impl Blobs for Remote {
    fn text(&self, hash: &BlobHash) -> Option<String> {
        let told = self.blob(hash);
        if let Err(error) = &told {
            tracing::warn!(blob = %hash, %error, "a blob could not be asked of the store's owner");
        }
        told.ok().flatten()
    }
}

impl Remote {
    /// Asks for a blob; an error of kind `TimedOut` carries the [`HungOwner`] of an owner that does not answer.
    fn blob(&self, hash: &BlobHash) -> io::Result<Option<String>> {
        self.blob_within(hash, ANSWER + HELLO).map_err(|error| match error.kind() {
            // A call on a socket that took too long tells of itself as one that would block.
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => lost(HungOwner::of(&self.dir).into()),
            _ => error,
        })
    }

    fn blob_within(&self, hash: &BlobHash, patience: Duration) -> io::Result<Option<String>> {
        let mut stream = socket::connect_within(&self.dir, patience)?;
        send(&mut stream, hello(self.store.get().copied()).as_bytes())?;
        let theirs = receive(&mut stream)?;
        self.same_store(&String::from_utf8_lossy(&theirs)).map_err(Displaced::error)?;
        send(&mut stream, &Ask::Blob { hash: *hash }.write()?)?;
        match Answer::read(&receive(&mut stream)?)? {
            Answer::Blob { text } => Ok(text),
            other => Err(unexpected(&other)),
        }
    }
}

fn send(stream: &mut std::os::unix::net::UnixStream, message: &[u8]) -> io::Result<()> {
    let length = u32::try_from(message.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    stream.write_all(&length.to_be_bytes())?;
    stream.write_all(message)
}

fn receive(stream: &mut std::os::unix::net::UnixStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut message = Vec::new();
    let length = u64::from(u32::from_be_bytes(length));
    if stream.take(length).read_to_end(&mut message)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(message)
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

    fn sessions(&self) -> Boxed<'_, Result<Vec<SessionHead>, ReadError>> {
        Box::pin(async move { self.sessions().await.map_err(read_error)? })
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
