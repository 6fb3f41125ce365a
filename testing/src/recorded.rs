//! Sessions that projections are tested over.

use annals_core::{BlobHash, Blobs, Event, Record, Seq, SessionId, Time};
use annals_projections::Projection;
use annals_store::exchange::import_file;
use annals_store::{EventLog, MemoryLog};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Events that were written together.
#[derive(Clone, Debug)]
pub(crate) struct TestBatch {
    pub(crate) session: SessionId,
    pub(crate) first: Seq,
    pub(crate) at: Time,
    pub(crate) events: Arc<Vec<Event>>,
}

/// The events of a session up to a place.
#[derive(Clone)]
pub struct TestSession {
    pub(crate) batches: Vec<TestBatch>,
    blobs: Arc<dyn Blobs + Send + Sync>,
}

/// Reads an export: a file of `annals export`, or the `session.jsonl` of `annals fixture`. Its digests are verified.
///
/// # Panics
/// When it is not one, or holds several sessions.
#[track_caller]
pub fn session(path: impl AsRef<Path>) -> TestSession {
    let path = path.as_ref();
    let read = async {
        let log = MemoryLog::new();
        let imported = import_file(&log, path, &mut |_| ()).await;
        let imported = imported.map_err(|error| match path.exists() {
            true => format!("not an export of annals: {error}"),
            false => "no such file; `annals export SESSION FILE` writes one".to_owned(),
        })?;
        let [one] = imported.sessions.as_slice() else {
            return Err(format!("expected one session, found {}", imported.sessions.len()));
        };
        read(&log, one.header.session).await
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    match runtime.map_err(|error| format!("no runtime: {error}")).and_then(|runtime| runtime.block_on(read)) {
        Ok(session) => session,
        // Here, so that the panic names the test.
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

/// The events of a session of a log that keeps its blobs.
async fn read(log: &MemoryLog, session: SessionId) -> Result<TestSession, String> {
    let slices = log.read(session, Seq::ZERO, usize::MAX).await.map_err(|error| error.to_string())?;
    let batches = slices.iter().map(|slice| {
        let records: Vec<Record<'_>> = slice.records().collect();
        TestBatch {
            session: slice.batch.session,
            first: records.first().map_or(slice.from, |record| record.seq),
            at: slice.batch.at,
            events: Arc::new(records.into_iter().map(|record| record.event.clone()).collect()),
        }
    });
    Ok(TestSession { batches: batches.collect(), blobs: log.blobs() })
}

/// Plays a scenario file with the real runtime and a scripted model (`docs/scenarios.md`), and gives its session: the first one, which is
/// named `main` in the file.
///
/// # Panics
/// If it is not a scenario file, or an expectation in it fails.
#[cfg(feature = "scenario")]
#[track_caller]
pub fn scenario(path: impl AsRef<Path>) -> TestSession {
    let path = path.as_ref();
    match played(path) {
        Ok(session) => session,
        // Here, so that the panic names the test.
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

#[cfg(feature = "scenario")]
fn played(path: &Path) -> Result<TestSession, String> {
    use annals_store::exchange::export;
    use annals_store::{DiskLog, OpenMode};
    let found = annals_scenario::Scenario::load(path).map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir().map_err(|error| format!("no folder for a store: {error}"))?;
    let store = folder.path().join("store");
    let backend = annals_scenario::Backend::Sled(store.clone());
    let played = annals_scenario::play(&path.display().to_string(), &found, &backend);
    let failures: Vec<String> =
        played.map_err(|error| error.to_string())?.failures.iter().map(ToString::to_string).collect();
    if !failures.is_empty() {
        return Err(failures.join("; "));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.map_err(|error| format!("no runtime: {error}"))?.block_on(async {
        let (disk, _) = DiskLog::open(&store, OpenMode::Existing).map_err(|error| error.to_string())?;
        let sessions = disk.sessions().all().await.map_err(|error| error.to_string())?;
        let main = sessions.iter().map(|head| head.session).min().ok_or("the scenario created no session")?;
        // The folder goes: what is read from a blob is kept in memory.
        let (log, file) = (MemoryLog::new(), folder.path().join("session.jsonl"));
        let mut out = std::fs::File::create(&file).map_err(|error| error.to_string())?;
        export(&disk, main, &mut out, &mut |_| ()).await.map_err(|error| error.to_string())?;
        import_file(&log, &file, &mut |_| ()).await.map_err(|error| error.to_string())?;
        read(&log, main).await
    })
}

impl TestBatch {
    /// The cut after it.
    pub(crate) fn next(&self) -> Seq {
        self.first.plus(self.events.len() as u64)
    }

    pub(crate) fn records(&self) -> impl Iterator<Item = Record<'_>> {
        let (session, at) = (self.session, self.at);
        self.events.iter().zip(self.first.0..).map(move |(event, seq)| Record { session, seq: Seq(seq), at, event })
    }
}

impl TestSession {
    pub(crate) fn built(batches: Vec<TestBatch>, blobs: BTreeMap<BlobHash, String>) -> Self {
        Self { batches, blobs: Arc::new(blobs) }
    }

    /// The session as it was right after an event, and the events written with it.
    ///
    /// # Panics
    /// When it has no such event.
    #[must_use]
    #[track_caller]
    pub fn at(&self, event: u64) -> Self {
        let within = |batch: &&TestBatch| batch.first.0 <= event;
        let batches: Vec<TestBatch> = self.batches.iter().filter(within).cloned().collect();
        let next = batches.last().map_or(0, |batch| batch.next().0);
        assert!(event < next, "the session has no event {event}; its last one is {}", next.saturating_sub(1));
        Self { batches, blobs: self.blobs.clone() }
    }

    /// The records, oldest first.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.batches.iter().flat_map(TestBatch::records)
    }

    /// The view of a projection.
    pub fn fold<P: Projection>(&self) -> P {
        annals_projections::fold(self.records())
    }

    /// The view at every cut: after each batch, with the number of the event that is next.
    pub fn every_cut<P: Projection + Clone>(&self) -> Vec<(Seq, P)> {
        let mut view = P::default();
        let cut = |batch: &TestBatch| {
            batch.records().for_each(|record| view.apply(&record));
            (batch.next(), view.clone())
        };
        self.batches.iter().map(cut).collect()
    }

    /// Where large texts are read: resolve them when a view is shown, never in a fold.
    pub fn blobs(&self) -> &dyn Blobs {
        &*self.blobs
    }

    /// A large text by its hash.
    pub fn text(&self, hash: &BlobHash) -> Option<String> {
        self.blobs.text(hash)
    }
}
