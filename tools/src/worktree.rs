//! File captures in a git worktree, through a shadow repository outside the project.
//!
//! The port is [`annals_runtime::worktree::Files`]; `docs/revert.md` says what is restored and what is not.

mod capture;
mod captures;
mod changes;
mod git;
mod ignored;
mod keeping;
mod reading;
mod restore;
mod shadow;
mod staging;
mod transfer;

pub use keeping::{WORKTREES, files_kept_in, files_once_kept_in, shadow_folder};
pub use reading::CapturedFiles;
pub use shadow::ShadowRepository;

use annals_runtime::ports::StorePath;
use annals_runtime::worktree::{Files, NoFiles};
use std::path::Path;
use std::sync::Arc;

/// The files at a location: a [`ShadowRepository`] in a git worktree, else [`NoFiles`] with the reason.
///
/// `folder` keeps the shadow repository. It belongs to this worktree alone and lies outside of it. Runs git, so call it
/// where blocking is allowed.
pub fn files_at(location: &Path, folder: impl Into<StorePath>) -> Arc<dyn Files> {
    match ShadowRepository::open(location, folder) {
        Ok(shadow) => Arc::new(shadow),
        Err(error) => Arc::new(NoFiles::since(&error)),
    }
}
