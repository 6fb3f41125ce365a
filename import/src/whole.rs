//! A whole import: a source is read again where sessions of it are imported as second ones.

use super::changed::is_of;
use super::drive::{ImportError, once};
use super::report::{ImportReport, Outcome, SessionReport};
use super::{Form, Options, Progress, Source};
use annals_store::EventLog;
use std::sync::Arc;

/// How many times a source may be read again to put diverged Sessions beside the earlier ones.
const EDITIONS_MAX: usize = 64;

/// Imports one source. Batches that stand in the log already are known; new ones are appended behind them; where a
/// source is not a continuation of what was imported before, nothing is appended.
///
/// # Errors
/// When the source or the log cannot be read, or the source is an export of ours. Damage inside the source is no error: it is in the report.
pub async fn import(
    log: &Arc<dyn EventLog>,
    source: &Source,
    options: &Options,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<ImportReport, ImportError> {
    if source.form == Form::Annals {
        return Err(ImportError::Own { path: source.path.clone() });
    }
    let mut editions = options.editions.clone();
    let mut report = ImportReport::default();
    for _ in 0..EDITIONS_MAX {
        let options = Options { editions: editions.clone(), ..options.clone() };
        report = once(log, source, &options, None, progress).await?;
        let diverged = |it: &&SessionReport| matches!(it.outcome, Outcome::Diverged { .. });
        if !options.as_new || !report.sessions.iter().any(|it| diverged(&it)) {
            break;
        }
        for session in report.sessions.iter().filter(diverged) {
            editions.renew(&session.agent, &session.foreign);
        }
    }
    continue_changed(log, source, &Options { editions, ..options.clone() }, report, progress).await
}

/// Imports the sources of sessions that were changed here, as second sessions; those replace them in the report.
///
/// # Errors
/// See [`ImportError`].
async fn continue_changed(
    log: &Arc<dyn EventLog>,
    source: &Source,
    options: &Options,
    mut report: ImportReport,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<ImportReport, ImportError> {
    let mut options = options.clone();
    for _ in 0..EDITIONS_MAX {
        let changed = |it: &&SessionReport| matches!(it.outcome, Outcome::ChangedHere { .. });
        let changed: Vec<SessionReport> = report.sessions.iter().filter(changed).cloned().collect();
        if changed.is_empty() {
            break;
        }
        // With all that refers to them: branches and sub-agents of the same file.
        let family = |it: &SessionReport| changed.iter().any(|changed| is_of(changed, &it.agent, &it.foreign));
        for session in report.sessions.iter().filter(|it| family(it)) {
            options.editions.renew(&session.agent, &session.foreign);
        }
        let only = source.only.as_ref().map(|_| changed.iter().map(|it| it.foreign.clone()).collect());
        let part = Source { only, ..source.clone() };
        let mut again = once(log, &part, &options, Some(&changed), progress).await?;
        for session in &mut again.sessions {
            let before = report.sessions.iter().find(|it| it.agent == session.agent && it.foreign == session.foreign);
            session.instead_of = before.and_then(|before| match before.outcome {
                Outcome::ChangedHere { seq } => Some((before.session, seq)),
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
