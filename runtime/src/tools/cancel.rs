//! Cancellation of running work.

use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

/// Cancels what holds its [`Cancellation`]. Dropping it cancels nothing.
#[derive(Debug)]
pub struct Cancel {
    cancelled: watch::Sender<bool>,
    overtaken: AtomicBool,
}

/// Learns of a cancellation. Clones learn of the same one.
#[derive(Clone, Debug)]
pub struct Cancellation(watch::Receiver<bool>);

impl Default for Cancel {
    fn default() -> Self {
        Self { cancelled: watch::Sender::new(false), overtaken: AtomicBool::new(false) }
    }
}

impl Cancel {
    /// What work holds on to.
    pub fn watch(&self) -> Cancellation {
        Cancellation(self.cancelled.subscribe())
    }

    /// Cancels, once and for all.
    pub fn cancel(&self) {
        self.cancelled.send_replace(true);
    }

    /// Cancels because a committed revert removed the work, not because the user asked for it.
    pub(crate) fn overtake(&self) {
        self.overtaken.store(true, Ordering::Relaxed);
        self.cancel();
    }

    /// Whether [`Cancel::overtake`] was called.
    pub(crate) fn is_overtaken(&self) -> bool {
        self.overtaken.load(Ordering::Relaxed)
    }
}

impl Cancellation {
    /// Whether it has happened.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it happens, which may be never.
    pub async fn cancelled(&self) {
        if self.0.clone().wait_for(|cancelled| *cancelled).await.is_err() {
            // The other side is gone without cancelling.
            std::future::pending::<()>().await;
        }
    }
}
