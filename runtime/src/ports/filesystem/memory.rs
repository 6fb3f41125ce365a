//! The file tree of a scripted world.

use super::{FileKind, Filesystem, lexical, within};
use crate::Boxed;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file tree in memory. Directories are there because of what they hold.
///
/// ```
/// # use annals_runtime::ports::{Filesystem, MemoryFilesystem};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let files = MemoryFilesystem::default();
/// files.worktree("/project");
/// files.write("/project/AGENTS.md", "Be exact.");
/// assert_eq!(files.read("/project/./AGENTS.md").await?, "Be exact.");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct MemoryFilesystem(Mutex<MemoryTree>);

#[derive(Debug, Default)]
struct MemoryTree {
    files: BTreeMap<String, String>,
    worktrees: BTreeSet<String>,
    denied: BTreeSet<String>,
}

impl MemoryFilesystem {
    fn tree(&self) -> MutexGuard<'_, MemoryTree> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a file.
    pub fn write(&self, path: &str, content: impl Into<String>) {
        self.tree().files.insert(lexical(path), content.into());
    }

    /// Removes a file; whether it was there.
    pub fn remove(&self, path: &str) -> bool {
        self.tree().files.remove(&lexical(path)).is_some()
    }

    /// Every file, by path.
    pub fn everything(&self) -> BTreeMap<String, String> {
        self.tree().files.clone()
    }

    /// Makes a directory the root of a git worktree.
    pub fn worktree(&self, directory: &str) {
        self.tree().worktrees.insert(lexical(directory));
    }

    /// From now on a path and everything below it cannot be read.
    pub fn deny(&self, path: &str) {
        self.tree().denied.insert(lexical(path));
    }
}

impl MemoryTree {
    fn allowed(&self, path: &str) -> io::Result<()> {
        if self.denied.iter().any(|denied| within(path, denied)) {
            return Err(io::Error::new(ErrorKind::PermissionDenied, format!("{path}: permission denied")));
        }
        Ok(())
    }

    fn kind(&self, path: &str) -> io::Result<Option<FileKind>> {
        self.allowed(path)?;
        let holds = |other: &String| within(other, path);
        Ok(if self.files.contains_key(path) {
            Some(FileKind::File)
        } else if path == "/" || self.files.keys().chain(&self.worktrees).any(holds) {
            Some(FileKind::Directory)
        } else {
            None
        })
    }

    fn read(&self, path: &str) -> io::Result<String> {
        match (self.kind(path)?, self.files.get(path)) {
            (_, Some(content)) => Ok(content.clone()),
            (Some(_), None) => Err(io::Error::new(ErrorKind::IsADirectory, format!("{path}: is a directory"))),
            (None, None) => Err(io::Error::new(ErrorKind::NotFound, format!("{path}: no such file"))),
        }
    }

    fn list(&self, directory: &str) -> io::Result<Vec<(String, FileKind)>> {
        self.allowed(directory)?;
        let prefix = if directory == "/" { "/".to_string() } else { format!("{directory}/") };
        let mut names = BTreeMap::new();
        for path in self.files.keys() {
            match path.strip_prefix(&prefix).map(|rest| rest.split_once('/')) {
                Some(Some((name, _))) => names.insert(name.to_string(), FileKind::Directory),
                Some(None) => names.insert(path[prefix.len()..].to_string(), FileKind::File),
                None => None,
            };
        }
        Ok(names.into_iter().collect())
    }
}

impl Filesystem for MemoryFilesystem {
    fn kind<'a>(&'a self, path: &'a str) -> Boxed<'a, io::Result<Option<FileKind>>> {
        Box::pin(async move { self.tree().kind(&lexical(path)) })
    }

    fn read<'a>(&'a self, path: &'a str) -> Boxed<'a, io::Result<String>> {
        Box::pin(async move { self.tree().read(&lexical(path)) })
    }

    fn canonicalise<'a>(&'a self, path: &'a str) -> Boxed<'a, io::Result<String>> {
        Box::pin(async move { Ok(lexical(path)) })
    }

    fn list<'a>(&'a self, directory: &'a str) -> Boxed<'a, io::Result<Vec<(String, FileKind)>>> {
        Box::pin(async move { self.tree().list(&lexical(directory)) })
    }

    fn is_worktree<'a>(&'a self, directory: &'a str) -> Boxed<'a, io::Result<bool>> {
        Box::pin(async move { Ok(self.tree().worktrees.contains(&lexical(directory))) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_tree_knows_its_directories_and_what_it_denies() -> io::Result<()> {
        let files = MemoryFilesystem::default();
        files.write("/project/a/x.md", "x");
        files.write("/project/b.md", "b");
        assert_eq!(files.kind("/project/a").await?, Some(FileKind::Directory));
        assert_eq!(files.kind("/project/c").await?, None);
        assert_eq!(
            files.list("/project").await?,
            [("a".to_string(), FileKind::Directory), ("b.md".to_string(), FileKind::File)]
        );
        assert_eq!(files.read("/project/a").await.map_err(|error| error.kind()), Err(ErrorKind::IsADirectory));
        files.deny("/project/a");
        assert_eq!(files.kind("/project/a/x.md").await.map_err(|error| error.kind()), Err(ErrorKind::PermissionDenied));
        assert!(files.remove("/project/b.md") && !files.remove("/project/b.md"));
        Ok(())
    }
}
