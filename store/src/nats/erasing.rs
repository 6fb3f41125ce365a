//! Removing erased texts from a store in a cluster (`docs/reference/erasure.md`).
//!
//! ```text
//! record `erasing` ──1──► texts.erased appended ──2──► copies without the texts, under a new generation of the subject
//! (sessions, blobs)       (as any event)                (each session under its lease)
//!      ──3──► marker: fenced by the number of the session's last message ──4──► originals, older generations, blobs overwritten
//!      ──5──► the logs of the consensus renewed; every replica has that ──6──► `erasing` removed
//!
//! 1     nothing was erased: the record is removed
//! 2     readers see the originals; a stopped copy is a generation that no marker names, and goes with step 4
//! 3     readers see the copies, and the originals are not read any more
//! 4, 5  the same again: what is gone is skipped. Until 6 the erasure is pending
//! ```
//! Every process that erases finishes what it finds: the log says what is erased, and the record which blobs may go.

mod consensus;
mod destroying;
mod record;
mod rewriting;

use super::api::ApiError;
use super::leases::NatsLease;
use super::log::{NatsLog, NatsStore};
use crate::disk::ErasedCopies;
use crate::erasure::{ErasureNote, ErasurePlan, RecordErasureError, record_texts};
use crate::log::{AppendError, ReadError};
use annals_core::{SessionId, SessionKey};
use record::ErasureRecord;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Texts could not be erased in a cluster. Nothing was recorded, or the next `annals erase` finishes it.
#[derive(Debug, thiserror::Error)]
pub enum NatsEraseError {
    /// Another process runs a session.
    #[error("session {0} runs in another process or on another machine; end it there, then erase again")]
    Running(SessionId),
    /// A process appended, or erased, while texts were removed.
    #[error("session {0} was changed by another erasure meanwhile; erase again to finish")]
    Overtaken(SessionId),
    /// The streams were created so that no message can be overwritten.
    #[error(
        "stream {0} refuses to delete messages (deny_delete), which servers do not take back; annals copy the sessions to a new store, and erase there"
    )]
    Undeletable(String),
    /// Deletions get no answer, while other requests do.
    #[error(
        "the cluster does not answer to deletions ({0}); who erases must be allowed to publish to $JS.API.STREAM.MSG.DELETE.* and \
         $JS.API.STREAM.PURGE.*"
    )]
    NotPermitted(ApiError),
    /// The log could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The log refused.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The erasure could not be recorded.
    #[error(transparent)]
    Record(#[from] RecordErasureError),
    /// The cluster refused, or did not answer.
    #[error("the cluster: {0}")]
    Api(#[from] ApiError),
    /// A batch cannot be written without its texts.
    #[error("the texts could not be removed: {0}")]
    Rewrite(#[from] std::io::Error),
}

impl NatsEraseError {
    /// Whether a store or a user is not made for it: not only the cluster as it is now.
    pub const fn is_wrong_use(&self) -> bool {
        matches!(self, Self::Undeletable(_) | Self::NotPermitted(_))
    }
}

/// Result of finishing an erasure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NatsErased {
    /// The sessions, and what was removed.
    pub sessions: BTreeSet<SessionId>,
    /// What was removed from the streams.
    pub copies: ErasedCopies,
    /// The servers that have not confirmed yet; empty when the erasure is finished.
    pub unconfirmed: BTreeSet<String>,
}

/// The rights to run the sessions of an erasure that was recorded: no other process appends until it is finished.
#[derive(Debug, Default)]
pub struct ErasureLeases(BTreeMap<SessionId, NatsLease>);

/// How long replicas may take to catch up before the answer is that an erasure is pending.
const CATCHING_UP: Duration = Duration::from_secs(5);
/// Up to this many sessions the rights of all are held from the beginning; of more, one after another.
const LEASES: usize = 64;

/// How far a pending erasure is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingNatsErasure {
    /// The sessions.
    pub sessions: BTreeSet<SessionId>,
    /// Those of which texts are still to be removed: `annals erase` does it.
    pub unfinished: BTreeSet<SessionId>,
    /// The servers that have not confirmed yet.
    pub unconfirmed: BTreeSet<String>,
}

impl NatsLog {
    /// Records an erasure, as [`crate::erasure::record`] does for a folder. The texts are there until
    /// [`NatsLog::finish_erasures`] was called.
    ///
    /// # Errors
    /// When a session runs elsewhere, another erasure is pending, or the cluster refuses.
    pub async fn begin_erasure(
        &self,
        plan: &ErasurePlan,
        note: &ErasureNote,
        new_key: &(dyn Fn() -> SessionKey + Sync),
    ) -> Result<ErasureLeases, NatsEraseError> {
        self.store.check_deletable().await?;
        let record = ErasureRecord { sessions: plan.sessions().collect(), blobs: plan.blobs() };
        let mut leases = ErasureLeases::default();
        if record.sessions.len() <= LEASES {
            for session in &record.sessions {
                leases.0.insert(*session, self.store.lease(*session).await?);
            }
        }
        self.store.save_record(&record).await?;
        record_texts(self, plan, note, new_key).await?;
        Ok(leases)
    }

    /// Removes the texts of a pending erasure from every copy in the cluster; `None` when none is pending. `progress` hears how many
    /// sessions are done, of how many.
    ///
    /// # Errors
    /// See [`NatsEraseError`]; the same call may be made again later.
    pub async fn finish_erasures(
        &self,
        mut leases: ErasureLeases,
        progress: &(dyn Fn(usize, usize) + Send + Sync),
    ) -> Result<Option<NatsErased>, NatsEraseError> {
        let Some(record) = self.store.load_record().await? else { return Ok(None) };
        let mut erased = NatsErased { sessions: record.sessions.clone(), ..NatsErased::default() };
        for (at, session) in record.sessions.iter().enumerate() {
            progress(at, record.sessions.len());
            let _lease = match leases.0.remove(session) {
                Some(lease) => lease,
                None => self.store.lease(*session).await?,
            };
            self.store.remove_texts(*session, &mut erased.copies).await?;
        }
        progress(record.sessions.len(), record.sessions.len());
        self.store.remove_blobs(&record.blobs, &mut erased.copies).await?;
        self.store.note_erased().await?;
        self.store.renew_consensus_logs(&record).await?;
        let since = Instant::now();
        loop {
            erased.unconfirmed = self.store.unconfirmed(&record).await?;
            if erased.unconfirmed.is_empty() || since.elapsed() > CATCHING_UP {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        if erased.unconfirmed.is_empty() {
            self.store.remove_record().await?;
        }
        Ok(Some(erased))
    }

    /// The erasure that is pending, and how far it is; `None` when there is none. Changes nothing.
    pub async fn pending_erasure(&self) -> Result<Option<PendingNatsErasure>, NatsEraseError> {
        let Some(record) = self.store.load_record().await? else { return Ok(None) };
        let mut unfinished = BTreeSet::new();
        for session in &record.sessions {
            if !self.store.is_removed(*session).await? {
                unfinished.insert(*session);
            }
        }
        let unconfirmed = self.store.unconfirmed(&record).await?;
        Ok(Some(PendingNatsErasure { sessions: record.sessions, unfinished, unconfirmed }))
    }

    /// A number that changes with every finished erasure: what a machine kept of the store before it holds erased texts.
    pub async fn erasures(&self) -> Result<u64, ReadError> {
        self.store.erasures().await
    }
}

impl NatsStore {
    /// Takes the right to run a session, for as long as the result is held.
    async fn lease(&self, session: SessionId) -> Result<NatsLease, NatsEraseError> {
        let holder = format!("erasure by process {}", std::process::id());
        self.leases.take(session, &holder).await?.ok_or(NatsEraseError::Running(session))
    }
}
