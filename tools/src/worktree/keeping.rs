//! Where a host keeps the shadow repositories of a store: one function for all who need to find them again.

use super::files_at;
use annals_runtime::ports::StorePath;
use annals_runtime::worktree::{Files, FilesError, NoFiles};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// The folder in a store that holds them.
pub const WORKTREES: &str = "worktrees";

/// The folder of the shadow repository for the worktree that holds `location`: `STORE/worktrees/HASH`, by the hash of the
/// worktree's root. It need not be there yet.
///
/// # Errors
/// [`FilesError::NoWorktree`], or when the location is not there.
pub fn shadow_folder(store: impl Into<StorePath>, location: &Path) -> Result<StorePath, FilesError> {
    let location = fs::canonicalize(location).map_err(FilesError::io(location))?;
    let root = location.ancestors().find(|above| above.join(".git").exists());
    let root = root.ok_or_else(|| FilesError::NoWorktree { location: location.clone() })?;
    let hash = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    Ok(store.into().join(WORKTREES).join(&hash.as_str()[..32]))
}

/// The files at a location for a host that runs sessions of a store: what
/// [`LocationServices::files`](annals_runtime::settings::LocationServices::files) wants. The shadow repository is made if it is not
/// there. Runs git, so call it where blocking is allowed.
pub fn files_kept_in(store: impl Into<StorePath>, location: &Path) -> Arc<dyn Files> {
    match shadow_folder(store, location) {
        Ok(folder) => files_at(location, folder),
        Err(error) => Arc::new(NoFiles::since(&error)),
    }
}

/// The same for one who only undoes: where no host has kept files, none are.
pub fn files_once_kept_in(store: impl Into<StorePath>, location: &Path) -> Arc<dyn Files> {
    match shadow_folder(store, location) {
        Ok(folder) if folder.shown().is_dir() => files_at(location, folder),
        Ok(_) => Arc::new(NoFiles::because("no host of this store has captured files there")),
        Err(error) => Arc::new(NoFiles::since(&error)),
    }
}
