//! Continuous import: one round at a time, cheap when nothing changed.

use super::discover::{Homes, Selection};
use super::drive::SourceImportError;
use super::import_source::import;
use super::lines::TORN;
use super::plan::ImportPlan;
use super::report::ImportReport;
use super::state::ImportState;
use super::{ImportOptions, ImportProgress};
use annals_store::EventLog;
use std::path::PathBuf;
use std::sync::Arc;

/// Follows the folders where agents keep sessions, or single files.
#[derive(Debug)]
pub struct ImportFollower {
    /// The folders.
    pub homes: Homes,
    /// The files.
    pub files: Vec<PathBuf>,
    /// Which sessions are imported.
    pub selection: Selection,
    /// How.
    pub options: ImportOptions,
    /// What was imported already.
    pub state: ImportState,
}

impl ImportFollower {
    /// Imports what changed since the last round. A line that is still being written is imported in the next one.
    ///
    /// A file that cannot be read is reported as damage.
    ///
    /// # Errors
    /// When the log cannot be read or written; what was not imported is tried again in the next round.
    pub async fn round(
        &mut self,
        log: &Arc<dyn EventLog>,
        progress: &mut (dyn FnMut(ImportProgress<'_>) + Send),
    ) -> Result<ImportReport, SourceImportError> {
        let Self { homes, files, selection, options, state } = self;
        let mut report = ImportReport::default();
        // What is not looked into was named by the first import. A file that is not recognised may be one whose first line is being
        // written.
        for planned in ImportPlan::of(homes, files, selection, state, false).sources {
            match import(log, &planned.source, options, progress).await {
                Ok(imported) if imported.sessions.is_empty() => {
                    report.extend(imported);
                    state.read(&planned);
                }
                Ok(imported) => {
                    state.imported(&planned, &imported, &**log).await?;
                    report.extend(imported);
                }
                // A file that cannot be read does not prevent the import of others.
                Err(SourceImportError::Source(error)) => {
                    let path = planned.source.path.clone();
                    report.damage.entry((path, error.to_string())).or_default().at(0, None);
                    state.read(&planned);
                }
                Err(error) => return Err(error),
            }
        }
        for session in &mut report.sessions {
            session.damage.remove(TORN);
        }
        report.damage.retain(|(_, what), _| what != TORN);
        Ok(report)
    }
}
