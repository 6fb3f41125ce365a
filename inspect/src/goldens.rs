//! Golden files of a session: every view and every request body, written once and compared from then on.

use super::{AskError, SessionAt, certify, views};
use annals_core::Digest;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// A golden file that does not hold what the session gives now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stale {
    /// The file.
    pub path: PathBuf,
    /// The first line that differs, from 1; `None` when the file is not there.
    pub line: Option<u64>,
}

/// What one file holds.
struct Golden {
    path: PathBuf,
    text: String,
}

/// The goldens of a session: a file a view, `requests.jsonl` with a request body a line, `certificate.json`.
async fn goldens(past: &SessionAt, dir: &Path) -> Result<Vec<Golden>, AskError> {
    let view = past.view(past.until).await?;
    let json = views::json(past, &view, past.until, &views::NAMES).await?;
    let mut digests: BTreeMap<&str, Digest> = BTreeMap::new();
    let mut files = Vec::new();
    let pretty = |name: &str, value: &Value| {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        Golden { path: dir.join(format!("{name}.json")), text: format!("{text}\n") }
    };
    for name in views::NAMES {
        let value = json.get(name).unwrap_or(&Value::Null);
        digests.insert(name, views::digest(value));
        files.push(pretty(name, value));
    }
    let (mut bodies, mut lines) = (Vec::new(), String::new());
    views::bodies(past, past.until, |body| {
        bodies.push(Digest::of(body.as_bytes()));
        lines.push_str(body);
        lines.push('\n');
    })
    .await?;
    files.push(Golden { path: dir.join("requests.jsonl"), text: lines });
    let certificate = json!({
        "certificate": certify::FORM, "session": past.session, "next": past.until, "views": digests, "bodies": bodies,
    });
    files.push(pretty("certificate", &certificate));
    Ok(files)
}

/// Writes the goldens. Gives what was written.
///
/// # Errors
/// When a file is there already and `force` is not set, or something cannot be read or written.
pub async fn write(past: &SessionAt, dir: &Path, force: bool) -> Result<Vec<PathBuf>, AskError> {
    let files = goldens(past, dir).await?;
    if let Some(golden) = files.iter().find(|golden| !force && golden.path.exists()) {
        return Err(AskError::Exists { path: golden.path.clone() });
    }
    std::fs::create_dir_all(dir).map_err(|source| AskError::File { path: dir.to_owned(), source })?;
    for Golden { path, text } in &files {
        std::fs::write(path, text).map_err(|source| AskError::File { path: path.clone(), source })?;
    }
    Ok(files.into_iter().map(|golden| golden.path).collect())
}

/// Compares the goldens that are there with what the session gives now; gives those that do not hold it.
///
/// # Errors
/// When something cannot be read.
pub async fn check(past: &SessionAt, dir: &Path) -> Result<Vec<Stale>, AskError> {
    let mut stale = Vec::new();
    for Golden { path, text } in goldens(past, dir).await? {
        match std::fs::read(&path) {
            Ok(found) => {
                let line = differs(text.as_bytes(), &found);
                stale.extend(line.map(|line| Stale { path, line: Some(line) }));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => stale.push(Stale { path, line: None }),
            Err(source) => return Err(AskError::File { path, source }),
        }
    }
    Ok(stale)
}

/// The first line in which two files differ, from 1.
fn differs(a: &[u8], b: &[u8]) -> Option<u64> {
    if a == b {
        return None;
    }
    let lines = a.split(|byte| *byte == b'\n').zip(b.split(|byte| *byte == b'\n'));
    Some(lines.take_while(|(a, b)| a == b).count() as u64 + 1)
}
