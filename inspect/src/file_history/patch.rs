//! Patches in the format of `apply_patch`, as far as calls that succeeded have them.

use super::call::FileChange;
use super::path::resolved;

/// One place of a file that changes: lines as they were, and as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PatchHunk {
    pub(super) old: Vec<String>,
    pub(super) new: Vec<String>,
}

impl PatchHunk {
    fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }
}

/// The changes of a patch. A line of no known form is context that lost its space.
pub(super) fn changes(patch: &str, directory: &str) -> Vec<FileChange> {
    let mut found: Vec<FileChange> = Vec::new();
    let end = patch.find("*** End Patch").unwrap_or(patch.len());
    let start = patch.find("*** Begin Patch").unwrap_or(0);
    for line in patch.get(start..end).unwrap_or_default().lines() {
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            let (text, command_line) = (String::new(), false);
            found.push(FileChange::Write { path: resolved(path.trim(), directory), text, command_line });
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            found.push(FileChange::Delete { path: resolved(path.trim(), directory) });
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            found.push(FileChange::Patch {
                path: resolved(path.trim(), directory),
                moved_to: None,
                hunks: vec![PatchHunk::default()],
            });
        } else {
            match found.last_mut() {
                Some(FileChange::Write { text, .. }) => {
                    if let Some(added) = line.strip_prefix('+') {
                        text.push_str(added);
                        text.push('\n');
                    }
                }
                Some(FileChange::Patch { moved_to, hunks, .. }) => match line.strip_prefix("*** Move to: ") {
                    Some(path) => *moved_to = Some(resolved(path.trim(), directory)),
                    None => body(line, hunks),
                },
                _ => {}
            }
        }
    }
    for change in &mut found {
        if let FileChange::Patch { hunks, .. } = change {
            hunks.retain(|hunk| !hunk.is_empty());
        }
    }
    found
}

/// The hunks of a unified diff.
pub(super) fn unified(diff: &str) -> Vec<PatchHunk> {
    let mut hunks = vec![PatchHunk::default()];
    let head = |line: &&str| !line.starts_with("@@");
    diff.lines().skip_while(head).for_each(|line| body(line, &mut hunks));
    hunks.retain(|hunk| !hunk.is_empty());
    hunks
}

fn body(line: &str, hunks: &mut Vec<PatchHunk>) {
    if line.starts_with("@@") {
        hunks.push(PatchHunk::default());
        return;
    }
    if line.starts_with("*** ") || line.starts_with("\\ ") {
        return;
    }
    let Some(hunk) = hunks.last_mut() else { return };
    if let Some(gone) = line.strip_prefix('-') {
        hunk.old.push(gone.to_owned());
    } else if let Some(added) = line.strip_prefix('+') {
        hunk.new.push(added.to_owned());
    } else {
        let same = line.strip_prefix(' ').unwrap_or(line);
        hunk.old.push(same.to_owned());
        hunk.new.push(same.to_owned());
    }
}
