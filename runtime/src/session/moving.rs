//! Moves: to another location, with or without the uncommitted changes (`docs/reference/revert.md#moves`).

use super::SessionEditor;
use super::restoring::RestoreGuard;
use super::undo::still_holds;
use crate::lane::Decision;
use crate::outcome::Refusal;
use crate::worktree::{Checkout, Files, FilesError, Plan, Transfer};
use annals_core::Seq;
use annals_core::event::{DepartureBegun, Event, Location, SessionMoved};
use annals_projections::SessionView;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// What a move with the uncommitted changes will do: to be shown before it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovePlan {
    /// Where the session goes.
    pub location: Location,
    /// What comes along.
    pub transfer: Transfer,
    /// What that changes at the destination.
    pub arrival: Plan,
    /// Where the session ended when this was planned.
    at: Seq,
}

/// What a move to a location will do with files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveChoice {
    /// The session works there already.
    There,
    /// The session moves and its files do not.
    Alone(FilesStay),
    /// Uncommitted changes move too.
    WithChanges(Box<MovePlan>),
}

/// Why the files of a session that moves stay where they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilesStay {
    /// It had no directory.
    NoDirectory,
    /// The caller did not want them to move.
    Unwanted,
    /// Its directory, which is named, does not exist here.
    Gone(String),
    /// There are none.
    NoChanges,
    /// The directories are not two worktrees of one git repository.
    NoWorktrees,
    /// Both directories are in one worktree: the files are there already.
    SameWorktree,
}

impl fmt::Display for FilesStay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDirectory => f.write_str("it had no directory"),
            Self::Unwanted => f.write_str("uncommitted changes are not moved (--without-changes)"),
            Self::Gone(directory) => write!(f, "{directory} does not exist here"),
            Self::NoChanges => f.write_str("there are no uncommitted changes"),
            Self::NoWorktrees => f.write_str("files are moved only between worktrees of one git repository"),
            Self::SameWorktree => f.write_str("both directories are in the same worktree"),
        }
    }
}

impl SessionEditor {
    /// Decides what a move will do, uncommitted changes included if that is possible and they are wanted. Nothing is
    /// changed; [`SessionEditor::move_to`] and [`SessionEditor::move_with_changes`] do it.
    pub async fn choose_move(&self, to: &Location, with_changes: bool) -> Result<MoveChoice, Refusal> {
        let view = self.view().await?;
        let Some(from) = view.session.location.as_ref() else { return Ok(MoveChoice::Alone(FilesStay::NoDirectory)) };
        if from == to {
            return Ok(MoveChoice::There);
        }
        if !with_changes {
            return Ok(MoveChoice::Alone(FilesStay::Unwanted));
        }
        if !Path::new(&from.directory).is_dir() {
            return Ok(MoveChoice::Alone(FilesStay::Gone(from.directory.clone())));
        }
        match self.plan_move(to.clone()).await {
            Ok(plan) if plan.transfer.is_empty() => Ok(MoveChoice::Alone(FilesStay::NoChanges)),
            Ok(plan) => Ok(MoveChoice::WithChanges(Box::new(plan))),
            Err(Refusal::Files(error)) if matches!(*error, FilesError::ConversationOnly { .. }) => {
                Ok(MoveChoice::Alone(FilesStay::NoWorktrees))
            }
            Err(Refusal::OtherProject) if root(&from.directory).is_some_and(|it| Some(it) == root(&to.directory)) => {
                Ok(MoveChoice::Alone(FilesStay::SameWorktree))
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Moves it: its Context Epoch ends, and a run at the old location ends interrupted. Moving it to where it is does
    /// nothing. Gives whether it moved.
    ///
    /// # Errors
    /// [`Refusal::OtherProject`] when both places are known to be of different projects, or the log's refusal.
    pub async fn move_to(&self, location: Location) -> Result<bool, Refusal> {
        let view = self.view().await?;
        if let (Some(here), Some(there)) = (self.checkout_of(&view), self.checkout_at(&location))
            && here.project != there.project
        {
            return Err(Refusal::OtherProject);
        }
        // A move is also the end of a restore that brought changes along: one for something else is taken back before it.
        if let Err(refusal) = self.settle_restore().await {
            // The source is gone: an open restore there cannot be undone first.
            tracing::warn!(session = %self.id(), %refusal, "a restore that was cut short was not taken back");
        }
        self.lane
            .decide(|view| {
                if view.session.location.as_ref() == Some(&location) {
                    return Ok(Decision::nothing(false));
                }
                Ok(Decision::append(vec![SessionMoved { location: location.clone() }.into()], true))
            })
            .await
    }

    /// Plans to move to another checkout of the project and take along what is uncommitted below the session's
    /// directory. Nothing is changed; [`SessionEditor::move_with_changes`] does it.
    ///
    /// # Errors
    /// [`Refusal::Busy`] while it runs; [`Refusal::OtherProject`], also within one checkout, where nothing has to come
    /// along; [`Refusal::Departing`] while changes of an earlier move cannot leave its source; [`Refusal::Files`] when a place is in no git worktree, or the changes do not fit the destination.
    pub async fn plan_move(&self, location: Location) -> Result<MovePlan, Refusal> {
        self.refuse_while_running()?;
        self.settle_restore().await?;
        let view = self.view().await?;
        if let Some(open) = &view.session.departing {
            return Err(Refusal::Departing(open.location.clone()));
        }
        let (source, here) = self.place(view.session.location.as_ref())?;
        let (destination, there) = self.place(Some(&location))?;
        if here.project != there.project || here.root == there.root {
            return Err(Refusal::OtherProject);
        }
        let transfer = source.uncommitted(&here.below).await?;
        let arrival = destination.plan_arrival(&transfer).await?;
        Ok(MovePlan { location, transfer, arrival, at: view.cut().next })
    }

    /// Carries out a planned move: the changes are applied at the target, the move and the start of the departure are recorded,
    /// and the changes are removed from the source. Returns the reason when they stay at the source as well; the session has
    /// moved nevertheless. After a passing error, such as one of the disk, the next run or undo in the session tries again.
    ///
    /// Dropping the future leaves nothing half-done: the work continues on a task of its own.
    ///
    /// # Errors
    /// When the changes cannot arrive, or the move cannot be recorded. Then nothing has changed.
    pub async fn move_with_changes(&self, plan: &MovePlan) -> Result<Option<Arc<FilesError>>, Refusal> {
        let (session, plan) = (self.clone(), plan.clone());
        let work = tokio::spawn(async move { session.moved(plan).await });
        work.await.unwrap_or_else(|_| Err(FilesError::CutShort.into()))
    }

    async fn moved(&self, plan: MovePlan) -> Result<Option<Arc<FilesError>>, Refusal> {
        let view = self.view().await?;
        still_holds(&view, plan.at)?;
        let here = view.session.location.as_ref();
        let (source, _) = self.place(here)?;
        let (destination, _) = self.place(Some(&plan.location))?;
        let departure = source.plan_departure(&plan.transfer).await;
        let leaving = departure.as_ref().ok().filter(|plan| !plan.restores.is_empty());
        let begun = here.zip(leaving).map(|(location, leaving)| DepartureBegun {
            location: location.clone(),
            from: leaving.from.clone().into(),
            to: leaving.to.clone().into(),
        });
        let mut events: Vec<Event> = vec![SessionMoved { location: plan.location.clone() }.into()];
        events.extend(begun.map(Event::from));
        let restoring = RestoreGuard::of(&self.state, self.id());
        let moved = self.restored(&restoring, (destination, plan.location), &plan.arrival, plan.at, events).await?;
        let left = match departure {
            Ok(leaving) if leaving.restores.is_empty() => return Ok(None),
            Ok(leaving) => source.restore(&leaving).await,
            Err(error) => return Ok(Some(Arc::new(error))),
        };
        if let Err(error) = self.departed(moved.plus(1), &left).await {
            // The session has moved; the next run or undo settles the departure and records its end.
            tracing::warn!(session = %self.id(), %error, "the end of a departure was not recorded");
        }
        Ok(left.err().map(Arc::new))
    }

    fn place(&self, location: Option<&Location>) -> Result<(Arc<dyn Files>, Checkout), Refusal> {
        let files = location.and_then(|location| (self.state.files)(location));
        let found = files.and_then(|files| files.checkout().map(|checkout| (files, checkout)));
        found.ok_or_else(|| FilesError::ConversationOnly { why: "the place is in no git worktree".into() }.into())
    }

    fn checkout_of(&self, view: &SessionView) -> Option<Checkout> {
        self.checkout_at(view.session.location.as_ref()?)
    }

    fn checkout_at(&self, location: &Location) -> Option<Checkout> {
        (self.state.files)(location)?.checkout()
    }
}

/// The worktree that contains a directory.
fn root(directory: &str) -> Option<&Path> {
    Path::new(directory).ancestors().find(|above| above.join(".git").exists())
}
