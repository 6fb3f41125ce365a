//! Which instruction files there are.

use super::{InstructionFiles, pattern};
use crate::ports::filesystem::{FileKind, Filesystem, join, parent, project, within};
use std::collections::BTreeSet;
use std::io;

/// A file to read.
pub(super) struct Found {
    /// Canonical path.
    pub(super) path: String,
    /// Whether it was seen to exist during this scan.
    pub(super) listed: bool,
}

/// Every instruction file, each once, in the order of telling.
pub(super) async fn find(
    files: &dyn Filesystem,
    config: &InstructionFiles,
    directory: &str,
    discovered: &[String],
) -> io::Result<Vec<Found>> {
    let mut paths = Vec::new();
    for path in &config.global {
        if files.kind(path).await?.is_some() {
            paths.push((path.clone(), true));
            break;
        }
    }
    let upward = if config.project { upward(files, directory).await? } else { Vec::new() };
    paths.extend(named(files, config, &upward).await?.into_iter().map(|path| (path, true)));
    for configured in &config.configured {
        for path in configured_files(files, config, &upward, configured).await? {
            paths.push((path, true));
        }
    }
    if config.project {
        paths.extend(discovered.iter().map(|path| (path.clone(), false)));
    }
    let mut found: Vec<Found> = Vec::new();
    let mut seen = BTreeSet::new();
    for (path, listed) in paths {
        let path = files.canonicalise(&path).await?;
        if seen.insert(path.clone()) {
            found.push(Found { path, listed });
        }
    }
    Ok(found)
}

/// The directories from the Location up to its project's root.
async fn upward(files: &dyn Filesystem, directory: &str) -> io::Result<Vec<String>> {
    let start = files.canonicalise(directory).await?;
    let (root, _) = project(files, &start).await?;
    let above = std::iter::successors(Some(start.as_str()), |at| parent(at));
    Ok(above.take_while(|at| within(at, &root)).map(str::to_string).collect())
}

/// The files of the first name that is found in any of the directories.
async fn named(files: &dyn Filesystem, config: &InstructionFiles, upward: &[String]) -> io::Result<Vec<String>> {
    for name in &config.names {
        let mut paths = Vec::new();
        for directory in upward {
            let path = join(directory, name);
            if files.kind(&path).await?.is_some() {
                paths.push(path);
            }
        }
        if !paths.is_empty() {
            return Ok(paths);
        }
    }
    Ok(Vec::new())
}

async fn configured_files(
    files: &dyn Filesystem,
    config: &InstructionFiles,
    upward: &[String],
    configured: &str,
) -> io::Result<Vec<String>> {
    if let Some(rest) = configured.strip_prefix("~/") {
        return match &config.home {
            Some(home) => pattern::expand(files, home, rest).await,
            None => Ok(Vec::new()),
        };
    }
    if let Some(rest) = configured.strip_prefix('/') {
        return pattern::expand(files, "/", rest).await;
    }
    let mut paths = Vec::new();
    for directory in upward {
        paths.extend(pattern::expand(files, directory, configured).await?);
    }
    Ok(paths)
}

/// The instruction files that a successful read of `read` brings to light: in its directory and above, up to the
/// project's root, where the Location's own upward path does not already tell them. Nearest first; `known` ones are
/// left out. Each is to be recorded as `instruction.discovered` before the next boundary (seed 002).
///
/// # Errors
/// When a directory on the way cannot be looked at. The read stands all the same.
pub async fn discover(
    files: &dyn Filesystem,
    config: &InstructionFiles,
    location: &str,
    read: &str,
    known: &[String],
) -> io::Result<Vec<String>> {
    if !config.project {
        return Ok(Vec::new());
    }
    let (location, read) = (files.canonicalise(location).await?, files.canonicalise(read).await?);
    let (root, _) = project(files, &location).await?;
    let above = std::iter::successors(parent(&read), |at| parent(at));
    let nested: Vec<String> =
        above.take_while(|at| within(at, &root) && !within(&location, at)).map(str::to_string).collect();
    let mut found = Vec::new();
    for directory in &nested {
        for name in &config.names {
            let path = join(directory, name);
            if files.kind(&path).await? == Some(FileKind::File) {
                let path = files.canonicalise(&path).await?;
                if !known.contains(&path) && !found.contains(&path) {
                    found.push(path);
                }
                break;
            }
        }
    }
    Ok(found)
}
