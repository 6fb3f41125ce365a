//! The import of a source, which is read again when some of its sessions are imported as second sessions.

use super::changed::is_of;
use super::drive::{SourceImportError, once};
use super::exports::import_export;
use super::report::{ImportOutcome, ImportReport, SessionReport};
use super::{ImportOptions, ImportProgress, ImportSource, SourceForm};
use annals_store::EventLog;
use std::sync::Arc;

/// How many times a source may be read again to import diverged sessions as second sessions.
const EDITIONS_MAX: usize = 64;

/// Imports one source. Batches that the log contains already are known; new ones are appended. Nothing is appended when the
/// source does not continue the earlier import.
///
/// # Errors
/// When the source or the log cannot be read, or an export of Annals does not verify. Other damage in a source is not an
/// error: it is reported.
pub async fn import(
    log: &Arc<dyn EventLog>,
    source: &ImportSource,
    options: &ImportOptions,
    progress: &mut (dyn FnMut(ImportProgress<'_>) + Send),
) -> Result<ImportReport, SourceImportError> {
    if source.form == SourceForm::Annals {
        return import_export(&**log, &source.path, progress).await;
    }
    let mut editions = options.editions.clone();
    let mut report = ImportReport::default();
    for _ in 0..EDITIONS_MAX {
        let options = ImportOptions { editions: editions.clone(), ..options.clone() };
        report = once(log, source, &options, None, progress).await?;
        let diverged = |it: &&SessionReport| matches!(it.outcome, ImportOutcome::Diverged { .. });
        if !options.as_new || !report.sessions.iter().any(|it| diverged(&it)) {
            break;
        }
        for session in report.sessions.iter().filter(diverged) {
            editions.renew(&session.agent, &session.foreign);
        }
    }
    continue_changed(log, source, &ImportOptions { editions, ..options.clone() }, report, progress).await
}

/// Imports the sources of sessions that Annals extended, as second sessions. In the report these replace the first ones.
///
/// # Errors
/// See [`SourceImportError`].
async fn continue_changed(
    log: &Arc<dyn EventLog>,
    source: &ImportSource,
    options: &ImportOptions,
    mut report: ImportReport,
    progress: &mut (dyn FnMut(ImportProgress<'_>) + Send),
) -> Result<ImportReport, SourceImportError> {
    let mut options = options.clone();
    for _ in 0..EDITIONS_MAX {
        let changed = |it: &&SessionReport| matches!(it.outcome, ImportOutcome::ChangedHere { .. });
        let changed: Vec<SessionReport> = report.sessions.iter().filter(changed).cloned().collect();
        if changed.is_empty() {
            break;
        }
        // With the sessions that refer to them: branches and sub-agents of the same file.
        let family = |it: &SessionReport| changed.iter().any(|changed| is_of(changed, &it.agent, &it.foreign));
        for session in report.sessions.iter().filter(|it| family(it)) {
            options.editions.renew(&session.agent, &session.foreign);
        }
        let only = source.only.as_ref().map(|_| changed.iter().map(|it| it.foreign.clone()).collect());
        let part = ImportSource { only, ..source.clone() };
        let mut again = once(log, &part, &options, Some(&changed), progress).await?;
        for session in &mut again.sessions {
            let before = report.sessions.iter().find(|it| it.agent == session.agent && it.foreign == session.foreign);
            session.instead_of = before.and_then(|before| match before.outcome {
                ImportOutcome::ChangedHere { seq } => Some((before.session, seq)),
                _ => before.instead_of,
            });
        }
        report
            .sessions
            .retain(|it| !again.sessions.iter().any(|new| new.agent == it.agent && new.foreign == it.foreign));
        report.sessions.append(&mut again.sessions);
    }
    Ok(report)
}
