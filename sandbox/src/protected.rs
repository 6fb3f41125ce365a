//! Files that a command must leave as they are although they lie in a writable folder. Landlock cannot take a part out of
//! such a folder, so they are compared after the command, and put back.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The most entries that are kept, and the largest file.
const ENTRIES: usize = 500;
const LARGEST: u64 = 1 << 20;

/// How deep folders are read.
const DEPTH: usize = 4;

/// Protected files as they were.
#[derive(Debug)]
pub struct ProtectedFiles {
    /// Each place with where its folder really is.
    places: Vec<(PathBuf, Option<PathBuf>)>,
    before: BTreeMap<PathBuf, FileState>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum FileState {
    Folder,
    File {
        content: Vec<u8>,
        mode: u32,
    },
    Link(PathBuf),
    /// Too large, or not a file: known by its size and the time of its last change.
    Other(u64, i64, i64),
}

impl ProtectedFiles {
    /// The files at some places, which need not exist.
    pub fn capture(places: &[PathBuf]) -> Self {
        let real = |place: &PathBuf| place.parent().and_then(|folder| folder.canonicalize().ok());
        let mut before = BTreeMap::new();
        places.iter().for_each(|place| read(place, DEPTH, &mut before));
        Self { places: places.iter().map(|place| (place.clone(), real(place))).collect(), before }
    }

    /// Puts back what is different now; gives the places that were, and whether each is as it was.
    pub fn restore(&self) -> Vec<(PathBuf, bool)> {
        let mut changed = Vec::new();
        for (place, folder) in &self.places {
            let (mut now, mut restored) = (BTreeMap::new(), true);
            read(place, DEPTH, &mut now);
            let before: BTreeMap<&PathBuf, &FileState> =
                self.before.iter().filter(|(path, _)| path.starts_with(place)).collect();
            if before.len() == now.len() && now.iter().all(|(path, state)| before.get(path) == Some(&state)) {
                continue;
            }
            // Never through a link that the command put in the way.
            let real = place.parent().and_then(|folder| folder.canonicalize().ok());
            if real != *folder && folder.is_some() || folder.is_none() && real.as_deref() != place.parent() {
                changed.push((place.clone(), false));
                continue;
            }
            for (path, state) in now.iter().rev().filter(|(path, state)| before.get(path) != Some(state)) {
                let keeps = *state == FileState::Folder && before.get(path) == Some(&&FileState::Folder);
                restored &= keeps || remove(path, state).is_ok();
            }
            for (path, state) in before.iter().filter(|(path, state)| now.get(**path) != Some(**state)) {
                restored &= write(path, state).is_ok();
            }
            changed.push((place.clone(), restored));
        }
        changed
    }
}

fn read(path: &Path, depth: usize, all: &mut BTreeMap<PathBuf, FileState>) {
    let Ok(found) = path.symlink_metadata() else { return };
    if all.len() >= ENTRIES {
        return;
    }
    let state = state(path, &found);
    let is_folder = state == FileState::Folder;
    all.insert(path.to_owned(), state);
    if is_folder && depth > 0 {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.for_each(|entry| read(&entry.path(), depth - 1, all));
    }
}

fn state(path: &Path, found: &Metadata) -> FileState {
    let other = || FileState::Other(found.len(), found.mtime(), found.ctime());
    if found.is_dir() {
        FileState::Folder
    } else if found.is_symlink() {
        fs::read_link(path).map_or_else(|_| other(), FileState::Link)
    } else if found.is_file() && found.len() <= LARGEST {
        let mode = found.permissions().mode();
        fs::read(path).map_or_else(|_| other(), |content| FileState::File { content, mode })
    } else {
        other()
    }
}

fn remove(path: &Path, state: &FileState) -> io::Result<()> {
    match state {
        FileState::Folder => fs::remove_dir_all(path),
        FileState::File { .. } | FileState::Link(_) | FileState::Other(..) => fs::remove_file(path),
    }
}

fn write(path: &Path, state: &FileState) -> io::Result<()> {
    match state {
        FileState::Folder => fs::create_dir_all(path),
        FileState::Link(target) => symlink(target, path),
        FileState::File { content, mode } => {
            fs::write(path, content)?;
            fs::set_permissions(path, fs::Permissions::from_mode(*mode))
        }
        FileState::Other(..) => Err(io::Error::other("its content was not kept")),
    }
}

#[cfg(test)]
mod tests {
    use super::ProtectedFiles;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_a_command_changed_is_put_back_and_named() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let git = folder.path().join(".git");
        fs::create_dir_all(git.join("hooks"))?;
        fs::write(git.join("config"), "[core]\n")?;
        fs::write(git.join("hooks/old"), "old")?;
        let places = [git.join("hooks"), git.join("config"), git.join("config.worktree")];
        let kept = ProtectedFiles::capture(&places);
        assert_eq!(kept.restore(), []);
        fs::write(git.join("hooks/pre-commit"), "#!/bin/sh\n")?;
        fs::remove_file(git.join("hooks/old"))?;
        fs::write(git.join("config"), "[core]\nhooksPath=x\n")?;
        symlink("config", git.join("config.worktree"))?;
        let changed: Vec<_> = places.iter().map(|place| (place.clone(), true)).collect();
        assert_eq!(kept.restore(), changed);
        assert_eq!(kept.restore(), []);
        assert_eq!(
            (fs::read_to_string(git.join("config"))?, fs::read_to_string(git.join("hooks/old"))?),
            ("[core]\n".into(), "old".into())
        );
        assert!(!git.join("hooks/pre-commit").exists() && git.join("config.worktree").symlink_metadata().is_err());
        Ok(())
    }

    #[test]
    fn nothing_is_put_back_through_a_link() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (git, other) = (folder.path().join(".git"), folder.path().join("other"));
        fs::create_dir_all(git.join("hooks"))?;
        fs::create_dir_all(other.join("hooks"))?;
        fs::write(other.join("hooks/mine"), "mine")?;
        let kept = ProtectedFiles::capture(&[git.join("hooks")]);
        fs::rename(&git, folder.path().join("away"))?;
        symlink(&other, &git)?;
        assert_eq!(kept.restore(), [(git.join("hooks"), false)]);
        assert_eq!(fs::read_to_string(other.join("hooks/mine"))?, "mine");
        Ok(())
    }
}
