//! The way to the committer.

use super::committer::{AppendRequest, Flushed, Order, SharedCommitter};
use crate::disk::state::Reservation;
use crate::log::AppendError;
use annals_core::Batch;
use std::sync::atomic::Ordering;
use std::sync::{Arc, TryLockError};
use tokio::sync::{mpsc, oneshot};

/// Where batches become durable: on the committer's thread together with those of other writers, or on the thread of a writer
/// that is alone, which then waits for no other thread.
#[derive(Clone, Debug)]
pub struct CommitQueue {
    orders: mpsc::Sender<Order>,
    committer: Arc<SharedCommitter>,
}

impl CommitQueue {
    pub(super) fn new(orders: mpsc::Sender<Order>, committer: Arc<SharedCommitter>) -> Self {
        Self { orders, committer }
    }

    /// Makes batches of one session durable.
    ///
    /// # Errors
    /// As [`crate::EventLog::append`].
    pub async fn commit(
        &self,
        batches: Vec<(Arc<Batch>, Vec<u8>)>,
        reservation: Reservation,
    ) -> Result<Flushed, AppendError> {
        let (reply, answer) = oneshot::channel();
        if let Err(request) = self.commit_now(AppendRequest { batches, reservation, reply })
            && self.orders.send(Order::Append(request)).await.is_err()
        {
            return Err(AppendError::Closed);
        }
        answer.await.unwrap_or(Err(AppendError::Unknown))
    }

    /// Commits on this thread if the committer is idle and its queue is empty.
    fn commit_now(&self, request: AppendRequest) -> Result<(), AppendRequest> {
        let mut committer = match self.committer.committer.try_lock() {
            Ok(committer) => committer,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(request),
        };
        let queued = self.orders.capacity() < self.orders.max_capacity();
        let idle = !queued && !self.orders.is_closed() && !self.committer.collecting.load(Ordering::Acquire);
        match committer.as_mut().filter(|_| idle) {
            Some(committer) => committer.commit_now(request),
            None => Err(request),
        }
    }

    /// Asks the committer to finish what was asked before, and to go.
    pub(super) fn stop(&self) {
        // The queue may be full; this thread may belong to an executor, where only this way of waiting is allowed.
        while let Err(mpsc::error::TrySendError::Full(_)) = self.orders.try_send(Order::Stop) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}
