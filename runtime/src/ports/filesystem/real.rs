//! The host's files.

use super::{FileKind, Filesystem, LARGEST_TEXT, join, lexical, naming};
use crate::Boxed;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, ErrorKind, Read};

/// The host's files, as the process may read them.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFilesystem;

/// Nothing is there, or what should be a directory on the way is a file.
fn missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The text of a regular file: a pipe or a device would hang, or never end.
fn text(path: &str) -> io::Result<String> {
    let is_regular = |found: std::fs::Metadata| match found.is_file() {
        true => Ok(()),
        false if found.is_dir() => Err(io::Error::new(ErrorKind::IsADirectory, "is a directory, not a file")),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "is not a regular file")),
    };
    // Looked at first: opening some devices does something. And again: it may be another one by now.
    is_regular(std::fs::metadata(path)?)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    is_regular(file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(LARGEST_TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_TEXT {
        let why = format!("is larger than {LARGEST_TEXT} bytes: make it smaller, or divide it");
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

impl Filesystem for RealFilesystem {
    fn kind<'a>(&'a self, path: &'a str) -> Boxed<'a, io::Result<Option<FileKind>>> {
        Box::pin(async move {
            match tokio::fs::metadata(path).await {
                Ok(found) if found.is_dir() => Ok(Some(FileKind::Directory)),
                Ok(found) if found.is_file() => Ok(Some(FileKind::File)),
                Ok(_) => Ok(Some(FileKind::Special)),
                Err(error) if missing(&error) => Ok(None),
                Err(error) => Err(naming(path, &error)),
            }
        })
    }

    fn read<'a>(&'a self, path: &'a str) -> Boxed<'a, io::Result<String>> {
        Box::pin(async move {
            let own = path.to_owned();
            let read = tokio::task::spawn_blocking(move || text(&own)).await;
            read.unwrap_or_else(|error| Err(error.into())).map_err(|error| naming(path, &error))
        })
    }

    fn canonicalise<'a>(&'a self, path: &'a str) -> Boxed<'a, io::Result<String>> {
        Box::pin(async move {
            match tokio::fs::canonicalize(path).await {
                Ok(real) => real.into_os_string().into_string().map_err(|_| {
                    io::Error::new(ErrorKind::InvalidData, format!("{path}: leads to a path that is not UTF-8 text"))
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
                // A name that is not UTF-8 matches no pattern and cannot be shown to a model.
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
    use rustix::fs::{CWD, FileType, mknodat};

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

    #[tokio::test]
    async fn only_regular_files_are_read_and_none_without_a_bound() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().to_str().ok_or_else(|| io::Error::other("temporary path"))?;
        let (files, at) = (RealFilesystem, |name: &str| join(root, name));
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
        let _socket = std::os::unix::net::UnixListener::bind(at("socket"))?;
        std::os::unix::fs::symlink("/dev/zero", at("device"))?;
        tokio::fs::write(at("most"), "x".repeat(1 << 20)).await?;
        tokio::fs::write(at("more"), "x".repeat((1 << 20) + 1)).await?;
        for special in ["pipe", "socket", "device"] {
            assert_eq!(files.kind(&at(special)).await?, Some(FileKind::Special), "{special}");
            let error = files.read(&at(special)).await.err().map(|error| error.to_string());
            assert_eq!(error, Some(format!("{}: is not a regular file", at(special))));
        }
        assert_eq!(files.read(&at("most")).await?.len(), 1 << 20);
        let error = files.read(&at("more")).await.err().ok_or_else(|| io::Error::other("it is too large"))?;
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert!(error.to_string().starts_with(&format!("{}: is larger than 1048576 bytes", at("more"))), "{error}");
        Ok(())
    }
}
