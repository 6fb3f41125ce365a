//! The sessions of one source, for a list of what would be imported.

use super::discover::{ListedSession, list};
use super::import_source::import;
use super::{ImportOptions, ImportProgress, ImportSource, SourceImportError, exports};
use annals_core::event::SessionEvent;
use annals_core::{Event, Seq, Time};
use annals_store::{EventLog, MemoryLog};
use std::sync::Arc;

/// Lists the sessions of a source. A form whose sessions only show when all of it is read is imported into memory.
///
/// # Errors
/// When the source cannot be read, or is an export that does not verify.
pub async fn list_sessions(
    source: &ImportSource,
    progress: &mut (dyn FnMut(ImportProgress<'_>) + Send),
) -> Result<Vec<ListedSession>, SourceImportError> {
    let listed = list(source)?;
    if !listed.is_empty() {
        return Ok(listed);
    }
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let options = ImportOptions { prompts: true, ..ImportOptions::default() };
    let report = import(&log, source, &options, progress).await?;
    let mut found = Vec::new();
    for session in report.sessions {
        let head = log.head(session.session).await?;
        let first = log.batch_at(session.session, Seq::ZERO).await?;
        let directory = first.and_then(|slice| match slice.batch.events.first()? {
            Event::Session(SessionEvent::Created(created)) => Some(created.location.directory.clone()),
            _ => None,
        });
        found.push(ListedSession {
            agent: source.form.agent().unwrap_or(exports::AGENT),
            foreign: session.foreign,
            title: session.title,
            directory: directory.unwrap_or_default(),
            created: Time(session.session.millis()),
            updated: head.map_or_else(Time::default, |head| head.at),
            bytes: None,
            rows: head.map(|head| head.next.0),
            source: source.clone(),
        });
    }
    Ok(found)
}
