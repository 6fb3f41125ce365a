//! Which store a command works on, and opening it without creating it.

use crate::error::HostError;
use annals_store::cache::ViewCache;
use annals_store::{OpenMode, SharedLog};
use etcetera::BaseStrategy;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The variable that names the store when `--store` does not.
pub const VARIABLE: &str = "ANNALS_STORE";

/// The store that a command works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreChoice {
    dir: PathBuf,
}

impl StoreChoice {
    /// The folder that was named; else `ANNALS_STORE`; else `annals` in the platform's data folder.
    ///
    /// # Errors
    /// When nothing is named and there is no home folder.
    pub fn of(named: Option<&Path>, variable: Option<&OsStr>) -> Result<Self, HostError> {
        if let Some(dir) = named {
            return Ok(Self { dir: dir.to_owned() });
        }
        if let Some(dir) = variable.filter(|dir| !dir.is_empty()) {
            return Ok(Self { dir: dir.into() });
        }
        let platform = etcetera::choose_base_strategy().map_err(|_| HostError::NoPlace)?;
        Ok(Self { dir: platform.data_dir().join("annals") })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Opens the store; with [`OpenMode::Create`] a missing one is created.
    ///
    /// # Errors
    /// See [`SharedError`](annals_store::SharedError).
    pub async fn open(&self, mode: OpenMode) -> Result<SharedLog, HostError> {
        Ok(SharedLog::open(&self.dir, mode).await?)
    }

    /// Saved views, in the store's folder; a command that only reads saves none.
    pub fn cache(&self, mode: OpenMode) -> ViewCache {
        match mode {
            OpenMode::ReadOnly => ViewCache::read_only(&self.dir),
            OpenMode::Existing | OpenMode::Create => ViewCache::in_store(&self.dir),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_is_the_named_one_else_that_of_the_variable() {
        let named = StoreChoice::of(Some(Path::new("/a")), Some(OsStr::new("/b")));
        assert_eq!(named.map(|place| place.dir().to_owned()).ok(), Some(PathBuf::from("/a")));
        let variable = StoreChoice::of(None, Some(OsStr::new("/b")));
        assert_eq!(variable.map(|place| place.dir().to_owned()).ok(), Some(PathBuf::from("/b")));
    }
}
