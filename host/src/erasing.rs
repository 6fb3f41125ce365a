//! Erasing texts from a store and every copy around it (`docs/reference/erasure.md`).

use crate::context::HostContext;
use crate::error::HostError;
#[cfg(feature = "nats")]
use crate::opened_log::OpenedLog;
use annals_core::SessionId;
use annals_providers::cassette::erase_answers;
use annals_runtime::host::ThisProcess;
use annals_runtime::ports::{Ids, SeededIds, StorePath};
use annals_store::disk::{CollectError, ErasedCopies, Tuning};
use annals_store::erasure::{self, ErasureNote, ErasurePlan};
use annals_store::ipc::RemoteLog;
#[cfg(feature = "nats")]
use annals_store::nats::{ErasureLeases, NatsErased, NatsLog};
use annals_store::{DiskLog, EventLog, OpenError, OpenMode, SharedError};
use annals_tools::erase::{ErasedFiles, ErasedTexts};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
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

/// The log of a store that texts are erased from.
#[derive(Clone)]
pub enum ErasedLog {
    /// In a folder, which no other process uses meanwhile.
    Folder(Arc<DiskLog>),
    /// In a cluster.
    #[cfg(feature = "nats")]
    Cluster(NatsLog),
}

impl ErasedLog {
    /// To read it.
    pub fn log(&self) -> Arc<dyn EventLog> {
        match self {
            Self::Folder(log) => log.clone(),
            #[cfg(feature = "nats")]
            Self::Cluster(log) => Arc::new(log.clone()),
        }
    }
}

/// An erasure whose texts are removed next.
pub struct BegunErasure {
    plan: ErasurePlan,
    files: ErasedFiles,
    originals: u64,
    answers: u64,
    /// What was recorded is removed, also when recording ended early.
    recorded: Result<ErasureRecording, HostError>,
}

/// Where an erasure was recorded.
enum ErasureRecording {
    Folder,
    #[cfg(feature = "nats")]
    Cluster(ErasureLeases),
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
    /// The servers of a cluster that have not confirmed yet: until they do, the erasure is pending.
    pub unconfirmed: BTreeSet<String>,
}

/// Who erases: `user@host`.
pub fn who(context: &HostContext) -> String {
    let ThisProcess { user, host, .. } = context.this_process();
    let known = |name: Option<String>| name.unwrap_or_else(|| "unknown".to_owned());
    format!("{}@{}", known(user), known(host))
}

impl ErasedStore<'_> {
    /// Opens the store. In a folder every copy is written again: no other process may use it meanwhile.
    ///
    /// # Errors
    /// When another process uses it, or it cannot be opened.
    pub async fn open(&self) -> Result<ErasedLog, HostError> {
        #[cfg(feature = "nats")]
        if self.context.place.is_in_cluster() {
            let HostContext { place, environment, remarks, .. } = self.context;
            return match place.open(OpenMode::Existing, &environment.variables, remarks).await? {
                OpenedLog::Cluster(log) => Ok(ErasedLog::Cluster(log)),
                OpenedLog::Folder(_) => Err(HostError::NoPlace),
            };
        }
        let dir = self.context.place.folder("erasing texts")?.to_owned();
        if RemoteLog::connect(&dir).await.is_ok() {
            return Err(SharedError::from(OpenError::Locked { dir }).into());
        }
        let (log, report) = DiskLog::open(&dir, OpenMode::Existing).map_err(SharedError::from)?;
        self.context.report_opening(&report);
        Ok(ErasedLog::Folder(Arc::new(log)))
    }

    /// Finishes an erasure that an earlier process left behind in a cluster; `None` when there was none. In a folder, opening does that.
    pub async fn finish_earlier(&self, log: &ErasedLog) -> Result<Option<EarlierErasure>, HostError> {
        match log {
            ErasedLog::Folder(_) => Ok(None),
            #[cfg(feature = "nats")]
            ErasedLog::Cluster(log) => {
                let Some(erased) = self.finish_in_cluster(log, ErasureLeases::default()).await? else {
                    return Ok(None);
                };
                Ok(Some(EarlierErasure { sessions: erased.sessions, unconfirmed: erased.unconfirmed }))
            }
        }
    }

    #[cfg(feature = "nats")]
    async fn finish_in_cluster(&self, log: &NatsLog, leases: ErasureLeases) -> Result<Option<NatsErased>, HostError> {
        let shown = self.context.remarks.progress("erasing");
        let progress = |done: usize, total: usize| shown.done(done as u64, Some(total as u64));
        let finished = log.finish_erasures(leases, &progress).await?;
        drop(shown);
        if finished.is_some() {
            // What this machine kept of the store before.
            self.context.place.drop_kept(log, true).await?;
        }
        Ok(finished)
    }

    /// Closes a store in a folder, before its copies are written again.
    ///
    /// # Errors
    /// When it cannot be left in order.
    pub async fn close(&self, log: &ErasedLog) -> Result<(), HostError> {
        match log {
            ErasedLog::Folder(log) => log.close().await.map_err(|source| {
                let path = self.context.place.dir().to_owned();
                HostError::File { path, source }
            }),
            #[cfg(feature = "nats")]
            ErasedLog::Cluster(_) => Ok(()),
        }
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
        log: &ErasedLog,
        plan: ErasurePlan,
        note: &ErasureNote,
        matches: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<BegunErasure, HostError> {
        let (ids, dir) = (SeededIds::from_entropy()?, self.context.place.dir());
        let (outputs, directories) = (&plan.outputs, &plan.directories);
        let texts = ErasedTexts { texts: &plan.erased, matches: &|text| matches(text), outputs, directories };
        let removed = texts.remove_copies(&StorePath::from(dir));
        let files = removed.map_err(|source| HostError::File { path: dir.to_owned(), source })?;
        let originals = match log {
            ErasedLog::Folder(log) => self.remove_originals(log, &texts)?,
            // No import keeps originals there.
            #[cfg(feature = "nats")]
            ErasedLog::Cluster(_) => 0,
        };
        let mut answers = 0;
        for folder in self.cassettes {
            let removed = erase_answers(folder, &plan.requests);
            answers += removed.map_err(|source| HostError::File { path: folder.clone(), source })?;
        }
        let new_key = || ids.session_key();
        let recorded = match log {
            ErasedLog::Folder(log) => {
                let recorded = erasure::record(log, &plan, note, &new_key).await;
                recorded.map(|()| ErasureRecording::Folder).map_err(HostError::from)
            }
            #[cfg(feature = "nats")]
            ErasedLog::Cluster(log) => {
                let recorded = log.begin_erasure(&plan, note, &new_key).await;
                recorded.map(ErasureRecording::Cluster).map_err(HostError::from)
            }
        };
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

    /// Removes the texts from every copy of the log; a store in a folder is closed. `None` when they are still there, which was said.
    ///
    /// # Errors
    /// When the erasure was not recorded whole, or the disk refuses.
    pub async fn finish(&self, log: &ErasedLog, begun: BegunErasure) -> Result<Option<FinishedErasure>, HostError> {
        let BegunErasure { plan, files, originals, answers, recorded } = begun;
        #[cfg(feature = "nats")]
        if let ErasedLog::Cluster(log) = log {
            let ErasureRecording::Cluster(leases) = recorded? else { return Ok(None) };
            let Some(NatsErased { copies, unconfirmed, .. }) = self.finish_in_cluster(log, leases).await? else {
                return Ok(None);
            };
            log.close().await;
            return Ok(Some(FinishedErasure { plan, copies, files, originals, answers, unconfirmed }));
        }
        let _ = log;
        let shown = self.context.remarks.progress("erasing");
        let progress = |done: usize, total: usize| shown.done(done as u64, Some(total as u64));
        let finished = DiskLog::finish_erasure(self.context.place.dir(), Tuning::default(), &progress);
        let report = finished.map_err(SharedError::from)?;
        drop(shown);
        self.context.report_opening(&report);
        recorded?;
        let unconfirmed = BTreeSet::new();
        Ok(report.erased.map(|copies| FinishedErasure { plan, copies, files, originals, answers, unconfirmed }))
    }
}

/// An erasure of an earlier process that was finished.
pub struct EarlierErasure {
    /// The sessions that it concerns.
    pub sessions: BTreeSet<SessionId>,
    /// The servers that have not confirmed yet.
    pub unconfirmed: BTreeSet<String>,
}

impl FinishedErasure {
    /// What was erased, for programs.
    pub fn to_json(&self) -> Map<String, Value> {
        let Self { plan, copies, files, originals, answers, unconfirmed } = self;
        let shared: Vec<_> = copies.shared.values().flatten().collect();
        let answer = json!({
            "texts": plan.texts, "chars": plan.chars, "hashes": plan.hashes,
            "sessions": plan.what.keys().collect::<Vec<_>>(), "batches": copies.batches, "segments": copies.segments,
            "blobs": copies.blobs, "blobs_kept_for": shared, "outputs": files.outputs, "captures": files.captures,
            "lines": files.lines, "diagnostics": files.diagnostics, "originals": originals, "answers": answers, "unknown_directories": files.unknown,
            "state": if unconfirmed.is_empty() { "erased" } else { "erasure pending" }, "unconfirmed": unconfirmed,
        });
        match answer {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }
}
