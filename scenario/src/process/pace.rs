//! Background work starts when the script says so, so that its events are in the same place of the log on every backend.

use annals_runtime::Boxed;
use annals_runtime::background::{Guard, Scheduler, Work};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot::{self, Sender};

/// Background work that waits for the script to start it.
#[derive(Default)]
pub(super) struct WaitingWork(Mutex<Vec<(Work, Sender<Sender<()>>)>>);

impl WaitingWork {
    /// Starts work; the future resolves when it has ended. `None` if no such work waits.
    pub fn start(&self, work: Work) -> Option<impl Future<Output = ()> + Send + use<>> {
        let mut waiting = self.waiting();
        let at = waiting.iter().position(|(held, _)| *held == work)?;
        let (_, go) = waiting.remove(at);
        let (pass, ended) = oneshot::channel();
        // Work that was dropped has closed its channel; the guard is dropped with it.
        drop(go.send(pass));
        Some(async move {
            // Nothing is sent: the work has ended when the guard is dropped.
            let _dropped = ended.await;
        })
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<(Work, Sender<Sender<()>>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scheduler for WaitingWork {
    fn schedule(&self, work: Work) -> Boxed<'static, Guard> {
        let (go, evict) = oneshot::channel();
        self.waiting().push((work, go));
        Box::pin(async move {
            match evict.await {
                Ok(pass) => Box::new(pass) as Guard,
                // The process has ended.
                Err(_) => std::future::pending().await,
            }
        })
    }
}
