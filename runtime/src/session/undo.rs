//! Reverts and files: planned, shown, carried out, recorded (`docs/reference/revert.md#files`).

use super::restoring::RestoreGuard;
use super::{MessagePlace, SessionEditor};
use crate::lane::Decision;
use crate::outcome::{LogError, Refusal};
use crate::worktree::{Files, FilesError, Plan, StagedFiles, StepFiles, Undo};
use annals_core::event::{Event, FilesEvent, RevertCleared, RevertStaged, SessionEvent, StepEvent};
use annals_core::{Record, Seq};
use annals_projections::{Revert, SessionView};
use std::sync::Arc;

/// What a revert undoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The conversation only.
    Conversation,
    /// The conversation, and what its steps changed in files, where that can be restored.
    ConversationAndFiles,
}

/// What staging a revert will do: to be shown before it is done. It holds for the session and the files as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevertPlan {
    /// The first message that goes, with all that follows it.
    pub first_removed: Seq,
    /// What happens to the files.
    pub files: RevertFiles,
    /// Where the session ended when this was planned.
    at: Seq,
}

/// What a revert does to files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RevertFiles {
    /// Nothing, as was asked for.
    Untouched,
    /// Nothing, although it was asked for.
    ConversationOnly {
        /// The reason, for the user.
        why: String,
    },
    /// These change.
    Restored(Box<Plan>),
}

impl SessionEditor {
    /// Plans to undo a message and all that follows it. Nothing is changed; [`SessionEditor::stage`] does it.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when there is no such message; [`Refusal::Busy`] while it runs; [`Refusal::Files`] when the
    /// files cannot be planned, or those that a staged revert restored cannot be put back.
    pub async fn plan_revert(&self, message: MessagePlace, extent: Extent) -> Result<RevertPlan, Refusal> {
        self.refuse_while_running()?;
        self.settle_restore().await?;
        let view = self.view().await?;
        let first_removed = message.find(&view)?;
        let at = view.cut().next;
        let staged = view.session.revert.as_ref().filter(|staged| !staged.files.is_empty());
        if extent == Extent::Conversation && staged.is_none() {
            return Ok(RevertPlan { first_removed, files: RevertFiles::Untouched, at });
        }
        let steps = match extent {
            Extent::Conversation => Vec::new(),
            Extent::ConversationAndFiles => self.steps(&view, first_removed, at).await?,
        };
        let files = match self.plan_files(&view, steps, staged).await {
            Ok(plan) => RevertFiles::Restored(Box::new(plan)),
            Err(FilesRefusal::ConversationOnly(why)) if staged.is_none() => RevertFiles::ConversationOnly { why },
            Err(refusal) => return Err(refusal.into()),
        };
        Ok(RevertPlan { first_removed, files, at })
    }

    /// Stages a planned revert: restores the files, all or none, then records it. Gives where it was recorded.
    ///
    /// Dropping the future leaves nothing half-done: the work continues on a task of its own.
    ///
    /// # Errors
    /// [`Refusal::Outdated`] when the session has new events since it was planned; [`Refusal::Files`] when the files cannot be
    /// restored. Then nothing has changed and nothing is recorded.
    pub async fn stage(&self, plan: &RevertPlan) -> Result<Seq, Refusal> {
        let mut staged =
            RevertStaged { first_removed: plan.first_removed, original: None, diff: None, files: Vec::new() };
        let RevertFiles::Restored(files) = &plan.files else {
            return self.recorded(plan.at, vec![staged.into()]).await;
        };
        let changes = &files.recorded;
        if !changes.files.is_empty() {
            staged.original = Some(files.original.clone().into());
            staged.diff = Some(changes.diff.text.clone().into());
            staged.files = changes.files.clone();
        }
        self.carried_out(files.as_ref().clone(), plan.at, staged.into()).await
    }

    /// What a clear would do to the files that the staged revert restored; `None` when it restored none.
    ///
    /// # Errors
    /// [`Refusal::Files`] when they cannot be put back here.
    pub async fn plan_clear(&self) -> Result<Option<Plan>, Refusal> {
        self.settle_restore().await?;
        let view = self.view().await?;
        self.clear_plan(&view).await
    }

    /// Drops a staged revert; files that it restored are again as they were. Gives the number of `revert.cleared`, or `None`
    /// without one.
    ///
    /// # Errors
    /// [`Refusal::Files`] when files cannot be put back: then nothing has changed, and the revert stays staged.
    pub async fn clear_revert(&self) -> Result<Option<Seq>, Refusal> {
        self.settle_restore().await?;
        let view = self.view().await?;
        if view.session.revert.is_none() {
            return Ok(None);
        }
        let (at, cleared) = (view.cut().next, RevertCleared {}.into());
        Ok(Some(match self.clear_plan(&view).await? {
            Some(plan) => self.carried_out(plan, at, cleared).await?,
            None => self.recorded(at, vec![cleared]).await?,
        }))
    }

    async fn clear_plan(&self, view: &SessionView) -> Result<Option<Plan>, Refusal> {
        let staged = view.session.revert.as_ref().filter(|staged| !staged.files.is_empty());
        match staged {
            Some(_) => Ok(Some(self.plan_files(view, Vec::new(), staged).await?)),
            None => Ok(None),
        }
    }

    async fn plan_files(
        &self,
        view: &SessionView,
        steps: Vec<StepFiles>,
        staged: Option<&Revert>,
    ) -> Result<Plan, FilesRefusal> {
        let files = self.files(view)?;
        let staged = match staged {
            Some(staged) => Some(self.staged_files(view, staged).await?),
            None => None,
        };
        match files.plan(&Undo { steps, staged }).await {
            Ok(plan) => Ok(plan),
            Err(FilesError::NoTree { id }) => match self.recorder().await? {
                Some(agent) => Err(FilesRefusal::ConversationOnly(format!(
                    "{agent} recorded this Session; files of an imported Session cannot be restored"
                ))),
                None => Err(FilesError::NoTree { id }.into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// The files of the session's location.
    fn files(&self, view: &SessionView) -> Result<Arc<dyn Files>, FilesRefusal> {
        let location = view.session.location.as_ref();
        let files = location.and_then(|location| (self.state.files)(location));
        let files = files.ok_or_else(|| FilesRefusal::ConversationOnly("files are not captured here".into()))?;
        match files.conversation_only() {
            Some(why) => Err(FilesRefusal::ConversationOnly(why.into())),
            None => Ok(files),
        }
    }

    async fn staged_files(&self, view: &SessionView, staged: &Revert) -> Result<StagedFiles, FilesRefusal> {
        let original = staged.original.as_deref().unwrap_or_default().parse()?;
        let files = staged.files.iter().map(|file| file.path.clone()).collect();
        let steps = self.steps(view, staged.first_removed, staged.seq).await?;
        Ok(StagedFiles { original, files, steps })
    }

    /// The steps in `[from, until)` that no revert removed, with what was captured of them at the present location.
    async fn steps(&self, view: &SessionView, from: Seq, until: Seq) -> Result<Vec<StepFiles>, LogError> {
        let log = &self.state.log;
        let (mut steps, mut pages) = (StepCaptures::default(), log.pages(self.id(), from..until));
        while let Some(slices) = pages.next_page().await? {
            slices.iter().flat_map(|slice| slice.records()).for_each(|record| steps.apply(&record, view));
        }
        Ok(steps.list)
    }

    /// The agent that recorded the session, or what it inherits, if that was imported.
    async fn recorder(&self) -> Result<Option<String>, LogError> {
        let first = self.state.log.batch_at(self.id(), Seq::ZERO).await?;
        Ok(first.and_then(|slice| match slice.batch.events.first()? {
            Event::Session(SessionEvent::Created(created)) => {
                created.origin.as_ref().map(|origin| origin.agent.clone())
            }
            _ => None,
        }))
    }

    /// Records a decision that was made when the session ended at `at`, and gives where.
    pub(super) async fn recorded(&self, at: Seq, events: Vec<Event>) -> Result<Seq, Refusal> {
        let decide = |view: &SessionView| {
            if self.is_running() {
                return Err(Refusal::Busy);
            }
            still_holds(view, at)?;
            Ok(Decision::append(events.clone(), view.cut().next))
        };
        self.lane.decide(decide).await
    }

    /// Restores files and records why, or neither.
    async fn carried_out(&self, plan: Plan, at: Seq, event: Event) -> Result<Seq, Refusal> {
        let session = self.clone();
        // On a task of its own: a caller that goes away leaves no restore without its record.
        let work = tokio::spawn(async move {
            let view = session.view().await?;
            let files = session.files(&view)?;
            still_holds(&view, at)?;
            // A session without a location has no files.
            let location = view.session.location.clone().ok_or(Refusal::Outdated)?;
            let restoring = RestoreGuard::of(&session.state, session.id());
            session.restored(&restoring, (files, location), &plan, at, vec![event]).await
        });
        work.await.unwrap_or_else(|_| Err(FilesError::CutShort.into()))
    }
}

/// Whether what was planned when the session ended at `at` still holds. A title that came meanwhile changes nothing that a plan
/// depends on.
///
/// # Errors
/// [`Refusal::Outdated`].
pub(super) fn still_holds(view: &SessionView, at: Seq) -> Result<(), Refusal> {
    if view.session.untouched <= at { Ok(()) } else { Err(Refusal::Outdated) }
}

/// Why there is no plan for the files.
enum FilesRefusal {
    /// Only the conversation can be undone.
    ConversationOnly(String),
    Refused(Refusal),
}

impl From<FilesError> for FilesRefusal {
    fn from(error: FilesError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<LogError> for FilesRefusal {
    fn from(error: LogError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<FilesRefusal> for Refusal {
    fn from(refusal: FilesRefusal) -> Self {
        match refusal {
            FilesRefusal::ConversationOnly(why) => FilesError::ConversationOnly { why }.into(),
            FilesRefusal::Refused(refusal) => refusal,
        }
    }
}

/// A fold of steps and their captures.
#[derive(Default)]
struct StepCaptures {
    list: Vec<StepFiles>,
    /// Whether the last one still lacks the capture after it.
    open: bool,
}

impl StepCaptures {
    fn apply(&mut self, record: &Record<'_>, view: &SessionView) {
        let tree = |id: &Option<String>| id.as_deref().and_then(|id| id.parse().ok());
        match record.event {
            Event::Step(StepEvent::Started(started)) => {
                self.open = !view.transcript.is_removed(record.seq);
                if self.open {
                    self.list.push(StepFiles { start: tree(&started.files), end: None });
                }
            }
            Event::Step(StepEvent::Ended(ended)) => self.end(tree(&ended.files)),
            // After a step that failed or was interrupted.
            Event::Files(FilesEvent::Captured(captured)) => self.end(captured.tree.parse().ok()),
            // What was captured elsewhere says nothing about the files here.
            Event::Session(SessionEvent::Moved(_)) => {
                self.open = false;
                self.list.iter_mut().for_each(|step| *step = StepFiles::default());
            }
            _ => {}
        }
    }

    fn end(&mut self, tree: Option<crate::worktree::Tree>) {
        if let (true, Some(step)) = (std::mem::take(&mut self.open), self.list.last_mut()) {
            step.end = tree;
        }
    }
}
