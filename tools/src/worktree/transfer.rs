//! Uncommitted changes, on their way from one checkout of a project to another (`docs/reference/revert.md#moves`).
//!
//! Three separate steps, so that a move can be recorded between them: take at the source, apply at the destination,
//! discard at the source. Both changes of files are plans, carried out all or nothing.
//!
//! The changes are those that the project's own index shows, read from a copy with none of the project's configuration. So
//! contents are compared as they are on disk: where git converts line ends or runs filters (LFS), a changed file
//! differs from its commit in every line, and the patch does not apply, which is an error and not a guess.

use super::git::{Contents, Git};
use super::shadow::{Scratch, Shadow};
use annals_runtime::worktree::{Differences, FileRestore, FilesError, Plan, Transfer, TreeEntry, plan_targets};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

impl Shadow {
    /// Finds what is not committed. Only under the lock.
    pub(super) fn uncommitted(&self, below: &str) -> Result<Transfer, FilesError> {
        if !below.is_empty() && !super::capture::is_trackable(below) {
            return Err(FilesError::BadPath { path: below.into() });
        }
        let below = below.trim_end_matches('/');
        let inside = |path: &str| match path.strip_prefix(below) {
            Some(rest) => below.is_empty() || rest.is_empty() || rest.starts_with('/'),
            None => false,
        };
        let now = self.capture()?;
        let entries = self.listing(&now.tree.files())?;
        let lent = self.with_projects_objects();
        let head = lent.head()?;
        let index = self.projects_index()?;
        let mut changed = lent.changed_since(&head, &index)?;
        let tracked = self.git.shadow("ls-files").index(&index.path).args(["-z", "-c"]).run()?;
        let tracked: BTreeSet<&[u8]> = tracked.split(|byte| *byte == 0).collect();
        changed.extend(entries.keys().filter(|path| !tracked.contains(path.as_bytes())).cloned());
        changed.retain(|path| inside(path) && entries.get(path).is_none_or(TreeEntry::is_captured));
        let with = changed.iter().map(|path| (path.as_str(), entries.get(path).map(TreeEntry::git)));
        let after = lent.changed_tree(&head, with)?;
        let differences = lent.differences(&head, &after)?;
        self.keep_contents(&lent, &differences)?;
        let form = ["-r", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv"];
        let paths = ["--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--end-of-options", &head, &after];
        let patch = lent.git.shadow("diff-tree").args(form).args(paths).run()?;
        let back = differences.into_iter().filter(|(_, sides)| sides.is_captured());
        let back = back.map(|(path, sides)| FileRestore { path, from: sides.after, to: sides.before }).collect();
        let left_behind = now.skipped.into_iter().filter(|skipped| inside(&skipped.path)).collect();
        Ok(Transfer { changes: lent.changes(&head, &after)?, left_behind, patch, back })
    }

    /// What applying a patch would do to the files as they are.
    pub(super) fn plan_arrival(&self, patch: Vec<u8>) -> Result<Plan, FilesError> {
        let now = self.capture()?.tree;
        let entries = self.listing(&now.files())?;
        if patch.is_empty() {
            return plan_targets(self, &now, &now, &entries, BTreeMap::new());
        }
        let index = self.scratch("index.arrival")?;
        self.git.shadow("read-tree").index(&index.path).args([&now.files()]).run()?;
        let apply = self.git.shadow("apply").index(&index.path);
        let applied = apply.args(["--cached", "--whitespace=nowarn", "-p1", "-"]).input(patch).finish(None)?;
        if applied.code != Some(0) {
            return Err(FilesError::DoesNotApply { message: applied.message });
        }
        let after = self.git.shadow("write-tree").index(&index.path).text()?;
        let targets = self.differences(&now.files(), &after)?;
        let targets = targets.into_iter().map(|(path, sides)| (path, sides.after)).collect();
        plan_targets(self, &now, &now, &entries, targets)
    }

    /// What discarding the changes would do, provided that they are still as they were found.
    pub(super) fn plan_departure(&self, transfer: &Transfer) -> Result<Plan, FilesError> {
        let now = self.capture()?.tree;
        let entries = self.listing(&now.files())?;
        let mut targets = BTreeMap::new();
        for file in &transfer.back {
            if entries.get(&file.path) != file.from.as_ref() {
                return Err(FilesError::Changed { path: file.path.clone() });
            }
            targets.insert(file.path.clone(), file.to.clone());
        }
        plan_targets(self, &now, &now, &entries, targets)
    }

    /// The shadow repository with the project's objects lent to it, for reading.
    fn with_projects_objects(&self) -> Self {
        Self { git: Git { lent: Some(self.objects.clone()), ..self.git.clone() }, ..self.clone() }
    }

    /// The tree of the checked-out commit; an empty one before the first.
    fn head(&self) -> Result<String, FilesError> {
        let asked = ["--verify", "--quiet", "HEAD^{tree}"];
        let asked = Git::project(&self.root, "rev-parse").args(asked).finish(None)?;
        match asked.code {
            Some(0) => Ok(String::from_utf8_lossy(&asked.output).trim().to_string()),
            Some(1) => self.git.shadow("mktree").text(),
            _ => Err(FilesError::Git { command: "rev-parse".into(), message: asked.message }),
        }
    }

    /// A copy of the project's index: reading one can refresh it.
    fn projects_index(&self) -> Result<Scratch, FilesError> {
        let copy = self.scratch("index.project")?;
        match copied(&self.index, &copy.path) {
            // Nothing has been added yet.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(copy),
            copied => copied.map(|()| copy).map_err(FilesError::io(&self.index)),
        }
    }

    /// Tracked paths whose file differs from a tree, or may differ.
    fn changed_since(&self, head: &str, index: &Scratch) -> Result<BTreeSet<String>, FilesError> {
        // git would look into submodules with the configuration of each.
        let call = self.git.shadow("diff-index").index(&index.path);
        let call =
            call.args(["-z", "--name-only", "--no-renames", "--ignore-submodules=all", "--end-of-options", head]);
        let output = String::from_utf8(call.args(["--"]).run()?);
        let output = output.map_err(|_| FilesError::Answer { command: "diff-index" })?;
        Ok(output.split_terminator('\0').map(str::to_string).collect())
    }

    /// Copies what the departure needs to restore: the project may remove its objects.
    fn keep_contents(&self, lent: &Shadow, differences: &Differences) -> Result<(), FilesError> {
        let mut contents = Contents::open(lent.git.shadow("cat-file"))?;
        for (path, sides) in differences {
            let Some(entry) = sides.before.as_ref().filter(|entry| entry.is_captured()) else { continue };
            let (_, id) = entry.git();
            let missing = || FilesError::NoContent { path: path.clone(), id: id.into() };
            let bytes = contents.read(id)?.ok_or_else(missing)?;
            let kept = self.git.shadow("hash-object").args(["-w", "--no-filters", "--stdin"]).input(bytes).text()?;
            if kept != id {
                return Err(missing());
            }
        }
        Ok(())
    }
}

/// Copies an index with its time: git takes a file that is not older than the index for one that may have changed
/// unseen, and compares its content.
fn copied(index: &Path, copy: &Path) -> io::Result<()> {
    let mut from = File::open(index)?;
    let time = from.metadata()?.modified()?;
    let mut to = File::create(copy)?;
    io::copy(&mut from, &mut to)?;
    to.set_modified(time)
}
