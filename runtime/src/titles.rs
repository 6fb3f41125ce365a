//! The title requests that run in a process.

use crate::tools::Cancel;
use annals_core::SessionId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// The title requests of a process. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Titles(Arc<Mutex<TitleState>>);

#[derive(Default)]
struct TitleState {
    asking: BTreeMap<SessionId, TitleTask>,
    /// Whether the runtime was halted: no model is asked any more.
    halted: bool,
}

struct TitleTask {
    cancel: Arc<Cancel>,
    /// Closes when the task has ended.
    ended: watch::Receiver<()>,
    /// `None` until it is spawned.
    task: Option<AbortHandle>,
}

impl Titles {
    /// Whether this process asks for the title of a session right now.
    pub(crate) fn asks_for(&self, session: SessionId) -> bool {
        self.state().asking.contains_key(&session)
    }

    /// Waits until no request for the title of a session runs.
    pub(crate) async fn settled(&self, session: SessionId) {
        let Some(mut ended) = self.state().asking.get(&session).map(|titling| titling.ended.clone()) else { return };
        while ended.changed().await.is_ok() {}
    }

    /// Cancels all and waits until they have ended.
    pub(crate) async fn shut_down(&self) {
        let asking: Vec<SessionId> = {
            let state = self.state();
            state.asking.values().for_each(|titling| titling.cancel.cancel());
            state.asking.keys().copied().collect()
        };
        for session in asking {
            self.settled(session).await;
        }
    }

    /// Aborts all: nothing more is written.
    pub(crate) fn abort(&self) {
        let mut state = self.state();
        state.halted = true;
        state.asking.values().filter_map(|titling| titling.task.as_ref()).for_each(AbortHandle::abort);
    }

    /// Registers a request for a session; `None` if one is open, or the runtime was halted.
    pub(crate) fn take_on(&self, session: SessionId) -> Option<(TitleGuard, Arc<Cancel>)> {
        let mut state = self.state();
        if state.halted || state.asking.contains_key(&session) {
            return None;
        }
        let (ending, ended) = watch::channel(());
        let cancel = Arc::new(Cancel::default());
        state.asking.insert(session, TitleTask { cancel: cancel.clone(), ended, task: None });
        Some((TitleGuard { titles: self.clone(), session, _ended: ending }, cancel))
    }

    pub(crate) fn spawned(&self, session: SessionId, task: AbortHandle) {
        let mut state = self.state();
        if state.halted {
            task.abort();
        }
        // It may have ended already.
        if let Some(titling) = state.asking.get_mut(&session) {
            titling.task = Some(task);
        }
    }

    fn state(&self) -> MutexGuard<'_, TitleState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a session off the list when its task ends, however it ends.
pub(crate) struct TitleGuard {
    titles: Titles,
    session: SessionId,
    _ended: watch::Sender<()>,
}

impl Drop for TitleGuard {
    fn drop(&mut self) {
        self.titles.state().asking.remove(&self.session);
    }
}
