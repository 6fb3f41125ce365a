//! What was imported of each file, so that a file that did not change since is not read again.

use super::changed::is_part_of;
use super::discover::Selection;
use super::identity::IMPORTER;
use super::recognise::{ImportSource, SourceForm};
use super::report::{ImportOutcome, ImportReport, SessionReport};
use annals_core::{Digest, Seq, SessionId, Time};
use annals_store::cache::{FoldVersion, Saved, ViewCache};
use annals_store::{EventLog, ReadError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where it is kept among the saved views of a store: under the nil id, as what concerns all sessions is.
const KEPT: (SessionId, FoldVersion<'static>) =
    (SessionId([0; 16]), FoldVersion { name: "imported-files", version: IMPORTER });

/// A file may be written again within this time without another modification time: where times have fractions, and where not.
const SAME_TIME: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(2)];

/// When a file was modified (ns since 1970), and its size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FileStamp {
    modified: u64,
    bytes: u64,
}

/// Modification and size of a file, and of the write-ahead log of a database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamps {
    file: FileStamp,
    wal: Option<FileStamp>,
    /// Whether any later change shows in the times.
    is_settled: bool,
}

impl FileStamps {
    /// Of a file now; `None` when it is not there.
    pub fn of(path: &Path) -> Option<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let stamp = |path: &Path| -> io::Result<FileStamp> {
            let meta = std::fs::metadata(path)?;
            let modified = meta.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            Ok(FileStamp { modified: u64::try_from(modified.as_nanos()).unwrap_or_default(), bytes: meta.len() })
        };
        let file = stamp(path).ok()?;
        let is_database = path.extension().is_some_and(|extension| extension == "db");
        let mut wal = path.as_os_str().to_owned();
        wal.push("-wal");
        let wal = if is_database { stamp(Path::new(&wal)).ok() } else { None };
        let is_settled = [Some(file), wal].into_iter().flatten().all(|stamp| {
            let modified = Duration::from_nanos(stamp.modified);
            now > modified + SAME_TIME[usize::from(modified.subsec_nanos() == 0)]
        });
        Some(Self { file, wal, is_settled })
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.file, self.wal) == (other.file, other.wal)
    }
}

/// How far a session of a file was when the file was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPosition {
    /// Its id in the source.
    pub foreign: String,
    /// The time of its last change.
    pub updated: Time,
    /// Its event rows, in a database.
    pub rows: Option<u64>,
}

/// A source to import.
#[derive(Clone, Debug)]
pub struct PlannedSource {
    /// The source; of a database, only the sessions that changed.
    pub source: ImportSource,
    /// The file before it was looked at; `None` when it was gone.
    pub(super) stamps: Option<FileStamps>,
    /// Its selected sessions.
    pub(super) positions: Vec<SessionPosition>,
    pub(super) created: Time,
    /// Whether these are all of its sessions.
    pub(super) is_whole: bool,
}

impl From<ImportSource> for PlannedSource {
    /// A source that is read also if nothing changed since it was imported.
    fn from(source: ImportSource) -> Self {
        let stamps = FileStamps::of(&source.path);
        Self { source, stamps, positions: Vec::new(), created: Time::default(), is_whole: true }
    }
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KnownSource {
    stamps: FileStamps,
    /// `None`: it is not for this program.
    form: Option<SourceForm>,
    /// Where its sessions were when it was read.
    positions: Vec<SessionPosition>,
    sessions: Vec<KnownSession>,
    /// Whether reading it again would give the same report with nothing new.
    is_complete: bool,
    /// Whether all of its sessions were selected.
    is_whole: bool,
}

/// A session of such a file, as the report names it. It has no text of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KnownSession {
    session: SessionId,
    agent: String,
    foreign: String,
    form: String,
    /// Its batches in the source.
    batches: u64,
    /// Its end in the log.
    next: Seq,
    /// Where its source is another one than that of an earlier import: the first line that differs, and the form of that one.
    elsewhere: Option<(u64, String)>,
}

/// What was imported of each file of the agents on this machine (`docs/import.md#what-an-import-promises`).
#[derive(Clone, Debug, Default)]
pub struct ImportState {
    files: HashMap<PathBuf, KnownSource>,
    is_changed: bool,
}

impl ImportState {
    /// What a store keeps; nothing where that is missing or damaged.
    pub fn kept(cache: &ViewCache) -> Self {
        let (session, fold) = KEPT;
        let files = cache
            .nearest(session, fold, Seq::ZERO)
            .and_then(|saved| serde_json::from_slice::<BTreeMap<String, KnownSource>>(&saved.bytes).ok());
        let files = files.unwrap_or_default().into_iter().map(|(path, mut file)| {
            // It may have been written again since, or has sessions that were not read.
            if !file.stamps.is_settled || !file.is_whole {
                file.stamps.file.modified = 0;
            }
            (path.into(), file)
        });
        Self { files: files.collect(), is_changed: false }
    }

    /// The same without files of sessions that the log does not have, or not as far.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn load(cache: &ViewCache, log: &dyn EventLog) -> Result<Self, ReadError> {
        let mut state = Self::kept(cache);
        let heads = log.sessions().all().await?;
        let heads: HashMap<SessionId, Seq> = heads.into_iter().map(|it| (it.session, it.head.next)).collect();
        let is_there = |it: &KnownSession| heads.get(&it.session).is_some_and(|next| *next >= it.next);
        state.files.retain(|_, file| file.sessions.iter().all(is_there));
        Ok(state)
    }

    /// Keeps it in a store, if it changed.
    ///
    /// # Errors
    /// When the disk refuses: everything is then read again by the next import.
    pub fn save(&mut self, cache: &ViewCache) -> io::Result<()> {
        if !std::mem::take(&mut self.is_changed) {
            return Ok(());
        }
        let keeps = |(path, _): &(&PathBuf, &KnownSource)| path.to_str().is_some() && path.exists();
        let files: BTreeMap<_, _> = self.files.iter().filter(keeps).collect();
        let (session, fold) = KEPT;
        let bytes = serde_json::to_vec(&files)?;
        cache.put(session, fold, &Saved { seq: Seq::ZERO, digest: Digest::of(&bytes), bytes })
    }

    /// Whether nothing was imported from the agents on this machine.
    pub fn is_empty(&self) -> bool {
        self.files.values().all(|file| file.sessions.is_empty())
    }

    /// The form of a file that is still as it was when it was read; `Some(None)`: it is not for this program.
    /// `again`: and reading it again reports nothing.
    pub(super) fn unchanged(&self, path: &Path, stamps: &FileStamps, again: bool) -> Option<Option<SourceForm>> {
        let file = self.files.get(path).filter(|file| file.stamps.is_same(stamps));
        file.filter(|file| file.is_complete || !again).map(|file| file.form)
    }

    /// Whether reading a file again would report nothing that is not known.
    pub(super) fn is_complete(&self, path: &Path) -> bool {
        self.files.get(path).is_none_or(|file| file.is_complete)
    }

    /// Notes that no session of a file has changed, though the file has.
    pub(super) fn has_not_changed(&mut self, path: &Path, stamps: Option<FileStamps>) {
        if let (Some(file), Some(stamps)) = (self.files.get_mut(path), stamps) {
            file.stamps = stamps;
            self.is_changed = true;
        }
    }

    /// Where the sessions of a file were when it was read.
    pub(super) fn positions(&self, path: &Path) -> &[SessionPosition] {
        self.files.get(path).map(|file| file.positions.as_slice()).unwrap_or_default()
    }

    /// The selected sessions of a file, each as an import without anything new reports it.
    pub(super) fn reports(&self, path: &Path, selection: &Selection) -> Vec<SessionReport> {
        let Some(file) = self.files.get(path) else { return Vec::new() };
        let is_chosen = |session: &KnownSession| {
            let mut of = file.positions.iter().filter(|it| is_part_of(&session.foreign, &it.foreign)).peekable();
            match of.peek() {
                // A file with sessions of its own accord, as a rollout that goes by another name.
                None => file.positions.iter().any(|it| selection.takes_session(&session.agent, it.updated)),
                Some(_) => of.any(|it| selection.takes_session(&session.agent, it.updated)),
            }
        };
        file.sessions.iter().filter(|session| is_chosen(session)).map(KnownSession::report).collect()
    }

    /// Notes that a file was looked at and gives no session of its own: `is_complete` if that holds for later imports, too.
    pub(super) fn note(&mut self, path: &Path, stamps: FileStamps, form: Option<SourceForm>, is_complete: bool) {
        let file =
            KnownSource { stamps, form, positions: Vec::new(), sessions: Vec::new(), is_complete, is_whole: true };
        self.files.insert(path.to_owned(), file);
        self.is_changed = true;
    }

    /// Notes that a source was read and gave nothing that lasts: a later import reads it again.
    pub(super) fn read(&mut self, planned: &PlannedSource) {
        if let Some(stamps) = planned.stamps.clone() {
            self.note(&planned.source.path, stamps, Some(planned.source.form), false);
        }
    }

    /// Forgets a file, so that it is read again.
    pub(super) fn forget(&mut self, path: &Path) {
        self.is_changed |= self.files.remove(path).is_some();
    }

    /// Notes what was imported from a source.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn imported(
        &mut self,
        planned: &PlannedSource,
        report: &ImportReport,
        log: &dyn EventLog,
    ) -> Result<(), ReadError> {
        let (path, before) = (&planned.source.path, self.files.remove(&planned.source.path));
        let Some(stamps) = planned.stamps.clone() else { return Ok(()) };
        let mut file = KnownSource {
            stamps,
            form: Some(planned.source.form),
            positions: planned.positions.clone(),
            sessions: Vec::new(),
            is_complete: !report.has_bad_news(),
            is_whole: planned.is_whole,
        };
        for session in &report.sessions {
            let elsewhere = match &session.outcome {
                ImportOutcome::Imported => None,
                ImportOutcome::Diverged { line, other_form: Some(form) } => Some((*line, form.clone())),
                _ => {
                    file.is_complete = false;
                    continue;
                }
            };
            let Some(head) = log.head(session.session).await? else { continue };
            file.sessions.push(KnownSession {
                session: session.session,
                agent: session.agent.clone(),
                foreign: session.foreign.clone(),
                form: session.form.clone(),
                batches: session.new + session.known,
                next: head.next,
                elsewhere,
            });
        }
        // Of a database only some sessions were read.
        if let (Some(only), Some(before)) = (&planned.source.only, before) {
            let is_read = |foreign: &str| only.iter().any(|it| is_part_of(foreign, it));
            let is_new = |it: &SessionPosition| file.positions.iter().any(|new| new.foreign == it.foreign);
            let others: Vec<SessionPosition> = before.positions.into_iter().filter(|it| !is_new(it)).collect();
            file.positions.extend(others);
            let others = before.sessions.into_iter().filter(|it| !is_read(&it.foreign)).collect::<Vec<_>>();
            file.is_complete &= before.is_complete || others.is_empty();
            file.sessions.extend(others);
        }
        self.files.insert(path.clone(), file);
        self.is_changed = true;
        Ok(())
    }
}

impl KnownSession {
    fn report(&self) -> SessionReport {
        let outcome = match &self.elsewhere {
            None => ImportOutcome::Imported,
            Some((line, form)) => ImportOutcome::Diverged { line: *line, other_form: Some(form.clone()) },
        };
        SessionReport {
            session: self.session,
            agent: self.agent.clone(),
            foreign: self.foreign.clone(),
            form: self.form.clone(),
            title: None,
            instead_of: None,
            former: None,
            new: 0,
            events: 0,
            lost: 0,
            known: self.batches,
            outcome,
            losses: BTreeMap::new(),
            damage: BTreeMap::new(),
        }
    }
}
