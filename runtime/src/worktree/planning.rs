//! From the captures of some steps to a plan (`docs/reference/revert.md#files`).
//!
//! A file returns to what it was when the first of the steps that touched it began. It must stand as the last of them
//! left it; otherwise somebody changed it since, and it stays. What an earlier stage restored is first thought back to
//! the original: so the boundary moves forth and back without a trace.

use super::changes::Differences;
use super::{Changes, FileRestore, FilesError, LeftAlone, Plan, StepFiles, Tree, TreeEntry, Undo, WhyLeft};
use std::collections::{BTreeMap, BTreeSet};

/// What some steps did to a path.
pub struct Touched {
    /// What stood there when the first of them began.
    start: Option<TreeEntry>,
    /// What the last of them left.
    end: Option<TreeEntry>,
    /// The capture before the first of them.
    since: Tree,
    /// Whether somebody else changed it in between.
    mixed: bool,
    /// Whether what stood there before or after is beyond a capture.
    uncaptured: bool,
}

/// What stands where.
pub type TreeEntries = BTreeMap<String, TreeEntry>;

/// What is to stand where; `None` is nothing.
pub type Targets = BTreeMap<String, Option<TreeEntry>>;

/// What planning asks of whoever keeps the captures.
pub trait Captures {
    /// Captures the files as they are.
    fn now(&self) -> Result<Tree, FilesError>;

    /// All that a capture holds.
    fn entries(&self, tree: &Tree) -> Result<TreeEntries, FilesError>;

    /// What differs between two captures.
    fn between(&self, from: &Tree, to: &Tree) -> Result<Differences, FilesError>;

    /// The same for people.
    fn told(&self, from: &Tree, to: &Tree) -> Result<Changes, FilesError>;

    /// A capture like another, with some entries changed.
    fn with(&self, tree: &Tree, targets: &Targets) -> Result<Tree, FilesError>;

    /// Those of `paths` that the exclude rules of a capture hide.
    fn hidden(&self, tree: &Tree, paths: Vec<String>) -> Result<Vec<String>, FilesError>;
}

impl<C: Captures + ?Sized> Planning for C {}

/// The plans themselves. Only under the lock, where there is one.
pub trait Planning: Captures {
    /// Plans an undo from the files as they are.
    fn plan(&self, undo: &Undo) -> Result<Plan, FilesError> {
        let now = self.now()?;
        let entries = self.entries(&now)?;
        let original = undo.staged.as_ref().map_or(&now, |staged| &staged.original);
        let since = self.between(original, &now)?;
        let mut left = Vec::new();
        let mut targets = self.mapped_back(undo, &entries, &since, &mut left)?;
        let barred: BTreeSet<String> = left.iter().map(|left: &LeftAlone| left.path.clone()).collect();
        let mut mixed = Vec::new();
        let mut removals: BTreeMap<Tree, Vec<String>> = BTreeMap::new();
        for (path, touched) in self.touched(&undo.steps)? {
            if barred.contains(&path) {
                continue;
            }
            let stands = targets.get(&path).cloned().unwrap_or_else(|| entries.get(&path).cloned());
            if touched.uncaptured || !is_captured(&entries, &path, stands.as_ref()) {
                left.push(LeftAlone { path, why: WhyLeft::Uncaptured });
            } else if stands == touched.start {
                // Somebody has put it back already.
            } else if stands != touched.end {
                left.push(LeftAlone { path, why: WhyLeft::Edited });
            } else {
                if touched.start.is_none() {
                    removals.entry(touched.since).or_default().push(path.clone());
                }
                if touched.mixed {
                    mixed.push(path.clone());
                }
                targets.insert(path, touched.start);
            }
        }
        for (since, paths) in removals {
            for path in self.hidden(&since, paths)? {
                targets.remove(&path);
                mixed.retain(|other| *other != path);
                left.push(LeftAlone { path, why: WhyLeft::Ignored });
            }
        }
        left.sort_by(|a, b| a.path.cmp(&b.path));
        let unknown_steps = undo.steps.iter().filter(|step| step.start.is_none() || step.end.is_none()).count();
        let mut plan = self.planned(original, &now, &entries, targets.clone())?;
        if original != &now {
            // Only what this undo restores is its own: other edits since then are the user's.
            let before = |path: &String| match since.get(path) {
                Some(sides) => sides.before.clone(),
                None => entries.get(path).cloned(),
            };
            targets.retain(|path, target| before(path) != *target);
            plan.recorded = self.told(original, &self.with(original, &targets)?)?;
        }
        Ok(Plan { left, mixed, unknown_steps, ..plan })
    }

    /// A plan that puts `targets` in place of what stands now.
    fn planned(
        &self,
        original: &Tree,
        now: &Tree,
        entries: &TreeEntries,
        mut targets: Targets,
    ) -> Result<Plan, FilesError> {
        targets.retain(|path, target| entries.get(path) != target.as_ref());
        room(entries, &targets)?;
        let (to, changes) = match targets.is_empty() {
            true => (now.clone(), Changes::default()),
            false => {
                let after = self.with(now, &targets)?;
                let changes = self.told(now, &after)?;
                (after, changes)
            }
        };
        let restore = |(path, to): (String, Option<TreeEntry>)| {
            let from = entries.get(&path).cloned();
            FileRestore { path, from, to }
        };
        Ok(Plan {
            original: original.clone(),
            from: now.clone(),
            to,
            restores: targets.into_iter().map(restore).collect(),
            recorded: changes.clone(),
            now: changes,
            left: Vec::new(),
            mixed: Vec::new(),
            unknown_steps: 0,
        })
    }

    /// Plans to take back a restore from one capture to another, as far as it has happened.
    fn take_back(&self, from: &Tree, to: &Tree) -> Result<Plan, FilesError> {
        let differences = self.between(from, to)?;
        let now = self.now()?;
        let entries = self.entries(&now)?;
        let stands = |(path, sides): &(String, super::changes::Sides)| entries.get(path) == sides.after.as_ref();
        let back = differences.into_iter().filter(|(_, sides)| sides.is_captured()).filter(stands);
        let targets = back.map(|(path, sides)| (path, sides.before)).collect();
        self.planned(&now, &now, &entries, targets)
    }

    /// What an earlier stage restored, with what stood there originally.
    fn mapped_back(
        &self,
        undo: &Undo,
        entries: &TreeEntries,
        since: &Differences,
        left: &mut Vec<LeftAlone>,
    ) -> Result<Targets, FilesError> {
        let mut targets = BTreeMap::new();
        let Some(staged) = &undo.staged else { return Ok(targets) };
        let restored = self.touched(&staged.steps)?;
        for path in &staged.files {
            let stands = entries.get(path);
            // What does not differ from the original is back already.
            let Some(sides) = since.get(path) else { continue };
            let why = match restored.get(path) {
                None => WhyLeft::Unknown,
                Some(_) if !sides.is_captured() => WhyLeft::Uncaptured,
                Some(touched) if touched.start.as_ref() != stands => WhyLeft::Edited,
                Some(_) => {
                    targets.insert(path.clone(), sides.before.clone());
                    continue;
                }
            };
            left.push(LeftAlone { path: path.clone(), why });
        }
        Ok(targets)
    }

    /// The paths that the steps changed, with their entries before the first and after the last of them.
    fn touched(&self, steps: &[StepFiles]) -> Result<BTreeMap<String, Touched>, FilesError> {
        let mut all: BTreeMap<String, Touched> = BTreeMap::new();
        for step in steps {
            let (Some(start), Some(end)) = (&step.start, &step.end) else { continue };
            let differences = self.between(start, end)?;
            let uncaptured: BTreeSet<&str> =
                differences.iter().filter(|(_, sides)| !sides.is_captured()).map(|(path, _)| path.as_str()).collect();
            for (path, sides) in &differences {
                let uncaptured = above(path).chain([path.as_str()]).any(|path| uncaptured.contains(path));
                match all.get_mut(path) {
                    Some(touched) => {
                        touched.mixed |= touched.end != sides.before;
                        touched.uncaptured |= uncaptured;
                        touched.end = sides.after.clone();
                    }
                    None => {
                        let (first, last) = (sides.before.clone(), sides.after.clone());
                        let since = start.clone();
                        let touched = Touched { start: first, end: last, since, mixed: false, uncaptured };
                        all.insert(path.clone(), touched);
                    }
                }
            }
        }
        Ok(all)
    }
}

/// The directories above a path, nearest first.
pub fn above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(path.rsplit_once('/'), |(above, _)| above.rsplit_once('/')).map(|(above, _)| above)
}

/// Whether a capture knows what stands at a path, and that nothing above it hides it.
fn is_captured(entries: &TreeEntries, path: &str, stands: Option<&TreeEntry>) -> bool {
    above(path).filter_map(|above| entries.get(above)).chain(stands).all(TreeEntry::is_captured)
}

/// Whether every file has a place: no file where a directory stays, no directory where a file stays.
fn room(entries: &TreeEntries, targets: &BTreeMap<String, Option<TreeEntry>>) -> Result<(), FilesError> {
    let check_location = |path: &String| !matches!(targets.get(path), Some(None));
    for (path, target) in targets {
        if target.is_none() {
            continue;
        }
        let inside = format!("{path}/");
        let below = entries.range(inside.clone()..).map(|(path, _)| path);
        let below = below.take_while(|path| path.starts_with(&inside)).find(|path| check_location(path));
        let over = above(path).map(str::to_string).find(|above| {
            let stands = entries.contains_key(above) && check_location(above);
            stands || matches!(targets.get(above), Some(Some(_)))
        });
        if let Some(by) = below.cloned().or(over) {
            return Err(FilesError::InTheWay { path: path.clone(), by });
        }
    }
    Ok(())
}
