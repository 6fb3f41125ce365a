//! The import of a source, which is read again when some of its sessions are imported as second sessions.

use super::changed::is_of;
use super::codex;
use super::drive::{SourceImportError, once};
use super::exports::import_export;
use super::identity::Editions;
use super::report::{ImportOutcome, ImportReport, SessionReport};
use super::{ImportOptions, ImportProgress, ImportSource, SourceForm};
use annals_core::SessionId;
use annals_store::EventLog;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many times a source may be read again to import diverged sessions as second sessions.
const EDITIONS_MAX: usize = 64;

/// Imports one source. Batches that the log contains already are known; new ones are appended. Nothing is appended when the
/// source does not continue the earlier import, unless it is to be a second session ([`ImportOptions::as_new`]) or is one already.
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
    let mut former: BTreeMap<(String, String), (SessionId, u64)> = BTreeMap::new();
    for _ in 0..EDITIONS_MAX {
        let options = ImportOptions { editions: editions.clone(), ..options.clone() };
        report = once(log, source, &options, None, progress).await?;
        let mut renewed = false;
        for session in &report.sessions {
            let ImportOutcome::Diverged { line, other_form } = &session.outcome else { continue };
            let is_wanted = options.as_new || other_form.is_none() && (options.follows || source.has_several_files());
            if is_wanted || other_form.is_none() && has_next_edition(log, &editions, session).await? {
                let key = (session.agent.clone(), session.foreign.clone());
                editions.renew(&key.0, &key.1);
                former.insert(key, (session.session, *line));
                renewed = true;
            }
        }
        if !renewed {
            break;
        }
    }
    for session in &mut report.sessions {
        session.former = former.get(&(session.agent.clone(), session.foreign.clone())).copied();
    }
    continue_changed(log, source, &ImportOptions { editions, ..options.clone() }, report, progress).await
}

impl ImportSource {
    /// Whether its session is in several files: one that came late may precede those that were imported.
    fn has_several_files(&self) -> bool {
        let thread = || codex::list(&self.path, self.library.as_ref()).ok().flatten();
        self.form == SourceForm::CodexRollout && thread().is_some_and(|thread| thread.files.len() > 1)
    }
}

/// Whether a session whose source was rewritten is in the log a further time already: that one is continued.
async fn has_next_edition(
    log: &Arc<dyn EventLog>,
    editions: &Editions,
    session: &SessionReport,
) -> Result<bool, SourceImportError> {
    let mut next = editions.clone();
    next.renew(&session.agent, &session.foreign);
    let next = next.session(&session.agent, &session.foreign, session.session.millis());
    Ok(log.head(next).await?.is_some())
}

/// Imports the sources of sessions that Annals extended, as second sessions. In the report these replace the first ones.
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
