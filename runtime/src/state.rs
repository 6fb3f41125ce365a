//! What the sessions of one runtime share.

use crate::background::Background;
use crate::bus::Bus;
use crate::coordinator::Coordinator;
use crate::editing::EditorState;
use crate::lane::Lane;
use crate::settings::{Ports, Settings};
use crate::titles::Titles;
use annals_core::SessionId;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Runs sessions. Clones share everything; when the last one is dropped, every run is stopped as if the process had
/// died.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) shared: Arc<RuntimeState>,
    pub(crate) _halting: Arc<Halting>,
}

/// The state that the sessions of a runtime share.
pub(crate) struct RuntimeState {
    /// What edits of sessions need, the lanes among it.
    pub(crate) editing: Arc<EditorState>,
    pub(crate) ports: Ports,
    pub(crate) settings: Settings,
    pub(crate) bus: Bus,
    pub(crate) coordinator: Coordinator,
    /// Children whose end this process will record in their parents.
    pub(crate) serving: Mutex<BTreeSet<SessionId>>,
    /// Tasks in the background that this process runs.
    pub(crate) background: Background,
    /// Title requests that are under way.
    pub(crate) titles: Titles,
}

/// Halts everything when the last [`Runtime`] is dropped. Running tasks hold the shared state, so its own drop would come
/// too late.
pub(crate) struct Halting {
    pub(crate) coordinator: Coordinator,
    pub(crate) titles: Titles,
}

impl Drop for Halting {
    fn drop(&mut self) {
        drop(self.coordinator.abort());
        self.titles.abort();
    }
}

impl RuntimeState {
    /// The one lane of a session in this runtime, shared while it is in use.
    pub(crate) fn lane(&self, session: SessionId) -> Arc<Lane> {
        self.editing.lane(session)
    }
}
