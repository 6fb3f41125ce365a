//! The folder of a cassette: one file for each answer, one for each part of a request.

use super::line::{Arrived, CassetteHead, CassetteLine, FORMAT, PartText, arrived};
use super::{CassetteError, CassetteKey};
use annals_core::Digest;
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder of recordings. All of it blocks.
#[derive(Clone, Debug)]
pub(super) struct CassetteFolder {
    path: PathBuf,
}

impl CassetteFolder {
    pub(super) fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self, asked: CassetteKey, take: u32) -> PathBuf {
        let CassetteKey { request, attempt } = asked;
        let take = if take > 1 { format!(".{take}") } else { String::new() };
        self.path.join(format!("{request}.{attempt}{take}.jsonl"))
    }

    fn part(&self, digest: Digest) -> PathBuf {
        self.path.join("parts").join(format!("{digest}.json"))
    }

    /// Keeps an answer: the parts of its request first, then the whole file at once. A first take replaces what earlier
    /// recordings hold.
    pub(super) fn write(
        &self,
        head: &CassetteHead,
        parts: &[PartText],
        arrived: &[Arrived],
    ) -> Result<(), CassetteError> {
        let folder = self.path.join("parts");
        fs::create_dir_all(&folder).map_err(refused(&folder))?;
        for PartText { part, text } in parts {
            let path = self.part(part.digest);
            if !path.exists() {
                whole(&path, text.as_bytes()).map_err(refused(&path))?;
            }
        }
        let asked = CassetteKey { request: head.request, attempt: head.attempt };
        let path = self.file(asked, head.take);
        let mut text = String::new();
        add(&mut text, &path, head)?;
        for arrived in arrived {
            add(&mut text, &path, &CassetteLine::from(arrived))?;
        }
        add(&mut text, &path, &CassetteLine::End { lines: arrived.len() })?;
        whole(&path, text.as_bytes()).map_err(refused(&path))?;
        if head.take == 1 { self.forget_later_takes(asked) } else { Ok(()) }
    }

    fn forget_later_takes(&self, asked: CassetteKey) -> Result<(), CassetteError> {
        for take in 2.. {
            let path = self.file(asked, take);
            match fs::remove_file(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                Err(error) => return Err(refused(&path)(error)),
            }
        }
        Ok(())
    }

    /// A recorded answer, if there is one.
    pub(super) fn read(&self, asked: CassetteKey, take: u32) -> Result<Option<Vec<Arrived>>, CassetteError> {
        let path = self.file(asked, take);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refused(&path)(error)),
        };
        let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
        let head = head(&path, lines.next().map_or("", |(_, line)| line))?;
        if (head.request, head.attempt) != (asked.request, asked.attempt) {
            return Err(damaged(&path, 1, "the head names another request than the file"));
        }
        let mut all = Vec::new();
        for (at, line) in lines {
            let line: CassetteLine = serde_json::from_str(line).map_err(|error| damaged(&path, at, error))?;
            let ends = matches!(line, CassetteLine::End { lines } if lines == all.len());
            match arrived(line) {
                Ok(Some(arrived)) => all.push(arrived),
                Ok(None) if ends => return Ok(Some(all)),
                Ok(None) => return Err(damaged(&path, at, "lines are missing before the end")),
                Err(why) => return Err(damaged(&path, at, why)),
            }
        }
        Err(damaged(&path, all.len() + 2, "the end is missing"))
    }

    /// The heads of all recordings, by file name. Other files are skipped; a miss is explained as well as it can be.
    pub(super) fn heads(&self) -> Result<Vec<CassetteHead>, CassetteError> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(refused(&self.path))? {
            let path = entry.map_err(refused(&self.path))?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                names.push(path);
            }
        }
        names.sort();
        let first = |path: &PathBuf| {
            let mut line = String::new();
            BufReader::new(File::open(path).ok()?).read_line(&mut line).ok()?;
            head(path, &line).ok()
        };
        Ok(names.iter().filter_map(first).collect())
    }

    /// The text of a part, if the folder contains it unaltered.
    pub(super) fn part_text(&self, digest: Digest) -> Option<String> {
        let text = fs::read_to_string(self.part(digest)).ok()?;
        (Digest::of(text.as_bytes()) == digest).then_some(text)
    }
}

fn head(path: &Path, line: &str) -> Result<CassetteHead, CassetteError> {
    let head: CassetteHead = serde_json::from_str(line).map_err(|error| damaged(path, 1, error))?;
    match head.cassette {
        FORMAT => Ok(head),
        other => Err(damaged(path, 1, format!("format {other} is not known to this build, which knows {FORMAT}"))),
    }
}

fn add(text: &mut String, path: &Path, line: &impl Serialize) -> Result<(), CassetteError> {
    let line = serde_json::to_string(line).map_err(|error| refused(path)(io::Error::other(error.to_string())))?;
    text.push_str(&line);
    text.push('\n');
    Ok(())
}

/// Writes a file that is there whole or not at all, for its owner alone: it holds a conversation.
fn whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(&beside, path)
    });
    written.inspect_err(|_| drop(fs::remove_file(&beside)))
}

fn refused(path: &Path) -> impl Fn(io::Error) -> CassetteError {
    let path = path.to_path_buf();
    move |source| CassetteError::Io { path: path.clone(), source }
}

fn damaged(path: &Path, line: usize, why: impl ToString) -> CassetteError {
    CassetteError::Damaged { path: path.to_path_buf(), line, why: why.to_string() }
}
