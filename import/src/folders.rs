//! Files below a folder.

use std::io;
use std::path::Path;

/// Why something below a folder is not looked into.
#[derive(Debug)]
pub enum NotRead {
    /// It cannot be read.
    Unreadable(io::Error),
    /// It is a link to a folder, or to a file outside of the folder.
    Link,
}

/// Calls `each` for every file below a folder, ordered by path, and `skipped` for each folder and link that is not looked into:
/// folders that cannot be read, links to folders, and links to files outside of this folder.
pub fn walk(folder: &Path, each: &mut dyn FnMut(&Path), skipped: &mut dyn FnMut(&Path, NotRead)) {
    match std::fs::canonicalize(folder) {
        Ok(root) => walk_below(&root, folder, each, skipped),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => skipped(folder, NotRead::Unreadable(error)),
    }
}

fn walk_below(root: &Path, folder: &Path, each: &mut dyn FnMut(&Path), skipped: &mut dyn FnMut(&Path, NotRead)) {
    let mut paths = Vec::new();
    match std::fs::read_dir(folder) {
        Ok(entries) => paths.extend(entries.flatten().map(|entry| entry.path())),
        Err(error) => skipped(folder, NotRead::Unreadable(error)),
    }
    paths.sort();
    for path in paths {
        let Ok(meta) = std::fs::symlink_metadata(&path) else { continue };
        if meta.is_dir() {
            walk_below(root, &path, each, skipped);
        } else if !meta.is_symlink() {
            each(&path);
        } else {
            match std::fs::canonicalize(&path) {
                Ok(target) if target.starts_with(root) && !target.is_dir() => each(&path),
                // What a link inside of the folder leads to is found in its own place.
                Ok(target) if target.starts_with(root) => {}
                Ok(_) => skipped(&path, NotRead::Link),
                // It leads nowhere.
                Err(_) => {}
            }
        }
    }
}
