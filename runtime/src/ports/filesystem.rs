//! The files that a session's instructions and environment are read from. Tools have their own access.
//!
//! Paths are absolute texts: what is rendered for the model, or kept in the log, must be text.

mod memory;
mod real;

pub use memory::MemoryFilesystem;
pub use real::RealFilesystem;

use crate::Boxed;
use std::io;

/// Bytes of the largest file that is read, 1 MiB: its text reaches a model complete.
pub const LARGEST_TEXT: u64 = 1 << 20;

/// What a path leads to, symbolic links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Something that is neither: a pipe, a socket, a device. It is there, and cannot be read.
    Special,
}

/// Reads files and directories. An error names its path.
pub trait Filesystem: Send + Sync {
    /// What a path leads to; `None` when there is nothing. Not being allowed to look is an error, never "nothing"
    /// (`docs/reference/context.md#instructions`).
    fn kind<'a>(&'a self, path: &'a str) -> Boxed<'a, io::Result<Option<FileKind>>>;

    /// The text of a regular file. Anything else is an error, and so is a file of more than [`LARGEST_TEXT`] bytes
    /// ([`io::ErrorKind::FileTooLarge`]): it exists and cannot be read (`docs/reference/context.md#instructions`).
    fn read<'a>(&'a self, path: &'a str) -> Boxed<'a, io::Result<String>>;

    /// The path without symbolic links; of what does not exist, the path without `.` and `..`.
    fn canonicalise<'a>(&'a self, path: &'a str) -> Boxed<'a, io::Result<String>>;

    /// The names in a directory, by code point; nothing when there is no such directory.
    fn list<'a>(&'a self, directory: &'a str) -> Boxed<'a, io::Result<Vec<(String, FileKind)>>>;

    /// Whether a directory is the root of a git worktree.
    fn is_worktree<'a>(&'a self, directory: &'a str) -> Boxed<'a, io::Result<bool>>;
}

/// An absolute path without `.`, `..`, doubled and trailing slashes. `..` above the root stays at the root.
pub fn lexical(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// `name` in `directory`.
pub fn join(directory: &str, name: &str) -> String {
    if directory.ends_with('/') { format!("{directory}{name}") } else { format!("{directory}/{name}") }
}

/// Whether `path` is `directory` or lies below it. Both are canonical.
pub fn within(path: &str, directory: &str) -> bool {
    path == directory || directory == "/" || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

/// The directory that holds a canonical path; `None` for the root.
pub fn parent(path: &str) -> Option<&str> {
    match path.rfind('/')? {
        _ if path == "/" => None,
        0 => Some("/"),
        at => path.get(..at),
    }
}

/// The project that a directory belongs to: the nearest git worktree at or above it, otherwise the directory itself.
/// Also whether it is a worktree.
///
/// # Errors
/// When a directory on the way cannot be looked at.
pub async fn project(files: &dyn Filesystem, directory: &str) -> io::Result<(String, bool)> {
    let start = files.canonicalise(directory).await?;
    let mut at = Some(start.as_str());
    while let Some(directory) = at {
        if files.is_worktree(directory).await? {
            return Ok((directory.to_string(), true));
        }
        at = parent(directory);
    }
    Ok((start, false))
}

fn naming(path: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_compared_by_whole_names() {
        assert_eq!(lexical("/a//b/./../c/"), "/a/c");
        assert_eq!(lexical("/../.."), "/");
        assert!(within("/project/a", "/project") && within("/project", "/project") && within("/x", "/"));
        assert!(!within("/projects", "/project") && !within("/", "/project"));
        assert_eq!((parent("/a/b"), parent("/a"), parent("/")), (Some("/a"), Some("/"), None));
    }

    #[tokio::test]
    async fn a_project_is_the_nearest_worktree_or_the_directory_itself() -> io::Result<()> {
        let files = MemoryFilesystem::default();
        files.worktree("/project");
        assert_eq!(project(&files, "/project/a/b").await?, ("/project".to_string(), true));
        assert_eq!(project(&files, "/elsewhere/a").await?, ("/elsewhere/a".to_string(), false));
        Ok(())
    }
}
