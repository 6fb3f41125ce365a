//! A Session as its host sees it: what edits it (`SessionEditor`) and what runs it (`Session`).

mod answer;
mod edit;
mod editor;
mod fork;
mod inbox;
mod local;
mod moving;
mod permission;
mod pin;
mod restoring;
mod revert;
mod selection;
mod undo;
mod undo_steps;

pub use answer::{InputAnswer, InputAnswerError};
pub use edit::{EditRefusal, EditableText, TextKind};
pub use editor::SessionEditor;
pub use fork::fork_title;
pub use inbox::NewInput;
pub use local::{Local, local_fork};
pub use moving::{FilesStay, MoveChoice, MovePlan};
pub(crate) use restoring::settle_restore;
pub use undo::{Extent, RevertFiles, RevertPlan};
pub use undo_steps::{next_redo, next_undo};

use crate::coordinator::{JobRunner, RunJob};
use crate::outcome::{Outcome, Refusal, RunError};
use crate::state::{Runtime, RuntimeState};
use annals_core::{Seq, SessionId};
use std::ops::Deref;
use std::sync::Arc;

/// A Session of a [`Runtime`]: a [`SessionEditor`], to which it dereferences, that can also be run. Clones are the same
/// session; while one lives, its view stays in memory.
#[derive(Clone)]
pub struct Session {
    runtime: Runtime,
    editor: SessionEditor,
}

impl Deref for Session {
    type Target = SessionEditor;

    fn deref(&self) -> &SessionEditor {
        &self.editor
    }
}

/// A message, for a revert or a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessagePlace {
    /// The N-th user message of the transcript, counted from 1, without what a committed revert removed.
    User(u64),
    /// The message that the event at this Seq made.
    Seq(Seq),
}

/// A task in the background has ended.
#[derive(Clone, Debug)]
pub struct BackgroundEnded {
    /// How the turns ended that its result led to; `None` when it led to none.
    pub turns: Option<Result<Outcome, RunError>>,
}

impl Session {
    pub(crate) fn new(runtime: Runtime, editor: SessionEditor) -> Self {
        Self { runtime, editor }
    }

    /// Forks before a message, or at the end. See [`SessionEditor::fork`].
    pub async fn fork(&self, before: Option<MessagePlace>) -> Result<Self, Refusal> {
        Ok(Self::new(self.runtime.clone(), self.editor.fork(before).await?))
    }

    /// Forks at a Seq: the first one that is not inherited. See [`SessionEditor::fork_at`].
    pub async fn fork_at(&self, cut: Seq) -> Result<Self, Refusal> {
        Ok(Self::new(self.runtime.clone(), self.editor.fork_at(cut).await?))
    }

    /// The session that takes local facts. See [`SessionEditor::local`].
    pub async fn local(&self) -> Result<Local, Refusal> {
        let Local { session, fork_of, made } = self.editor.local().await?;
        Ok(Local { session: Self::new(self.runtime.clone(), session), fork_of, made })
    }

    /// Resumes it and waits until it is idle: settles what a crash left open, promotes what is pending, and takes at
    /// least one turn even if nothing is. Joins a run that is under way. Dropping the future cancels nothing.
    pub async fn run(&self) -> Result<Outcome, RunError> {
        self.shared().coordinator.run(&self.work(), self.id(), RunJob::Drain { forced: true }).await
    }

    /// Starts a run if an input is pending, without waiting.
    pub fn wake(&self) {
        self.shared().coordinator.wake(&self.work(), self.id());
    }

    /// Asks for a compaction and waits for its end; what runs comes first.
    ///
    /// # Errors
    /// [`RunError::NothingToCompact`], [`RunError::CompactionFailed`], or any error of a run.
    pub async fn compact(&self) -> Result<Outcome, RunError> {
        self.shared().coordinator.run(&self.work(), self.id(), RunJob::Compact).await
    }

    /// Interrupts it. Acknowledged at once; [`Session::idle`] waits until everything is settled. Pending inputs stay.
    pub fn interrupt(&self) {
        self.shared().coordinator.interrupt(self.id());
    }

    /// Waits until it does not run.
    pub async fn idle(&self) {
        self.shared().coordinator.idle(self.id()).await;
    }

    /// Waits until this process asks for no title of it. A Session is idle while it is asked for; a host that is about to
    /// end may wait here, or end: the next run records that the request was lost.
    pub async fn title_settled(&self) {
        self.shared().titles.settled(self.id()).await;
    }

    /// The children that do tasks of it in the background of this process.
    pub fn background(&self) -> Vec<SessionId> {
        self.shared().background.of(self.id())
    }

    /// Waits until a task in the background has ended, with the turns that its result led to. `None` when none runs.
    pub async fn background_ended(&self) -> Option<BackgroundEnded> {
        self.shared().background.ended(self.id()).await.map(|turns| BackgroundEnded { turns })
    }

    /// Cancels its tasks in the background, without waiting; gives the children that do them. Each is settled as cancelled.
    /// Its result waits as an input and begins no turn.
    pub fn cancel_background(&self) -> Vec<SessionId> {
        self.shared().background.cancel(Some(self.id()))
    }

    fn shared(&self) -> &Arc<RuntimeState> {
        self.runtime.shared()
    }

    fn work(&self) -> Arc<dyn JobRunner> {
        self.shared().clone()
    }
}
