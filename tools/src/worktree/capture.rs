//! Taking the files as they are now.

use super::git::Git;
use super::shadow::{Scratch, Shadow, forget};
use annals_runtime::worktree::{Capture, FilesError, LARGEST_UNTRACKED, Skipped, Tree, WhySkipped};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

/// How many files of a repository of its own are looked at, so that a changed one can be named.
const REPOSITORY_FILES: usize = 2_000;

/// The checksum at the end of an index.
const CHECKSUM: u64 = 20;

/// A capture that still holds while nothing differs from it.
#[derive(Clone, Debug)]
pub(super) struct LastCapture {
    capture: Capture,
    held: [Vec<u8>; 3],
}

/// What one look at the worktree found.
struct WorktreeState {
    /// Paths that are gone.
    gone: BTreeSet<String>,
    /// Paths to take.
    take: BTreeSet<String>,
    /// Paths that represent something not captured, with the id that says so.
    markers: BTreeMap<String, String>,
    skipped: Vec<Skipped>,
}

impl Shadow {
    /// Captures the worktree. Only under the lock.
    pub(super) fn capture(&self) -> Result<Capture, FilesError> {
        forget(&self.git.directory.join("index.lock"))?;
        match self.capture_once() {
            // A file was written while git was reading: a second attempt usually succeeds.
            Err(FilesError::Git { command, .. }) if command == "update-index" => self.capture_once(),
            captured => captured,
        }
    }

    fn capture_once(&self) -> Result<Capture, FilesError> {
        self.gather_excludes()?;
        let before = self.last_capture().clone();
        if let Some(last) = before.filter(|last| last.held == self.what_it_holds_for())
            && self.listed()?.is_empty()
        {
            return Ok(last.capture);
        }
        let capture = self.capture_all()?;
        let held = self.what_it_holds_for();
        *self.last_capture() = Some(LastCapture { capture: capture.clone(), held });
        Ok(capture)
    }

    /// What besides the files of the worktree decides what is captured: the end of an index is its checksum.
    fn what_it_holds_for(&self) -> [Vec<u8>; 3] {
        let end = |path: &Path| -> std::io::Result<Vec<u8>> {
            let mut file = fs::File::open(path)?;
            let meta = file.metadata()?;
            let modified = meta.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            file.seek(SeekFrom::Start(meta.len().saturating_sub(CHECKSUM)))?;
            let mut end = format!("{} {} ", meta.len(), modified.as_nanos()).into_bytes();
            file.read_to_end(&mut end)?;
            Ok(end)
        };
        let rules = fs::read(&self.git.excludes).unwrap_or_default();
        [rules, end(&self.git.directory.join("index")).unwrap_or_default(), end(&self.index).unwrap_or_default()]
    }

    fn last_capture(&self) -> MutexGuard<'_, Option<LastCapture>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the index does not have as it is in the worktree.
    fn listed(&self) -> Result<Vec<u8>, FilesError> {
        self.git.shadow("ls-files").args(["-z", "-m", "-o", "--exclude-standard"]).run()
    }

    fn capture_all(&self) -> Result<Capture, FilesError> {
        // Entries whose metadata changed but not their content are settled here once, not at every capture again.
        let refreshed = self.git.shadow("update-index").args(["-q", "--refresh"]).finish(None)?;
        if !matches!(refreshed.code, Some(0 | 1)) {
            return Err(FilesError::Git { command: "update-index".into(), message: refreshed.message });
        }
        let found = self.look()?;
        if !found.gone.is_empty() {
            let gone = found.gone.iter().map(|path| (path.as_str(), None));
            self.write_index(self.git.shadow("update-index"), gone)?;
        }
        if !found.take.is_empty() {
            let paths = found.take.iter().flat_map(|path| [path.as_bytes(), b"\0"]).flatten().copied().collect();
            let take = self.git.shadow("update-index").args(["--add", "--remove", "--replace", "-z", "--stdin"]);
            take.input(paths).run()?;
        }
        let files = self.write_files(&found.markers)?;
        let excludes =
            self.git.shadow("hash-object").args(["-w", "--no-filters", "--"]).args([&self.git.excludes]).text()?;
        Ok(Capture { tree: self.tree_of(&files, &excludes)?, skipped: found.skipped })
    }

    /// A capture of these files under these exclude rules.
    pub(super) fn tree_of(&self, files: &str, excludes: &str) -> Result<Tree, FilesError> {
        let listing = format!("040000 tree {files}\tfiles\n100644 blob {excludes}\texcludes\n");
        self.git.shadow("mktree").input(listing.into_bytes()).text()?.parse()
    }

    /// Every rule besides the project's `.gitignore` files, in one file: later lines win, in the order of precedence of git.
    fn gather_excludes(&self) -> Result<(), FilesError> {
        let mut rules = Vec::new();
        for path in &self.exclude_files {
            match fs::read(path) {
                Ok(text) => rules.extend(text),
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(error) => return Err(FilesError::io(path)(error)),
            }
            rules.extend(b"\n");
        }
        rules.extend(b"/.annals-restore-*/\n");
        let path = &self.git.excludes;
        match fs::read(path) {
            Ok(before) if before == rules => Ok(()),
            _ => fs::write(path, rules).map_err(FilesError::io(path)),
        }
    }

    fn look(&self) -> Result<WorktreeState, FilesError> {
        let listed = self.listed()?;
        // Tracked files are captured independent of the rules.
        let forced = ["-z", "-c", "-i", "--exclude-standard"];
        let forced = Git::project(&self.root, "ls-files").args(forced).run()?;
        let mut found = WorktreeState {
            gone: BTreeSet::new(),
            take: BTreeSet::new(),
            markers: BTreeMap::new(),
            skipped: Vec::new(),
        };
        let mut large = Vec::new();
        let mut directories = BTreeMap::new();
        for name in listed.split(|byte| *byte == 0).chain(forced.split(|byte| *byte == 0)) {
            if name.is_empty() {
                continue;
            }
            let Some(path) = std::str::from_utf8(name).ok().filter(|path| is_trackable(path)) else {
                found.skip(&String::from_utf8_lossy(name), WhySkipped::Name);
                continue;
            };
            if let Some(repository) = path.strip_suffix('/') {
                found.mark_repository(repository, &self.root.join(repository));
                continue;
            }
            let full = self.root.join(path);
            if !is_plain_below(&self.root, path, &mut directories) {
                found.gone.insert(path.into());
                continue;
            }
            match fs::symlink_metadata(&full) {
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    found.gone.insert(path.into());
                }
                Ok(there) if there.is_symlink() => {
                    found.take.insert(path.into());
                }
                Ok(there) if there.is_file() && fs::File::open(&full).is_ok() => {
                    if there.len() > LARGEST_UNTRACKED {
                        large.push((path.to_string(), there.len()));
                    } else {
                        found.take.insert(path.into());
                    }
                }
                // What was a file is a directory now; its content is listed separately.
                Ok(there) if there.is_dir() && !full.join(".git").exists() => {
                    found.gone.insert(path.into());
                }
                Ok(there) if there.is_dir() => found.mark_repository(path, &full),
                _ => found.mark(path, WhySkipped::Unreadable, &full),
            }
        }
        if !large.is_empty() {
            let tracked = Git::project(&self.root, "ls-files").args(["-z", "-c"]).run()?;
            let tracked: BTreeSet<&[u8]> = tracked.split(|byte| *byte == 0).collect();
            for (path, bytes) in large {
                if tracked.contains(path.as_bytes()) {
                    found.take.insert(path);
                } else {
                    found.mark(&path, WhySkipped::TooLarge { bytes }, &self.root.join(&path));
                }
            }
        }
        Ok(found)
    }

    /// The index as a tree, with markers for what it does not hold.
    fn write_files(&self, markers: &BTreeMap<String, String>) -> Result<String, FilesError> {
        if markers.is_empty() {
            return self.git.shadow("write-tree").text();
        }
        // The index contains only what is captured, so that what a marker represents is checked every time.
        let marked = self.scratch("index.marked")?;
        let index = self.git.directory.join("index");
        if index.exists() {
            fs::copy(&index, &marked.path).map_err(FilesError::io(&marked.path))?;
        }
        let entries = markers.iter().map(|(path, id)| (path.as_str(), Some(("160000", id.as_str()))));
        self.write_index(self.git.shadow("update-index").index(&marked.path), entries)?;
        self.git.shadow("write-tree").index(&marked.path).text()
    }

    /// Puts entries into an index, or takes them out: what goes must come first, to make room for what comes.
    pub(super) fn write_index<'a>(
        &self,
        call: super::git::GitCall,
        entries: impl Iterator<Item = (&'a str, Option<(&'a str, &'a str)>)>,
    ) -> Result<(), FilesError> {
        let mut lines = Vec::new();
        for (path, entry) in entries {
            let (mode, id) = entry.unwrap_or(("0", "0000000000000000000000000000000000000000"));
            lines.extend(format!("{mode} {id}\t{path}\0").into_bytes());
        }
        call.args(["-z", "--index-info"]).input(lines).run().map(drop)
    }

    /// A tree like another, with some entries changed.
    pub(super) fn changed_tree<'a>(
        &self,
        files: &str,
        entries: impl Iterator<Item = (&'a str, Option<(&'a str, &'a str)>)>,
    ) -> Result<String, FilesError> {
        let index: Scratch = self.scratch("index.planned")?;
        self.git.shadow("read-tree").index(&index.path).args([files]).run()?;
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(|(_, entry)| entry.is_some());
        self.write_index(self.git.shadow("update-index").index(&index.path), entries.into_iter())?;
        self.git.shadow("write-tree").index(&index.path).text()
    }
}

impl WorktreeState {
    fn skip(&mut self, path: &str, why: WhySkipped) {
        self.skipped.push(Skipped { path: path.into(), why });
    }

    /// Marks a nested repository. Each of its files has a marker, so that one which changes is named; a very large number of
    /// files shares one marker.
    fn mark_repository(&mut self, path: &str, full: &Path) {
        let files = files_below(full);
        if files.is_empty() || files.len() > REPOSITORY_FILES {
            return self.mark(path, WhySkipped::Repository, full);
        }
        for file in files {
            let inner = format!("{path}/{file}");
            if self.markers.insert(inner.clone(), marker(&full.join(file))).is_none() {
                self.gone.insert(inner);
            }
        }
        self.gone.insert(path.into());
        self.skip(path, WhySkipped::Repository);
    }

    /// Marks a path whose content is not captured: later, "absent" must mean absent.
    fn mark(&mut self, path: &str, why: WhySkipped, full: &Path) {
        if self.markers.insert(path.into(), marker(full)).is_none() {
            self.gone.insert(path.into());
            self.skip(path, why);
        }
    }
}

/// An id of how a file looks without reading it: its length and time.
fn marker(full: &Path) -> String {
    let looks = match fs::symlink_metadata(full) {
        Ok(there) if there.is_file() => {
            let time = there.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            format!("{} {}", there.len(), time.map_or(0, |time| time.as_nanos()))
        }
        _ => String::new(),
    };
    blake3::hash(looks.as_bytes()).to_hex().chars().take(40).collect()
}

/// The files of a repository that its rules do not ignore, in order; one more than are marked at most. What cannot be read
/// is left out.
fn files_below(repository: &Path) -> Vec<String> {
    let mut walk = ignore::WalkBuilder::new(repository);
    walk.hidden(false).parents(false).git_global(false).sort_by_file_name(std::ffi::OsStr::cmp);
    walk.filter_entry(|entry| entry.file_name() != ".git");
    let files = walk.build().flatten().filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()));
    let below = files.filter_map(|entry| Some(entry.path().strip_prefix(repository).ok()?.to_str()?.to_owned()));
    below.filter(|path| is_trackable(path)).take(REPOSITORY_FILES + 1).collect()
}

/// Whether git takes a path: no part of it is its own.
pub(super) fn is_trackable(path: &str) -> bool {
    let path = path.strip_suffix('/').unwrap_or(path);
    !path.contains('\0')
        && path.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git"))
}

/// Whether every directory on the way to a path is a directory, not a link to one.
fn is_plain_below(root: &Path, path: &str, known: &mut BTreeMap<String, bool>) -> bool {
    let Some((above, _)) = path.rsplit_once('/') else { return true };
    if let Some(plain) = known.get(above) {
        return *plain;
    }
    let here = fs::symlink_metadata(root.join(above)).is_ok_and(|there| there.is_dir());
    let plain = here && is_plain_below(root, above, known);
    known.insert(above.into(), plain);
    plain
}
