//! Which projects' files may do what is dangerous: kept by folder and by the hash of the file, so that a changed file is
//! asked for again.

use crate::places::ProjectFile;
use crate::problem::ConfigError;
use annals_core::Digest;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What is trusted: one small file for each project, named by the hash of the folder's path.
#[derive(Clone, Debug)]
pub struct Trust {
    dir: PathBuf,
}

/// Writes a file completely or not at all. It keeps its mode; a new one is for its owner alone.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension("new");
    let permissions = path.metadata().map(|found| found.permissions());
    // Never through a link that is already there.
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    file.write_all(content)?;
    if let Ok(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.sync_data()?;
    fs::rename(&fresh, path)
}

impl Trust {
    /// Kept in a folder, which need not be there.
    pub fn kept_in(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// Whether a project's file with this text is trusted.
    ///
    /// # Errors
    /// When it cannot be read what is.
    pub fn holds(&self, project: &ProjectFile, text: &str) -> Result<bool, ConfigError> {
        let kept = self.record(project)?;
        match fs::read_to_string(&kept) {
            Ok(record) => Ok(record.lines().next() == Some(&Digest::of(text.as_bytes()).to_string())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(ConfigError::File { path: kept, source }),
        }
    }

    /// Trusts a project's file with this text, and no other text.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn give(&self, project: &ProjectFile, text: &str) -> Result<(), ConfigError> {
        let kept = self.record(project)?;
        let failed = |source| ConfigError::File { path: kept.clone(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).map_err(failed)?;
        let record = format!("{}\n{}\n", Digest::of(text.as_bytes()), project.file.display());
        replace(&kept, record.as_bytes()).map_err(failed)
    }

    /// Removes the trust in a project; returns whether it was trusted, with any content.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn take(&self, project: &ProjectFile) -> Result<bool, ConfigError> {
        let kept = self.record(project)?;
        match fs::remove_file(&kept) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(ConfigError::File { path: kept, source }),
        }
    }

    fn record(&self, project: &ProjectFile) -> Result<PathBuf, ConfigError> {
        let failed = |source| ConfigError::File { path: project.root.clone(), source };
        let root = fs::canonicalize(&project.root).map_err(failed)?;
        Ok(self.dir.join(Digest::of(root.as_os_str().as_encoded_bytes()).to_string()))
    }
}
