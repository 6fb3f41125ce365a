//! Continuous import: one round at a time, cheap when nothing changed.

use super::codex::{RolloutLibrary, has_rollout_name};
use super::discover::{Homes, Selection, list, state_of};
use super::drive::SourceImportError;
use super::import_source::import;
use super::lines::TORN;
use super::recognise::{ImportSource, SourceForm, recognise};
use super::report::ImportReport;
use super::{ImportOptions, ImportProgress};
use annals_store::EventLog;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Modification time (ms) and size in bytes, of a file and of its write-ahead log.
type FileStates = [(u64, u64); 2];

/// For each session of a file: event rows and modification time (ms) when it was read.
type ReadPositions = HashMap<String, (Option<u64>, u64)>;

/// Follows the folders where agents keep sessions, or single files.
#[derive(Debug)]
pub struct ImportFollower {
    homes: Homes,
    files: Vec<PathBuf>,
    selection: Selection,
    options: ImportOptions,
    seen: HashMap<PathBuf, FileStates>,
    /// By path of a database.
    rows: HashMap<PathBuf, ReadPositions>,
}

impl ImportFollower {
    /// Follows the selected sessions below `homes`, and `files`.
    pub fn new(homes: Homes, files: Vec<PathBuf>, selection: Selection, options: ImportOptions) -> Self {
        Self { homes, files, selection, options, seen: HashMap::new(), rows: HashMap::new() }
    }

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
        let mut report = ImportReport::default();
        // What is not looked into was named by the first import.
        let (mut files, _) = self.homes.files();
        files.extend(self.files.iter().cloned());
        let mut library = None;
        for path in &files {
            let Some(looks) = looks(path) else { continue };
            if self.seen.get(path) == Some(&looks) {
                continue;
            }
            // A file that is not recognised yet may be one whose first line is being written.
            let mut source = recognise(path).ok();
            if let Some(source) = source.as_mut().filter(|source| source.form == SourceForm::CodexRollout) {
                // In the folders of Codex every file has a name that Codex gave it.
                let named = files.iter().filter(|path| has_rollout_name(path) || self.files.contains(path));
                let library = library.get_or_insert_with(|| RolloutLibrary::of(named.map(PathBuf::as_path)));
                source.library = Some(library.clone());
            }
            if let Some((source, rows)) = source.and_then(|source| self.changed(source)) {
                match import(log, &source, &self.options, progress).await {
                    Ok(imported) => {
                        report.extend(imported);
                        self.rows.insert(path.clone(), rows);
                    }
                    // A file that cannot be read does not prevent the import of others.
                    Err(SourceImportError::Source(error)) => {
                        report.damage.entry((path.clone(), error.to_string())).or_default().at(0, None);
                    }
                    Err(error) => return Err(error),
                }
            }
            self.seen.insert(path.clone(), looks);
        }
        for session in &mut report.sessions {
            session.damage.remove(TORN);
        }
        report.damage.retain(|(_, what), _| what != TORN);
        Ok(report)
    }

    /// The source if it is selected and changed; of a database, only the sessions that changed.
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
