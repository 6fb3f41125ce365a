//! A file of sessions as a log in memory, for readers.

use crate::{ImportOptions, ImportProgress, RecogniseError, SourceImportError, TextFile, import, sources};
use annals_core::SessionId;
use annals_store::exchange::DamagedLog;
use annals_store::{EventLog, MemoryLog};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file as a log in memory. Nothing was written.
pub struct FileLog {
    /// The log.
    pub log: Arc<dyn EventLog>,
    /// The sessions that the file is about, without those that they only inherit from.
    pub sessions: Vec<SessionId>,
    /// What is damaged in the file, one line each, with its path.
    pub remarks: Vec<String>,
}

/// A file cannot be read as sessions.
#[derive(Debug, thiserror::Error)]
pub enum OpenFileError {
    /// It is nothing that can be imported.
    #[error(transparent)]
    Recognise(#[from] RecogniseError),
    /// It is a folder without sessions.
    #[error("{}: no session of OpenCode, Codex CLI, Claude Code or annals found", path.display())]
    Nothing {
        /// Which.
        path: PathBuf,
    },
    /// It cannot be imported.
    #[error(transparent)]
    Import(#[from] SourceImportError),
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system reported.
        #[source]
        source: io::Error,
    },
}

/// Reads every session of a file, or of the files of a folder, into memory. A damaged export is read as far as it can be;
/// verifying its sessions shows the damage.
///
/// # Errors
/// When the path is not recognised, contains no session, or cannot be read.
pub async fn open_file(
    path: &Path,
    progress: &mut (dyn FnMut(ImportProgress<'_>) + Send),
) -> Result<FileLog, OpenFileError> {
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let (found, errors) = sources(path)?;
    let mut remarks: Vec<String> = errors.iter().map(ToString::to_string).collect();
    if found.is_empty() {
        let unreadable = errors.into_iter().next().map(OpenFileError::Recognise);
        return Err(unreadable.unwrap_or_else(|| OpenFileError::Nothing { path: path.to_owned() }));
    }
    let options = ImportOptions { prompts: true, ..ImportOptions::default() };
    let mut sessions = Vec::new();
    for source in &found {
        let report = match import(&log, source, &options, progress).await {
            Err(SourceImportError::Export { .. }) if found.len() == 1 => return damaged(path),
            report => report?,
        };
        sessions.extend(report.sessions.iter().map(|session| session.session));
        for session in &report.sessions {
            let damage = session.damage.keys();
            remarks.extend(damage.map(|what| format!("{}: {}: {what}", source.path.display(), session.foreign)));
        }
        remarks.extend(report.damage.keys().map(|(path, what)| format!("{}: {what}", path.display())));
    }
    Ok(FileLog { log, sessions, remarks })
}

/// A damaged export, as far as it can be read.
fn damaged(path: &Path) -> Result<FileLog, OpenFileError> {
    let at = |source| OpenFileError::File { path: path.to_owned(), source };
    let log = DamagedLog::load(TextFile::open(path).map_err(at)?).map_err(at)?;
    let sessions = log.subjects().to_vec();
    Ok(FileLog { log: Arc::new(log), sessions, remarks: Vec::new() })
}
