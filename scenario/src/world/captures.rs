//! File captures of a scenario, in memory. Plans are made by the same code as for a real worktree.

use annals_core::event::FileChange;
use annals_runtime::Boxed;
use annals_runtime::ports::MemoryFilesystem;
use annals_runtime::worktree::{
    Capture, Captures, Changes, Diff, Differences, Files, FilesError, Plan, Sides, Targets, Transfer, Tree,
    TreeEntries, TreeEntry, Undo, plan_take_back, plan_undo,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Captures of the files below a directory. Like those on a disk they survive restarts.
pub(crate) struct MemoryCaptures {
    files: Arc<MemoryFilesystem>,
    root: String,
    kept: Mutex<CaptureStore>,
}

#[derive(Default)]
struct CaptureStore {
    /// The files of each capture.
    trees: BTreeMap<Tree, TreeEntries>,
    /// Contents by id.
    contents: BTreeMap<String, String>,
}

impl MemoryCaptures {
    /// Captures of the files below `root`.
    pub fn new(files: Arc<MemoryFilesystem>, root: &str) -> Self {
        Self { files, root: format!("{root}/"), kept: Mutex::default() }
    }

    /// The files as they are, by path below the root.
    pub fn tree(&self) -> BTreeMap<String, String> {
        let below = |(path, content): (String, String)| Some((path.strip_prefix(&self.root)?.to_owned(), content));
        self.files.everything().into_iter().filter_map(below).collect()
    }

    fn kept(&self) -> MutexGuard<'_, CaptureStore> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, entries: TreeEntries) -> Result<Tree, FilesError> {
        let lines = entries.iter().map(|(path, entry)| format!("{} {path}\n", id(entry)));
        let tree: Tree = hash(&lines.collect::<String>()).parse()?;
        self.kept().trees.insert(tree.clone(), entries);
        Ok(tree)
    }

    fn content(&self, entry: Option<&TreeEntry>) -> String {
        entry.and_then(|entry| self.kept().contents.get(id(entry)).cloned()).unwrap_or_default()
    }

    fn put(&self, plan: &Plan) -> Result<(), FilesError> {
        let now = self.now()?;
        let entries = self.entries(&now)?;
        if let Some(file) = plan.restores.iter().find(|file| entries.get(&file.path) != file.from.as_ref()) {
            return Err(FilesError::Changed { path: file.path.clone() });
        }
        for file in &plan.restores {
            let path = format!("{}{}", self.root, file.path);
            match &file.to {
                Some(entry) => self.files.write(&path, self.content(Some(entry))),
                None => drop(self.files.remove(&path)),
            }
        }
        Ok(())
    }
}

impl Captures for MemoryCaptures {
    fn now(&self) -> Result<Tree, FilesError> {
        let mut entries = TreeEntries::new();
        for (path, content) in self.tree() {
            let id = hash(&content);
            self.kept().contents.insert(id.clone(), content);
            entries.insert(path, TreeEntry::File { id, executable: false });
        }
        self.keep(entries)
    }

    fn entries(&self, tree: &Tree) -> Result<TreeEntries, FilesError> {
        let found = self.kept().trees.get(tree).cloned();
        found.ok_or_else(|| FilesError::NoTree { id: tree.to_string() })
    }

    fn between(&self, from: &Tree, to: &Tree) -> Result<Differences, FilesError> {
        let (from, to) = (self.entries(from)?, self.entries(to)?);
        let paths: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
        let sides = |path: &String| Sides { before: from.get(path).cloned(), after: to.get(path).cloned() };
        let both = paths.into_iter().map(|path| (path.clone(), sides(path)));
        Ok(both.filter(|(_, sides)| sides.before != sides.after).collect())
    }

    fn diff(&self, from: &Tree, to: &Tree) -> Result<Changes, FilesError> {
        let mut changes = Changes::default();
        for (path, sides) in self.between(from, to)? {
            let (before, after) = (self.content(sides.before.as_ref()), self.content(sides.after.as_ref()));
            let (removed, added) = changed(&before, &after);
            let status = match (&sides.before, &sides.after) {
                (None, _) => "added",
                (_, None) => "deleted",
                _ => "modified",
            };
            let mut text = format!("{status} {path}\n");
            removed.iter().for_each(|line| text.push_str(&format!("-{line}\n")));
            added.iter().for_each(|line| text.push_str(&format!("+{line}\n")));
            changes.diff.text.push_str(&text);
            let (additions, deletions) = (added.len() as u64, removed.len() as u64);
            changes.files.push(FileChange { path, status: status.into(), additions, deletions });
        }
        changes.diff = Diff { cut: false, ..changes.diff };
        Ok(changes)
    }

    fn with(&self, tree: &Tree, targets: &Targets) -> Result<Tree, FilesError> {
        let mut entries = self.entries(tree)?;
        for (path, target) in targets {
            match target {
                Some(entry) => entries.insert(path.clone(), entry.clone()),
                None => entries.remove(path),
            };
        }
        self.keep(entries)
    }

    fn hidden(&self, _: &Tree, _: Vec<String>) -> Result<Vec<String>, FilesError> {
        Ok(Vec::new())
    }
}

impl Files for MemoryCaptures {
    fn conversation_only(&self) -> Option<&str> {
        None
    }

    fn capture(&self) -> Boxed<'_, Result<Capture, FilesError>> {
        Box::pin(async { Ok(Capture { tree: self.now()?, skipped: Vec::new() }) })
    }

    fn changes<'a>(&'a self, from: &'a Tree, to: Option<&'a Tree>) -> Boxed<'a, Result<Changes, FilesError>> {
        Box::pin(async move { self.diff(from, &to.cloned().map_or_else(|| self.now(), Ok)?) })
    }

    fn plan<'a>(&'a self, undo: &'a Undo) -> Boxed<'a, Result<Plan, FilesError>> {
        Box::pin(async { plan_undo(self, undo) })
    }

    fn restore<'a>(&'a self, plan: &'a Plan) -> Boxed<'a, Result<(), FilesError>> {
        Box::pin(async { self.put(plan) })
    }

    fn plan_take_back<'a>(&'a self, from: &'a Tree, to: &'a Tree) -> Boxed<'a, Result<Plan, FilesError>> {
        Box::pin(async { plan_take_back(self, from, to) })
    }

    fn uncommitted<'a>(&'a self, _: &'a str) -> Boxed<'a, Result<Transfer, FilesError>> {
        nothing_committed()
    }

    fn plan_arrival<'a>(&'a self, _: &'a Transfer) -> Boxed<'a, Result<Plan, FilesError>> {
        nothing_committed()
    }

    fn plan_departure<'a>(&'a self, _: &'a Transfer) -> Boxed<'a, Result<Plan, FilesError>> {
        nothing_committed()
    }

    fn tidy(&self) -> Boxed<'_, Result<(), FilesError>> {
        Box::pin(async { Ok(()) })
    }
}

fn nothing_committed<T: Send + 'static>() -> Boxed<'static, Result<T, FilesError>> {
    Box::pin(async { Err(FilesError::ConversationOnly { why: "a scenario commits nothing".into() }) })
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().chars().take(40).collect()
}

fn id(entry: &TreeEntry) -> &str {
    match entry {
        TreeEntry::File { id, .. } | TreeEntry::Link { id } | TreeEntry::Uncaptured { id } => id,
    }
}

/// Removed and added lines, without the common start and end of both texts.
fn changed<'t>(before: &'t str, after: &'t str) -> (Vec<&'t str>, Vec<&'t str>) {
    let (mut before, mut after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    while let (Some(a), Some(b)) = (before.last(), after.last())
        && a == b
    {
        before.pop();
        after.pop();
    }
    let same = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    (before.split_off(same), after.split_off(same))
}
