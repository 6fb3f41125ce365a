//! The captures of a shadow repository, for planning.

use super::shadow::Shadow;
use annals_runtime::worktree::{Captures, Changes, Differences, FilesError, Targets, Tree, TreeEntries, TreeEntry};

impl Captures for Shadow {
    fn now(&self) -> Result<Tree, FilesError> {
        Ok(self.capture()?.tree)
    }

    fn entries(&self, tree: &Tree) -> Result<TreeEntries, FilesError> {
        self.listing(&tree.files())
    }

    fn between(&self, from: &Tree, to: &Tree) -> Result<Differences, FilesError> {
        self.differences(&from.files(), &to.files())
    }

    fn diff(&self, from: &Tree, to: &Tree) -> Result<Changes, FilesError> {
        self.changes(&from.files(), &to.files())
    }

    fn with(&self, tree: &Tree, targets: &Targets) -> Result<Tree, FilesError> {
        let changed = targets.iter().map(|(path, entry)| (path.as_str(), entry.as_ref().map(TreeEntry::git)));
        let files = self.changed_tree(&tree.files(), changed)?;
        let excludes = self.git.shadow("rev-parse").args(["--verify", &tree.excludes()]).text()?;
        self.tree_of(&files, &excludes)
    }

    fn hidden(&self, tree: &Tree, paths: Vec<String>) -> Result<Vec<String>, FilesError> {
        self.ignored_at(tree, paths)
    }
}
