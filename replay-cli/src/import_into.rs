//! Bringing files into a log: ours as they are, those of other agents through the importers.

use crate::error::CliError;
use crate::progress::Bar;
use annals_import::{
    self as import, ImportOptions, ImportOutcome, ImportProgress, ImportReport, ImportSource, SessionReport,
    SourceForm, TextFile,
};
use annals_store::EventLog;
use annals_store::exchange::{self, ImportError, Imported, OnProgress, verify_file};
use std::path::Path;
use std::sync::Arc;

/// Brings one source into a log.
///
/// # Errors
/// When the source or the log cannot be read, or an export of ours is not sound: then nothing of it is appended.
pub async fn bring(
    log: &Arc<dyn EventLog>,
    source: &ImportSource,
    options: &ImportOptions,
    bar: &Bar,
) -> Result<ImportReport, CliError> {
    if source.form == SourceForm::Annals {
        return ours(log, &source.path, bar).await;
    }
    let bar = bar.clone();
    let mut progress = move |progress: ImportProgress<'_>| match progress {
        ImportProgress::Session(session) => bar.name(session.title.as_deref().unwrap_or(&session.foreign)),
        ImportProgress::Bytes { done, total } => bar.tell(done, Some(total)),
        ImportProgress::Batch { .. } => {}
    };
    Ok(import::import(log, source, options, &mut progress).await?)
}

async fn ours(log: &Arc<dyn EventLog>, path: &Path, bar: &Bar) -> Result<ImportReport, CliError> {
    let mut tell = |progress: annals_store::exchange::Progress| bar.tell(progress.done, progress.total);
    let imported = own(&**log, path, &mut tell)
        .await
        .map_err(|source| CliError::Exchange { path: path.to_owned(), source: Box::new(source) })?;
    let sessions = imported.sessions.into_iter().map(|session| SessionReport {
        session: session.header.session,
        agent: "annals".to_owned(),
        foreign: session.header.session.to_string(),
        form: "export".to_owned(),
        title: None,
        instead_of: None,
        new: session.new,
        events: 0,
        lost: 0,
        known: session.known,
        outcome: ImportOutcome::Imported,
        losses: Default::default(),
        damage: Default::default(),
    });
    Ok(ImportReport { sessions: sessions.collect(), ..ImportReport::default() })
}

/// Appends an export of ours after verifying all of it.
async fn own(log: &dyn EventLog, path: &Path, tell: OnProgress<'_>) -> Result<Imported, ImportError> {
    let mut file = TextFile::open(path)?;
    let report = verify_file(&mut file, None, tell)?;
    if !report.is_sound() {
        return Err(ImportError::Unsound(Box::new(report)));
    }
    file.rewind()?;
    exchange::import(log, &mut file, tell).await
}

/// Every source at a path. What lies in a folder and cannot be read is told by `remark`.
///
/// # Errors
/// When the path is a file that is not recognised, or there is nothing at all.
pub fn sources(path: &Path, mut remark: impl FnMut(&str)) -> Result<Vec<ImportSource>, CliError> {
    let (found, errors) = import::sources(path)?;
    errors.iter().for_each(|error| remark(&error.to_string()));
    if found.is_empty() {
        return Err(CliError::NothingThere { path: path.to_owned() });
    }
    Ok(found)
}
