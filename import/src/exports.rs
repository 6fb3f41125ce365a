//! Exports of Annals: verified as a whole, then appended as they are.

use super::ImportProgress;
use super::drive::SourceImportError;
use super::report::{ImportOutcome, ImportReport, SessionReport};
use super::text::TextFile;
use annals_store::EventLog;
use annals_store::exchange::{self, Imported, ImportedSession, OnProgress, verify_file};
use annals_store::filling::{Filling, FillingError, forged_text};
use std::path::Path;

/// The name of the agent, and of the form, in the report of an export.
pub const AGENT: &str = "annals";
const FORM: &str = "export";

/// Appends the sessions of an export.
///
/// # Errors
/// [`SourceImportError::Export`] when the file cannot be read or does not verify (nothing is appended), or the log refuses.
pub async fn import_export(
    log: &dyn EventLog,
    path: &Path,
    progress: &mut (dyn FnMut(ImportProgress<'_>) + Send),
) -> Result<ImportReport, SourceImportError> {
    let mut bytes = |read: exchange::Progress| progress(ImportProgress::Bytes { done: read.done, total: read.total });
    let imported = verify_and_append(log, path, &mut bytes)
        .await
        .map_err(|source| SourceImportError::Export { path: path.to_owned(), source: Box::new(source) })?;
    let is_fuller = imported.sessions.iter().any(|session| session.is_fuller);
    let sessions = imported.sessions.into_iter().map(session_report).collect();
    Ok(ImportReport { sessions, is_fuller, ..ImportReport::default() })
}

/// Collects the texts of an imported export that the store was given without: see [`ImportReport::is_fuller`].
///
/// # Errors
/// When the file cannot be read, or the store refuses.
pub async fn collect_withheld(filling: &mut Filling<'_>, path: &Path) -> Result<(), FillingError> {
    filling.add(&mut TextFile::open_export(path)?).await
}

async fn verify_and_append(
    log: &dyn EventLog,
    path: &Path,
    progress: OnProgress<'_>,
) -> Result<Imported, exchange::ImportError> {
    let mut file = TextFile::open_export(path)?;
    let report = verify_file(&mut file, None, progress)?;
    if !report.is_sound() {
        file.rewind()?;
        // The store may know which text it is that does not belong there.
        if let Ok(Some((line, flaw))) = forged_text(log, &mut file).await {
            return Err(exchange::ImportError::Damaged { line, flaw });
        }
        return Err(exchange::ImportError::Unsound(Box::new(report)));
    }
    file.rewind()?;
    exchange::import(log, &mut file, progress).await
}

fn session_report(session: ImportedSession) -> SessionReport {
    SessionReport {
        session: session.header.session,
        agent: AGENT.to_owned(),
        foreign: session.header.session.to_string(),
        form: FORM.to_owned(),
        title: None,
        instead_of: None,
        former: None,
        new: session.new,
        events: 0,
        lost: 0,
        known: session.known,
        outcome: ImportOutcome::Imported,
        losses: Default::default(),
        damage: Default::default(),
    }
}
