//! Counts the secrets in what is imported without replacing them.

use super::Redactor;
use super::replacement::Redaction;
use annals_core::{Seq, SessionId};
use annals_store::Boxed;
use annals_store::{AppendError, Appended, Committed, Draft, EventLog, LogLayer};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// A log that counts the secrets in newly appended batches and appends them unchanged.
pub struct CountingLog {
    log: Arc<dyn EventLog>,
    redactor: Arc<Redactor>,
    counts: Mutex<BTreeMap<String, u64>>,
    /// Where each session ended when a batch of it first arrived: batches below are known, not new.
    ends: Mutex<HashMap<SessionId, Seq>>,
}

impl CountingLog {
    /// Counts what is appended to `log`.
    pub fn over(log: Arc<dyn EventLog>, redactor: Arc<Redactor>) -> Self {
        Self { log, redactor, counts: Mutex::default(), ends: Mutex::default() }
    }

    /// How often each kind of secret occurs in what was appended.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the log did not contain the batch when its session first arrived. A session that cannot be read counts as new;
    /// appending to it fails.
    async fn is_new(&self, draft: &Draft) -> bool {
        let ends = || self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let known = ends().get(&draft.session).copied();
        let end = match known {
            Some(end) => end,
            None => {
                let end = self.log.head(draft.session).await.ok().flatten().map_or(Seq::ZERO, |head| head.next);
                *ends().entry(draft.session).or_insert(end)
            }
        };
        draft.expected >= end
    }

    /// Redacts a copy that is appended nowhere.
    fn count(&self, mut draft: Draft) {
        let mut redaction = Redaction::new(Some(&self.redactor));
        draft.events.iter_mut().for_each(|event| redaction.imported(event));
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, count) in redaction.counts() {
            *all.entry(kind.clone()).or_default() += count;
        }
    }
}

impl LogLayer for CountingLog {
    fn inner(&self) -> &dyn EventLog {
        &*self.log
    }

    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        Box::pin(async move {
            let new = if self.is_new(&draft).await { Some(draft.clone()) } else { None };
            let committed = self.log.append(draft).await?;
            if let Some(draft) = new {
                self.count(draft);
            }
            Ok(committed)
        })
    }

    fn append_all(&self, drafts: Vec<Draft>) -> Boxed<'_, Appended> {
        Box::pin(async move {
            let mut new = Vec::new();
            for (at, draft) in drafts.iter().enumerate() {
                if self.is_new(draft).await {
                    new.push((at, draft.clone()));
                }
            }
            let appended = self.log.append_all(drafts).await;
            new.retain(|(at, _)| *at < appended.committed.len());
            new.into_iter().for_each(|(_, draft)| self.count(draft));
            appended
        })
    }
}
