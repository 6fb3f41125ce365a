//! The inputs that mutations start from: fixtures of the repository, shortened to the limit, and bytes made from them.

use super::SIZE_MAX;
use annals_core::{Batch, Digest, Event, Seq, SessionId, Time, codec};
use std::io;
use std::path::{Path, PathBuf};

/// The files of a target: every file below `folder` with this end of the name.
#[derive(Clone, Copy, Debug)]
pub struct Files {
    /// Below `fixtures/`.
    pub folder: &'static str,
    /// The end of the name.
    pub ending: &'static str,
}

/// The contents of files, ordered by name. Files of lines are cut after the last complete line within the limit; other files
/// above the limit are skipped.
///
/// # Errors
/// When a file cannot be read, or there is none.
pub fn corpus(files: &[Files]) -> io::Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for Files { folder, ending } in files {
        let mut paths = Vec::new();
        walk(&fixtures().join(folder), &mut paths)?;
        paths.retain(|path| path.to_string_lossy().ends_with(ending));
        paths.sort();
        for path in paths {
            let bytes = std::fs::read(&path)?;
            // A part of a log of lines is one; a part of a document is none.
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                found.push(fitting(bytes));
            } else if bytes.len() <= SIZE_MAX {
                found.push(bytes);
            }
        }
    }
    match found.is_empty() {
        true => Err(io::Error::new(io::ErrorKind::NotFound, format!("no fixture is one of {files:?}"))),
        false => Ok(found),
    }
}

/// One batch of each event in `fixtures/events.jsonl`, in the codec of the log.
///
/// # Errors
/// When the fixture cannot be read, or a batch cannot be written.
pub fn batches() -> io::Result<Vec<Vec<u8>>> {
    let text = std::fs::read_to_string(fixtures().join("events.jsonl"))?;
    let (session, mut prev, mut found) = (SessionId([7; 16]), None, Vec::new());
    for (first, line) in (0..).zip(text.lines()) {
        let event = Event::from_json(serde_json::from_str(line)?).map_err(io::Error::other)?;
        let digest = Digest::of(line.as_bytes());
        let at = Time(1_795_000_000_000);
        let batch = Batch { session, first: Seq(first), at, prev, events: vec![event], digest, states: Vec::new() };
        found.push(codec::encode(&batch).map_err(io::Error::other)?);
        prev = Some(digest);
    }
    Ok(found)
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => walk(&path, found)?,
            false => found.push(path),
        }
    }
    Ok(())
}

fn fitting(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() > SIZE_MAX {
        bytes.truncate(SIZE_MAX);
        let line = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(line.map_or(SIZE_MAX, |line| line + 1));
    }
    bytes
}
