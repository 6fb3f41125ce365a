//! What an undo is asked for, and what it would do.

use super::{Changes, Tree, TreeEntry};
use std::fmt;

/// One step, as far as its files are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepFiles {
    /// The files when it began (`step.started`).
    pub start: Option<Tree>,
    /// The files when it ended (`step.ended`). Without both, what the step changed is unknown and left alone.
    pub end: Option<Tree>,
}

/// An undo that is staged already and whose boundary moves, or that is cleared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedFiles {
    /// The files before anything was restored (`revert.staged`).
    pub original: Tree,
    /// The paths it restored: of `revert.staged`, the `files`.
    pub files: Vec<String>,
    /// The steps it removed, in order.
    pub steps: Vec<StepFiles>,
}

/// What to undo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undo {
    /// The steps that go, in order. None: only what is staged is mapped back, as a clear does, or an undo of the talk
    /// alone whose boundary moves.
    pub steps: Vec<StepFiles>,
    /// What is staged, if anything is.
    pub staged: Option<StagedFiles>,
}

/// What a restore will do. It holds for the files as they are: if one changes before, the restore refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The files before anything is restored; with a staged undo, before that one. For `revert.staged`.
    pub original: Tree,
    /// The files as they are.
    pub from: Tree,
    /// The files as they will be.
    pub to: Tree,
    /// What will change on disk, in order of paths.
    pub restores: Vec<FileRestore>,
    /// The same for people: to be shown before it is done.
    pub now: Changes,
    /// What will differ from `original`. For `revert.staged`: its `files` and `diff`.
    pub recorded: Changes,
    /// Files of those steps that stay as they are, each with the reason.
    pub left: Vec<LeftAlone>,
    /// Restored files that were also changed by others between two of the steps: those changes are undone, too, and
    /// return with a clear.
    pub mixed: Vec<String>,
    /// How many of the steps have no captures: what they changed stays.
    pub unknown_steps: usize,
}

impl Plan {
    /// The plan that takes this one back: for a restore that was done and could then not be recorded.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let turned =
            |one: &FileRestore| FileRestore { path: one.path.clone(), from: one.to.clone(), to: one.from.clone() };
        Self {
            original: self.original.clone(),
            from: self.to.clone(),
            to: self.from.clone(),
            restores: self.restores.iter().map(turned).collect(),
            now: Changes::default(),
            recorded: Changes::default(),
            left: Vec::new(),
            mixed: Vec::new(),
            unknown_steps: 0,
        }
    }
}

/// One file that a restore changes. `None` means that the file does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRestore {
    /// Below the project.
    pub path: String,
    /// The present entry, which must be unchanged when the restore begins.
    pub from: Option<TreeEntry>,
    /// The entry after the restore.
    pub to: Option<TreeEntry>,
}

/// A file that a step changed and that stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftAlone {
    /// Below the project.
    pub path: String,
    /// The reason.
    pub why: WhyLeft,
}

/// Why a file stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyLeft {
    /// It was changed after the last of the steps, or after it was restored.
    Edited,
    /// It existed when the step began, but an exclude rule kept it from being captured.
    Ignored,
    /// It was not captured: too large, unreadable, or a repository of its own.
    Uncaptured,
    /// The staged undo says that it restored the file, but none of its steps says from what.
    Unknown,
}

impl fmt::Display for WhyLeft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Edited => "changed since by somebody else",
            Self::Ignored => "it was there before, but ignored",
            Self::Uncaptured => "not captured: too large, unreadable, or a repository of its own",
            Self::Unknown => "its earlier content is not known",
        })
    }
}
