//! What a session changed in its project's files so far (`docs/reference/revert.md#files`).

use crate::shared::SharedVec;
use alloc::string::String;
use annals_core::event::{FilesEvent, SessionEvent, StepEvent};
use annals_core::{Event, Record, Seq, kinds};
use serde::{Deserialize, Serialize};

/// Files changed, with lines added and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileTotals {
    /// How many files differ.
    pub files: u64,
    /// Lines added.
    pub additions: u64,
    /// Lines removed.
    pub deletions: u64,
}

/// The files of a session's own steps at its present location: a revert takes away what the removed steps changed, and
/// a fork begins with nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFiles {
    /// Where the first step with a capture began, and the Git tree of the files then.
    pub first: Option<(Seq, String)>,
    /// The Git tree of the files after the last step, if it was captured.
    last: Option<String>,
    /// The last tree that was summarised.
    summarised: Option<String>,
    /// The content of each summary, by its event; the last one counts.
    sums: SharedVec<(Seq, FileTotals)>,
}

impl ChangedFiles {
    /// What changed so far; `None` before the first summary.
    pub fn totals(&self) -> Option<FileTotals> {
        self.sums.last().map(|(_, totals)| *totals)
    }

    /// The trees between which a summary is due: those before the first step and after the last one, unless a summary includes
    /// the last one already, or nothing ever changed.
    pub fn unsummarised(&self) -> Option<(&str, &str)> {
        let (_, first) = self.first.as_ref()?;
        let last = self.last.as_ref()?;
        let is_summarised = match &self.summarised {
            Some(tree) => tree == last,
            // After a revert the summary before it holds, of files that may have changed since.
            None => self.sums.is_empty() && first == last,
        };
        (!is_summarised).then_some((first, last))
    }

    pub(crate) fn apply(&mut self, record: &Record<'_>) {
        match record.event {
            Event::Step(StepEvent::Started(started)) => {
                if let (None, Some(tree)) = (&self.first, &started.files) {
                    self.first = Some((record.seq, tree.clone()));
                }
            }
            Event::Step(StepEvent::Ended(ended)) if ended.files.is_some() => self.last.clone_from(&ended.files),
            Event::Files(FilesEvent::Captured(captured)) => self.last = Some(captured.tree.clone()),
            Event::Files(FilesEvent::Summarised(summarised)) => {
                self.summarised = Some(summarised.to.clone());
                let totals = FileTotals {
                    files: summarised.files.len() as u64,
                    additions: summarised.files.iter().fold(0, |sum, file| file.additions.saturating_add(sum)),
                    deletions: summarised.files.iter().fold(0, |sum, file| file.deletions.saturating_add(sum)),
                };
                self.sums.push((record.seq, totals));
            }
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                (self.last, self.summarised) = (None, None);
                self.first.take_if(|(seq, _)| *seq >= committed.first_removed);
                self.sums.retain(|(seq, _)| *seq < committed.first_removed);
            }
            Event::Session(SessionEvent::Moved(_)) | Event::Session(SessionEvent::Forked(_)) => *self = Self::default(),
            kinds!(
                Session(Created, Titled, AgentSwitched, ProcessAttached, ModelSwitched, TitleFailed),
                Step(
                    RequestSent,
                    RequestRecorded,
                    AnswerRecorded,
                    Ended,
                    Failed,
                    RetryScheduled,
                    TextEnded,
                    ReasoningEnded
                ),
                Files(RevertStaged, RevertCleared, RestoreBegun, RestoreAbandoned, DepartureBegun, DepartureEnded),
                Input,
                Context,
                Profile,
                Tool,
                Permission,
                Compaction,
                Message,
                Child,
                Erasure
            ) => {}
        }
    }
}
