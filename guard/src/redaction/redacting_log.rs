//! Redaction of what another agent recorded: everything in it, since its secrets went everywhere long ago.

use super::replacement::Redaction;
use super::{Redacted, Redactor};
use annals_core::BlobHash;
use annals_store::Boxed;
use annals_store::{AppendError, Appended, Committed, Draft, EventLog, LogLayer};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A log that imports append to through a redactor: every text of every fact loses its secrets, those that a model wrote
/// included. No fact is added, so that each event keeps its place; what was replaced is counted here.
///
/// The same source and the same redactor give the same facts again. With other secrets to find they are others, and the
/// session reads as diverged.
pub struct RedactingLog {
    log: Arc<dyn EventLog>,
    redactor: Arc<Redactor>,
    counts: Mutex<BTreeMap<String, u64>>,
}

impl RedactingLog {
    /// Redacts what is appended to a log.
    pub fn over(log: Arc<dyn EventLog>, redactor: Arc<Redactor>) -> Self {
        Self { log, redactor, counts: Mutex::default() }
    }

    /// A text about what is imported, such as a title, without secrets. It is not counted: it is shown, not appended.
    pub fn shown(&self, text: &str) -> String {
        self.redactor.redact(text).text.into_owned()
    }

    /// How often each kind of secret was replaced.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn pass(&self, draft: &mut Draft) {
        let mut redaction = Redaction::new(Some(&self.redactor));
        draft.events.iter_mut().for_each(|event| redaction.imported(event));
        self.count(redaction.counts());
    }

    fn count(&self, counts: &BTreeMap<String, u64>) {
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, count) in counts {
            *all.entry(kind.clone()).or_default() += count;
        }
    }
}

impl LogLayer for RedactingLog {
    fn inner(&self) -> &dyn EventLog {
        &*self.log
    }

    fn append(&self, mut draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        self.pass(&mut draft);
        self.log.append(draft)
    }

    fn append_all(&self, mut drafts: Vec<Draft>) -> Boxed<'_, Appended> {
        drafts.iter_mut().for_each(|draft| self.pass(draft));
        self.log.append_all(drafts)
    }

    fn put_blob(&self, text: String) -> Boxed<'_, Result<BlobHash, AppendError>> {
        let Redacted { text, counts } = self.redactor.redact(&text);
        self.count(&counts);
        self.log.put_blob(text.into_owned())
    }
}
