//! Work beside the turns: it begins when the script says so, so that its facts stand in one place on every backend.

use annals_runtime::Boxed;
use annals_runtime::background::{Guard, Scheduler, Work};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot::{self, Sender};

/// The work of one process that waits for its script.
#[derive(Default)]
pub(super) struct Held(Mutex<Vec<(Work, Sender<Sender<()>>)>>);

impl Held {
    /// Lets work begin, and gives what resolves when it has ended; `None` when none such waits.
    pub fn lets_begin(&self, work: Work) -> Option<impl Future<Output = ()> + Send + use<>> {
        let mut waiting = self.waiting();
        let at = waiting.iter().position(|(held, _)| *held == work)?;
        let (_, go) = waiting.remove(at);
        let (pass, ended) = oneshot::channel();
        // Work that is gone has dropped its place, and the pass with it.
        drop(go.send(pass));
        Some(async move {
            // A pass tells nothing but that it was dropped.
            let _dropped = ended.await;
        })
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<(Work, Sender<Sender<()>>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scheduler for Held {
    fn schedule(&self, work: Work) -> Boxed<'static, Guard> {
        let (go, evict) = oneshot::channel();
        self.waiting().push((work, go));
        Box::pin(async move {
            match evict.await {
                Ok(pass) => Box::new(pass) as Guard,
                // The process is gone.
                Err(_) => std::future::pending().await,
            }
        })
    }
}
