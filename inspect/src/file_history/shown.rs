//! Replayed files as answers.

use super::{ContentSource, FileHistory, Inference, KnownFile};
use annals_core::Seq;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};
use std::collections::BTreeSet;
use std::time::Duration;

/// How long two versions of a file are compared.
const PATIENCE: Duration = Duration::from_secs(1);

/// A file that was replayed from calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayedFile {
    /// The path: below the directory of the session, or absolute.
    pub path: String,
    /// Where the content is known from.
    pub knowledge: ContentSource,
    /// The last event that says something about it.
    pub seq: Seq,
    /// What is inferred, with the event.
    pub inferred: Vec<(Seq, Inference)>,
    /// The first command after that event: it may have changed the file.
    pub unsure_since: Option<Seq>,
    /// The content, where one file was asked for and it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl ReplayedFile {
    /// What is known of a file; `with_text` with its content.
    pub fn of(path: &str, file: &KnownFile, history: &FileHistory, with_text: bool) -> Self {
        Self {
            path: path.to_owned(),
            knowledge: file.knowledge,
            seq: file.last,
            inferred: file.inferred.clone(),
            unsure_since: history.unsure(file),
            text: file.text().filter(|_| with_text),
        }
    }
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayedChange {
    /// The path.
    pub path: String,
    /// `added`, `modified`, `deleted`; `unknown` where one side is not known as a whole.
    pub status: &'static str,
    /// Lines added.
    pub additions: u64,
    /// Lines removed.
    pub deletions: u64,
}

/// What differs between replayed files. A file of which only the later side has content may have been there before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayedDiff {
    /// The files.
    pub files: Vec<ReplayedChange>,
    /// The differences as a unified diff.
    pub diff: String,
}

impl ReplayedDiff {
    /// Compares the files for which `wanted` holds. A file that a later call only showed was there before: it does not differ.
    pub fn between(one: &FileHistory, other: &FileHistory, wanted: impl Fn(&str) -> bool) -> Self {
        let mut found = Self::default();
        let paths: BTreeSet<&String> = one.files.keys().chain(other.files.keys()).collect();
        for path in paths.into_iter().filter(|path| wanted(path)) {
            let (before, after) = (one.files.get(path), other.files.get(path));
            if before == after {
                continue;
            }
            let side = |file: Option<&KnownFile>| match file {
                Some(file) if file.exists => file.text().ok_or(()),
                _ => Ok(String::new()),
            };
            let there = |file: Option<&KnownFile>| file.is_some_and(|file| file.exists);
            let only_shown = before.is_none() && after.is_some_and(KnownFile::was_there);
            if only_shown {
                continue;
            }
            let (Ok(old), Ok(new)) = (side(before), side(after)) else {
                found.files.push(ReplayedChange { path: path.clone(), status: "unknown", additions: 0, deletions: 0 });
                continue;
            };
            if old == new && there(before) == there(after) {
                continue;
            }
            let mut differ = TextDiff::configure();
            let diff = differ.timeout(PATIENCE).diff_lines(&old, &new);
            let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count() as u64;
            let status = match (there(before), there(after)) {
                (false, _) => "added",
                (_, false) => "deleted",
                _ => "modified",
            };
            found.files.push(ReplayedChange {
                path: path.clone(),
                status,
                additions: count(ChangeTag::Insert),
                deletions: count(ChangeTag::Delete),
            });
            let name = path.trim_start_matches('/');
            let (from, to) = (format!("a/{name}"), format!("b/{name}"));
            found.diff.push_str(&diff.unified_diff().header(&from, &to).to_string());
        }
        found
    }
}
