//! A file of sessions as a log in memory, for readers.

use crate::{ImportOptions, ImportProgress, RecogniseError, SourceImportError, TextFile, import, sources};
use annals_core::{ImportSecret, SessionId};
use annals_store::exchange::{DamagedLog, Flaw, ImportError, VerifyReport, verify_file};
use annals_store::{EventLog, MemoryLog};
use std::collections::BTreeSet;
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
    /// What verifying it found, if it is an export that does not verify.
    pub damage: Option<VerifyReport>,
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
    /// It has two exports of one session that do not continue each other.
    #[error(
        "{}:{line}: two exports of session {session} in this file contradict each other; annals verify FILE shows the damage",
        path.display()
    )]
    Contradiction {
        /// Which.
        path: PathBuf,
        /// The line of the first batch that an earlier export has otherwise.
        line: u64,
        /// The session.
        session: SessionId,
    },
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
/// The keys of sessions are derived from `secret`: the default, which everybody knows, gives the same digests each time; what is handed
/// over without some of its texts needs another.
///
/// # Errors
/// When the path is not recognised, contains no session, or cannot be read.
pub async fn open_file(
    path: &Path,
    secret: ImportSecret,
    progress: &mut (dyn FnMut(ImportProgress<'_>) + Send),
) -> Result<FileLog, OpenFileError> {
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let (found, errors) = sources(path)?;
    let mut remarks: Vec<String> = errors.iter().map(ToString::to_string).collect();
    if found.is_empty() {
        let unreadable = errors.into_iter().next().map(OpenFileError::Recognise);
        return Err(unreadable.unwrap_or_else(|| OpenFileError::Nothing { path: path.to_owned() }));
    }
    let options = ImportOptions { prompts: true, secret, ..ImportOptions::default() };
    let (mut sessions, mut known) = (Vec::new(), BTreeSet::new());
    for source in &found {
        let report = match import(&log, source, &options, progress).await {
            Err(SourceImportError::Export { source: error, .. }) if found.len() == 1 => {
                // What it shows would depend on which of the two is read.
                if let Some((line, session)) = contradiction(&error) {
                    return Err(OpenFileError::Contradiction { path: path.to_owned(), line, session });
                }
                return damaged(path);
            }
            report => report?,
        };
        for session in &report.sessions {
            if known.insert(session.session) {
                sessions.push(session.session);
            }
        }
        for session in &report.sessions {
            let damage = session.damage.keys();
            remarks.extend(damage.map(|what| format!("{}: {}: {what}", source.path.display(), session.foreign)));
        }
        remarks.extend(report.damage.keys().map(|(path, what)| format!("{}: {what}", path.display())));
    }
    Ok(FileLog { log, sessions, remarks, damage: None })
}

/// Where an export contradicts an earlier one in its file.
fn contradiction(error: &ImportError) -> Option<(u64, SessionId)> {
    let ImportError::Unsound(report) = error else { return None };
    let other = report.damage.iter().find(|damage| matches!(damage.flaw, Flaw::Other { .. }))?;
    Some((other.place.line?, other.place.session?))
}

/// A damaged export, as far as it can be read.
fn damaged(path: &Path) -> Result<FileLog, OpenFileError> {
    let at = |source| OpenFileError::File { path: path.to_owned(), source };
    let log = DamagedLog::load(TextFile::open_export(path).map_err(at)?).map_err(at)?;
    let sessions = log.subjects().to_vec();
    let report = verify_file(&mut TextFile::open_export(path).map_err(at)?, None, &mut |_| {}).map_err(at)?;
    let damage = (!report.is_sound()).then_some(report);
    let remark =
        |_: &VerifyReport| format!("{}: the export is damaged; annals verify FILE shows where", path.display());
    let remarks = damage.iter().map(remark).collect();
    Ok(FileLog { log: Arc::new(log), sessions, remarks, damage })
}
