//! From the captures of some steps to a plan (`docs/reference/revert.md#files`).
//!
//! A file returns to its content before the first of the steps that touched it. It must be as the last of them left it;
//! otherwise it was changed since, and it stays. What an earlier stage restored is first mapped back to the original, so
//! that a staged boundary can be moved in both directions without a trace.

use super::changes::Differences;
use super::{Changes, FileRestore, FilesError, LeftAlone, Plan, StepFiles, Tree, TreeEntry, Undo, WhyLeft};
use std::collections::{BTreeMap, BTreeSet};

/// What some steps did to a path.
pub struct Touched {
    /// The entry when the first of them began.
    start: Option<TreeEntry>,
    /// The entry that the last of them left.
    end: Option<TreeEntry>,
    /// The capture before the first of them.
    since: Tree,
    /// Whether it was changed by others in between.
    mixed: bool,
    /// Whether the entry before or after cannot be captured.
    uncaptured: bool,
}

/// Entries by path.
pub type TreeEntries = BTreeMap<String, TreeEntry>;

/// Planned entries by path; `None` removes the path.
pub type Targets = BTreeMap<String, Option<TreeEntry>>;

/// What planning needs of a store of captures.
pub trait Captures {
    /// Captures the files as they are.
    fn now(&self) -> Result<Tree, FilesError>;

    /// All that a capture holds.
    fn entries(&self, tree: &Tree) -> Result<TreeEntries, FilesError>;

    /// What differs between two captures.
    fn between(&self, from: &Tree, to: &Tree) -> Result<Differences, FilesError>;

    /// The same as a diff for people.
    fn diff(&self, from: &Tree, to: &Tree) -> Result<Changes, FilesError>;

    /// A capture like another, with some entries changed.
    fn with(&self, tree: &Tree, targets: &Targets) -> Result<Tree, FilesError>;

    /// Those of `paths` that the exclude rules of a capture hide.
    fn hidden(&self, tree: &Tree, paths: Vec<String>) -> Result<Vec<String>, FilesError>;
}

/// Plans an undo from the files as they are. Where captures have a lock, the caller holds it.
///
/// # Errors
/// When a capture cannot be read or made.
pub fn plan_undo<C: Captures + ?Sized>(captures: &C, undo: &Undo) -> Result<Plan, FilesError> {
    let now = captures.now()?;
    let entries = captures.entries(&now)?;
    let original = undo.staged.as_ref().map_or(&now, |staged| &staged.original);
    let since = captures.between(original, &now)?;
    let mut left = Vec::new();
    let mut targets = mapped_back(captures, undo, &entries, &since, &mut left)?;
    let barred: BTreeSet<String> = left.iter().map(|left: &LeftAlone| left.path.clone()).collect();
    let mut mixed = Vec::new();
    let mut removals: BTreeMap<Tree, Vec<String>> = BTreeMap::new();
    for (path, touched) in touched(captures, &undo.steps)? {
        if barred.contains(&path) {
            continue;
        }
        let entry = targets.get(&path).cloned().unwrap_or_else(|| entries.get(&path).cloned());
        if touched.uncaptured || !is_captured(&entries, &path, entry.as_ref()) {
            left.push(LeftAlone { path, why: WhyLeft::Uncaptured });
        } else if entry == touched.start {
            // It was restored already.
        } else if entry != touched.end {
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
        for path in captures.hidden(&since, paths)? {
            targets.remove(&path);
            mixed.retain(|other| *other != path);
            left.push(LeftAlone { path, why: WhyLeft::Ignored });
        }
    }
    left.sort_by(|a, b| a.path.cmp(&b.path));
    let unknown_steps = undo.steps.iter().filter(|step| step.start.is_none() || step.end.is_none()).count();
    let mut plan = plan_targets(captures, original, &now, &entries, targets.clone())?;
    if original != &now {
        // Only what this undo restores is its own: other edits since then are the user's.
        let before = |path: &String| match since.get(path) {
            Some(sides) => sides.before.clone(),
            None => entries.get(path).cloned(),
        };
        targets.retain(|path, target| before(path) != *target);
        plan.recorded = captures.diff(original, &captures.with(original, &targets)?)?;
    }
    Ok(Plan { left, mixed, unknown_steps, ..plan })
}

/// Plans to put `targets` in place of the present entries.
///
/// # Errors
/// [`FilesError::InTheWay`], or when a capture cannot be made.
pub fn plan_targets<C: Captures + ?Sized>(
    captures: &C,
    original: &Tree,
    now: &Tree,
    entries: &TreeEntries,
    mut targets: Targets,
) -> Result<Plan, FilesError> {
    targets.retain(|path, target| entries.get(path) != target.as_ref());
    check_room(entries, &targets)?;
    let (to, changes) = match targets.is_empty() {
        true => (now.clone(), Changes::default()),
        false => {
            let after = captures.with(now, &targets)?;
            let changes = captures.diff(now, &after)?;
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
///
/// # Errors
/// When a capture cannot be read or made.
pub fn plan_take_back<C: Captures + ?Sized>(captures: &C, from: &Tree, to: &Tree) -> Result<Plan, FilesError> {
    let differences = captures.between(from, to)?;
    let now = captures.now()?;
    let entries = captures.entries(&now)?;
    let is_unchanged = |(path, sides): &(String, super::changes::Sides)| entries.get(path) == sides.after.as_ref();
    let back = differences.into_iter().filter(|(_, sides)| sides.is_captured()).filter(is_unchanged);
    let targets = back.map(|(path, sides)| (path, sides.before)).collect();
    plan_targets(captures, &now, &now, &entries, targets)
}

/// The files that an earlier stage restored, with their original entries.
fn mapped_back<C: Captures + ?Sized>(
    captures: &C,
    undo: &Undo,
    entries: &TreeEntries,
    since: &Differences,
    left: &mut Vec<LeftAlone>,
) -> Result<Targets, FilesError> {
    let mut targets = BTreeMap::new();
    let Some(staged) = &undo.staged else { return Ok(targets) };
    let restored = touched(captures, &staged.steps)?;
    for path in &staged.files {
        let entry = entries.get(path);
        // What does not differ from the original is back already.
        let Some(sides) = since.get(path) else { continue };
        let why = match restored.get(path) {
            None => WhyLeft::Unknown,
            Some(_) if !sides.is_captured() => WhyLeft::Uncaptured,
            Some(touched) if touched.start.as_ref() != entry => WhyLeft::Edited,
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
fn touched<C: Captures + ?Sized>(captures: &C, steps: &[StepFiles]) -> Result<BTreeMap<String, Touched>, FilesError> {
    let mut all: BTreeMap<String, Touched> = BTreeMap::new();
    for step in steps {
        let (Some(start), Some(end)) = (&step.start, &step.end) else { continue };
        let differences = captures.between(start, end)?;
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

/// The directories above a path, nearest first.
pub fn above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(path.rsplit_once('/'), |(above, _)| above.rsplit_once('/')).map(|(above, _)| above)
}

/// Whether a capture contains the entry of a path and of everything above it.
fn is_captured(entries: &TreeEntries, path: &str, entry: Option<&TreeEntry>) -> bool {
    above(path).filter_map(|above| entries.get(above)).chain(entry).all(TreeEntry::is_captured)
}

/// Whether every file has a place: no file where a directory stays, no directory where a file stays.
fn check_room(entries: &TreeEntries, targets: &BTreeMap<String, Option<TreeEntry>>) -> Result<(), FilesError> {
    let remains = |path: &String| !matches!(targets.get(path), Some(None));
    for (path, target) in targets {
        if target.is_none() {
            continue;
        }
        let inside = format!("{path}/");
        let below = entries.range(inside.clone()..).map(|(path, _)| path);
        let below = below.take_while(|path| path.starts_with(&inside)).find(|path| remains(path));
        let over = above(path).map(str::to_string).find(|above| {
            let remains_there = entries.contains_key(above) && remains(above);
            remains_there || matches!(targets.get(above), Some(Some(_)))
        });
        if let Some(by) = below.cloned().or(over) {
            return Err(FilesError::InTheWay { path: path.clone(), by });
        }
    }
    Ok(())
}
