//! The owner's side: one task a connection, one answer an ask, a stream to a follower.

use super::connections::{ConnectionState, Connections};
use super::messages::Connection;
use super::socket;
use super::wire::{Answer, Ask, LISTED, Malformed, PAGE, draft_of, greeted, greeting, hello, understands};
use crate::disk::Layout;
use crate::disk::files::RealDisk;
use crate::log::{EventLog, PageToken, Position, Scope, StoreCursor};
use crate::store_id::StoreId;
use futures_util::{SinkExt, StreamExt};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::codec::Framed;

/// A log that is served to other processes. Dropping it ends that.
#[derive(Debug)]
pub struct Server {
    accepting: JoinHandle<()>,
}

/// Serves a log over the socket in a folder. Call it inside a tokio runtime, as the owner of the store.
///
/// # Errors
/// When the socket cannot be made.
pub fn serve(log: Arc<dyn EventLog>, dir: &Path) -> io::Result<Server> {
    // A log in memory has none.
    let store = Layout::new(dir).identity(&RealDisk).ok().flatten().map(|identity| identity.id);
    let listener = socket::listen(dir)?;
    listener.set_nonblocking(true)?;
    let listener = UnixListener::from_std(listener)?;
    Ok(Server { accepting: tokio::spawn(accept(log, listener, store)) })
}

impl Server {
    /// Ends every connection and waits until nothing holds the log any more. A guest whose call was under way asks
    /// the next owner again; appending again is safe.
    pub async fn stop(mut self) {
        self.accepting.abort();
        // The only outcome is that it was cancelled.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// How often it is looked for room while all connections are busy.
const BUSY: Duration = Duration::from_millis(5);

/// How long a guest may take to greet.
const GREETING: Duration = Duration::from_secs(3);

async fn accept(log: Arc<dyn EventLog>, listener: UnixListener, store: Option<StoreId>) {
    // Aborting this task drops the set, which aborts every connection.
    let mut connections = JoinSet::new();
    let mut limit = Connections::new();
    loop {
        let room = limit.make_room();
        tokio::select! {
            // A call that is under way ends, and its connection is idle then.
            () = tokio::time::sleep(BUSY), if !room => {}
            accepted = listener.accept(), if room => match accepted {
                Ok((stream, _)) => {
                    let state = limit.state();
                    limit.began(connections.spawn(talk(log.clone(), stream, store, state.clone())), state);
                }
                Err(error) => {
                    // Out of descriptors, most likely: those who wait are served when some are free again.
                    tracing::warn!(%error, "a guest of the store could not be let in");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(ended) = connections.join_next_with_id() => match ended {
                Ok((id, ())) => limit.ended(id),
                Err(error) => {
                    limit.ended(error.id());
                    if error.is_panic() {
                        tracing::error!(%error, "serving a guest of the store failed inside the program");
                    }
                }
            },
        }
    }
}

async fn talk(log: Arc<dyn EventLog>, stream: UnixStream, store: Option<StoreId>, state: Arc<ConnectionState>) {
    if let Err(error) = serve_one(&*log, stream, store, &state).await {
        tracing::debug!(%error, "a guest of the store left");
    }
}

async fn serve_one(
    log: &dyn EventLog,
    stream: UnixStream,
    store: Option<StoreId>,
    state: &ConnectionState,
) -> io::Result<()> {
    let mut connection = Framed::new(stream, greeting());
    let ours = hello(store);
    let greeted_in_time = tokio::time::timeout(GREETING, connection.next()).await;
    let Some(theirs) = greeted_in_time.map_err(io::Error::from)?.transpose()? else { return Ok(()) };
    *connection.codec_mut() = greeted();
    connection.send(bytes::Bytes::from(ours.clone())).await?;
    if !understands(&ours, &String::from_utf8_lossy(&theirs)) {
        return Ok(());
    }
    loop {
        state.idle();
        let Some(ask) = connection.next().await.transpose()? else { return Ok(()) };
        state.busy();
        let scope = match Ask::read(&ask)? {
            Ask::FollowSession { session, from } => Scope::Session { session, from },
            Ask::FollowAll { from } => Scope::All { from: StoreCursor::before(Position(from)) },
            ask => {
                let answer = answer(log, ask).await?;
                connection.send(answer.write()?).await?;
                continue;
            }
        };
        return follow(log, scope, connection).await;
    }
}

async fn answer(log: &dyn EventLog, ask: Ask) -> Result<Answer, Malformed> {
    let refused = |error: crate::log::AppendError| Answer::Refused { refusal: error.into() };
    let unreadable = |error: crate::log::ReadError| Answer::Unreadable { reason: error.into() };
    let page = |limit: u64| usize::try_from(limit).unwrap_or(PAGE).min(PAGE);
    let listed = |limit: u64| usize::try_from(limit).unwrap_or(LISTED).min(LISTED);
    Ok(match ask {
        Ask::Append { batch, digest } => match log.append(draft_of(&batch, digest)?).await {
            Ok(committed) => Answer::committed(&committed)?,
            Err(error) => refused(error),
        },
        Ask::Head { session } => match log.head(session).await {
            Ok(head) => Answer::Head { head: head.map(Into::into) },
            Err(error) => unreadable(error),
        },
        Ask::Sessions { after, limit } => match log.sessions_page(after.map(PageToken::after), listed(limit)).await {
            Ok(page) => {
                let heads = page.sessions.into_iter().map(|one| (one.session, one.head.into())).collect();
                Answer::Sessions { heads, more: page.next.is_some() }
            }
            Err(error) => unreadable(error),
        },
        Ask::Read { session, from, limit } => match log.read(session, from, page(limit)).await {
            Ok(slices) => Answer::slices(&slices)?,
            Err(error) => unreadable(error),
        },
        Ask::ReadBack { session, before, limit } => match log.read_back(session, before, page(limit)).await {
            Ok(slices) => Answer::slices(&slices)?,
            Err(error) => unreadable(error),
        },
        Ask::PutBlob { text } => match log.put_blob(text).await {
            Ok(hash) => Answer::Stored { hash },
            Err(error) => refused(error),
        },
        Ask::Blob { hash } => Answer::Blob { text: log.blobs().text(&hash) },
        // Following takes the whole connection; `serve_one` has seen to it.
        Ask::FollowSession { .. } | Ask::FollowAll { .. } => Answer::Synced,
    })
}

/// Streams until the guest hangs up. A guest that reads slowly delays only this task.
async fn follow(log: &dyn EventLog, scope: Scope, mut connection: Connection) -> io::Result<()> {
    let mut following = log.follow(scope);
    loop {
        tokio::select! {
            item = following.next() => match item {
                Some(Ok(followed)) => connection.send(Answer::followed(&followed)?.write()?).await?,
                Some(Err(error)) => {
                    return connection.send(Answer::Unreadable { reason: error.into() }.write()?).await;
                }
                None => return Ok(()),
            },
            // A guest says nothing more; this is its hanging up.
            _ = connection.next() => return Ok(()),
        }
    }
}
