//! Appending: decide where a Draft goes by the heads in memory, seal it, hand it to the committer.

use crate::append_rules::{self, Placement};
use crate::crash_point::{self, CrashPlace, ReachedPoint};
use crate::disk::journal::StoredBatch;
use crate::disk::state::{Reservation, StoreState};
use crate::disk::threads::commit_queue::CommitQueue;
use crate::disk::threads::committer::Flushed;
use crate::log::{AppendError, Appended, Committed, Draft, Position};
use annals_core::{Batch, BlobHash, Blobs, Digest, Sealed, Seq, SessionId, SessionKey};
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};

/// What the heads say about the place of a draft.
enum AppendSlot {
    /// Its place is its own until the reservation goes.
    Mine(Reservation, Option<Digest>, Option<SessionKey>),
    /// The batch there may be this very one.
    Behind(Seq),
}

/// The most batches of one caller that become durable together.
const CHAIN: usize = 256;

/// How many encoded bytes end a chain.
const CHAIN_BYTES: usize = 1024 * 1024;

/// How many batches are read at a time while the key of a session is looked for.
const KEY_PAGE: usize = 256;

/// The blobs that a batch names.
struct NamedBlobs {
    /// Which batch of the chain it is.
    at: usize,
    /// What must be there.
    needed: Vec<BlobHash>,
    /// What it brings along.
    brought: Vec<(BlobHash, String)>,
}

/// Sealed batches of one session, each behind the one before it.
#[derive(Default)]
struct PendingChain {
    /// The key of the session behind the last of them.
    key: Option<SessionKey>,
    batches: Vec<(Arc<Batch>, Vec<u8>)>,
    bytes: usize,
    /// What those name that name blobs.
    blobs: Vec<NamedBlobs>,
    /// Why it ends before the Drafts do.
    refused: Option<AppendError>,
}

impl PendingChain {
    /// Seals a Draft behind the batch with digest `prev`; `stored` are the blobs of the store.
    fn push(&mut self, draft: Draft, prev: Option<Digest>, stored: &dyn Blobs) {
        let sealed = append_rules::sealing_key(&draft, self.key).and_then(|key| {
            self.key = key;
            append_rules::seal(draft, prev, key.as_ref(), &Brought { chain: &self.blobs, stored })
        });
        match sealed {
            Ok(Sealed { batch, blobs, needed, encoded }) => {
                if !(blobs.is_empty() && needed.is_empty()) {
                    self.blobs.push(NamedBlobs { at: self.batches.len(), needed, brought: blobs });
                }
                self.bytes += encoded.len();
                self.batches.push((Arc::new(batch), encoded));
            }
            Err(error) => self.refused = Some(error),
        }
    }

    /// Whether a Draft goes behind its last batch.
    fn takes(&self, draft: &Draft) -> bool {
        self.refused.is_none()
            && self.batches.len() < CHAIN
            && self.bytes < CHAIN_BYTES
            && self.last().is_some_and(|last| last.session == draft.session && last.next() == draft.expected)
    }

    fn last(&self) -> Option<&Batch> {
        self.batches.last().map(|(batch, _)| &**batch)
    }
}

/// The blobs that earlier batches of a chain bring along, then those of the store.
struct Brought<'a> {
    chain: &'a [NamedBlobs],
    stored: &'a dyn Blobs,
}

impl Blobs for Brought<'_> {
    fn text(&self, hash: &BlobHash) -> Option<String> {
        let brought = self.chain.iter().flat_map(|named| &named.brought).find(|(brought, _)| brought == hash);
        brought.map(|(_, text)| text.clone()).or_else(|| self.stored.text(hash))
    }
}

impl StoreState {
    /// See [`crate::EventLog::append`].
    pub(super) async fn append(self: &Arc<Self>, draft: Draft, orders: CommitQueue) -> Result<Committed, AppendError> {
        let Appended { mut committed, refused } = self.append_all([draft], orders).await;
        match (committed.pop(), refused) {
            (Some(committed), _) => Ok(committed),
            (None, refused) => Err(refused.unwrap_or(AppendError::Unknown)),
        }
    }

    /// See [`crate::EventLog::append_all`].
    pub(super) async fn append_all(
        self: &Arc<Self>,
        drafts: impl IntoIterator<Item = Draft>,
        orders: CommitQueue,
    ) -> Appended {
        let mut appended = Appended::default();
        let mut drafts = drafts.into_iter().peekable();
        while let (Some(first), None) = (drafts.next(), &appended.refused) {
            match self.reserve_slot(&first).await {
                Err(error) => appended.refused = Some(error),
                Ok(AppendSlot::Behind(actual)) => match self.known(&first, actual) {
                    Ok(committed) => appended.committed.push(committed),
                    Err(error) => appended.refused = Some(error),
                },
                Ok(AppendSlot::Mine(reservation, prev, key)) => {
                    let mut chain = PendingChain { key, ..PendingChain::default() };
                    chain.push(first, prev, &*self.blobs);
                    while let Some(draft) = drafts.next_if(|draft| chain.takes(draft)) {
                        let prev = chain.last().map(|last| last.digest);
                        chain.push(draft, prev, &*self.blobs);
                    }
                    self.commit(chain, reservation, &orders, &mut appended).await;
                }
            }
        }
        appended
    }

    /// Makes a chain durable: its blobs, then its batches in one group.
    async fn commit(
        self: &Arc<Self>,
        mut chain: PendingChain,
        reservation: Reservation,
        orders: &CommitQueue,
        appended: &mut Appended,
    ) {
        if let Err(error) = self.keep_blobs_of(&mut chain).await {
            chain = PendingChain { refused: Some(error), ..PendingChain::default() };
        }
        if !chain.batches.is_empty() {
            let key = chain.key;
            let point = |place, batches: &[(Arc<Batch>, Vec<u8>)]| {
                ReachedPoint::of(place, batches.iter().map(|(batch, _)| &**batch))
            };
            crash_point::reached(|| point(CrashPlace::BeforeAppend, &chain.batches));
            match orders.commit(chain.batches, reservation).await {
                Ok(Flushed { first, batches }) => {
                    crash_point::reached(|| point(CrashPlace::AfterAppend, &batches));
                    if let Some((last, _)) = batches.last() {
                        self.keys().insert(last.session, key);
                    }
                    let positions = (first.0..).map(Position);
                    appended.committed.extend(
                        batches.into_iter().zip(positions).map(|((batch, _), position)| Committed {
                            batch,
                            position,
                            known: false,
                        }),
                    );
                }
                Err(error) => {
                    appended.refused = Some(error);
                    return;
                }
            }
        }
        appended.refused = chain.refused;
    }

    /// Makes the blobs of a chain durable; it ends before the first batch that names one which the store does not hold.
    async fn keep_blobs_of(self: &Arc<Self>, chain: &mut PendingChain) -> Result<(), AppendError> {
        let blobs = std::mem::take(&mut chain.blobs);
        if blobs.is_empty() {
            return Ok(());
        }
        let shared = self.clone();
        let missing = blocking(move || {
            for NamedBlobs { at, needed, brought } in &blobs {
                if let Some(blob) = shared.keep_blobs(brought, needed)? {
                    return Ok(Some((*at, blob)));
                }
            }
            Ok(None)
        });
        let missing = missing.await.map_err(|error| self.refused(error))?;
        if let Some((at, blob)) = missing {
            let ends = chain.batches.drain(at..).next();
            chain.refused =
                ends.map(|(batch, _)| AppendError::MissingBlob { session: batch.session, seq: batch.first, blob });
        }
        Ok(())
    }

    /// Waits until no other batch of this session is in progress, and decides.
    async fn reserve_slot(self: &Arc<Self>, draft: &Draft) -> Result<AppendSlot, AppendError> {
        loop {
            let busy = {
                let mut state = self.lock();
                match self.reserve(&mut state, draft.session) {
                    Err(busy) => busy,
                    Ok(reservation) => {
                        let own = state.sessions.own.get(&draft.session).copied();
                        drop(state);
                        return self.decide(
                            draft,
                            own.map(|own| own.head),
                            own.is_some_and(|own| own.lost),
                            reservation,
                        );
                    }
                }
            };
            busy.await;
        }
    }

    fn decide(
        &self,
        draft: &Draft,
        head: Option<crate::log::Head>,
        lost: bool,
        reservation: Reservation,
    ) -> Result<AppendSlot, AppendError> {
        let (prev, key) = match append_rules::place(draft, head)? {
            Placement::Behind => return Ok(AppendSlot::Behind(head.map_or(Seq::ZERO, |head| head.next))),
            Placement::Next { .. } if lost => {
                return Err(AppendError::Misplaced { session: draft.session, reason: append_rules::LOST_END });
            }
            Placement::Next { prev } => (Some(prev), self.key(draft.session)),
            Placement::Created => (None, None),
            Placement::Forked(fork) => {
                let last = Seq(fork.cut.0.saturating_sub(1));
                let holds = self.read(fork.parent, last, 1).unwrap_or_default().pop();
                let prev = append_rules::fork_prev(draft, fork, holds.as_ref().map(|slice| &*slice.batch))?;
                (Some(prev), None)
            }
        };
        Ok(AppendSlot::Mine(reservation, prev, key))
    }

    /// The key of a session of the log, once it was looked for; `None` for one whose key is not here.
    pub(super) fn key(&self, session: SessionId) -> Option<SessionKey> {
        if let Some(key) = self.keys().get(&session) {
            return *key;
        }
        let key = self.find_key(session);
        self.keys().insert(session, key);
        key
    }

    /// The key that a session ends with: that of its first batch, unless texts of it were erased. Then its first batch has none, and
    /// the log is read back to the last `texts.erased`.
    fn find_key(&self, session: SessionId) -> Option<SessionKey> {
        let first = self.own_from(session, Seq::ZERO, 1).unwrap_or_default().pop()?;
        if let Some(key) = first.batch.session_key() {
            return Some(key);
        }
        let mut before = self.own(session)?.head.next;
        loop {
            let page = self.own_before(session, before, KEY_PAGE).unwrap_or_default();
            before = page.last()?.batch.first;
            let brings =
                |stored: &&StoredBatch| stored.batch.events.first().is_some_and(|it| it.stored_key().is_some());
            if let Some(found) = page.iter().find(brings) {
                return found.batch.session_key();
            }
        }
    }

    fn keys(&self) -> MutexGuard<'_, HashMap<SessionId, Option<SessionKey>>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self, draft: &Draft, actual: Seq) -> Result<Committed, AppendError> {
        let found = self.own_from(draft.session, draft.expected, 1).unwrap_or_default().pop();
        if let Some(stored) = found.filter(|stored| stored.batch.first == draft.expected)
            && append_rules::is_duplicate(draft, &stored.batch, self.key(draft.session).as_ref(), &*self.blobs)?
        {
            return Ok(Committed { batch: stored.batch, position: Position(stored.position), known: true });
        }
        Err(append_rules::conflict(draft, actual))
    }

    /// Makes blobs durable. Gives a needed one that the store does not hold.
    fn keep_blobs(&self, brought: &[(BlobHash, String)], needed: &[BlobHash]) -> std::io::Result<Option<BlobHash>> {
        if let Some(missing) = needed.iter().find(|blob| !self.blobs.holds(blob)) {
            return Ok(Some(*missing));
        }
        if !brought.is_empty() {
            self.check()?;
        }
        for (hash, text) in brought {
            self.blobs.put(hash, text)?;
        }
        Ok(None)
    }
}

/// Runs blocking work on a thread for that purpose, if the executor has one.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> std::io::Result<T> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.map_err(std::io::Error::other)?,
        Err(_) => work(),
    }
}
