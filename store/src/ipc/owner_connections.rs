//! Connections to the owner of a store: opened, kept, asked over, and given up when the owner hangs.

use super::messages::Connection;
use super::socket;
use super::wire::{Answer, Ask, greeted, greeting, hello, store_of, understands};
use crate::displaced::Displaced;
use crate::hung_owner::HungOwner;
use crate::store_id::StoreId;
use annals_core::{BlobHash, Blobs};
use futures_util::{SinkExt, StreamExt};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::net::UnixStream;
use tokio_util::codec::Framed;

/// How many idle connections are kept.
const IDLE: usize = 64;

/// The owner of the store cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No process answers: the owner ended, or has not opened its socket yet.
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
    /// The owner is there and says nothing, as when it was stopped: resume it, or end it.
    #[error(transparent)]
    OwnerHung(#[from] HungOwner),
}

/// How long an answer may take before the owner is asked whether it is there at all.
const ANSWER: Duration = Duration::from_secs(5);

/// How long the owner may take to say that it is there: a task of its own does that, however busy it is.
const HELLO: Duration = Duration::from_secs(5);

/// The connection broke while a call was under way: it may have been done or not.
pub(super) type Lost = io::Error;

#[derive(Debug)]
pub(super) struct OwnerConnections {
    pub(super) dir: PathBuf,
    /// The store of the first owner, or the one that was expected of it.
    pub(super) store: OnceLock<StoreId>,
    pub(super) idle: Mutex<Vec<Connection>>,
}

pub(super) fn lost(error: ConnectError) -> Lost {
    match error {
        ConnectError::OwnerHung(hung_owner) => io::Error::new(io::ErrorKind::TimedOut, hung_owner),
        ConnectError::Displaced(displaced) => displaced.error(),
        other => io::Error::other(other),
    }
}

impl OwnerConnections {
    /// No connections yet to the owner of the store in a folder; `store`: its id, if it must be that one.
    pub(super) fn new(dir: &Path, store: Option<StoreId>) -> Self {
        let store = store.map_or_else(OnceLock::new, OnceLock::from);
        Self { dir: dir.to_owned(), store, idle: Mutex::default() }
    }

    pub(super) async fn connect(&self) -> Result<Connection, ConnectError> {
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

    pub(super) fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE {
            idle.push(connection);
        }
    }

    /// Asks over an idle connection, or a new one. A call that is dropped half-way takes its connection with it.
    pub(super) async fn ask(&self, ask: &Ask) -> Result<Answer, Lost> {
        let message = ask.write()?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mut connection) = idle {
            // An idle connection may lead to an owner that has ended; every call can safely be repeated.
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
    pub(super) async fn unless_hung<T>(&self, answer: impl Future<Output = T>) -> Result<T, Lost> {
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

pub(super) async fn exchange(connection: &mut Connection, message: bytes::Bytes) -> Result<Answer, Lost> {
    connection.send(message).await?;
    match connection.next().await {
        Some(frame) => Ok(Answer::read(&frame?)?),
        None => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}

/// Reads over a connection of its own, and blocks while it does: the port is not asynchronous.
impl Blobs for OwnerConnections {
    fn text(&self, hash: &BlobHash) -> Option<String> {
        let blob = self.blob(hash);
        if let Err(error) = &blob {
            tracing::warn!(blob = %hash, %error, "a blob could not be asked of the store's owner");
        }
        blob.ok().flatten()
    }
}

impl OwnerConnections {
    /// Asks for a blob; an error of kind `TimedOut` carries the [`HungOwner`] of an owner that does not answer.
    fn blob(&self, hash: &BlobHash) -> io::Result<Option<String>> {
        self.blob_within(hash, ANSWER + HELLO).map_err(|error| match error.kind() {
            // A call on a socket that took too long is reported as one that would block.
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

/// An answer that does not belong to what was asked.
pub(super) fn unexpected(answer: &Answer) -> Lost {
    io::Error::new(io::ErrorKind::InvalidData, format!("the owner of the store answered something else: {answer:?}"))
}
