//! Restores of files, recorded before they begin, so that the next process can settle one that a crash interrupted
//! (`docs/reference/revert.md#files`).
//!
//! ```text
//! restore.begun ─► files change, all or none ─► revert.staged | revert.cleared | session.moved
//!       └───────────── restore.abandoned ◄──────────┘ (it failed, or could not be recorded)
//!
//! session.moved + departure.begun ─► files leave the source, all or none ─► departure.ended
//! ```
//!
//! A restore without an end is undone by the next run or undo in the session: that is right at every point where the process
//! may have died, since a restore changes all files or none, and its purpose is not recorded. A departure without an end is
//! finished, since its purpose is recorded already; an obstacle ends it only if it cannot pass.

use super::SessionEditor;
use crate::editing::EditorState;
use crate::lane::{Decision, Lane};
use crate::outcome::interrupted;
use crate::outcome::{LogError, Refusal};
use crate::worktree::{Files, FilesError, Plan, Tree};
use annals_core::event::{DepartureEnded, Event, Failure, Location, RestoreAbandoned, RestoreBegun};
use annals_core::{Seq, SessionId};
use annals_projections::{Restoring as OpenRestore, SessionView};
use std::collections::BTreeSet;
use std::sync::{Arc, MutexGuard, PoisonError};

impl SessionEditor {
    /// Restores files and records why, as decided when the session ended at `at`. If either fails, neither takes
    /// effect. Returns the number of the first event. While the guard exists, open calls are not settled.
    ///
    /// # Errors
    /// [`Refusal::Outdated`], [`Refusal::Busy`] or [`Refusal::Files`]: files are as before. [`Refusal::Unrecorded`] when they
    /// could not be put back.
    pub(super) async fn restored(
        &self,
        _: &RestoreGuard,
        (files, location): (Arc<dyn Files>, Location),
        plan: &Plan,
        at: Seq,
        events: Vec<Event>,
    ) -> Result<Seq, Refusal> {
        if plan.restores.is_empty() {
            return self.recorded(at, events).await;
        }
        let (from, to) = (plan.from.clone().into(), plan.to.clone().into());
        let begun = self.recorded(at, vec![RestoreBegun { location, from, to }.into()]).await?;
        match files.restore(plan).await {
            Ok(()) => {}
            // A half-done restore is taken back by the next access to the files: until then it has no end in the log.
            Err(error @ FilesError::Torn { .. }) => return Err(error.into()),
            Err(error) => {
                self.abandoned(begun, "files", &error.to_string()).await?;
                return Err(error.into());
            }
        }
        let refusal = match self.recorded(begun.plus(1), events).await {
            Ok(seq) => return Ok(seq),
            Err(refusal) => refusal,
        };
        match put_back(&*files, &plan.from, &plan.to).await {
            Ok(()) => {
                self.abandoned(begun, refusal.kind(), &refusal.to_string()).await?;
                Err(refusal)
            }
            Err(source) => Err(Refusal::Unrecorded { refusal: Box::new(refusal), source: Arc::new(source) }),
        }
    }

    /// Records that what a move took along has left the source, or why it never will. While it still may, nothing is recorded.
    pub(super) async fn departed(&self, begun: Seq, left: &Result<(), FilesError>) -> Result<(), LogError> {
        departed(&self.lane, begun, left, false).await
    }

    /// Takes back a restore that its process did not survive, if there is one, and finishes a departure.
    ///
    /// # Errors
    /// [`Refusal::Files`] when the files are not to be had here, or cannot be put back.
    pub(super) async fn settle_restore(&self) -> Result<(), Refusal> {
        settle_restore(&self.state, &self.lane).await
    }

    async fn abandoned(&self, begun: Seq, kind: &str, why: &str) -> Result<(), Refusal> {
        let error = Failure { kind: kind.into(), message: why.into(), status: None };
        abandon(&self.lane, begun, error).await
    }
}

/// Takes back a restore that its process did not survive, if there is one, and finishes a departure.
pub(crate) async fn settle_restore(state: &EditorState, lane: &Lane) -> Result<(), Refusal> {
    let view = lane.view().await?;
    if restoring(state).contains(&lane.session()) {
        return Ok(());
    }
    // Where its files are not available it stays open, and the session continues without them.
    if let Some(open) = &view.session.departing
        && let Some(files) = (state.files)(&open.location)
    {
        let left = leave(&*files, open).await;
        if let Err(error) = &left {
            tracing::warn!(session = %lane.session(), %error, "changes that a move took along stay at its source");
        }
        departed(lane, open.seq, &left, files.is_gone()).await?;
    }
    let Some(open) = &view.session.restoring else { return Ok(()) };
    let files = (state.files)(&open.location);
    let files = files.ok_or_else(|| FilesError::ConversationOnly { why: "files are not captured here".into() })?;
    put_back(&*files, &open.from.parse()?, &open.to.parse()?).await?;
    let error = Failure { message: "The process ended before the restore was recorded".into(), ..interrupted() };
    abandon(lane, open.seq, error).await
}

/// Finishes a departure: files that are as the move found them leave; any other file was changed by the user and stays.
async fn leave(files: &dyn Files, open: &OpenRestore) -> Result<(), FilesError> {
    // Leaving means to take back the step from the planned state to the former one.
    put_back(files, &open.to.parse()?, &open.from.parse()?).await
}

/// Ends the departure that began at `begun`, unless another process has ended it. After a passing error the next access to
/// the files tries again, unless the source is `gone`.
async fn departed(lane: &Lane, begun: Seq, left: &Result<(), FilesError>, gone: bool) -> Result<(), LogError> {
    let error = match left {
        Ok(()) => None,
        Err(error) if !gone && !error.is_lasting() => return Ok(()),
        Err(error) => Some(Failure { kind: "files".into(), message: error.to_string().into(), status: None }),
    };
    let ended = |view: &SessionView| match &view.session.departing {
        Some(open) if open.seq == begun => vec![DepartureEnded { error: error.clone() }.into()],
        _ => Vec::new(),
    };
    lane.decide(|view| Ok(Decision::append(ended(view), ()))).await
}

async fn put_back(files: &dyn Files, from: &Tree, to: &Tree) -> Result<(), FilesError> {
    files.restore(&files.plan_take_back(from, to).await?).await
}

/// Ends the restore that began at `begun`, unless another process has ended it.
async fn abandon(lane: &Lane, begun: Seq, error: Failure) -> Result<(), Refusal> {
    let abandoned = |view: &SessionView| match &view.session.restoring {
        Some(open) if open.seq == begun => vec![RestoreAbandoned { error: error.clone() }.into()],
        _ => Vec::new(),
    };
    lane.decide(|view| Ok(Decision::append(abandoned(view), ()))).await
}

/// Marks a session whose files this process restores, until dropped.
pub(super) struct RestoreGuard {
    state: Arc<EditorState>,
    session: SessionId,
}

impl RestoreGuard {
    pub(super) fn of(state: &Arc<EditorState>, session: SessionId) -> Self {
        restoring(state).insert(session);
        Self { state: state.clone(), session }
    }
}

impl Drop for RestoreGuard {
    fn drop(&mut self) {
        restoring(&self.state).remove(&self.session);
    }
}

fn restoring(state: &EditorState) -> MutexGuard<'_, BTreeSet<SessionId>> {
    state.restoring.lock().unwrap_or_else(PoisonError::into_inner)
}
