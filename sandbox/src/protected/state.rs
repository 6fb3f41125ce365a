//! Files and folders of one protected place as they were, with their contents.

use super::PutBack;
use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The most entries of a place that are compared; of a larger one no file is removed.
const ENTRIES: usize = 5_000;

/// The largest file whose content is kept, and the most that is kept of a place, in bytes.
const LARGEST: u64 = 1 << 20;
const KEPT: u64 = 32 << 20;

/// How deep folders are read.
const DEPTH: usize = 6;

/// Left out: `git gc` writes it.
const WRITTEN_BY_GIT: &str = "info/refs";

/// A protected place.
#[derive(Debug)]
pub(super) struct ProtectedPlace {
    place: PathBuf,
    /// Where its folder really was.
    folder: Option<PathBuf>,
    before: PlaceState,
}

#[derive(Debug, Default)]
struct PlaceState {
    files: BTreeMap<PathBuf, FileState>,
    kept: u64,
    /// Whether there was more than is compared.
    more: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileState {
    Folder,
    File {
        content: Vec<u8>,
        mode: u32,
        /// Another name of the file could be written to later.
        links: u64,
    },
    Link(PathBuf),
    /// Too large, or not a file: known by its size and the time of its last change.
    Other(u64, i64, i64),
}

impl ProtectedPlace {
    pub(super) fn of(place: PathBuf) -> Self {
        let before = PlaceState::of(&place);
        Self { folder: real_folder(&place), place, before }
    }

    /// Puts back what is different now; gives the place if something was.
    pub(super) fn restore(&self) -> Option<PutBack> {
        let (place, before) = (&self.place, &self.before.files);
        let now = PlaceState::of(place);
        let more = now.more || self.before.more;
        let mut differs = now.files.iter().any(|(path, state)| before.get(path) != Some(state));
        differs |= before.keys().any(|path| !now.files.contains_key(path));
        if !differs {
            return None;
        }
        // Never through a link that the command put in the way.
        let real = real_folder(place);
        if self.folder.is_some() && real != self.folder || self.folder.is_none() && real.as_deref() != place.parent() {
            return Some((place.clone(), self.folder.is_none() && real.is_none()));
        }
        let mut restored = !more;
        for (path, state) in now.files.iter().rev().filter(|(path, state)| before.get(*path) != Some(state)) {
            let known = before.contains_key(path);
            let keeps = *state == FileState::Folder && before.get(path) == Some(&FileState::Folder);
            restored &= keeps || (!known && more) || state.remove(path).is_ok();
        }
        for (path, state) in before.iter().filter(|(path, state)| now.files.get(*path) != Some(state)) {
            restored &= state.write(path).is_ok();
        }
        Some((place.clone(), restored))
    }
}

fn real_folder(place: &Path) -> Option<PathBuf> {
    place.parent().and_then(|folder| folder.canonicalize().ok())
}

impl PlaceState {
    fn of(place: &Path) -> Self {
        let mut all = Self::default();
        all.read(place, DEPTH);
        all
    }

    fn read(&mut self, path: &Path, depth: usize) {
        let Ok(found) = path.symlink_metadata() else { return };
        if path.ends_with(WRITTEN_BY_GIT) {
            return;
        }
        if self.files.len() >= ENTRIES {
            self.more = true;
            return;
        }
        let state = FileState::of(path, &found, KEPT.saturating_sub(self.kept));
        if let FileState::File { content, .. } = &state {
            self.kept += content.len() as u64;
        }
        let is_folder = state == FileState::Folder;
        self.files.insert(path.to_owned(), state);
        if !is_folder {
            return;
        }
        let mut entries: Vec<PathBuf> =
            fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        // The same ones both times, if there are too many.
        entries.sort();
        self.more |= depth == 0 && !entries.is_empty();
        if depth > 0 {
            entries.iter().for_each(|entry| self.read(entry, depth - 1));
        }
    }
}

impl FileState {
    /// The state of a file; `None` if there is none.
    pub(super) fn at(path: &Path) -> Option<Self> {
        path.symlink_metadata().ok().map(|found| Self::of(path, &found, LARGEST))
    }

    fn of(path: &Path, found: &Metadata, room: u64) -> Self {
        let other = || Self::Other(found.len(), found.mtime(), found.ctime());
        if found.is_dir() {
            Self::Folder
        } else if found.is_symlink() {
            fs::read_link(path).map_or_else(|_| other(), Self::Link)
        } else if found.is_file() && found.len() <= LARGEST.min(room) {
            let (mode, links) = (found.permissions().mode(), found.nlink());
            fs::read(path).map_or_else(|_| other(), |content| Self::File { content, mode, links })
        } else {
            other()
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Folder => fs::remove_dir_all(path),
            Self::File { .. } | Self::Link(_) | Self::Other(..) => fs::remove_file(path),
        }
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Folder => fs::create_dir_all(path),
            Self::Link(target) => symlink(target, path),
            Self::File { content, mode, .. } => {
                // A folder that the command removed or made a file.
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                fs::write(path, content)?;
                fs::set_permissions(path, fs::Permissions::from_mode(*mode))
            }
            Self::Other(..) => Err(io::Error::other("its content was not kept")),
        }
    }

    /// Writes it, and removes what is there.
    pub(super) fn write_over(&self, path: &Path) -> io::Result<()> {
        if let Some(now) = Self::at(path) {
            now.remove(path)?;
        }
        self.write(path)
    }
}
