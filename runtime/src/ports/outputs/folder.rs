//! Managed Tool Output Files on disk.

use super::{OutputFiles, PREFIX};
use crate::Boxed;
use annals_core::Time;
use annals_store::disk::StorePath;
use std::io::{self, ErrorKind};
use std::time::{Duration, UNIX_EPOCH};
use tokio::io::AsyncWriteExt;

/// One flat folder on disk, shared by all sessions; made when first written to.
#[derive(Clone, Debug)]
pub struct OutputFolder {
    folder: StorePath,
}

impl OutputFolder {
    /// The folder at an absolute path, or at one in a store.
    pub fn at(folder: impl Into<StorePath>) -> Self {
        Self { folder: folder.into() }
    }

    async fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let folder = self.folder.reach()?;
        if let Err(error) = tokio::fs::create_dir_all(&folder).await {
            let shown = self.folder.shown();
            return Err(match shown.is_file() {
                true => io::Error::new(
                    ErrorKind::NotADirectory,
                    "it is a file where the folder of outputs belongs; move it away",
                ),
                false => error,
            });
        }
        let path = folder.join(name);
        let mut options = tokio::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        options.mode(0o600); // outputs may hold secrets
        let mut file = options.open(&path).await?;
        let written = async {
            file.write_all(text.as_bytes()).await?;
            file.flush().await
        };
        if let Err(error) = written.await {
            // Half a file must not pass for the whole output.
            tokio::fs::remove_file(path).await?;
            return Err(error);
        }
        Ok(())
    }

    async fn expire(&self, before: Time) -> io::Result<usize> {
        let limit = UNIX_EPOCH + Duration::from_millis(before.millis());
        let mut entries = match tokio::fs::read_dir(self.folder.reach()?).await {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        let mut removed = 0;
        while let Some(entry) = entries.next_entry().await? {
            if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
                continue;
            }
            let swept = async {
                let found = entry.metadata().await?;
                if !found.is_file() || found.modified()? >= limit {
                    return Ok(false);
                }
                tokio::fs::remove_file(entry.path()).await.map(|()| true)
            };
            match swept.await {
                Ok(gone) => removed += usize::from(gone),
                // Another process swept it first.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(removed)
    }
}

impl OutputFiles for OutputFolder {
    fn keep<'a>(&'a self, name: &'a str, text: &'a str) -> Boxed<'a, io::Result<String>> {
        Box::pin(async move {
            let written = self.write(name, text).await;
            let shown = self.folder.shown().join(name).display().to_string();
            match written {
                Ok(()) => Ok(shown),
                Err(error) if error.kind() == ErrorKind::NotADirectory => {
                    Err(io::Error::new(error.kind(), format!("{}: {error}", self.folder.shown().display())))
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(super::taken(&shown)),
                Err(error) => Err(io::Error::new(error.kind(), format!("{shown}: {error}"))),
            }
        })
    }

    fn sweep(&self, before: Time) -> Boxed<'_, io::Result<usize>> {
        Box::pin(async move {
            let named =
                |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.folder.shown().display()));
            self.expire(before).await.map_err(named)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn names(folder: &Path) -> io::Result<Vec<String>> {
        let mut names: Vec<String> = std::fs::read_dir(folder)?
            .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
            .collect::<Result<_, _>>()?;
        names.sort();
        Ok(names)
    }

    #[tokio::test]
    async fn a_file_in_the_place_of_the_folder_is_named() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("tool-output");
        std::fs::write(&path, "a file")?;
        let error = OutputFolder::at(path.clone()).keep("tool_1", "whole").await.map_err(|error| error.to_string());
        let reason = "it is a file where the folder of outputs belongs; move it away";
        assert_eq!(error, Err(format!("{}: {reason}", path.display())));
        Ok(())
    }

    #[tokio::test]
    async fn a_name_is_written_once_and_only_expired_output_files_are_swept() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let files = OutputFolder::at(folder.path().join("tool-output"));
        assert_eq!(files.sweep(Time(u64::MAX >> 12)).await?, 0, "no folder yet");
        let path = files.keep("tool_1", "whole").await?;
        assert_eq!(std::fs::read_to_string(&path)?, "whole");
        let again = files.keep("tool_1", "other").await.map_err(|error| error.kind());
        assert_eq!(again, Err(ErrorKind::AlreadyExists));
        assert_eq!(std::fs::read_to_string(&path)?, "whole");
        std::fs::write(folder.path().join("tool-output/notes"), "kept")?;
        assert_eq!(files.sweep(Time(0)).await?, 0);
        assert_eq!(files.sweep(Time(1 << 52)).await?, 1);
        assert_eq!(names(&folder.path().join("tool-output"))?, ["notes"]);
        Ok(())
    }
}
