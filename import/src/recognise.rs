//! Recognises the form of a file by its content.

use super::codex::{self, RolloutLibrary, is_bare_header};
use super::foreign::{JsonObject, Notes};
use super::lines::{LineReader, SourceLine};
use super::sink::{ImportSink, ReadSourceError};
use super::text::{NOT_REGULAR, is_unmarked_utf16};
use super::{claude, opencode};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The supported forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SourceForm {
    /// OpenCode's database, with sessions of both generations.
    OpenCodeDatabase,
    /// OpenCode's event rows, one a line, of either generation.
    OpenCodeEvents,
    /// The output of `opencode export`.
    OpenCodeExport,
    /// A session in the files that OpenCode kept before its database (`storage/`): the one that describes it.
    OpenCodeStorage,
    /// A Codex rollout.
    CodexRollout,
    /// A Claude Code transcript.
    ClaudeTranscript,
    /// An export of Annals: verified, then its batches are appended unchanged.
    Annals,
}

impl SourceForm {
    /// The agent that writes this form, as in `origin`; `None` for exports of Annals.
    pub const fn agent(self) -> Option<&'static str> {
        match self {
            Self::OpenCodeDatabase | Self::OpenCodeEvents | Self::OpenCodeExport | Self::OpenCodeStorage => {
                Some(opencode::AGENT)
            }
            Self::CodexRollout => Some(codex::AGENT),
            Self::ClaudeTranscript => Some(claude::AGENT),
            Self::Annals => None,
        }
    }
}

/// A file with sessions to import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportSource {
    /// The file.
    pub path: PathBuf,
    /// Its form.
    pub form: SourceForm,
    /// Of a database, only the sessions with these foreign ids; `None` for all.
    pub only: Option<BTreeSet<String>>,
    /// The rollouts that were found with it; `None` where they are looked for when it is read.
    pub(super) library: Option<Arc<RolloutLibrary>>,
}

/// A file cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum RecogniseError {
    /// It cannot be read: check that it exists, and its permissions.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// It has none of the supported forms.
    #[error(
        "{}: not recognised; expected OpenCode's database, event rows or export, a Codex rollout, a Claude Code \
         transcript, or an export of annals",
        path.display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// It is read together with the event rows in the same folder, not alone.
    #[error("{}: read with its log of event rows; import NAME.events.jsonl", path.display())]
    Projection {
        /// The file.
        path: PathBuf,
    },
    /// It is a pipe, a device or a socket: reading it might never end.
    #[error("{}: {NOT_REGULAR}; not read", path.display())]
    NotRegular {
        /// The file.
        path: PathBuf,
    },
    /// It is a link that leads out of the folder: its target can be named itself.
    #[error("{}: a link that leads out of the folder; not read. To import it, name its target", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// It is a database of another program.
    #[error("{}: a database of another program, not OpenCode's", path.display())]
    OtherDatabase {
        /// The database.
        path: PathBuf,
    },
    /// It is a file of an agent whose sessions are not imported.
    #[error("{}: a session of {agent}, which is not imported", path.display())]
    OtherAgent {
        /// The file.
        path: PathBuf,
        /// The agent.
        agent: &'static str,
    },
    /// It is UTF-16 without a byte order mark: convert it to UTF-8.
    #[error("{}: UTF-16 without a byte order mark; convert it to UTF-8 first", path.display())]
    Utf16 {
        /// The file.
        path: PathBuf,
    },
}

impl RecogniseError {
    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::Unknown { path }
            | Self::Projection { path }
            | Self::NotRegular { path }
            | Self::Link { path }
            | Self::OtherDatabase { path }
            | Self::OtherAgent { path, .. }
            | Self::Utf16 { path } => path,
        }
    }

    /// Whether the file is just not for this program: in a folder it is passed over.
    pub const fn is_foreign(&self) -> bool {
        matches!(
            self,
            Self::Unknown { .. } | Self::Projection { .. } | Self::OtherDatabase { .. } | Self::OtherAgent { .. }
        )
    }

    /// Whether something was left out on purpose, so that an import does not fail.
    pub const fn is_remark(&self) -> bool {
        matches!(self, Self::Link { .. })
    }
}

/// How many lines are tried: the first ones may be damaged.
const LINES_MAX: usize = 64;

/// Recognises the form of a file.
///
/// # Errors
/// When it cannot be read, or has none of the supported forms.
pub fn recognise(path: &Path) -> Result<ImportSource, RecogniseError> {
    let io = |source| RecogniseError::Io { path: path.to_owned(), source };
    let source = |form| Ok(ImportSource { path: path.to_owned(), form, only: None, library: None });
    let meta = std::fs::metadata(path).map_err(io)?;
    if !meta.is_file() && !meta.is_dir() {
        return Err(RecogniseError::NotRegular { path: path.to_owned() });
    }
    let mut start = Vec::new();
    File::open(path).map_err(io)?.take(16).read_to_end(&mut start).map_err(io)?;
    if start.starts_with(b"SQLite format 3") {
        return match opencode::is_database(path) {
            true => source(SourceForm::OpenCodeDatabase),
            false => Err(RecogniseError::OtherDatabase { path: path.to_owned() }),
        };
    }
    if is_unmarked_utf16(&start) {
        return Err(RecogniseError::Utf16 { path: path.to_owned() });
    }
    let mut lines = LineReader::open(path).map_err(io)?;
    for _ in 0..LINES_MAX {
        let Some(line) = lines.next().map_err(io)? else { break };
        let SourceLine::Text { text, .. } = line else { continue };
        if is_qwen_code(&text) {
            return Err(RecogniseError::OtherAgent { path: path.to_owned(), agent: "Qwen Code" });
        }
        if let Some(form) = line_form(&text) {
            return source(form);
        }
    }
    if opencode::is_projection(path) {
        return Err(RecogniseError::Projection { path: path.to_owned() });
    }
    if opencode::is_stored_session(path) {
        return source(SourceForm::OpenCodeStorage);
    }
    if opencode::export_header(path).is_ok() {
        return source(SourceForm::OpenCodeExport);
    }
    Err(RecogniseError::Unknown { path: path.to_owned() })
}

/// Whether a line is one of Qwen Code, which has the envelope of Claude Code and the messages of Gemini.
fn is_qwen_code(text: &str) -> bool {
    let notes = Notes::default();
    let Ok(object) = JsonObject::parse(text, "", &notes) else { return false };
    let is_message = object.object("message").is_some_and(|message| {
        message.skip_all();
        message.has("parts")
    });
    let is_telemetry = object.object("systemPayload").is_some_and(|payload| {
        payload.skip_all();
        payload.has("uiEvent")
    });
    object.skip_all();
    object.has("sessionId") && (is_message || is_telemetry)
}

/// The form that has such a line.
fn line_form(text: &str) -> Option<SourceForm> {
    let notes = Notes::default();
    let object = JsonObject::parse(text, "", &notes).ok()?;
    let kind = object.text("type");
    let has = |names: &[&str]| names.iter().all(|name| object.has(name));
    let form = if has(&["aggregate_id", "seq", "type", "data"]) {
        Some(SourceForm::OpenCodeEvents)
    } else if has(&["timestamp", "type", "payload"]) || is_bare_header(&object) {
        Some(SourceForm::CodexRollout)
    } else if object.has("annals") || has(&["session", "first", "events", "digest"]) {
        Some(SourceForm::Annals)
    } else if object.has("sessionId") && kind.is_some() || kind.as_deref() == Some("summary") && object.has("leafUuid")
    {
        Some(SourceForm::ClaudeTranscript)
    } else {
        None
    };
    object.skip_all();
    form
}

impl ImportSource {
    /// Reads it. Exports of Annals are imported elsewhere (`exports.rs`).
    pub(super) fn read(&self, sink: &mut ImportSink<'_>) -> Result<(), ReadSourceError> {
        match self.form {
            SourceForm::OpenCodeDatabase => opencode::read_database(&self.path, self.only.as_ref(), sink),
            SourceForm::OpenCodeEvents => opencode::read_rows(&self.path, sink),
            SourceForm::OpenCodeExport => opencode::read_export(&self.path, sink),
            SourceForm::OpenCodeStorage => opencode::read_storage(&self.path, sink),
            SourceForm::CodexRollout => codex::read(&self.path, self.library.as_ref(), sink),
            SourceForm::ClaudeTranscript => claude::read(&self.path, sink),
            SourceForm::Annals => Ok(()),
        }
    }
}
