//! The rollouts in a folder, by thread. Codex splits a thread into files when it is rewound, and refers to other threads.

use super::header::RolloutHeader;
use super::header_of;
use crate::folders::walk;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The endings of rollouts; idle ones are compressed.
const ENDINGS: [&str; 2] = [".jsonl", ".jsonl.zst"];

/// A file of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ThreadFile {
    path: PathBuf,
    thread: String,
    /// What other files call this part of the thread: the thread itself for the first one.
    segment: String,
}

/// The rollouts below a folder, and the names of their threads.
#[derive(Debug, Default)]
pub struct RolloutLibrary {
    files: Vec<ThreadFile>,
    /// Where Codex keeps names of threads.
    names: Option<PathBuf>,
    by_thread: OnceLock<HashMap<String, Vec<ThreadName>>>,
}

/// A name that a thread got, and when (ms).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadName {
    pub at: u64,
    pub name: String,
}

impl RolloutLibrary {
    /// Of the files around one: its folder, or the whole of Codex's sessions if it is among them.
    pub fn around(path: &Path) -> Arc<Self> {
        let home = path.ancestors().find(|folder| is_named(folder, &["sessions", "archived_sessions"]));
        let roots: Vec<PathBuf> = match (home.and_then(Path::parent), dated(path), path.parent()) {
            (Some(home), _, _) => ["sessions", "archived_sessions"].iter().map(|name| home.join(name)).collect(),
            (None, Some(root), _) | (None, None, Some(root)) => vec![root.to_owned()],
            (None, None, None) => Vec::new(),
        };
        let mut files = Vec::new();
        for root in &roots {
            // What cannot be read is reported where sources are looked for.
            walk(root, &mut |path| files.push(path.to_owned()), &mut |_, _| {});
        }
        Self::of(files.iter().map(PathBuf::as_path))
    }

    /// Of these files; other files are left out. A file whose name is not one that Codex gives is opened.
    pub fn of<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Arc<Self> {
        let mut files: Vec<ThreadFile> = paths.into_iter().filter_map(ThreadFile::of).collect();
        // Of a file and its compressed form the former counts.
        let plain: Vec<PathBuf> =
            files.iter().filter(|it| !is_compressed(&it.path)).map(|it| it.path.clone()).collect();
        files.retain(|it| !is_compressed(&it.path) || !plain.contains(&it.path.with_extension("")));
        let names = files.iter().find_map(|it| it.path.ancestors().map(|it| it.join(NAMES)).find(|it| it.is_file()));
        Arc::new(Self { files, names, by_thread: OnceLock::new() })
    }

    /// The file with a part of a thread, as other files name it.
    pub fn segment(&self, name: &str) -> Option<&Path> {
        self.files.iter().find(|file| file.segment == name).map(|file| file.path.as_path())
    }

    /// The files of a thread, other than `path` and what has the same part of it.
    pub fn others(&self, thread: &str, path: &Path, segment: &str) -> impl Iterator<Item = (&Path, &str)> {
        let is_other = move |file: &&ThreadFile| file.thread == thread && file.segment != segment && file.path != path;
        self.files.iter().filter(is_other).map(|file| (file.path.as_path(), file.segment.as_str()))
    }

    /// The file that another one is read with: the first part of its thread, or the uncompressed form.
    pub fn read_with(&self, path: &Path) -> Option<&Path> {
        match self.files.iter().find(|file| file.path == path) {
            Some(file) if file.segment == file.thread => None,
            Some(file) => self.segment(&file.thread),
            None if is_compressed(path) => {
                let plain = path.with_extension("");
                self.files.iter().find(|file| file.path == plain).map(|file| file.path.as_path())
            }
            None => None,
        }
    }

    /// Whether a file is read with another one.
    pub fn is_read_with_another(&self, path: &Path) -> bool {
        self.read_with(path).is_some()
    }

    /// The names that a thread got, in order.
    pub fn names(&self, thread: &str) -> &[ThreadName] {
        let by_thread =
            self.by_thread.get_or_init(|| self.names.as_deref().map(super::names::read).unwrap_or_default());
        by_thread.get(thread).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Two libraries are equal if they are of the same files.
impl PartialEq for RolloutLibrary {
    fn eq(&self, other: &Self) -> bool {
        self.files == other.files
    }
}

impl Eq for RolloutLibrary {}

/// The file with the names of threads, in the folder of Codex.
const NAMES: &str = "session_index.jsonl";

impl ThreadFile {
    fn of(path: &Path) -> Option<Self> {
        if !is_rollout(path) {
            return None;
        }
        let (thread, segment) = ids(path).or_else(|| {
            let header = header_of(path).ok()??;
            let segment = segment_of(path, &header);
            Some((header.id, segment))
        })?;
        Some(Self { path: path.to_owned(), thread, segment })
    }
}

/// Whether a file has the name of a rollout.
fn is_rollout(path: &Path) -> bool {
    let name = path.to_string_lossy();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

/// What other files call the part of the thread in this file.
pub fn segment_of(path: &Path, header: &RolloutHeader) -> String {
    match ids(path) {
        Some((thread, segment)) if thread == header.id => segment,
        _ if header.base.as_ref().is_some_and(|base| base.segment == header.id) => path.to_string_lossy().into_owned(),
        _ => header.id.clone(),
    }
}

/// Thread and segment in the name of a rollout: `rollout-TIME-THREAD_SEGMENT.jsonl`.
fn ids(path: &Path) -> Option<(String, String)> {
    let name = path.file_name()?.to_str()?;
    let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending))?;
    let rest = stem.strip_prefix("rollout-")?.get("2026-01-01T00-00-00-".len()..)?;
    let (thread, segment) = rest.split_once('_').unwrap_or((rest, rest));
    let is_uuid = |id: &str| id.len() == 36 && id.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    (is_uuid(thread) && is_uuid(segment)).then(|| (thread.to_owned(), segment.to_owned()))
}

fn is_named(folder: &Path, names: &[&str]) -> bool {
    folder.file_name().is_some_and(|name| names.iter().any(|it| name == *it))
}

/// The folder above those of year, month and day.
fn dated(path: &Path) -> Option<&Path> {
    let mut folder = path.parent()?;
    for digits in [2, 2, 4] {
        let name = folder.file_name()?.to_str()?;
        if name.len() != digits || !name.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        folder = folder.parent()?;
    }
    Some(folder)
}
