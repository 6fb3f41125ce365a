//! Folders that are to stay themselves. Each is held open, so that one that was moved away is found again.

use super::{PutBack, is_folder, set_aside};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Without opening it for reading, where the system can do that.
#[cfg(target_os = "linux")]
const HELD: i32 = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
#[cfg(not(target_os = "linux"))]
const HELD: i32 = libc::O_DIRECTORY | libc::O_NOFOLLOW;

/// What the owner needs of a folder.
const OWNER: u32 = 0o700;

/// Folders by their paths, so that one comes before those in it.
#[derive(Debug, Default)]
pub(super) struct KeptFolders(BTreeMap<PathBuf, KeptFolder>);

#[derive(Debug)]
enum KeptFolder {
    /// A folder that is to stay itself.
    Itself { held: Option<File>, identity: (u64, u64), mode: u32 },
    /// A folder on the way to a protected place: a link, or none; another folder may take its place.
    OnTheWay(Option<PathBuf>),
}

impl KeptFolders {
    /// Keeps a folder, if it is one.
    pub(super) fn keep(&mut self, path: &Path) {
        let Ok(found) = path.symlink_metadata() else { return };
        if !found.is_dir() {
            return;
        }
        let held = OpenOptions::new().read(true).custom_flags(HELD).open(path).ok();
        let kept = KeptFolder::Itself { held, identity: (found.dev(), found.ino()), mode: found.mode() };
        self.0.insert(path.to_owned(), kept);
    }

    /// Keeps the folders between `root` and a place from becoming links, or other links.
    pub(super) fn keep_links(&mut self, root: &Path, place: &Path) {
        let between = place.ancestors().skip(1).take_while(|folder| *folder != root && folder.starts_with(root));
        for folder in between {
            let link = || KeptFolder::OnTheWay(fs::read_link(folder).ok());
            self.0.entry(folder.to_owned()).or_insert_with(link);
        }
    }

    /// Puts back the folders that are not themselves; gives these.
    pub(super) fn restore(&self) -> Vec<PutBack> {
        self.0.iter().filter_map(|(path, kept)| Some((path.clone(), kept.restore(path)?))).collect()
    }
}

impl KeptFolder {
    /// `None` if it is as it was.
    fn restore(&self, path: &Path) -> Option<bool> {
        match self {
            Self::Itself { held, identity, mode } => {
                if is(path, *identity) {
                    let open = path.symlink_metadata().is_ok_and(|found| found.mode() & OWNER == OWNER);
                    return (!open && mode & OWNER == OWNER)
                        .then(|| fs::set_permissions(path, Permissions::from_mode(*mode)).is_ok());
                }
                Some(Self::bring_back(held.as_ref(), *identity, path))
            }
            Self::OnTheWay(before) => {
                let now = fs::read_link(path).ok();
                let is_file = path.symlink_metadata().is_ok_and(|found| !found.is_dir() && !found.is_symlink());
                if now == *before && !is_file {
                    return None;
                }
                let cleared = if is_folder(path) { set_aside(path).map(drop) } else { absent(fs::remove_file(path)) };
                Some(match before {
                    Some(target) => cleared.and_then(|()| symlink(target, path)).is_ok(),
                    None => cleared.is_ok(),
                })
            }
        }
    }

    /// Moves the folder back to where it was. If it is gone, an empty one takes its place.
    fn bring_back(held: Option<&File>, identity: (u64, u64), path: &Path) -> bool {
        let moved = held.and_then(|held| fs::read_link(format!("/proc/self/fd/{}", held.as_raw_fd())).ok());
        let moved = moved.filter(|moved| is(moved, identity));
        let cleared = match is_folder(path) {
            true if moved.is_some() => set_aside(path).map(drop),
            // Another folder in its place stays: what git obeys in it is put back like that of the former.
            true => return false,
            false => absent(fs::remove_file(path)),
        };
        match moved {
            Some(moved) => cleared.and_then(|()| fs::rename(moved, path)).is_ok(),
            None => {
                // Without the folder git would search elsewhere.
                drop(cleared.and_then(|()| fs::create_dir(path)));
                false
            }
        }
    }
}

fn is(path: &Path, identity: (u64, u64)) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir() && (found.dev(), found.ino()) == identity)
}

/// Nothing to remove is fine.
fn absent(removed: std::io::Result<()>) -> std::io::Result<()> {
    match removed {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
