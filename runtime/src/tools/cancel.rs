//! Telling running work that nobody waits for it any more.

use tokio::sync::watch;

/// Cancels what holds its [`Cancellation`]. Dropping it cancels nothing.
#[derive(Debug)]
pub struct Cancel(watch::Sender<bool>);

/// Learns of a cancellation. Clones learn of the same one.
#[derive(Clone, Debug)]
pub struct Cancellation(watch::Receiver<bool>);

impl Default for Cancel {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Cancel {
    /// What work holds on to.
    pub fn watch(&self) -> Cancellation {
        Cancellation(self.0.subscribe())
    }

    /// Cancels, once and for all.
    pub fn cancel(&self) {
        self.0.send_replace(true);
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
