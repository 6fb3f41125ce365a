//! Carrying a plan out, all or nothing.
//!
//! 1. Every new content is written to a staging folder in the worktree, so that it moves into place by renaming.
//! 2. A note of what is about to happen is made durable in the shadow folder.
//! 3. The present content of those paths is moved into the staging folder, and compared there with what the plan expects.
//! 4. The new files move into place.
//! 5. The note is removed: the restore is done. Then the staging folder and empty directories are removed.
//!
//! A failure before step 5 moves everything back. After a crash the note is still there, and the next operation moves
//! everything back before it does anything else.

use super::git::Contents;
use super::shadow::Shadow;
use super::staging::{Move, Note, Staging};
use annals_runtime::worktree::{FileRestore, FilesError, TreeEntry, above};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

impl Shadow {
    /// Restores files as planned. Only under the lock.
    pub(super) fn restore(&self, files: &[FileRestore]) -> Result<(), FilesError> {
        if files.is_empty() {
            return Ok(());
        }
        let mut seen = BTreeSet::new();
        for file in files {
            let captured = [&file.from, &file.to].into_iter().flatten().all(TreeEntry::is_captured);
            if !super::capture::is_trackable(&file.path) || !captured || !seen.insert(file.path.as_str()) {
                return Err(FilesError::BadPath { path: file.path.clone() });
            }
        }
        let mut contents = Contents::open(self.git.shadow("cat-file"))?;
        let staging = Staging::make(&self.root)?;
        let staged = staging.fill(files, &mut contents).and_then(|()| self.note(files, &staging));
        let note = match staged {
            Ok(note) => note,
            Err(error) => {
                staging.remove()?;
                return Err(error);
            }
        };
        let done = self.place(files, &note, &mut contents).and_then(|()| self.forget_note());
        match done {
            Ok(()) => {
                self.prune(files);
                // The files are restored; a staging folder that cannot be removed is ignored by every capture.
                drop(staging.remove());
                Ok(())
            }
            Err(error) => match note.take_back(&self.root) {
                Ok(()) => {
                    self.forget_note()?;
                    staging.remove()?;
                    Err(error)
                }
                Err(source) => Err(FilesError::Torn { why: error.to_string(), staging: note.staging, source }),
            },
        }
    }

    /// Moves everything back that a restore has left half done.
    pub(super) fn recover(&self) -> Result<(), FilesError> {
        let path = self.note_path();
        let note = match fs::read(&path) {
            Ok(bytes) => Note::read(&bytes, &self.root).map_err(|error| FilesError::io(&path)(error))?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(FilesError::io(&path)(error)),
        };
        let torn = |source| FilesError::Torn {
            why: "an earlier restore was cut short".into(),
            staging: note.staging.clone(),
            source,
        };
        // Without the folder there is nothing to restore: the user has resolved it by hand.
        if note.staging.is_dir() {
            note.take_back(&self.root).map_err(torn)?;
        }
        self.forget_note()?;
        match fs::remove_dir_all(&note.staging) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(FilesError::io(&note.staging)(error)),
            _ => Ok(()),
        }
    }

    fn note_path(&self) -> PathBuf {
        self.folder.join("restore.json")
    }

    /// Writes down what is about to happen, durably.
    fn note(&self, files: &[FileRestore], staging: &Staging) -> Result<Note, FilesError> {
        let mut made = BTreeSet::new();
        for file in files.iter().filter(|file| file.to.is_some()) {
            for above in above(&file.path) {
                if !is_directory(&self.root.join(above)) {
                    made.insert(above.to_string());
                }
            }
        }
        let moves = files.iter().map(|file| Move {
            path: file.path.clone(),
            leaves: file.from.is_some(),
            comes: file.to.is_some(),
        });
        let note = Note::of(staging, moves.collect(), made.into_iter().collect());
        let path = self.note_path();
        let fresh = self.folder.join("restore.json.new");
        note.write(&fresh).and_then(|()| fs::rename(&fresh, &path)).map_err(FilesError::io(&path))?;
        Ok(note)
    }

    fn forget_note(&self) -> Result<(), FilesError> {
        super::shadow::forget(&self.note_path())
    }

    fn place(&self, files: &[FileRestore], note: &Note, contents: &mut Contents) -> Result<(), FilesError> {
        for (number, file) in files.iter().enumerate() {
            let Some(expected) = &file.from else { continue };
            let changed = || FilesError::Changed { path: file.path.clone() };
            let (original, kept) = (self.root.join(&file.path), note.kept(number));
            if above(&file.path).any(|above| !is_directory(&self.root.join(above))) {
                return Err(changed());
            }
            match fs::symlink_metadata(&original) {
                Ok(there) if there.is_file() || there.is_symlink() => {}
                Ok(_) => return Err(changed()),
                Err(error) if error.kind() == ErrorKind::NotFound => return Err(changed()),
                Err(error) => return Err(FilesError::io(&original)(error)),
            }
            fs::rename(&original, &kept).map_err(FilesError::io(&original))?;
            // Checked only here, where the file can no longer be changed by its path.
            if !holds(&kept, expected, &file.path, contents)? {
                return Err(changed());
            }
        }
        for (number, file) in files.iter().enumerate() {
            if file.to.is_some() {
                self.place_one(number, file, note)?;
            }
        }
        Ok(())
    }

    fn place_one(&self, number: usize, file: &FileRestore, note: &Note) -> Result<(), FilesError> {
        let target = self.root.join(&file.path);
        let in_the_way = |by: &str| FilesError::InTheWay { path: file.path.clone(), by: by.to_string() };
        let parents: Vec<&str> = above(&file.path).collect();
        for parent in parents.into_iter().rev() {
            let full = self.root.join(parent);
            match fs::symlink_metadata(&full) {
                Ok(there) if there.is_dir() => {}
                // A link could lead anywhere.
                Ok(_) => return Err(in_the_way(parent)),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    fs::create_dir(&full).map_err(FilesError::io(&full))?;
                }
                Err(error) => return Err(FilesError::io(&full)(error)),
            }
        }
        match fs::symlink_metadata(&target) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(FilesError::io(&target)(error)),
            Ok(there) if there.is_dir() => match first_file(&target).map_err(FilesError::io(&target))? {
                None => fs::rename(&target, note.directory(number)).map_err(FilesError::io(&target))?,
                Some(by) => {
                    let by = by.strip_prefix(&self.root).unwrap_or(&by).display().to_string();
                    return Err(in_the_way(&by));
                }
            },
            Ok(_) => return Err(in_the_way(&file.path)),
        }
        let new = note.coming(number);
        if let (Some(TreeEntry::File { executable, .. }), Some(TreeEntry::File { .. })) = (&file.to, &file.from) {
            keep_permissions(&note.kept(number), &new, *executable).map_err(FilesError::io(&target))?;
        }
        fs::rename(new, &target).map_err(FilesError::io(&target))
    }

    /// Removes directories that a removed file leaves empty, as git does. The location itself stays.
    fn prune(&self, files: &[FileRestore]) {
        for file in files.iter().filter(|file| file.to.is_none()) {
            for above in above(&file.path) {
                let directory = self.root.join(above);
                // One that is not empty stays, with all that are above it.
                if self.location.starts_with(&directory) || fs::remove_dir(&directory).is_err() {
                    break;
                }
            }
        }
    }
}

/// Whether a path is a directory, not a link to one.
pub(super) fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|there| there.is_dir())
}

/// Whether a path holds exactly what a capture says.
fn holds(path: &Path, expected: &TreeEntry, name: &str, contents: &mut Contents) -> Result<bool, FilesError> {
    let (_, id) = expected.git();
    let missing = || FilesError::NoContent { path: name.into(), id: id.into() };
    let wanted = contents.read(id)?.ok_or_else(missing)?;
    let there = fs::symlink_metadata(path).map_err(FilesError::io(path))?;
    match expected {
        TreeEntry::File { executable, .. } if there.is_file() => {
            let same = is_executable(&there) == *executable && there.len() == wanted.len() as u64;
            Ok(same && fs::read(path).map_err(FilesError::io(path))? == wanted)
        }
        TreeEntry::Link { .. } if there.is_symlink() => {
            let target = fs::read_link(path).map_err(FilesError::io(path))?;
            Ok(target.as_os_str().as_encoded_bytes() == wanted)
        }
        _ => Ok(false),
    }
}

#[cfg(unix)]
fn is_executable(there: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&there.permissions()) & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}

/// Copies the permissions of a file. Execute bits are set for those who may read it, or cleared, as `executable` says.
#[cfg(unix)]
fn keep_permissions(from: &Path, to: &Path, executable: bool) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::symlink_metadata(from)?.permissions().mode() & 0o777;
    let may_run = if executable { (mode & 0o444) >> 2 } else { 0 };
    let kept = if executable == (mode & 0o100 != 0) { mode } else { (mode & !0o111) | may_run };
    fs::set_permissions(to, fs::Permissions::from_mode(kept))
}

#[cfg(not(unix))]
fn keep_permissions(_: &Path, _: &Path, _: bool) -> io::Result<()> {
    Ok(())
}

/// The first entry in a directory, at any depth, that is not a directory.
fn first_file(directory: &Path) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            return Ok(Some(entry.path()));
        }
        if let Some(found) = first_file(&entry.path())? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
