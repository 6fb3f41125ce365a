//! Bringing files into a log: ours as they are, those of other agents through the importers.

use crate::error::CliError;
use crate::import::{self, Form, ImportReport, Loss, Options, Outcome, Progress, SessionReport, Source};
use crate::progress::Bar;
use annals_runtime::redaction::RedactingLog;
use annals_store::EventLog;
use annals_store::exchange::import_file;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What is shown of an import: as it is, or without secrets where the import itself is redacted.
#[derive(Clone, Default)]
pub struct Redacted(pub Option<Arc<RedactingLog>>);

impl Redacted {
    /// A text as it is shown.
    pub fn text(&self, text: &str) -> String {
        self.0.as_ref().map_or_else(|| text.to_owned(), |log| log.shown(text))
    }

    /// Redacts every text of a report that comes from a source.
    pub fn report(&self, report: &mut ImportReport) {
        if self.0.is_none() {
            return;
        }
        for session in &mut report.sessions {
            session.title = session.title.as_deref().map(|title| self.text(title));
            if let Outcome::Failed { reason, .. } = &mut session.outcome {
                *reason = self.text(reason);
            }
            self.losses(&mut session.losses);
            self.losses(&mut session.damage);
        }
        let damage = std::mem::take(&mut report.damage);
        report.damage = damage.into_iter().map(|((path, what), loss)| ((path, self.text(&what)), loss)).collect();
    }

    fn losses(&self, losses: &mut BTreeMap<String, Loss>) {
        let before = std::mem::take(losses);
        *losses = before.into_iter().map(|(what, loss)| (self.text(&what), loss)).collect();
    }
}

/// Brings one source into a log.
///
/// # Errors
/// When the source or the log cannot be read, or an export of ours is not sound: then nothing of it is appended.
pub async fn bring(
    log: &Arc<dyn EventLog>,
    source: &Source,
    options: &Options,
    redacted: &Redacted,
    bar: &Bar,
) -> Result<ImportReport, CliError> {
    if source.form == Form::Annals {
        return ours(log, &source.path, bar).await;
    }
    let (bar, redacted) = (bar.clone(), redacted.clone());
    let mut progress = move |progress: Progress<'_>| match progress {
        Progress::Session(session) => bar.name(&redacted.text(session.title.as_deref().unwrap_or(&session.foreign))),
        Progress::Bytes { done, total } => bar.tell(done, Some(total)),
        Progress::Batch { .. } => {}
    };
    Ok(import::import(log, source, options, &mut progress).await?)
}

async fn ours(log: &Arc<dyn EventLog>, path: &Path, bar: &Bar) -> Result<ImportReport, CliError> {
    let mut tell = |progress: annals_store::exchange::Progress| bar.tell(progress.done, progress.total);
    let imported = import_file(&**log, path, &mut tell)
        .await
        .map_err(|source| CliError::Exchange { path: path.to_owned(), source: Box::new(source) })?;
    let sessions = imported.sessions.into_iter().map(|session| SessionReport {
        session: session.header.session,
        agent: "annals".to_owned(),
        foreign: session.header.session.to_string(),
        form: "export".to_owned(),
        title: None,
        new: session.new,
        known: session.known,
        outcome: Outcome::Imported,
        losses: Default::default(),
        damage: Default::default(),
    });
    Ok(ImportReport { sessions: sessions.collect(), ..ImportReport::default() })
}

/// Every source at a path. What lies in a folder and cannot be read is told by `remark`.
///
/// # Errors
/// When the path is a file that is not recognised, or there is nothing at all.
pub fn sources(path: &Path, mut remark: impl FnMut(&str)) -> Result<Vec<Source>, CliError> {
    let (found, errors) = import::sources(path)?;
    errors.iter().for_each(|error| remark(&error.to_string()));
    if found.is_empty() {
        return Err(CliError::NothingThere { path: path.to_owned() });
    }
    Ok(found)
}
