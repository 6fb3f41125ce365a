//! What differs between two captures.

use super::shadow::Shadow;
use annals_core::event::FileChange;
use annals_runtime::worktree::{Changes, DIFF_LIMIT, Diff, Differences, FilesError, Sides, TreeEntry};
use std::collections::BTreeMap;

/// Differences with lines added and removed, by path.
type CountedDifferences = BTreeMap<String, (Sides, (u64, u64))>;

const PLAIN: [&str; 6] = ["-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"];

impl Shadow {
    /// The differing entries of two trees.
    pub(super) fn differences(&self, from: &str, to: &str) -> Result<Differences, FilesError> {
        if from == to {
            return Ok(Differences::new());
        }
        Ok(self.compare(from, to, &["--raw"])?.into_iter().map(|(path, (sides, _))| (path, sides)).collect())
    }

    /// The differences of two trees, counted and as text.
    pub(super) fn changes(&self, from: &str, to: &str) -> Result<Changes, FilesError> {
        if from == to {
            return Ok(Changes::default());
        }
        let mut changes = Changes::default();
        for (path, (sides, lines)) in self.compare(from, to, &["--raw", "--numstat"])? {
            if !sides.is_captured() {
                changes.uncaptured.push(path);
                continue;
            }
            let status = match (&sides.before, &sides.after) {
                (None, _) => "added",
                (_, None) => "deleted",
                _ => "modified",
            };
            let (additions, deletions) = lines;
            changes.files.push(FileChange { path, status: status.into(), additions, deletions });
        }
        if !changes.files.is_empty() {
            changes.diff = self.diff(from, to, &changes.uncaptured)?;
        }
        Ok(changes)
    }

    fn compare(&self, from: &str, to: &str, forms: &[&str]) -> Result<CountedDifferences, FilesError> {
        let answer = FilesError::Answer { command: "diff-tree" };
        let output = self.git.shadow("diff-tree").args(PLAIN).args(forms).args(["--end-of-options", from, to]).run();
        let output = output.map_err(|error| self.unless_missing(error, &[from, to]))?;
        let Ok(output) = String::from_utf8(output) else { return Err(answer) };
        let mut found = CountedDifferences::new();
        let mut fields = output.split_terminator('\0');
        while let Some(field) = fields.next() {
            if let Some(raw) = field.strip_prefix(':') {
                let mut words = raw.split(' ');
                let (Some(path), Some(old), Some(new), Some(before), Some(after)) =
                    (fields.next(), words.next(), words.next(), words.next(), words.next())
                else {
                    return Err(answer);
                };
                let sides = Sides { before: TreeEntry::parse(old, before), after: TreeEntry::parse(new, after) };
                found.insert(path.into(), (sides, (0, 0)));
            } else {
                let mut parts = field.splitn(3, '\t');
                let (Some(additions), Some(deletions), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
                    return Err(answer);
                };
                if let Some((_, lines)) = found.get_mut(path) {
                    // A binary file has dashes here.
                    *lines = (additions.parse().unwrap_or(0), deletions.parse().unwrap_or(0));
                }
            }
        }
        Ok(found)
    }

    fn diff(&self, from: &str, to: &str, without: &[String]) -> Result<Diff, FilesError> {
        let mut call = self.git.shadow("diff-tree").args(["-r", "-p", "--no-renames", "--no-ext-diff"]);
        call = call.args(["--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/"]);
        call = call.args(["--end-of-options", from, to, "--", "."]);
        // An argument list has bounds; a diff that names some of what is not captured is still a true diff.
        call = call.args(without.iter().take(1_000).map(|path| format!(":(exclude,literal){path}")));
        let ended = call.finish(Some(DIFF_LIMIT as u64))?;
        if ended.code != Some(0) {
            return Err(FilesError::Git { command: "diff-tree".into(), message: ended.message });
        }
        let mut bytes = ended.output;
        if ended.cut {
            let lines = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            bytes.truncate(lines);
        }
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if ended.cut {
            text.push_str(&format!("[the diff is longer than {} KiB and was cut here]\n", DIFF_LIMIT / 1024));
        }
        Ok(Diff { text, cut: ended.cut })
    }

    /// All entries of a tree.
    pub(super) fn listing(&self, files: &str) -> Result<BTreeMap<String, TreeEntry>, FilesError> {
        let output = self.git.shadow("ls-tree").args(["-r", "-z", "--full-tree", files]).run();
        let output = output.map_err(|error| self.unless_missing(error, &[files]))?;
        let answer = || FilesError::Answer { command: "ls-tree" };
        let output = String::from_utf8(output).map_err(|_| answer())?;
        let mut entries = BTreeMap::new();
        for line in output.split_terminator('\0') {
            let (head, path) = line.split_once('\t').ok_or_else(answer)?;
            let mut words = head.split(' ');
            let (Some(mode), Some(_), Some(id)) = (words.next(), words.next(), words.next()) else {
                return Err(answer());
            };
            entries.extend(TreeEntry::parse(mode, id).map(|entry| (path.to_string(), entry)));
        }
        Ok(entries)
    }

    /// git has many words for a tree that is not there; ours are one.
    fn unless_missing(&self, error: FilesError, trees: &[&str]) -> FilesError {
        for tree in trees {
            match self.git.shadow("cat-file").args(["-e", tree]).finish(None) {
                Ok(ended) if ended.code != Some(0) => {
                    return FilesError::NoTree { id: tree.trim_end_matches(":files").into() };
                }
                _ => {}
            }
        }
        error
    }
}
