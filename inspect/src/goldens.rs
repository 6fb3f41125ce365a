//! Golden files of a session: the session itself, every view and every request body, written once and compared from then on.

mod insta;

pub use insta::{InstaOutcome, InstaSnapshot, check_insta, write_insta};

use super::{AskError, FoldCommand, SessionAt, certify, views};
use annals_core::Digest;
use annals_store::exchange::export_until;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The file with the session itself, so that a folder of goldens needs nothing else.
pub const SESSION_FILE: &str = "session.jsonl";

/// A view of a program, kept as a golden under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFold {
    /// The name of the file, without the extension if it has none: `.json` or `.txt` is added.
    pub name: String,
    /// The program.
    pub command: FoldCommand,
}

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
    /// The name of the file.
    file: String,
    text: Vec<u8>,
}

impl Golden {
    fn new(file: impl Into<String>, text: impl Into<Vec<u8>>) -> Self {
        Self { file: file.into(), text: text.into() }
    }

    fn pretty(name: &str, value: &Value) -> Self {
        Self::new(format!("{name}.json"), format!("{}\n", serde_json::to_string_pretty(value).unwrap_or_default()))
    }
}

/// The goldens of a session: its export, a file a view, `requests.jsonl` with a request body a line, the views of programs,
/// `certificate.json`.
async fn goldens(past: &SessionAt, folds: &[NamedFold]) -> Result<Vec<Golden>, AskError> {
    let view = past.view(past.until).await?;
    let json = views::json(past, &view, past.until, &views::NAMES).await?;
    let mut digests: BTreeMap<&str, Digest> = BTreeMap::new();
    let mut files = vec![session(past).await?];
    for name in views::NAMES {
        let value = json.get(name).unwrap_or(&Value::Null);
        digests.insert(name, views::digest(value));
        files.push(Golden::pretty(name, value));
    }
    let (mut bodies, mut lines) = (Vec::new(), String::new());
    views::bodies(past, past.until, |body| {
        bodies.push(Digest::of(body.as_bytes()));
        lines.push_str(body);
        lines.push('\n');
    })
    .await?;
    files.push(Golden::new("requests.jsonl", lines));
    for fold in folds {
        let view = fold.command.succeeds(past, past.until).await?;
        let file = match (fold.name.contains('.'), view.value()) {
            (true, _) => fold.name.clone(),
            (false, Value::Object(_) | Value::Array(_)) => format!("{}.json", fold.name),
            (false, _) => format!("{}.txt", fold.name),
        };
        files.push(Golden::new(file, view.printed));
    }
    let certificate = json!({
        "certificate": certify::FORM, "session": past.session, "next": past.until, "views": digests, "bodies": bodies,
    });
    files.push(Golden::pretty("certificate", &certificate));
    Ok(files)
}

/// The session up to the cut.
async fn session(past: &SessionAt) -> Result<Golden, AskError> {
    let mut text = Vec::new();
    export_until(past.log(), past.session, past.until, &mut text, &mut |_| ()).await?;
    Ok(Golden::new(SESSION_FILE, text))
}

/// Writes the goldens. Gives what was written.
///
/// # Errors
/// When a file is there already and `force` is not set, or something cannot be read or written.
pub async fn write(past: &SessionAt, dir: &Path, folds: &[NamedFold], force: bool) -> Result<Vec<PathBuf>, AskError> {
    let files = goldens(past, folds).await?;
    let paths: Vec<PathBuf> = files.iter().map(|golden| dir.join(&golden.file)).collect();
    if let Some(path) = paths.iter().find(|path| !force && path.exists()) {
        return Err(AskError::Exists { path: path.clone() });
    }
    create(dir)?;
    for (golden, path) in files.iter().zip(&paths) {
        put(path, &golden.text)?;
    }
    Ok(paths)
}

/// Compares the goldens that are there with what the session gives now; gives those that do not hold it.
pub async fn check(past: &SessionAt, dir: &Path, folds: &[NamedFold]) -> Result<Vec<Stale>, AskError> {
    let mut stale = Vec::new();
    for Golden { file, text } in goldens(past, folds).await? {
        let path = dir.join(file);
        match std::fs::read(&path) {
            Ok(found) => {
                let line = differs(&text, &found);
                stale.extend(line.map(|line| Stale { path, line: Some(line) }));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => stale.push(Stale { path, line: None }),
            Err(source) => return Err(AskError::File { path, source }),
        }
    }
    Ok(stale)
}

/// Files of the folder that look like goldens and are not compared with anything: views of programs that were not named.
pub fn not_compared(dir: &Path, folds: &[NamedFold]) -> Result<Vec<PathBuf>, AskError> {
    let failed = |source| AskError::File { path: dir.to_owned(), source };
    let mut left = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let Some((stem, "json" | "txt")) = name.rsplit_once('.') else { continue };
        let built_in = views::NAMES.contains(&stem) || stem == "certificate";
        if !built_in && !folds.iter().any(|fold| fold.name == name || fold.name == stem) {
            left.push(path);
        }
    }
    left.sort();
    Ok(left)
}

fn create(dir: &Path) -> Result<(), AskError> {
    std::fs::create_dir_all(dir).map_err(|source| AskError::File { path: dir.to_owned(), source })
}

fn put(path: &Path, text: &[u8]) -> Result<(), AskError> {
    std::fs::write(path, text).map_err(|source| AskError::File { path: path.to_owned(), source })
}

/// The first line in which two files differ, from 1.
fn differs(a: &[u8], b: &[u8]) -> Option<u64> {
    if a == b {
        return None;
    }
    let lines = a.split(|byte| *byte == b'\n').zip(b.split(|byte| *byte == b'\n'));
    Some(lines.take_while(|(a, b)| a == b).count() as u64 + 1)
}
