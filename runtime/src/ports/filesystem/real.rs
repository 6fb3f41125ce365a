//! The host's files.

use super::{FileKind, Filesystem, join, lexical, naming};
use crate::Boxed;
use std::io::{self, ErrorKind};

/// The host's files, as the process may read them.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFilesystem;

/// Nothing is there, or what should be a directory on the way is a file.
fn missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

impl Filesystem for RealFilesystem {
    fn kind<'a>(&'a self, path: &'a str) -> Boxed<'a, io::Result<Option<FileKind>>> {
        Box::pin(async move {
            match tokio::fs::metadata(path).await {
                Ok(found) if found.is_dir() => Ok(Some(FileKind::Directory)),
                Ok(_) => Ok(Some(FileKind::File)),
                Err(error) if missing(&error) => Ok(None),
                Err(error) => Err(naming(path, &error)),
            }
        })
    }

    fn read<'a>(&'a self, path: &'a str) -> Boxed<'a, io::Result<String>> {
        Box::pin(async move { tokio::fs::read_to_string(path).await.map_err(|error| naming(path, &error)) })
    }

    fn canonicalise<'a>(&'a self, path: &'a str) -> Boxed<'a, io::Result<String>> {
        Box::pin(async move {
            match tokio::fs::canonicalize(path).await {
                Ok(real) => real.into_os_string().into_string().map_err(|_| {
                    io::Error::new(ErrorKind::InvalidData, format!("{path}: leads to a path that is no UTF-8 text"))
                }),
                Err(error) if missing(&error) => Ok(lexical(path)),
                Err(error) => Err(naming(path, &error)),
            }
        })
    }

    fn list<'a>(&'a self, directory: &'a str) -> Boxed<'a, io::Result<Vec<(String, FileKind)>>> {
        Box::pin(async move {
            let mut entries = match tokio::fs::read_dir(directory).await {
                Ok(entries) => entries,
                Err(error) if missing(&error) => return Ok(Vec::new()),
                Err(error) => return Err(naming(directory, &error)),
            };
            let mut names = Vec::new();
            while let Some(entry) = entries.next_entry().await.map_err(|error| naming(directory, &error))? {
                // A name that is no text can be matched by no pattern and told to no model.
                let Ok(name) = entry.file_name().into_string() else { continue };
                // A link that leads nowhere is nothing.
                if let Some(kind) = self.kind(&join(directory, &name)).await? {
                    names.push((name, kind));
                }
            }
            names.sort_by(|a, b| a.0.cmp(&b.0));
            Ok(names)
        })
    }

    fn is_worktree<'a>(&'a self, directory: &'a str) -> Boxed<'a, io::Result<bool>> {
        // A directory in a plain clone, a file in a linked worktree or a submodule.
        Box::pin(async move { Ok(self.kind(&join(directory, ".git")).await?.is_some()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn missing_is_nothing_and_a_file_on_the_way_too() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().to_str().ok_or_else(|| io::Error::other("temporary path"))?;
        let files = RealFilesystem;
        tokio::fs::write(join(root, "b"), "text").await?;
        tokio::fs::create_dir(join(root, "a")).await?;
        assert_eq!(files.kind(&join(root, "x")).await?, None);
        assert_eq!(files.kind(&join(root, "b/x")).await?, None);
        assert_eq!(
            files.list(root).await?,
            [("a".to_string(), FileKind::Directory), ("b".to_string(), FileKind::File)]
        );
        assert_eq!(files.list(&join(root, "x")).await?, []);
        assert_eq!(files.read(&join(root, "b")).await?, "text");
        let error = files.read(&join(root, "x")).await.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with(&join(root, "x")), "{error}");
        assert!(!files.is_worktree(root).await?);
        tokio::fs::create_dir(join(root, ".git")).await?;
        assert!(files.is_worktree(root).await?);
        Ok(())
    }
}
