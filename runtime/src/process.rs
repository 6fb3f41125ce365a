//! Records which process appends to a session: in `session.created` of a session that it creates, else in a
//! `process.attached` at the end of the first batch that it appends (`docs/reference/turn.md#processes`).

use crate::Boxed;
use annals_core::event::{Location, ProcessAttached, ProcessInfo};
use annals_core::{Event, SessionId};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Describes this process and the state of a session's files.
pub trait DescribeProcess: Send + Sync {
    /// The description for a session at a location; `None` if the location is not known.
    fn describe<'a>(&'a self, location: Option<&'a Location>) -> Boxed<'a, ProcessInfo>;
}

/// Knows which sessions this process was recorded in. One per process, shared by all of its runtimes and editors.
pub struct ProcessRecorder {
    describe: Arc<dyn DescribeProcess>,
    recorded: Mutex<BTreeSet<SessionId>>,
}

impl ProcessRecorder {
    /// A recorder that has recorded nothing yet.
    pub fn new(describe: Arc<dyn DescribeProcess>) -> Self {
        Self { describe, recorded: Mutex::default() }
    }

    /// The sessions that this process has appended to.
    pub fn sessions(&self) -> Vec<SessionId> {
        self.lock().iter().copied().collect()
    }

    /// The description for a session that is about to be created.
    pub(crate) async fn creating(recorder: Option<&Self>, location: &Location) -> Option<ProcessInfo> {
        match recorder {
            Some(recorder) => Some(recorder.describe.describe(Some(location)).await),
            None => None,
        }
    }

    /// The event for the first batch of this process; `None` once it was appended.
    pub(crate) async fn attaching(
        recorder: Option<&Self>,
        session: SessionId,
        location: Option<&Location>,
    ) -> Option<Event> {
        let recorder = recorder.filter(|recorder| !recorder.lock().contains(&session))?;
        let process = recorder.describe.describe(location).await;
        Some(ProcessAttached { process }.into())
    }

    /// The batch with the description was committed.
    pub(crate) fn recorded(recorder: Option<&Self>, session: SessionId) {
        if let Some(recorder) = recorder {
            recorder.lock().insert(session);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<SessionId>> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ProcessRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessRecorder").field("recorded", &*self.lock()).finish_non_exhaustive()
    }
}
