//! What edits of sessions work with: the log, files, a clock, ids; shared by all editors of one log.

use crate::bus::Bus;
use crate::coordinator::Coordinator;
use crate::guarded::GuardedLog;
use crate::lane::Lane;
use crate::ports::{Clock, Ids};
use crate::process::ProcessRecorder;
use crate::worktree::Files;
use annals_core::SessionId;
use annals_core::event::Location;
use annals_guard::redaction::Redactor;
use annals_store::EventLog;
use annals_store::cache::ViewCache;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Gives the files of a location; `None` where they are not captured.
pub type FilesAt = Arc<dyn Fn(&Location) -> Option<Arc<dyn Files>> + Send + Sync>;

/// What a [`SessionEditor`](crate::SessionEditor) works with: no provider, no tools, no settings of turns.
#[derive(Clone)]
pub struct EditorPorts {
    /// The log that edits are appended to.
    pub log: Arc<dyn EventLog>,
    /// The files that reverts restore and moves take along.
    pub files: FilesAt,
    /// The time of the events.
    pub clock: Arc<dyn Clock>,
    /// The ids of forks.
    pub ids: Arc<dyn Ids>,
    /// Saved views, so that a long session is folded at the cost of what is new.
    pub views: Option<Arc<ViewCache>>,
    /// Replaces secrets before anything is appended; without one nothing is replaced.
    pub redactor: Option<Arc<Redactor>>,
    /// Records in each session which process appends to it; without one nothing is recorded.
    pub process: Option<Arc<ProcessRecorder>>,
}

/// What the editors of one log share.
pub(crate) struct EditorState {
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) files: FilesAt,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) process: Option<Arc<ProcessRecorder>>,
    views: Option<Arc<ViewCache>>,
    bus: Bus,
    pub(crate) coordinator: Coordinator,
    lanes: Mutex<BTreeMap<SessionId, Weak<Lane>>>,
    /// Sessions whose files this process restores.
    pub(crate) restoring: Mutex<BTreeSet<SessionId>>,
}

impl EditorState {
    /// Shared state of the editors of a runtime, or of one that takes no turns.
    pub(crate) fn new(ports: EditorPorts, bus: Bus, coordinator: Coordinator) -> Self {
        let EditorPorts { log, files, clock, ids, views, redactor, process } = ports;
        let log = match redactor {
            Some(redactor) => GuardedLog::layer_on(log, redactor),
            None => log,
        };
        let (lanes, restoring) = (Mutex::default(), Mutex::default());
        Self { log, files, clock, ids, process, views, bus, coordinator, lanes, restoring }
    }

    /// The one lane of a session in this process, shared while it is in use.
    pub(crate) fn lane(&self, session: SessionId) -> Arc<Lane> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.get(&session).and_then(Weak::upgrade) {
            return lane;
        }
        lanes.retain(|_, lane| lane.strong_count() > 0);
        let (log, clock) = (self.log.clone(), self.clock.clone());
        let lane = Arc::new(Lane::new(session, log, clock, self.views.clone(), self.bus.clone(), self.process.clone()));
        lanes.insert(session, Arc::downgrade(&lane));
        lane
    }
}
