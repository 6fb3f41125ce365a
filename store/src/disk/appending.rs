//! Appending: decide where a Draft goes by the heads in memory, seal it, hand it to the committer.

use super::committer::{Order, Request};
use super::shared::{Reservation, Shared};
use crate::log::{AppendError, Committed, Draft, Position};
use crate::placing::{self, Place};
use annals_core::{BlobHash, Digest, Seq};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Where a Draft stands after the heads were asked.
enum Turn {
    /// Its place is its own until the reservation goes.
    Mine(Reservation, Option<Digest>),
    /// The Batch there may be this very one.
    Behind(Seq),
}

impl Shared {
    /// See [`crate::EventLog::append`].
    pub(super) async fn append(
        self: &Arc<Self>,
        draft: Draft,
        orders: mpsc::Sender<Order>,
    ) -> Result<Committed, AppendError> {
        let (reservation, prev) = match self.turn(&draft).await? {
            Turn::Mine(reservation, prev) => (reservation, prev),
            Turn::Behind(actual) => return self.known(&draft, actual),
        };
        let sealed = placing::seal(&draft, prev)?;
        let needed: Vec<BlobHash> = placing::blobs_needed(&sealed).collect();
        let (session, seq) = (draft.session, draft.expected);
        if !needed.is_empty() || !sealed.blobs.is_empty() {
            let (shared, brought) = (self.clone(), sealed.blobs);
            blocking(move || shared.keep_blobs(&brought, &needed))
                .await
                .map_err(|source| AppendError::Io { source: Arc::new(source) })?
                .map_or(Ok(()), |blob| Err(AppendError::MissingBlob { session, seq, blob }))?;
        }
        let (reply, answer) = oneshot::channel();
        let request = Request { batch: Arc::new(sealed.batch), encoded: sealed.encoded, reservation, reply };
        orders.send(Order::Append(request)).await.map_err(|_| AppendError::Closed)?;
        answer.await.unwrap_or(Err(AppendError::Unknown))
    }

    /// Waits until nobody else's Batch of this Session is on its way, and decides.
    async fn turn(self: &Arc<Self>, draft: &Draft) -> Result<Turn, AppendError> {
        loop {
            let busy = {
                let mut state = self.lock();
                match self.reserve(&mut state, draft.session) {
                    Err(busy) => busy,
                    Ok(reservation) => {
                        let own = state.sessions.own.get(&draft.session).copied();
                        drop(state);
                        return self.decide(
                            draft,
                            own.map(|own| own.head),
                            own.is_some_and(|own| own.lost),
                            reservation,
                        );
                    }
                }
            };
            busy.await;
        }
    }

    fn decide(
        &self,
        draft: &Draft,
        head: Option<crate::log::Head>,
        lost: bool,
        reservation: Reservation,
    ) -> Result<Turn, AppendError> {
        let prev = match placing::place(draft, head)? {
            Place::Behind => return Ok(Turn::Behind(head.map_or(Seq::ZERO, |head| head.next))),
            Place::Next { .. } if lost => {
                return Err(AppendError::Misplaced { session: draft.session, reason: placing::LOST_END });
            }
            Place::Next { prev } => Some(prev),
            Place::Created => None,
            Place::Forked(fork) => {
                let last = Seq(fork.cut.0.saturating_sub(1));
                let holds = self.read(fork.parent, last, 1).unwrap_or_default().pop();
                Some(placing::fork_prev(draft, fork, holds.as_ref().map(|slice| &*slice.batch))?)
            }
        };
        Ok(Turn::Mine(reservation, prev))
    }

    fn known(&self, draft: &Draft, actual: Seq) -> Result<Committed, AppendError> {
        let found = self.own_from(draft.session, draft.expected, 1).unwrap_or_default().pop();
        if let Some(stored) = found.filter(|stored| stored.batch.first == draft.expected)
            && placing::stands_already(draft, &stored.batch)?
        {
            return Ok(Committed { batch: stored.batch, position: Position(stored.position), known: true });
        }
        Err(placing::conflict(draft, actual))
    }

    /// Makes blobs durable. Gives a needed one that the store does not hold.
    fn keep_blobs(&self, brought: &[(BlobHash, String)], needed: &[BlobHash]) -> std::io::Result<Option<BlobHash>> {
        if let Some(missing) = needed.iter().find(|blob| !self.blobs.holds(blob)) {
            return Ok(Some(*missing));
        }
        for (hash, text) in brought {
            self.blobs.put(hash, text)?;
        }
        Ok(None)
    }
}

/// Runs what waits for the disk where it holds up nobody, if there is such a place.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> std::io::Result<T> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.map_err(std::io::Error::other)?,
        Err(_) => work(),
    }
}
