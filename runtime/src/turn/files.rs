//! What a step changed in the files: captures before and after it, for an undo (`docs/reference/revert.md#files`).

use super::{Runner, Stop};
use crate::lane::Decision;
use crate::outcome::LogError;
use crate::worktree::{Capture, Files, FilesError, Tree};
use annals_core::event::FilesSummarised;
use annals_projections::SessionView;

/// The files after a step.
#[derive(Default)]
pub(super) struct FilesAfter {
    /// As they are now, if they could be captured.
    pub(super) files: Option<String>,
    /// What differs from before, by path.
    pub(super) changed: Vec<String>,
}

impl Runner {
    /// The files as a step begins. An interruption does not wait for them.
    pub(super) async fn files_before(&self) -> Option<Tree> {
        let files = self.captured_files()?;
        match self.unless_interrupted(files.capture()).await {
            Ok(captured) => self.captured_tree(captured),
            Err(Stop::Interrupted | Stop::Failed(_)) => None,
        }
    }

    /// The files as a step ends, once its calls are settled: also of a step that failed or was interrupted.
    pub(super) async fn files_after(&self, before: Option<&Tree>) -> FilesAfter {
        let (Some(files), Some(before)) = (self.captured_files(), before) else { return FilesAfter::default() };
        let Some(now) = self.captured_tree(files.capture().await) else { return FilesAfter::default() };
        let changed = match files.changes(before, Some(&now)).await {
            Ok(changes) => changes.files.into_iter().map(|file| file.path).collect(),
            Err(error) => {
                self.warn(&error);
                Vec::new()
            }
        };
        FilesAfter { files: Some(now.into()), changed }
    }

    /// Records a summary of what the session changed so far, if there are new captures. The changes are known without it: a failure
    /// concerns this summary alone.
    pub(crate) async fn summarise_files(&self) -> Result<(), LogError> {
        let view = self.lane.view().await?;
        let Some(files) = self.captured_files().filter(|_| self.check_location(&view).is_ok()) else { return Ok(()) };
        let Some((from, to)) = view.session.changed.unsummarised() else { return Ok(()) };
        let (Ok(first), Ok(last)) = (from.parse(), to.parse()) else { return Ok(()) };
        let changes = match files.changes(&first, Some(&last)).await {
            Ok(changes) => changes,
            // An imported session's captures were made elsewhere.
            Err(FilesError::NoTree { .. }) => return Ok(()),
            Err(error) => {
                self.warn(&error);
                return Ok(());
            }
        };
        let summarised = FilesSummarised { from: from.into(), to: to.into(), files: changes.files };
        let decide = |view: &SessionView| match view.session.changed.unsummarised() == Some((from, to)) {
            true => Decision::append(vec![summarised.clone().into()], ()),
            false => Decision::nothing(()),
        };
        self.lane.decide(|view| Ok(decide(view))).await
    }

    fn captured_files(&self) -> Option<&dyn Files> {
        self.services.files.as_deref().filter(|files| files.conversation_only().is_none())
    }

    fn captured_tree(&self, captured: Result<Capture, FilesError>) -> Option<Tree> {
        match captured {
            Ok(capture) => Some(capture.tree),
            Err(error) => {
                self.warn(&error);
                None
            }
        }
    }

    /// A failed capture affects the undo of this step only: the turn continues.
    fn warn(&self, error: &FilesError) {
        tracing::warn!(session = %self.lane.session(), %error, "the files of a step could not be captured");
    }
}
