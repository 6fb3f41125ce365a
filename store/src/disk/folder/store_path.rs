//! Paths of files in the folder of a store that do not belong to the log: tool outputs, file captures, records of
//! edits.

use super::Folder;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A path in the folder of a store. With an open folder it refers to the same place after the folder is moved, and to
/// nothing once the folder is removed or contains another store. Without one it is an ordinary path.
#[derive(Clone)]
pub struct StorePath {
    folder: Option<Arc<Folder>>,
    /// As it was when the folder was opened.
    path: PathBuf,
}

impl StorePath {
    /// The path of an open store's folder itself.
    pub fn held(folder: Arc<Folder>) -> Self {
        Self { path: folder.path().to_owned(), folder: Some(folder) }
    }

    /// A path inside this one. `name` is relative and holds no `..`.
    #[must_use]
    pub fn join(&self, name: impl AsRef<Path>) -> Self {
        Self { folder: self.folder.clone(), path: self.path.join(name) }
    }

    /// A path that leads there now, for calls to the system by this process; valid while the `StorePath` lives.
    ///
    /// # Errors
    /// [`Displaced`](crate::disk::Displaced) when the store was removed or replaced.
    pub fn reach(&self) -> io::Result<PathBuf> {
        let Some(folder) = &self.folder else { return Ok(self.path.clone()) };
        folder.check().map_err(crate::displaced::Displaced::error)?;
        folder.reach_inside(&self.path)
    }

    /// The same, valid in child processes of this one as well.
    ///
    /// # Errors
    /// As [`StorePath::reach`].
    pub fn reach_from_children(&self) -> io::Result<PathBuf> {
        let path = self.reach()?;
        Ok(match path.strip_prefix("/proc/self") {
            Ok(rest) if self.folder.is_some() => Path::new("/proc").join(std::process::id().to_string()).join(rest),
            _ => path,
        })
    }

    /// The path for messages: below the current place of the folder, if it was moved.
    pub fn shown(&self) -> PathBuf {
        let moved = || {
            let folder = self.folder.as_ref()?;
            let (_, to) = folder.moved()?;
            Some(to?.join(folder.within(&self.path).ok()?))
        };
        moved().unwrap_or_else(|| self.path.clone())
    }
}

impl fmt::Debug for StorePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StorePath").field(&self.path).finish()
    }
}

impl<P: AsRef<Path>> From<P> for StorePath {
    /// An ordinary path.
    fn from(path: P) -> Self {
        Self { folder: None, path: path.as_ref().to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{DiskLog, Displaced};
    use crate::{OpenMode, SharedLog};
    use std::fs;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    /// What the error of a call to the system says of the store.
    fn displaced(error: &io::Error) -> Option<&Displaced> {
        error.get_ref()?.downcast_ref()
    }

    #[tokio::test]
    async fn a_path_follows_its_store_for_owner_and_guest() -> Tested {
        let here = tempfile::tempdir()?;
        let (store, moved) = (here.path().join("store"), here.path().join("moved"));
        let owner = SharedLog::open(&store, OpenMode::Create).await?;
        let guest = SharedLog::open(&store, OpenMode::Existing).await?;
        let paths = [owner.folder()?, guest.folder()?].map(|folder| StorePath::held(folder).join("outputs"));
        fs::rename(&store, &moved)?;
        DiskLog::open(&store, OpenMode::Create)?.0.close().await?;
        for (number, path) in paths.into_iter().enumerate() {
            assert_eq!(path.shown(), moved.join("outputs"));
            fs::create_dir_all(path.reach()?)?;
            fs::write(path.reach_from_children()?.join(number.to_string()), "kept")?;
            assert_eq!(fs::read_to_string(moved.join("outputs").join(number.to_string()))?, "kept");
        }
        assert!(!store.join("outputs").exists());
        Ok(())
    }

    #[tokio::test]
    async fn a_path_leads_nowhere_once_its_store_is_removed_or_replaced() -> Tested {
        for replaced in [false, true] {
            let here = tempfile::tempdir()?;
            let (store, other) = (here.path().join("store"), here.path().join("other"));
            let owner = SharedLog::open(&store, OpenMode::Create).await?;
            let path = StorePath::held(owner.folder()?).join("outputs");
            if replaced {
                DiskLog::open(&other, OpenMode::Create)?.0.close().await?;
                fs::rename(other.join("FORMAT"), store.join("FORMAT"))?;
            } else {
                fs::remove_dir_all(&store)?;
            }
            let refused = path.reach().err().ok_or("a store that is gone was reached")?;
            match displaced(&refused) {
                Some(Displaced::Replaced { .. }) if replaced => {}
                Some(Displaced::Removed { .. }) if !replaced => {}
                other => return Err(format!("{other:?}").into()),
            }
        }
        Ok(())
    }

    #[tokio::test]
    async fn the_folder_of_another_store_is_not_taken_for_that_of_the_log() -> Tested {
        let here = tempfile::tempdir()?;
        let (store, moved) = (here.path().join("store"), here.path().join("moved"));
        let _owner = SharedLog::open(&store, OpenMode::Create).await?;
        let guest = SharedLog::open(&store, OpenMode::Existing).await?;
        fs::rename(&store, &moved)?;
        DiskLog::open(&store, OpenMode::Create)?.0.close().await?;
        let refused = guest.folder().err().ok_or("another store was taken for it")?;
        assert!(matches!(displaced(&refused), Some(Displaced::Replaced { .. })), "{refused}");
        Ok(())
    }
}
