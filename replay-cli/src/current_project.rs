//! The project of the current directory.

use std::path::{Path, PathBuf};

/// The root of the git work tree that a directory is in; the directory itself outside of one.
pub fn root(directory: &Path) -> PathBuf {
    let found = directory.ancestors().find(|folder| folder.join(".git").exists());
    found.unwrap_or(directory).to_owned()
}
