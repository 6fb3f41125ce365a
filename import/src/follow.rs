//! Keeps importing what agents write: one round at a time, cheap when nothing changed.

use super::discover::{Homes, Selection, list, state_of};
use super::drive::SourceImportError;
use super::lines::TORN;
use super::recognise::{ImportSource, SourceForm, recognise};
use super::report::ImportReport;
use super::whole::import;
use super::{ImportOptions, ImportProgress};
use annals_store::EventLog;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a file looked like when it was read: time of change (ms) and bytes, of it and of a write-ahead log.
type FileStates = [(u64, u64); 2];

/// How far each Session of a file was read: event rows, time of change (ms).
type ReadPositions = HashMap<String, (Option<u64>, u64)>;

/// Follows the places where agents keep Sessions, or single files.
#[derive(Debug)]
pub struct ImportFollower {
    homes: Homes,
    files: Vec<PathBuf>,
    selection: Selection,
    options: ImportOptions,
    seen: HashMap<PathBuf, FileStates>,
    /// Per database: how far each Session was read (rows, time of change).
    rows: HashMap<PathBuf, ReadPositions>,
}

impl ImportFollower {
    /// Follows everything below `homes` that is chosen, and `files`.
    pub fn new(homes: Homes, files: Vec<PathBuf>, selection: Selection, options: ImportOptions) -> Self {
        Self { homes, files, selection, options, seen: HashMap::new(), rows: HashMap::new() }
    }

    /// One round: imports what changed since the last one. A line that is still being written waits for the next.
    ///
    /// A file that cannot be read is told as damage.
    ///
    /// # Errors
    /// When the log cannot be read or written; what was not imported is tried again in the next round.
    pub async fn round(
        &mut self,
        log: &Arc<dyn EventLog>,
        progress: &mut (dyn FnMut(ImportProgress<'_>) + Send),
    ) -> Result<ImportReport, SourceImportError> {
        let mut report = ImportReport::default();
        let mut files = self.homes.files();
        files.extend(self.files.iter().cloned());
        for path in files {
            let Some(looks) = looks(&path) else { continue };
            if self.seen.get(&path) == Some(&looks) {
                continue;
            }
            // A file that is not recognised yet may be one whose first line is being written.
            if let Ok(source) = recognise(&path)
                && let Some((source, rows)) = self.changed(source)
            {
                match import(log, &source, &self.options, progress).await {
                    Ok(imported) => {
                        report.extend(imported);
                        self.rows.insert(path.clone(), rows);
                    }
                    // One file that cannot be read keeps no other from being imported.
                    Err(SourceImportError::Source(error)) => {
                        report.damage.entry((path.clone(), error.to_string())).or_default().at(0, None);
                    }
                    Err(error) => return Err(error),
                }
            }
            self.seen.insert(path, looks);
        }
        for session in &mut report.sessions {
            session.damage.remove(TORN);
        }
        report.damage.retain(|(_, what), _| what != TORN);
        Ok(report)
    }

    /// What of a source is chosen and changed; of a database, the Sessions that did.
    fn changed(&self, source: ImportSource) -> Option<(ImportSource, ReadPositions)> {
        let listed = list(&source).ok()?;
        let before = self.rows.get(&source.path);
        let mut rows = HashMap::new();
        let mut only = BTreeSet::new();
        let mut chosen = listed.is_empty() && self.selection == Selection::default();
        for listed in listed.iter().filter(|listed| self.selection.takes(listed)) {
            chosen = true;
            let state = (listed.rows, listed.updated.millis());
            if before.and_then(|before| before.get(&listed.foreign)) != Some(&state) {
                only.insert(listed.foreign.clone());
            }
            rows.insert(listed.foreign.clone(), state);
        }
        let database = source.form == SourceForm::OpenCodeDatabase;
        if !chosen || database && only.is_empty() {
            return None;
        }
        Some((if database { ImportSource { only: Some(only), ..source } } else { source }, rows))
    }
}

fn looks(path: &Path) -> Option<FileStates> {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    Some([state_of(path).ok()?, state_of(Path::new(&wal)).unwrap_or_default()])
}
