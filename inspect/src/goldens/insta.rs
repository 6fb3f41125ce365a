//! Goldens as snapshots of insta: `cargo insta review` shows what differs and accepts it.

use super::{Golden, NamedFold, SESSION_FILE, Stale, create, differs, goldens, put};
use crate::{AskError, SessionAt};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};

/// What happened to a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstaOutcome {
    /// It was written.
    Written,
    /// It is there and holds what the session gives.
    Same,
    /// It differs: what the session gives was written next to it, for review.
    Pending,
}

/// A snapshot file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InstaSnapshot {
    /// The file: `NAME.snap`, or `NAME.snap.new` if it waits for a review.
    pub path: PathBuf,
    /// What happened to it.
    pub outcome: InstaOutcome,
}

/// The name of a snapshot: that of the view.
fn name(file: &str) -> &str {
    match file {
        "requests.jsonl" => "bodies",
        other => other.rsplit_once('.').map_or(other, |(name, _)| name),
    }
}

/// A snapshot in the format of insta.
fn snapshot(golden: &Golden) -> String {
    let text = String::from_utf8_lossy(&golden.text);
    format!("---\nsource: annals fixture\nexpression: {}\n---\n{}\n", name(&golden.file), text.trim_end())
}

/// The content of a snapshot, without its head.
fn content(snapshot: &str) -> &str {
    let content = snapshot.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    content.map_or(snapshot, |(_, content)| content).trim_end()
}

fn read(path: &Path) -> Result<Option<String>, AskError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(AskError::File { path: path.to_owned(), source }),
    }
}

/// Writes the goldens as `NAME.snap`, and the session as it is. Where a snapshot holds something else, `NAME.snap.new` is written
/// for `cargo insta review`, or with `force` the snapshot is replaced.
pub async fn write_insta(
    past: &SessionAt,
    dir: &Path,
    folds: &[NamedFold],
    force: bool,
) -> Result<Vec<InstaSnapshot>, AskError> {
    let mut written = Vec::new();
    create(dir)?;
    for golden in goldens(past, folds).await? {
        if golden.file == SESSION_FILE {
            let path = dir.join(SESSION_FILE);
            put(&path, &golden.text)?;
            written.push(InstaSnapshot { path, outcome: InstaOutcome::Written });
            continue;
        }
        let text = snapshot(&golden);
        let path = dir.join(format!("{}.snap", name(&golden.file)));
        let pending = path.with_extension("snap.new");
        let outcome = match read(&path)? {
            Some(found) if content(&found) == content(&text) => InstaOutcome::Same,
            Some(_) if !force => InstaOutcome::Pending,
            _ => InstaOutcome::Written,
        };
        let path = match outcome {
            InstaOutcome::Pending => pending,
            InstaOutcome::Same | InstaOutcome::Written => match std::fs::remove_file(&pending) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(AskError::File { path: pending, source });
                }
                _ => path,
            },
        };
        if outcome != InstaOutcome::Same {
            put(&path, text.as_bytes())?;
        }
        written.push(InstaSnapshot { path, outcome });
    }
    Ok(written)
}

/// Compares the snapshots that are there with what the session gives now; gives those that do not hold it. Lines are counted
/// without the head.
pub async fn check_insta(past: &SessionAt, dir: &Path, folds: &[NamedFold]) -> Result<Vec<Stale>, AskError> {
    let mut stale = Vec::new();
    for golden in goldens(past, folds).await? {
        if golden.file == SESSION_FILE {
            continue;
        }
        let path = dir.join(format!("{}.snap", name(&golden.file)));
        let Some(found) = read(&path)? else {
            stale.push(Stale { path, line: None });
            continue;
        };
        let text = snapshot(&golden);
        let line = differs(content(&text).as_bytes(), content(&found).as_bytes());
        stale.extend(line.map(|line| Stale { path, line: Some(line) }));
    }
    Ok(stale)
}
