//! Looking through a directory, as `.gitignore` and its kin have it.

use super::read::path_is_one;
use super::stop_signal::StopSignal;
use super::workplace::{PathAccess, Workplace};
use annals_runtime::tools::{Demand, ToolError};
use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};
use std::path::Path;

/// Visits everything below a directory, sorted by path: hidden entries too, ignored ones and `.git` not; links are visited
/// but not followed. What cannot be read is left out. Returns whether the visit was complete.
pub(super) fn through(root: &Path, depth: Option<usize>, stop: &StopSignal, mut see: impl FnMut(&DirEntry)) -> bool {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false).require_git(false).follow_links(false).max_depth(depth);
    walk.filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    walk.sort_by_file_path(Ord::cmp);
    for entry in walk.build() {
        if stop.is_due() {
            return false;
        }
        match entry {
            Ok(entry) => see(&entry),
            Err(error) => tracing::debug!(%error, "something could not be looked at"),
        }
    }
    true
}

/// Where to look: a directory or file that a call names, or where it works.
pub(super) fn root(place: &Workplace, named: Option<&str>) -> Result<std::path::PathBuf, ToolError> {
    let named = named.unwrap_or(".");
    let root = place.resolve(named).map_err(|error| format!("{named}: {error}"))?;
    if root.exists() { Ok(root) } else { Err(super::open::missing(place, &root)) }
}

/// What looking below a path that a call names needs permission for.
pub(super) fn demands(place: &Workplace, action: &str, named: Option<&str>) -> Vec<Demand> {
    place.demands(action, named.unwrap_or("."), PathAccess::Look)
}

/// Whether where to look and how much to show are possible.
///
/// # Errors
/// The message for the model.
pub(super) fn check(named: Option<&str>, limit: Option<u64>, most: u64) -> Result<(), String> {
    match limit {
        Some(limit) if !(1..=most).contains(&limit) => Err(format!("`limit` must be between 1 and {most}")),
        _ => named.map_or(Ok(()), path_is_one),
    }
}

/// Paths of a shape, relative to a directory.
pub(super) struct PathPattern(GlobMatcher);

impl PathPattern {
    /// `*` and `?` stop at slashes, `**` does not, `{a,b}` is either; a pattern without a slash is of names at any
    /// depth.
    ///
    /// # Errors
    /// Why it is not a pattern.
    pub(super) fn of(pattern: &str, root: &Path) -> Result<Self, ToolError> {
        // Models name absolute patterns, too.
        let within = root.to_str().and_then(|root| pattern.strip_prefix(root)?.strip_prefix('/'));
        let pattern = within.unwrap_or(pattern).trim_start_matches("./");
        let anywhere = if pattern.contains('/') { pattern.to_string() } else { format!("**/{pattern}") };
        let built = GlobBuilder::new(&anywhere).literal_separator(true).build();
        let built = built.map_err(|error| format!("{pattern:?} is not a glob pattern: {}", error.kind()))?;
        Ok(Self(built.compile_matcher()))
    }

    /// Whether a path relative to the directory has it.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.0.is_match(path)
    }
}

/// What to say below a list that is not all.
pub(super) fn rest(shown: usize, all: usize, what: &str, complete: bool) -> String {
    let seconds = StopSignal::seconds();
    match (all > shown, complete) {
        (false, true) => String::new(),
        (true, true) => format!("\n({shown} of {all} {what} shown; {} more. Narrow the search.)", all - shown),
        (_, false) => format!(
            "\n({shown} {what} shown. The search was stopped after {seconds} seconds, and there may be more. Narrow it.)"
        ),
    }
}
