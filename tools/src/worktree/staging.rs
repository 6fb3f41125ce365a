//! The staging folder of one restore, and the note by which it can be taken back.

use super::git::Contents;
use annals_runtime::worktree::{FileRestore, FilesError, TreeEntry};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A folder in the worktree, so that a rename suffices. It holds `new/N`, `old/N` and `directory/N`.
pub(super) struct Staging {
    name: String,
    pub(super) folder: PathBuf,
}

impl Staging {
    pub(super) fn make(root: &Path) -> Result<Self, FilesError> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| FilesError::io(root)(io::Error::other(error)))?;
        let name = format!(".annals-restore-{:016x}", u64::from_le_bytes(random));
        let folder = root.join(&name);
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder).map_err(FilesError::io(&folder))?;
        let staging = Self { name, folder };
        for part in ["new", "old", "directory"] {
            let part = staging.folder.join(part);
            if let Err(error) = fs::create_dir(&part) {
                staging.remove()?;
                return Err(FilesError::io(part)(error));
            }
        }
        Ok(staging)
    }

    /// Writes every content that is to come.
    pub(super) fn fill(&self, files: &[FileRestore], contents: &mut Contents) -> Result<(), FilesError> {
        for (number, file) in files.iter().enumerate() {
            let Some(entry) = &file.to else { continue };
            let (_, id) = entry.git();
            let missing = || FilesError::NoContent { path: file.path.clone(), id: id.into() };
            let bytes = contents.read(id)?.ok_or_else(missing)?;
            let path = self.folder.join(format!("new/{number}"));
            let written = match entry {
                TreeEntry::Link { .. } => link(&bytes, &path),
                _ => write(&bytes, &path, matches!(entry, TreeEntry::File { executable: true, .. })),
            };
            written.map_err(FilesError::io(self.folder.join(&file.path)))?;
        }
        Ok(())
    }

    pub(super) fn remove(&self) -> Result<(), FilesError> {
        fs::remove_dir_all(&self.folder).map_err(FilesError::io(&self.folder))
    }
}

fn write(bytes: &[u8], path: &Path, executable: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if executable { 0o777 } else { 0o666 });
    #[cfg(not(unix))]
    let _ = executable;
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

#[cfg(unix)]
fn link(target: &[u8], path: &Path) -> io::Result<()> {
    let target: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(target);
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn link(_: &[u8], _: &Path) -> io::Result<()> {
    Err(io::Error::new(ErrorKind::Unsupported, "symbolic links are restored on Unix only"))
}

/// What a restore is about to do: enough to take it back from any point on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Note {
    /// The folder's name in the worktree.
    name: String,
    #[serde(skip)]
    pub(super) staging: PathBuf,
    /// Numbered from 0, as the files in the staging folder.
    pub(super) moves: Vec<Move>,
    /// Directories that are made, in order of their paths.
    pub(super) made: Vec<String>,
}

/// One path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Move {
    pub(super) path: String,
    /// Whether the path has content that moves to `old/N`.
    pub(super) leaves: bool,
    /// Whether `new/N` moves there.
    pub(super) comes: bool,
}

impl Note {
    pub(super) fn of(staging: &Staging, moves: Vec<Move>, made: Vec<String>) -> Self {
        Self { name: staging.name.clone(), staging: staging.folder.clone(), moves, made }
    }

    pub(super) fn read(bytes: &[u8], root: &Path) -> io::Result<Self> {
        let note: Self =
            serde_json::from_slice(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        Ok(Self { staging: root.join(&note.name), ..note })
    }

    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let bytes = serde_json::to_vec(self).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        let mut file = File::create(path)?;
        file.write_all(&bytes)?;
        file.sync_all()
    }

    /// The staged file for a path.
    pub(super) fn coming(&self, number: usize) -> PathBuf {
        self.staging.join(format!("new/{number}"))
    }

    /// The previous content of a path.
    pub(super) fn kept(&self, number: usize) -> PathBuf {
        self.staging.join(format!("old/{number}"))
    }

    /// The empty directory that was at a path.
    pub(super) fn directory(&self, number: usize) -> PathBuf {
        self.staging.join(format!("directory/{number}"))
    }

    /// Moves everything back. What has happened shows in the staging folder, so this may be repeated.
    pub(super) fn take_back(&self, root: &Path) -> io::Result<()> {
        for (number, one) in self.moves.iter().enumerate() {
            let new = self.coming(number);
            if one.comes && !there(&new)? {
                let path = root.join(&one.path);
                if there(&path)? {
                    fs::rename(path, new)?;
                }
            }
        }
        for made in self.made.iter().rev() {
            match fs::remove_dir(root.join(made)) {
                // Not created yet, or not empty any more.
                Err(error) if !tolerable(error.kind()) => return Err(error),
                _ => {}
            }
        }
        for (number, one) in self.moves.iter().enumerate() {
            for kept in [self.directory(number), self.kept(number)] {
                if there(&kept)? {
                    fs::rename(kept, root.join(&one.path))?;
                }
            }
        }
        Ok(())
    }
}

/// Whether anything is at a path, be it a link that leads nowhere.
fn there(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(error),
    }
}

fn tolerable(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::DirectoryNotEmpty)
}
