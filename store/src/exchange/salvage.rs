//! An export that does not verify, read as a log: an auditor must see a damaged session, not a refusal.
//!
//! Every batch that can be read is at the place that it names; `verify` reports what is wrong, and folds note an anomaly
//! where an event is impossible. Nothing can be appended.

use super::bounded_line::{read_line, too_large};
use crate::lineage::{Birth, Lineage};
use crate::log::session_pages::behind;
use crate::log::{
    AppendError, Boxed, Committed, Draft, EventLog, Followed, Following, Head, PageToken, Promises, ReadError, Scope,
    SessionHead, SessionListPage, Slice, StorePlace,
};
use annals_core::{Batch, BlobHash, Blobs, Digest, Seq, SessionId, SessionKey};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::sync::Arc;

/// The batches and blobs of a damaged export.
#[derive(Clone, Debug, Default)]
pub struct DamagedLog {
    content: Arc<ExportContent>,
}

#[derive(Debug, Default)]
struct ExportContent {
    /// Each session's own batches, by first Seq.
    sessions: BTreeMap<SessionId, BTreeMap<Seq, Arc<Batch>>>,
    /// Texts by the hash of their content, not by the name in the file.
    blobs: BTreeMap<BlobHash, String>,
    /// The sessions that the file exports, as far as its headers can be read.
    subjects: Vec<SessionId>,
    /// The keys that its headers give.
    keys: BTreeMap<SessionId, SessionKey>,
}

impl Blobs for ExportContent {
    fn text(&self, hash: &BlobHash) -> Option<String> {
        self.blobs.get(hash).cloned()
    }
}

impl DamagedLog {
    /// Reads every line that can be read.
    pub fn load(mut source: impl BufRead) -> io::Result<Self> {
        let mut content = ExportContent::default();
        let mut line = Vec::new();
        while read_line(&mut source, &mut line)? > 0 {
            if too_large(&line).is_none()
                && let Ok(value) = serde_json::from_slice::<Value>(&line)
            {
                content.take(value);
            }
            line.clear();
        }
        Ok(Self { content: Arc::new(content) })
    }

    /// The sessions that the file exports.
    pub fn subjects(&self) -> &[SessionId] {
        &self.content.subjects
    }
}

impl ExportContent {
    fn take(&mut self, value: Value) {
        if value.get("annals").is_some() {
            let subject: Option<SessionId> =
                value.get("session").and_then(Value::as_str).and_then(|id| id.parse().ok());
            self.subjects.extend(subject);
            let keys = value.get("keys").map(BTreeMap::<SessionId, SessionKey>::deserialize);
            self.keys.extend(keys.and_then(Result::ok).unwrap_or_default());
        } else if let Some(text) = value.get("text").and_then(Value::as_str) {
            self.blobs.insert(Digest::of(text.as_bytes()), text.to_owned());
        } else if let Ok(mut batch) = Batch::from_json(value) {
            let begins = batch.events.first_mut().filter(|event| event.stored_key().is_some());
            if let (Some(event), Some(key)) = (begins, self.keys.get(&batch.session))
                && event.stored_key().is_some_and(|stored| stored.hash == key.hash())
            {
                event.set_key(*key);
            }
            let own = self.sessions.entry(batch.session).or_default();
            // Of two at one place the first counts; `verify` reports the other.
            own.entry(batch.first).or_insert_with(|| Arc::new(batch));
        }
    }

    fn own(&self, session: SessionId) -> impl DoubleEndedIterator<Item = &Arc<Batch>> {
        self.sessions.get(&session).into_iter().flat_map(BTreeMap::values)
    }

    fn head(&self, session: SessionId) -> Option<Head> {
        let last = self.own(session).next_back()?;
        Some(Head { next: last.next(), digest: last.digest, at: last.at })
    }

    fn lineage(&self, session: SessionId) -> Result<Lineage, ReadError> {
        Lineage::of(session, |session| Ok(self.own(session).next().map(|first| Birth::of(first))))
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Result<Vec<Slice>, ReadError> {
        self.lineage(session)?.read(from, limit, |session, from, limit| {
            // Batches of a damaged export may overlap.
            Ok(self.own(session).filter(|batch| batch.next() > from).take(limit).cloned().collect())
        })
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Result<Vec<Slice>, ReadError> {
        self.lineage(session)?.read_back(before, limit, |session, before, limit| {
            let Some(own) = self.sessions.get(&session) else { return Ok(Vec::new()) };
            Ok(own.range(..before).rev().map(|(_, batch)| batch).take(limit).cloned().collect())
        })
    }

    fn every(&self) -> Vec<Followed> {
        let batches = self.sessions.values().flat_map(BTreeMap::values).zip(0..);
        batches
            .map(|(batch, position)| Followed::Batch {
                slice: Slice { batch: batch.clone(), from: batch.first, until: batch.next() },
                place: Some(StorePlace::dense(position)),
            })
            .collect()
    }
}

impl EventLog for DamagedLog {
    fn append(&self, _: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        Box::pin(async { Err(AppendError::Closed) })
    }

    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>> {
        Box::pin(async move { Ok(self.content.head(session)) })
    }

    fn promises(&self) -> Promises {
        Promises::READ_ONLY
    }

    fn sessions_page(&self, from: Option<PageToken>, limit: usize) -> Boxed<'_, Result<SessionListPage, ReadError>> {
        Box::pin(async move {
            let head =
                |session: &SessionId| Some(SessionHead { session: *session, head: self.content.head(*session)? });
            let sessions = self.content.sessions.range(behind(from)).map(|(session, _)| session);
            Ok(SessionListPage::of(sessions.filter_map(head).take(limit.saturating_add(1)).collect(), limit))
        })
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move { self.content.read(session, from, limit) })
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move { self.content.read_back(session, before, limit) })
    }

    fn follow(&self, scope: Scope) -> Following {
        let found = match scope {
            Scope::All { from } => from.dense().map(|from| {
                let skipped = usize::try_from(from.0).unwrap_or(usize::MAX);
                self.content.every().into_iter().skip(skipped).collect::<Vec<_>>()
            }),
            Scope::Session { session, from } => self
                .content
                .read(session, from, usize::MAX)
                .map(|slices| slices.into_iter().map(|slice| Followed::Batch { slice, place: None }).collect()),
        };
        match found {
            // Nothing new ever comes.
            Ok(found) => {
                let all = found.into_iter().chain([Followed::Synced]).map(Ok);
                Box::pin(stream::iter(all).chain(stream::pending()))
            }
            Err(error) => Box::pin(stream::iter([Err(error)])),
        }
    }

    fn put_blob(&self, _: String) -> Boxed<'_, Result<BlobHash, AppendError>> {
        Box::pin(async { Err(AppendError::Closed) })
    }

    fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        self.content.clone()
    }
}
