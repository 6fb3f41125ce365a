//! What can be changed in a session without a model: pins, forks, reverts, moves, titles, pending inputs.

use crate::bus::Bus;
use crate::coordinator::Coordinator;
use crate::editing::{EditorPorts, EditorState};
use crate::lane::{Decision, Lane};
use crate::outcome::{LogError, MissingItem, Refusal};
use annals_core::{Blobs, Event, Seq, SessionId};
use annals_projections::SessionView;
use std::sync::Arc;

/// A Session that can be changed and not run. Clones edit the same session.
///
/// A [`Session`](crate::Session) of a [`Runtime`](crate::Runtime) is an editor, too: it dereferences to its own. An editor
/// that is used alone does not know of runs in other processes: its caller makes sure that no other process runs the
/// session (the `annals` command takes its lease first).
#[derive(Clone)]
pub struct SessionEditor {
    pub(super) state: Arc<EditorState>,
    pub(super) lane: Arc<Lane>,
}

impl SessionEditor {
    /// Opens a session of the log for edits.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when no session has the id.
    pub async fn open(ports: EditorPorts, session: SessionId) -> Result<Self, Refusal> {
        let bus = Bus::default();
        let state = EditorState::new(ports, bus.clone(), Coordinator::new(bus));
        match state.log.head(session).await? {
            Some(_) => Ok(Self::of(Arc::new(state), session)),
            None => Err(Refusal::NotFound(MissingItem::Session(session))),
        }
    }

    pub(crate) fn of(state: Arc<EditorState>, session: SessionId) -> Self {
        let lane = state.lane(session);
        Self { state, lane }
    }

    /// Its id.
    pub fn id(&self) -> SessionId {
        self.lane.session()
    }

    /// The complete view of the session as the log is now.
    pub async fn view(&self) -> Result<Arc<SessionView>, LogError> {
        self.lane.view().await
    }

    /// Resolves the blobs that its views refer to.
    pub fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        self.lane.blobs()
    }

    /// Whether it runs in this process.
    pub fn is_running(&self) -> bool {
        self.state.coordinator.is_busy(self.id())
    }

    /// Appends an event that the caller decided on, and returns its number. Nothing is checked here.
    ///
    /// # Errors
    /// When the session is imported, or the log refuses.
    pub async fn record(&self, event: Event) -> Result<Seq, LogError> {
        let append = |view: &SessionView| Ok(Decision::append(vec![event.clone()], view.cut().next));
        self.lane.decide(append).await
    }

    pub(super) fn refuse_while_running(&self) -> Result<(), Refusal> {
        if self.is_running() { Err(Refusal::Busy) } else { Ok(()) }
    }
}
