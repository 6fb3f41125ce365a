//! A log in memory: for scripted worlds, tests, and as the plainest statement of what a log does.

use crate::append_rules::{self, Placement};
use crate::following::{FollowSource, FollowedBatch, following};
use crate::lineage::{Birth, Lineage};
use crate::log::session_pages::behind;
use crate::log::{
    AppendError, Boxed, Committed, Draft, EventLog, Followed, Following, Head, PageToken, Position, Promises,
    ReadError, Scope, SessionHead, SessionListPage, Slice, StorePlace,
};
use annals_core::{Batch, BlobHash, Blobs, Digest, Seq, SessionId, SessionKey};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How many batches a follower takes at a time.
const PAGE: usize = 256;

/// An [`EventLog`] in memory. A clone is the same log: keep one across a scripted restart.
#[derive(Clone, Debug)]
pub struct MemoryLog {
    store: Arc<Store>,
}

#[derive(Debug)]
struct Store {
    state: Mutex<MemoryState>,
    length: watch::Sender<Position>,
}

#[derive(Debug, Default)]
struct MemoryState {
    /// Each session's own batches, in order. Never empty.
    sessions: BTreeMap<SessionId, Vec<MemoryBatch>>,
    /// Every batch, by position.
    order: Vec<Arc<Batch>>,
    blobs: MemoryBlobs,
}

#[derive(Debug, Default)]
struct MemoryBlobs(BTreeMap<BlobHash, Arc<str>>);

impl Blobs for MemoryBlobs {
    fn text(&self, hash: &BlobHash) -> Option<String> {
        self.0.get(hash).map(|text| text.to_string())
    }
}

#[derive(Clone, Debug)]
struct MemoryBatch {
    batch: Arc<Batch>,
    position: Position,
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryLog {
    /// An empty log.
    pub fn new() -> Self {
        let (length, _) = watch::channel(Position(0));
        Self { store: Arc::new(Store { state: Mutex::default(), length }) }
    }
}

impl Store {
    fn lock(&self) -> MutexGuard<'_, MemoryState> {
        // Every change below is made whole in one step, so a panic elsewhere leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, draft: Draft) -> Result<Committed, AppendError> {
        let mut state = self.lock();
        let committed = state.append(draft)?;
        self.length.send_replace(Position(state.order.len() as u64));
        Ok(committed)
    }
}

impl Blobs for Store {
    fn text(&self, hash: &BlobHash) -> Option<String> {
        self.lock().blobs.text(hash)
    }
}

impl MemoryState {
    fn own(&self, session: SessionId) -> &[MemoryBatch] {
        self.sessions.get(&session).map_or(&[], Vec::as_slice)
    }

    fn head(&self, session: SessionId) -> Option<Head> {
        self.own(session).last().map(|MemoryBatch { batch, .. }| head_of(batch))
    }

    fn lineage(&self, session: SessionId) -> Result<Lineage, ReadError> {
        Lineage::of(session, |session| Ok(self.own(session).first().map(|first| Birth::of(&first.batch))))
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Result<Vec<Slice>, ReadError> {
        self.lineage(session)?.read(from, limit, |session, from, limit| {
            let own = self.own(session);
            let start = own.partition_point(|stored| stored.batch.next() <= from);
            Ok(own.iter().skip(start).take(limit).map(|stored| stored.batch.clone()).collect())
        })
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Result<Vec<Slice>, ReadError> {
        self.lineage(session)?.read_back(before, limit, |session, before, limit| {
            let own = self.own(session);
            let end = own.partition_point(|stored| stored.batch.first < before);
            Ok(own.iter().take(end).rev().take(limit).map(|stored| stored.batch.clone()).collect())
        })
    }

    fn append(&mut self, draft: Draft) -> Result<Committed, AppendError> {
        let (session, seq) = (draft.session, draft.expected);
        let head = self.head(session);
        let (prev, key) = match append_rules::place(&draft, head)? {
            Placement::Next { prev } => (Some(prev), append_rules::sealing_key(&draft, self.key(session))?),
            Placement::Created => (None, append_rules::sealing_key(&draft, None)?),
            Placement::Forked(fork) => {
                let last = Seq(fork.cut.0.saturating_sub(1));
                let holds = self.read(fork.parent, last, 1).unwrap_or_default().pop();
                let prev = append_rules::fork_prev(&draft, fork, holds.as_ref().map(|slice| &*slice.batch))?;
                (Some(prev), append_rules::sealing_key(&draft, None)?)
            }
            Placement::Behind => return self.known(&draft, head),
        };
        let sealed = append_rules::seal(draft, prev, key.as_ref(), &self.blobs)?;
        if let Some(blob) = sealed.needed.iter().find(|blob| !self.blobs.0.contains_key(*blob)) {
            return Err(AppendError::MissingBlob { session, seq, blob: *blob });
        }
        self.blobs.0.extend(sealed.blobs.into_iter().map(|(hash, text)| (hash, text.into())));
        let (batch, position) = (Arc::new(sealed.batch), Position(self.order.len() as u64));
        self.order.push(batch.clone());
        self.sessions.entry(session).or_default().push(MemoryBatch { batch: batch.clone(), position });
        Ok(Committed { batch, position, known: false })
    }

    fn key(&self, session: SessionId) -> Option<SessionKey> {
        append_rules::last_key(self.own(session).iter().rev().map(|stored| &*stored.batch))
    }

    fn known(&self, draft: &Draft, head: Option<Head>) -> Result<Committed, AppendError> {
        let own = self.own(draft.session);
        let found = own.binary_search_by_key(&draft.expected, |stored| stored.batch.first).ok();
        if let Some(MemoryBatch { batch, position }) = found.and_then(|at| own.get(at))
            && append_rules::is_duplicate(draft, batch, self.key(draft.session).as_ref(), &self.blobs)?
        {
            return Ok(Committed { batch: batch.clone(), position: *position, known: true });
        }
        Err(append_rules::conflict(draft, head.map_or(Seq::ZERO, |head| head.next)))
    }
}

fn head_of(batch: &Batch) -> Head {
    Head { next: batch.next(), digest: batch.digest, at: batch.at }
}

impl EventLog for MemoryLog {
    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        Box::pin(async move { self.store.append(draft) })
    }

    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>> {
        Box::pin(async move { Ok(self.store.lock().head(session)) })
    }

    fn promises(&self) -> Promises {
        Promises::IN_MEMORY
    }

    fn sessions_page(&self, from: Option<PageToken>, limit: usize) -> Boxed<'_, Result<SessionListPage, ReadError>> {
        Box::pin(async move {
            let state = self.store.lock();
            let heads = state.sessions.range(behind(from)).filter_map(|(session, own)| {
                own.last().map(|last| SessionHead { session: *session, head: head_of(&last.batch) })
            });
            Ok(SessionListPage::of(heads.take(limit.saturating_add(1)).collect(), limit))
        })
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move { self.store.lock().read(session, from, limit) })
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move { self.store.lock().read_back(session, before, limit) })
    }

    fn follow(&self, scope: Scope) -> Following {
        let (store, length) = (self.store.clone(), self.store.length.subscribe());
        match scope {
            Scope::Session { session, from } => {
                let began_at = store.lock().head(session).map_or(Seq::ZERO, |head| head.next);
                following(MemorySessionPages { store, session, from, began_at }, length)
            }
            Scope::All { from } => {
                let (began_at, from) = (*length.borrow(), from.dense());
                following(AllMemoryPages { store, from, began_at }, length)
            }
        }
    }

    fn put_blob(&self, text: String) -> Boxed<'_, Result<BlobHash, AppendError>> {
        Box::pin(async move {
            let hash = Digest::of(text.as_bytes());
            self.store.lock().blobs.0.entry(hash).or_insert_with(|| text.into());
            Ok(hash)
        })
    }

    fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        self.store.clone()
    }
}

struct MemorySessionPages {
    store: Arc<Store>,
    session: SessionId,
    from: Seq,
    began_at: Seq,
}

impl FollowSource for MemorySessionPages {
    fn next(&mut self) -> Boxed<'_, Result<Vec<FollowedBatch>, ReadError>> {
        Box::pin(async move {
            let slices = self.store.lock().read(self.session, self.from, PAGE)?;
            if let Some(last) = slices.last() {
                self.from = last.until;
            }
            let page = |slice: Slice| FollowedBatch {
                new: slice.batch.first >= self.began_at,
                item: Followed::Batch { slice, place: None },
            };
            Ok(slices.into_iter().map(page).collect())
        })
    }
}

struct AllMemoryPages {
    store: Arc<Store>,
    from: Result<Position, ReadError>,
    began_at: Position,
}

impl FollowSource for AllMemoryPages {
    fn next(&mut self) -> Boxed<'_, Result<Vec<FollowedBatch>, ReadError>> {
        Box::pin(async move {
            let from = self.from.clone()?;
            let state = self.store.lock();
            let start = usize::try_from(from.0).unwrap_or(usize::MAX);
            let found = state.order.iter().skip(start).take(PAGE).zip(from.0..);
            let page = |(batch, position): (&Arc<Batch>, u64)| FollowedBatch {
                new: position >= self.began_at.0,
                item: Followed::Batch {
                    slice: Slice { batch: batch.clone(), from: batch.first, until: batch.next() },
                    place: Some(StorePlace::dense(position)),
                },
            };
            let pages: Vec<FollowedBatch> = found.map(page).collect();
            self.from = Ok(Position(from.0 + pages.len() as u64));
            Ok(pages)
        })
    }
}
