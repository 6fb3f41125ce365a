//! Sessions that projections are tested over.

use annals_core::{BlobHash, Blobs, Event, NoBlobs, Record, Seq, SessionId, Time};
use annals_projections::Projection;
use annals_store::exchange::import_file;
use annals_store::{EventLog, MemoryLog};
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
pub fn session(path: impl AsRef<Path>) -> TestSession {
    let path = path.as_ref();
    let shown = path.display();
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("{shown}: no runtime: {error}"));
    runtime.block_on(async {
        let log = MemoryLog::new();
        let imported = import_file(&log, path, &mut |_| ()).await;
        let imported = imported.unwrap_or_else(|error| panic!("{shown}: not an export of annals: {error}"));
        let [one] = imported.sessions.as_slice() else {
            panic!("{shown}: expected one session, found {}", imported.sessions.len())
        };
        read(&log, one.header.session, &shown.to_string()).await
    })
}

/// The events of a session of a log that keeps its blobs.
async fn read(log: &MemoryLog, session: SessionId, shown: &str) -> TestSession {
    let slices = log.read(session, Seq::ZERO, usize::MAX).await;
    let slices = slices.unwrap_or_else(|error| panic!("{shown}: {error}"));
    let batches = slices.iter().map(|slice| {
        let records: Vec<Record<'_>> = slice.records().collect();
        TestBatch {
            session: slice.batch.session,
            first: records.first().map_or(slice.from, |record| record.seq),
            at: slice.batch.at,
            events: Arc::new(records.into_iter().map(|record| record.event.clone()).collect()),
        }
    });
    TestSession { batches: batches.collect(), blobs: log.blobs() }
}

/// Plays a scenario file with the real runtime and a scripted model (`docs/scenarios.md`), and gives its session: the first one, which is
/// named `main` in the file.
///
/// # Panics
/// When it is no scenario file, or an expectation in it does not hold.
#[cfg(feature = "scenario")]
pub fn scenario(path: impl AsRef<Path>) -> TestSession {
    use annals_store::exchange::export;
    use annals_store::{DiskLog, OpenMode};
    let path = path.as_ref();
    let shown = path.display().to_string();
    let found = annals_scenario::Scenario::load(path).unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{shown}: no folder for a store: {error}"));
    let store = folder.path().join("store");
    let played = annals_scenario::play(&shown, &found, &annals_scenario::Backend::Sled(store.clone()));
    let played = played.unwrap_or_else(|error| panic!("{shown}: {error}"));
    let failures: Vec<String> = played.failures.iter().map(ToString::to_string).collect();
    assert!(failures.is_empty(), "{shown}: {}", failures.join("; "));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("{shown}: no runtime: {error}"));
    runtime.block_on(async {
        let opened = DiskLog::open(&store, OpenMode::Existing);
        let (disk, _) = opened.unwrap_or_else(|error| panic!("{shown}: {error}"));
        let sessions = disk.sessions().all().await.unwrap_or_else(|error| panic!("{shown}: {error}"));
        let main = sessions.iter().map(|head| head.session).min();
        let main = main.unwrap_or_else(|| panic!("{shown}: the scenario created no session"));
        // The folder goes: what is read from a blob is kept in memory.
        let (log, file) = (MemoryLog::new(), folder.path().join("session.jsonl"));
        let copied = async {
            let mut out = std::fs::File::create(&file)?;
            let exported = export(&disk, main, &mut out, &mut |_| ()).await;
            exported.map_err(std::io::Error::other)?;
            import_file(&log, &file, &mut |_| ()).await.map_err(std::io::Error::other)
        };
        copied.await.unwrap_or_else(|error| panic!("{shown}: {error}"));
        read(&log, main, &shown).await
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
    pub(crate) fn built(batches: Vec<TestBatch>) -> Self {
        Self { batches, blobs: Arc::new(NoBlobs) }
    }

    /// The session as it was right after an event, and the events written with it.
    ///
    /// # Panics
    /// When it has no such event.
    #[must_use]
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
