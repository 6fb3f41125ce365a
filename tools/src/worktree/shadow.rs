//! The shadow repository: captures of a git worktree, kept outside of it.

use super::capture::LastCapture;
use super::git::Git;
use annals_runtime::Boxed;
use annals_runtime::ports::StorePath;
use annals_runtime::worktree::{
    Capture, Changes, Checkout, Files, FilesError, Plan, Transfer, Tree, Undo, plan_take_back, plan_undo,
};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Captures and restores the files of a git worktree with the user's `git` command.
///
/// The objects and the index are in a separate folder; the project's own `.git` is read (its index, its exclude rules),
/// never written. The index keeps what git knows of every file, so that a capture costs what changed and one look at
/// each file's metadata. Several sessions and processes may share one folder: they take turns.
///
/// The folder is looked up for each piece of work, so that it is found where its store was moved to, and nothing is written to
/// another store in its place.
#[derive(Clone, Debug)]
pub struct ShadowRepository {
    folder: StorePath,
    shadow: Arc<Shadow>,
}

/// What the operations work on.
#[derive(Clone, Debug)]
pub(super) struct Shadow {
    /// The git calls.
    pub(super) git: Git,
    /// Our folder.
    pub(super) folder: PathBuf,
    /// The worktree.
    pub(super) root: PathBuf,
    /// Where the session works; this directory is never removed.
    pub(super) location: PathBuf,
    /// Files with exclude rules, in git's order: the user's, then the repository's.
    pub(super) exclude_files: Vec<PathBuf>,
    /// The project's index.
    pub(super) index: PathBuf,
    /// The project's objects.
    pub(super) objects: PathBuf,
    /// The newest capture of this process.
    pub(super) last: Arc<Mutex<Option<LastCapture>>>,
}

impl ShadowRepository {
    /// Opens the shadow repository in `folder` for the worktree that holds `location`; makes it if it is not there.
    /// Runs git, so call it where blocking is allowed.
    ///
    /// # Errors
    /// No worktree, no git, or a folder that lies inside the worktree.
    pub fn open(location: &Path, folder: impl Into<StorePath>) -> Result<Self, FilesError> {
        let kept = folder.into();
        Self::open_at(location, &kept).map_err(|error| shown(error, &kept))
    }

    fn open_at(location: &Path, kept: &StorePath) -> Result<Self, FilesError> {
        let location = fs::canonicalize(location).map_err(FilesError::io(location))?;
        let root = location.ancestors().find(|above| above.join(".git").exists()).map(Path::to_path_buf);
        let root = root.ok_or_else(|| FilesError::NoWorktree { location: location.clone() })?;
        let really = resolved(&kept.shown())?;
        if really.starts_with(&root) {
            return Err(FilesError::FolderInside { folder: really, root });
        }
        let folder = reach(kept)?;
        make_private(&folder)?;
        let shadow = Shadow::at(folder, root, location)?;
        shadow.locked(|| shadow.initialise())?;
        Ok(Self { folder: kept.clone(), shadow: Arc::new(shadow) })
    }

    /// The root of the worktree: what paths are relative to.
    pub fn root(&self) -> &Path {
        &self.shadow.root
    }

    fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shadow) -> Result<T, FilesError> + Send + 'static,
    ) -> Boxed<'_, Result<T, FilesError>> {
        let (shadow, kept) = (self.shadow.clone(), self.folder.clone());
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || {
                let shadow = shadow.keeping_in(reach(&kept)?);
                shadow.locked(|| work(&shadow)).map_err(|error| shown(error, &kept))
            });
            done.await.unwrap_or(Err(FilesError::CutShort))
        })
    }
}

impl Shadow {
    /// The shadow repository in a folder, as it is: nothing is written.
    pub(super) fn at(folder: PathBuf, root: PathBuf, location: PathBuf) -> Result<Self, FilesError> {
        let places = ["--git-path", "info/exclude", "--git-path", "index", "--git-path", "objects"];
        let places = Git::project(&root, "rev-parse").args(["--path-format=absolute"]).args(places).text()?;
        let mut places = places.lines().map(PathBuf::from);
        let (Some(exclude), Some(index), Some(objects)) = (places.next(), places.next(), places.next()) else {
            return Err(FilesError::Answer { command: "rev-parse" });
        };
        let git = Git::keeping_in(&folder, root.clone());
        let exclude_files = users_excludes(&root)?.into_iter().chain([exclude]).collect();
        Ok(Self { git, folder, root, location, exclude_files, index, objects, last: Arc::default() })
    }

    /// The same with its folder at a path.
    fn keeping_in(&self, folder: PathBuf) -> Self {
        Self { git: Git::keeping_in(&folder, self.root.clone()), folder, ..self.clone() }
    }

    /// One at a time, over all processes; what an earlier one left torn is mended first.
    fn locked<T>(&self, work: impl FnOnce() -> Result<T, FilesError>) -> Result<T, FilesError> {
        let path = self.folder.join("lock");
        let lock = File::options().create(true).append(true).open(&path).map_err(FilesError::io(&path))?;
        lock.lock().map_err(FilesError::io(&path))?;
        self.recover()?;
        work()
    }

    fn initialise(&self) -> Result<(), FilesError> {
        if !self.git.directory.join("HEAD").exists() {
            // No template: it could bring hooks.
            self.git.shadow("init").args(["--quiet", "--template=", "--object-format=sha1"]).run()?;
        }
        // Attributes of the project would rewrite line ends, expand keywords or call filters. Captured bytes are the
        // bytes on disk; this file wins over every `.gitattributes`.
        let info = self.git.directory.join("info");
        fs::create_dir_all(&info).map_err(FilesError::io(&info))?;
        let attributes = info.join("attributes");
        let rules = "* -text !eol -ident !filter !working-tree-encoding !export-subst\n";
        fs::write(&attributes, rules).map_err(FilesError::io(&attributes))
    }

    /// Removes temporary files of an index that a process left behind. Only under the lock.
    pub(super) fn scratch(&self, name: &str) -> Result<Scratch, FilesError> {
        let path = self.folder.join(name);
        for stale in [path.clone(), self.folder.join(format!("{name}.lock"))] {
            forget(&stale)?;
        }
        Ok(Scratch { path })
    }
}

/// A path to the folder as it is now, for this process and for git.
fn reach(folder: &StorePath) -> Result<PathBuf, FilesError> {
    folder.reach_from_children().map_err(|source| FilesError::Io { path: folder.shown(), source })
}

/// Rewrites the paths in an error from the form in which they were opened to the form that the user knows.
fn shown(error: FilesError, folder: &StorePath) -> FilesError {
    let Ok(reached) = folder.reach_from_children() else { return error };
    let place = folder.shown();
    match error {
        FilesError::Io { path, source } => match path.strip_prefix(&reached) {
            Ok(inside) => FilesError::Io { path: place.join(inside), source },
            Err(_) => FilesError::Io { path, source },
        },
        FilesError::Git { command, message } => {
            let message = message.replace(&*reached.to_string_lossy(), &place.to_string_lossy());
            FilesError::Git { command, message }
        }
        other => other,
    }
}

/// A file of the shadow folder that goes when it is dropped.
pub(super) struct Scratch {
    pub(super) path: PathBuf,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays is removed before the next use.
        drop(fs::remove_file(&self.path));
    }
}

/// Removes a file if it is there.
pub(super) fn forget(path: &Path) -> Result<(), FilesError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(FilesError::io(path)(error)),
        _ => Ok(()),
    }
}

/// The user's own ignore file, configured or in git's default place. Reading the configuration runs nothing.
fn users_excludes(root: &Path) -> Result<Option<PathBuf>, FilesError> {
    let asked = Git::project(root, "config").args(["--type=path", "--get", "core.excludesFile"]).finish(None)?;
    match asked.code {
        Some(0) => {
            let path = String::from_utf8_lossy(&asked.output);
            Ok(Some(root.join(path.trim_end_matches('\n'))))
        }
        Some(1) => {
            let set = |key| std::env::var_os(key).filter(|value| !value.is_empty()).map(PathBuf::from);
            let home = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
            Ok(home.map(|home| home.join("git/ignore")))
        }
        _ => Err(FilesError::Git { command: "config".into(), message: asked.message }),
    }
}

/// The path without symbolic links, as far as it exists.
fn resolved(path: &Path) -> Result<PathBuf, FilesError> {
    let path = std::path::absolute(path).map_err(FilesError::io(path))?;
    for above in path.ancestors() {
        if let Ok(real) = fs::canonicalize(above) {
            return Ok(path.strip_prefix(above).map(|rest| real.join(rest)).unwrap_or(real));
        }
    }
    Ok(path)
}

/// Captures contain the content of files: only the user may read them.
fn make_private(folder: &Path) -> Result<(), FilesError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(FilesError::io(folder))
}

impl Files for ShadowRepository {
    fn conversation_only(&self) -> Option<&str> {
        None
    }

    fn checkout(&self) -> Option<Checkout> {
        let Shadow { root, location, objects, .. } = &*self.shadow;
        let below = location.strip_prefix(root).ok()?.to_str()?.to_owned();
        Some(Checkout { project: fs::canonicalize(objects).ok()?, root: root.clone(), below })
    }

    fn capture(&self) -> Boxed<'_, Result<Capture, FilesError>> {
        self.work(Shadow::capture)
    }

    fn changes<'a>(&'a self, from: &'a Tree, to: Option<&'a Tree>) -> Boxed<'a, Result<Changes, FilesError>> {
        let (from, to) = (from.clone(), to.cloned());
        self.work(move |shadow| {
            let to = to.map_or_else(|| shadow.capture().map(|now| now.tree), Ok)?;
            shadow.changes(&from.files(), &to.files())
        })
    }

    fn plan<'a>(&'a self, undo: &'a Undo) -> Boxed<'a, Result<Plan, FilesError>> {
        let undo = undo.clone();
        self.work(move |shadow| plan_undo(shadow, &undo))
    }

    fn restore<'a>(&'a self, plan: &'a Plan) -> Boxed<'a, Result<(), FilesError>> {
        let files = plan.restores.clone();
        self.work(move |shadow| shadow.restore(&files))
    }

    fn plan_take_back<'a>(&'a self, from: &'a Tree, to: &'a Tree) -> Boxed<'a, Result<Plan, FilesError>> {
        let (from, to) = (from.clone(), to.clone());
        self.work(move |shadow| plan_take_back(shadow, &from, &to))
    }

    fn uncommitted<'a>(&'a self, below: &'a str) -> Boxed<'a, Result<Transfer, FilesError>> {
        let below = below.to_string();
        self.work(move |shadow| shadow.uncommitted(&below))
    }

    fn plan_arrival<'a>(&'a self, transfer: &'a Transfer) -> Boxed<'a, Result<Plan, FilesError>> {
        let patch = transfer.patch.clone();
        self.work(move |shadow| shadow.plan_arrival(patch))
    }

    fn plan_departure<'a>(&'a self, transfer: &'a Transfer) -> Boxed<'a, Result<Plan, FilesError>> {
        let transfer = transfer.clone();
        self.work(move |shadow| shadow.plan_departure(&transfer))
    }

    fn tidy(&self) -> Boxed<'_, Result<(), FilesError>> {
        // Captures hang on no reference, only on ids in the log: nothing here may prune.
        self.work(|shadow| shadow.git.shadow("repack").args(["-a", "-d", "-k", "-q"]).run().map(drop))
    }
}
