//! The background tasks of a process: awaited and cancelled by the session that created them.

use crate::coordinator::RunResult;
use crate::tools::{Cancel, Cancellation};
use annals_core::SessionId;
use futures_util::future::select_all;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The background tasks of a process, by the child that executes each. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Background(Arc<Mutex<BTreeMap<SessionId, BackgroundTask>>>);

struct BackgroundTask {
    parent: SessionId,
    cancel: Arc<Cancel>,
    /// Closes when the task has ended; before that it gives how the turns ended that its result led to, if it led to any.
    ended: watch::Receiver<Option<RunResult>>,
}

/// A registered background task, until dropped.
pub(crate) struct TaskHandle {
    background: Background,
    child: SessionId,
    cancel: Arc<Cancel>,
    ending: watch::Sender<Option<RunResult>>,
}

impl Background {
    /// Registers a task.
    pub(crate) fn begin(&self, parent: SessionId, child: SessionId) -> TaskHandle {
        let (ending, ended) = watch::channel(None);
        let cancel = Arc::new(Cancel::default());
        self.tasks().insert(child, BackgroundTask { parent, cancel: cancel.clone(), ended });
        TaskHandle { background: self.clone(), child, cancel, ending }
    }

    /// The children that execute tasks of `parent`.
    pub(crate) fn of(&self, parent: SessionId) -> Vec<SessionId> {
        self.tasks().iter().filter(|(_, task)| task.parent == parent).map(|(child, _)| *child).collect()
    }

    /// Waits until a task of `parent` has ended. `None` when no task runs.
    pub(crate) async fn ended(&self, parent: SessionId) -> Option<Option<RunResult>> {
        let waiting: Vec<_> = {
            let tasks = self.tasks();
            let of_parent = tasks.values().filter(|task| task.parent == parent);
            of_parent.map(|task| Box::pin(end(task.ended.clone()))).collect()
        };
        if waiting.is_empty() {
            return None;
        }
        Some(select_all(waiting).await.0)
    }

    /// Cancels the tasks of `parent`, or all of them; gives which.
    pub(crate) fn cancel(&self, parent: Option<SessionId>) -> Vec<SessionId> {
        let tasks = self.tasks();
        let meant = tasks.iter().filter(|(_, task)| parent.is_none_or(|parent| task.parent == parent));
        meant.inspect(|(_, task)| task.cancel.cancel()).map(|(child, _)| *child).collect()
    }

    /// Waits until no task is left.
    pub(crate) async fn settled(&self) {
        loop {
            let Some(ended) = self.tasks().values().next().map(|task| task.ended.clone()) else { return };
            // How it ended is for those who wait for its parent.
            let _: Option<RunResult> = end(ended).await;
        }
    }

    fn tasks(&self) -> MutexGuard<'_, BTreeMap<SessionId, BackgroundTask>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn end(mut ended: watch::Receiver<Option<RunResult>>) -> Option<RunResult> {
    while ended.changed().await.is_ok() {}
    ended.borrow().clone()
}

impl TaskHandle {
    /// Reports the cancellation of the task.
    pub(crate) fn cancellation(&self) -> Cancellation {
        self.cancel.watch()
    }

    /// The turns that its result led to are over.
    pub(crate) fn led_to(&self, ended: RunResult) {
        self.ending.send_replace(Some(ended));
    }
}

impl Drop for TaskHandle {
    fn drop(&mut self) {
        // Before `ending` closes: a waiter that wakes up finds that the task is gone.
        self.background.tasks().remove(&self.child);
    }
}
