//! Codex CLI: rollouts, one JSON object a line. A thread may be in several files: see `codex/thread.rs`.

mod agents;
mod context;
mod continued;
mod copies;
mod header;
mod items;
mod library;
mod mapping;
mod message;
mod names;
mod record;
mod shown;
mod step;
mod thread;
mod usage;

use super::foreign::Notes;
use super::identity::uuid_created;
use super::lines::{LineReader, SourceLine};
use super::sink::{ImportSink, ReadSourceError};
use header::RolloutHeader;
use record::RolloutRecord;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thread::{RolloutThread, ThreadReader};

pub use library::RolloutLibrary;
pub use record::is_bare_header;

/// The name of the agent in every `origin`.
pub const AGENT: &str = "codex";

/// The form in `origin`.
const FORM: &str = "rollout";

/// Reads up to the first turn: the model, and the directory where the header has none. `None` before the first turn.
fn survey(path: &Path) -> io::Result<Option<(String, Option<String>)>> {
    let mut lines = LineReader::open(path)?;
    let quiet = Notes::default();
    let mut directory = None;
    while let Some(line) = lines.next()? {
        let SourceLine::Text { text, .. } = line else { continue };
        let Some(record) = RolloutRecord::parse(&text, &quiet) else { continue };
        let payload = &record.payload;
        let has_role = |role: &str| payload.text("role").as_deref() == Some(role);
        match record.kind.as_str() {
            "turn_context" => {
                if let Some(model) = payload.text("model") {
                    return Ok(Some((model, directory)));
                }
            }
            // A turn without a `turn_context`: older versions did not record it.
            "response_item" if has_role("assistant") => return Ok(Some(("unknown".into(), directory))),
            "response_item" if has_role("user") && directory.is_none() => {
                directory = message::items(payload).iter().find_map(|item| directory_in(&item.text));
            }
            _ => {}
        }
        drop(record);
        quiet.take();
    }
    Ok(None)
}

/// The directory that a text about the environment names.
fn directory_in(text: &str) -> Option<String> {
    let named = text.split_once("<cwd>").and_then(|(_, rest)| rest.split_once("</cwd>")).map(|(path, _)| path);
    let named = named.or_else(|| text.split_once("Current working directory: ")?.1.lines().next());
    named.map(|path| path.trim().to_owned())
}

/// The header of a rollout, among its first lines.
fn header_of(path: &Path) -> io::Result<Option<RolloutHeader>> {
    Ok(header(path, 64)?.map(|(header, _)| header))
}

/// The header of a rollout and its first prompt in so many lines.
fn header(path: &Path, lines_max: usize) -> io::Result<Option<(RolloutHeader, Option<String>)>> {
    let mut lines = LineReader::open(path)?;
    let quiet = Notes::default();
    let mut found: Option<(RolloutHeader, Option<String>)> = None;
    for _ in 0..lines_max {
        let Some(line) = lines.next()? else { break };
        let SourceLine::Text { text, .. } = line else { continue };
        let Some(record) = RolloutRecord::parse(&text, &quiet) else { continue };
        let payload = &record.payload;
        match (&mut found, record.kind.as_str()) {
            (None, "session_meta") => {
                found = Some((RolloutHeader::read(payload, record.at.unwrap_or_default()), None));
            }
            (Some((found, _)), "session_meta") => {
                let other = RolloutHeader::read(payload, 0).id;
                found.copied = Some(other).filter(|other| *other != found.id);
            }
            (Some(found), "response_item") if payload.text("role").as_deref() == Some("user") => {
                let items = message::items(payload);
                if let Some(prompt) = items.iter().find(|item| item.kind == message::PieceKind::Input) {
                    found.1 = prompt.text.lines().next().map(|line| line.chars().take(100).collect());
                    break;
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// A thread in a list.
pub struct ListedThread {
    /// The thread's id.
    pub id: String,
    /// The directory that it works in.
    pub directory: String,
    /// When it was created (ms).
    pub created: u64,
    /// Its name, or the start of its first prompt.
    pub title: Option<String>,
    /// Its files.
    pub files: Vec<PathBuf>,
}

/// The thread of a rollout, for lists; `None` for a file that is none.
pub fn list(path: &Path, library: Option<&Arc<RolloutLibrary>>) -> io::Result<Option<ListedThread>> {
    let library = library.cloned().unwrap_or_else(|| RolloutLibrary::around(path));
    let Some(thread) = RolloutThread::of(path, &library)? else { return Ok(None) };
    let (Some(header), Some(first)) = (thread.header(), thread.files().next()) else { return Ok(None) };
    let (mut directory, title) = (header.cwd.clone(), thread.title(&library)?);
    if directory.is_empty() {
        directory = survey(first)?.and_then(|(_, directory)| directory).unwrap_or_default();
    }
    let files = thread.files().map(Path::to_owned).collect();
    Ok(Some(ListedThread { id: header.id.clone(), directory, created: header.created, title, files }))
}

/// Reads the thread of a rollout. One whose first turn has not started is empty.
pub fn read(
    path: &Path,
    library: Option<&Arc<RolloutLibrary>>,
    sink: &mut ImportSink<'_>,
) -> Result<(), ReadSourceError> {
    let io = |source| ReadSourceError::Io { path: path.to_owned(), source };
    let library = library.cloned().unwrap_or_else(|| RolloutLibrary::around(path));
    match RolloutThread::of(path, &library).map_err(io)? {
        Some(thread) => ThreadReader::new(&library).read(sink, &thread, &Default::default()).map(|_| ()),
        // Without a turn there is nothing to import.
        None if survey(path).map_err(io)?.is_none() => Ok(()),
        None => Ok(sink.damaged(None, 0, "a rollout without session_meta")?),
    }
}

/// The creation time of a thread (ms): contained in its id if that is a UUID of version 7.
fn created(id: &str, recorded: u64) -> u64 {
    uuid_created(id).unwrap_or(recorded)
}
