//! The file side of an undo: what a step changed in a git worktree is found, shown, and put back
//! (`docs/reference/revert.md#files`), and uncommitted changes move between two checkouts of one project
//! (`docs/reference/revert.md#moves`).
//!
//! Everything that changes files does so by a [`Plan`], which says path by path what will change; [`Files::restore`] does
//! exactly that or nothing. `docs/revert.md` is the user's page.

mod capture;
mod changes;
mod error;
mod none;
mod plan;
mod planning;
mod transfer;
mod tree;

pub use capture::{Capture, LARGEST_UNTRACKED, Skipped, WhySkipped};
pub use changes::{Changes, DIFF_LIMIT, Diff, Differences, Sides};
pub use error::FilesError;
pub use none::NoFiles;
pub use plan::{FileRestore, LeftAlone, Plan, StagedFiles, StepFiles, Undo, WhyLeft};
pub use planning::{Captures, Targets, TreeEntries, above, plan_take_back, plan_targets, plan_undo};
pub use transfer::Transfer;
pub use tree::{Tree, TreeEntry};

use crate::Boxed;
use std::path::PathBuf;

/// The files of one project, as far as an undo needs them.
///
/// The work is done on blocking threads and continues if a future is dropped: a restore, once begun, is completed or
/// changes nothing.
pub trait Files: Send + Sync {
    /// Why only the conversation can be undone here; `None` where files can be restored. To be said to the user, and asked
    /// before anything else: where it is `Some`, every other method answers [`FilesError::ConversationOnly`].
    fn conversation_only(&self) -> Option<&str>;

    /// Whether no files will ever be had here: the place is gone, or in no git worktree. Any other reason may pass.
    fn is_gone(&self) -> bool {
        false
    }

    /// Which checkout of which project this is; `None` where nothing is known of it.
    fn checkout(&self) -> Option<Checkout> {
        None
    }

    /// Remembers the files as they are now. Ignored files are not looked at; what could not be taken is named.
    ///
    /// # Errors
    /// A failed capture affects the undo of this step only: the turn continues with a warning
    /// (`docs/reference/revert.md#files`).
    fn capture(&self) -> Boxed<'_, Result<Capture, FilesError>>;

    /// The files that differ between two captures, or between one and now, with the diff for display.
    fn changes<'a>(&'a self, from: &'a Tree, to: Option<&'a Tree>) -> Boxed<'a, Result<Changes, FilesError>>;

    /// What an undo of some steps would do. Nothing is changed. With no steps and a staged undo it is the plan of the
    /// clear: back to the original.
    fn plan<'a>(&'a self, undo: &'a Undo) -> Boxed<'a, Result<Plan, FilesError>>;

    /// Carries a plan out, all or nothing.
    ///
    /// # Errors
    /// Nothing was changed, except for [`FilesError::Torn`], which says where the files are.
    fn restore<'a>(&'a self, plan: &'a Plan) -> Boxed<'a, Result<(), FilesError>>;

    /// What taking back a restore from one capture to another would do: a file that is as the restore leaves it returns
    /// to its former content, any other file stays. So it is right whether the restore has happened or not, and may be
    /// repeated.
    fn plan_take_back<'a>(&'a self, from: &'a Tree, to: &'a Tree) -> Boxed<'a, Result<Plan, FilesError>>;

    /// The uncommitted changes below a directory of the project (`""` for all of it), untracked files included.
    fn uncommitted<'a>(&'a self, below: &'a str) -> Boxed<'a, Result<Transfer, FilesError>>;

    /// What applying those changes here, in another checkout, would do. Nothing is changed.
    ///
    /// # Errors
    /// [`FilesError::DoesNotApply`] when they do not fit the files here.
    fn plan_arrival<'a>(&'a self, transfer: &'a Transfer) -> Boxed<'a, Result<Plan, FilesError>>;

    /// What discarding those changes here, where they were found, would do: files return to the checked-out commit,
    /// untracked ones go, the index stays. Nothing is changed.
    fn plan_departure<'a>(&'a self, transfer: &'a Transfer) -> Boxed<'a, Result<Plan, FilesError>>;

    /// Packs what the captures stored. Nothing that a capture holds is lost; for idle moments.
    fn tidy(&self) -> Boxed<'_, Result<(), FilesError>>;
}

/// A checkout of a project. Two worktrees of one repository are checkouts of one project; two clones are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// Where the repository keeps its objects: the same for all of its worktrees.
    pub project: PathBuf,
    /// The root of the worktree.
    pub root: PathBuf,
    /// The location's directory below the root; empty for the root itself.
    pub below: String,
}
