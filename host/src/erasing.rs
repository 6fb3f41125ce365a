//! Erasing texts from a store and every copy around it (`docs/reference/erasure.md`).

use crate::context::HostContext;
use crate::error::HostError;
use annals_providers::cassette::erase_answers;
use annals_runtime::host::ThisProcess;
use annals_runtime::ports::{Ids, SeededIds, StorePath};
use annals_store::disk::{CollectError, ErasedCopies, Tuning};
use annals_store::erasure::{self, ErasureNote, ErasurePlan, RecordErasureError};
use annals_store::ipc::RemoteLog;
use annals_store::{DiskLog, EventLog, OpenError, OpenMode, SharedError};
use annals_tools::erase::{ErasedFiles, ErasedTexts};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A store that texts are erased from.
pub struct ErasedStore<'a> {
    /// Where it is.
    pub context: &'a HostContext,
    /// Cassettes whose answers go too.
    pub cassettes: &'a [PathBuf],
}

/// An erasure whose texts are removed next.
pub struct BegunErasure {
    plan: ErasurePlan,
    files: ErasedFiles,
    originals: u64,
    answers: u64,
    /// What was recorded is removed, also when recording ended early.
    recorded: Result<(), RecordErasureError>,
}

/// An erasure that is done.
pub struct FinishedErasure {
    /// What was erased.
    pub plan: ErasurePlan,
    /// The copies in the store.
    pub copies: ErasedCopies,
    /// The files around the log.
    pub files: ErasedFiles,
    /// How many originals of imported records were removed.
    pub originals: u64,
    /// How many recorded answers were removed.
    pub answers: u64,
}

/// Who erases: `user@host`.
pub fn who(context: &HostContext) -> String {
    let ThisProcess { user, host, .. } = context.this_process();
    let known = |name: Option<String>| name.unwrap_or_else(|| "unknown".to_owned());
    format!("{}@{}", known(user), known(host))
}

impl ErasedStore<'_> {
    /// Opens the store. Every copy is written again: no other process may use it meanwhile.
    ///
    /// # Errors
    /// When another process uses it, or it cannot be opened.
    pub async fn open(&self) -> Result<Arc<DiskLog>, HostError> {
        let dir = self.context.place.folder("erasing texts")?.to_owned();
        if RemoteLog::connect(&dir).await.is_ok() {
            return Err(SharedError::from(OpenError::Locked { dir }).into());
        }
        let (log, report) = DiskLog::open(&dir, OpenMode::Existing).map_err(SharedError::from)?;
        self.context.tell(&report);
        Ok(Arc::new(log))
    }

    /// Closes it.
    ///
    /// # Errors
    /// When it cannot be left in order.
    pub async fn close(&self, log: Arc<DiskLog>) -> Result<(), HostError> {
        log.close().await.map_err(|source| HostError::File { path: self.context.place.dir().to_owned(), source })
    }

    /// Makes the index again, which was removed with the other copies: by opening the store, which is done when it is closed.
    pub async fn index_again(&self) {
        if let Err(error) = self.context.store(OpenMode::Existing).await {
            tracing::debug!(%error, "the index is made again by the next command that writes");
        }
    }

    /// Removes the copies outside the log, then records the erasure. In this order: once the log says that the texts are erased, no
    /// copy is left that only this process knows of; before, the same command finds everything again. `matches`: what would have been
    /// erased, for texts that the log never held whole.
    ///
    /// # Errors
    /// When a copy cannot be removed: then nothing was recorded.
    pub async fn begin(
        &self,
        log: &DiskLog,
        plan: ErasurePlan,
        note: &ErasureNote,
        matches: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<BegunErasure, HostError> {
        let (ids, dir) = (SeededIds::from_entropy()?, self.context.place.dir());
        let (outputs, directories) = (&plan.outputs, &plan.directories);
        let texts = ErasedTexts { texts: &plan.erased, matches: &|text| matches(text), outputs, directories };
        let removed = texts.remove_copies(&StorePath::from(dir));
        let files = removed.map_err(|source| HostError::File { path: dir.to_owned(), source })?;
        let originals = self.remove_originals(log, &texts)?;
        let mut answers = 0;
        for folder in self.cassettes {
            let removed = erase_answers(folder, &plan.requests);
            answers += removed.map_err(|source| HostError::File { path: folder.clone(), source })?;
        }
        let recorded = erasure::record(log, &plan, note, &|| ids.session_key()).await;
        Ok(BegunErasure { plan, files, originals, answers, recorded })
    }

    /// Removes the records that `import --keep-originals` kept, if they hold a text; no event names them. Gives how many.
    fn remove_originals(&self, log: &DiskLog, texts: &ErasedTexts<'_>) -> Result<u64, HostError> {
        let mut unnamed = match log.garbage(Duration::ZERO, |_, _| {}) {
            Err(CollectError::Damaged) => {
                self.context
                    .remarks
                    .remark("the store is damaged: originals that an import kept were not searched (annals doctor)");
                return Ok(0);
            }
            unnamed => unnamed?,
        };
        let blobs = log.blobs();
        unnamed.blobs.retain(|(hash, _)| blobs.text(hash).is_none_or(|record| texts.are_in(&record)));
        Ok(log.collect(&unnamed, Duration::ZERO)?.files)
    }

    /// Removes the texts from every copy of the log; the store is closed. `None` when they are still there, which was said.
    ///
    /// # Errors
    /// When the erasure was not recorded whole, or the disk refuses.
    pub fn finish(&self, begun: BegunErasure) -> Result<Option<FinishedErasure>, HostError> {
        let BegunErasure { plan, files, originals, answers, recorded } = begun;
        let shown = self.context.remarks.progress("erasing");
        let progress = |done: usize, total: usize| shown.done(done as u64, Some(total as u64));
        let finished = DiskLog::finish_erasure(self.context.place.dir(), Tuning::default(), &progress);
        let report = finished.map_err(SharedError::from)?;
        drop(shown);
        self.context.tell(&report);
        recorded?;
        Ok(report.erased.map(|copies| FinishedErasure { plan, copies, files, originals, answers }))
    }
}

impl FinishedErasure {
    /// What was erased, for programs.
    pub fn to_json(&self) -> Map<String, Value> {
        let Self { plan, copies, files, originals, answers } = self;
        let shared: Vec<_> = copies.shared.values().flatten().collect();
        let answer = json!({
            "texts": plan.texts, "chars": plan.chars, "hashes": plan.hashes,
            "sessions": plan.what.keys().collect::<Vec<_>>(), "batches": copies.batches, "segments": copies.segments,
            "blobs": copies.blobs, "blobs_kept_for": shared, "outputs": files.outputs, "captures": files.captures,
            "lines": files.lines, "originals": originals, "answers": answers, "unknown_directories": files.unknown,
        });
        match answer {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }
}
