//! Following a store on disk: pages from memory, or from the files for followers that lag behind.

use super::decode;
use crate::disk::appending;
use crate::disk::journal::StoredBatch;
use crate::disk::journal::block::SegmentView;
use crate::disk::maintenance::report::Remark;
use crate::disk::state::StoreState;
use crate::following::{FollowSource, FollowedBatch};
use crate::log::{Boxed, Followed, Position, ReadError, Slice, StorePlace};
use annals_core::{Seq, SessionId};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

/// How many batches a follower takes at a time.
const PAGE: usize = 1024;

/// The pages of one session.
#[derive(Debug)]
pub struct SessionPages {
    /// The store.
    pub shared: Arc<StoreState>,
    /// The session.
    pub session: SessionId,
    /// The first Seq wanted.
    pub from: Seq,
    /// Where the session ended when following began.
    pub began_at: Seq,
}

impl FollowSource for SessionPages {
    fn next(&mut self) -> Boxed<'_, Result<Vec<FollowedBatch>, ReadError>> {
        Box::pin(async move {
            let (shared, session, from) = (self.shared.clone(), self.session, self.from);
            let slices = match shared.is_behind(session, from) {
                true => apart(move || shared.read(session, from, PAGE)).await?,
                false => shared.read(session, from, PAGE)?,
            };
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

/// Batches that are damaged in the journal and found elsewhere, by position.
pub type Spare = BTreeMap<u64, StoredBatch>;

/// The pages of every session.
#[derive(Debug)]
pub struct AllPages {
    /// The store.
    pub shared: Arc<StoreState>,
    /// The first position wanted.
    pub from: Result<Position, ReadError>,
    /// What was found elsewhere of a damaged place that is ahead, by position.
    pub spare: Spare,
    /// How long the store was when following began.
    pub began_at: Position,
}

impl FollowSource for AllPages {
    fn next(&mut self) -> Boxed<'_, Result<Vec<FollowedBatch>, ReadError>> {
        Box::pin(async move {
            // A place that holds no batch (see `frame::Gap`) is passed over.
            loop {
                let from = self.from.clone()?.0;
                let (found, next) = match self.shared.newest(from)? {
                    Some(found) => found,
                    None => {
                        let (shared, mut spare) = (self.shared.clone(), std::mem::take(&mut self.spare));
                        let read = move || shared.positions(from, &mut spare).map(|found| (found, spare));
                        let (found, spare) = apart(read).await?;
                        self.spare = spare;
                        found
                    }
                };
                if found.is_empty() && next == from {
                    return Ok(Vec::new());
                }
                self.from = Ok(Position(next));
                if found.is_empty() {
                    continue;
                }
                let page = |StoredBatch { batch, position }: StoredBatch| FollowedBatch {
                    new: position >= self.began_at.0,
                    item: Followed::Batch {
                        slice: Slice { from: batch.first, until: batch.next(), batch },
                        place: Some(StorePlace::dense(position)),
                    },
                };
                return Ok(found.into_iter().map(page).collect());
            }
        })
    }
}

/// Reads on a thread for blocking work, if the executor has one, since decoding and the disk take time.
pub async fn apart<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, ReadError> + Send + 'static,
) -> Result<T, ReadError> {
    let read = appending::blocking(move || Ok(read())).await;
    read.unwrap_or_else(|error| Err(ReadError::Io { source: Arc::new(error) }))
}

impl StoreState {
    /// Whether there is so much of a session behind `from` that reading it takes a while.
    pub(in crate::disk) fn is_behind(&self, session: SessionId, from: Seq) -> bool {
        self.own(session).is_some_and(|own| from.0.saturating_add(super::FEW as u64) < own.head.next.0)
    }

    /// The next batches from a position on, and the position behind them, if they need not be read.
    fn newest(&self, from: u64) -> Result<Option<(Vec<StoredBatch>, u64)>, ReadError> {
        if self.is_closed() {
            return Err(ReadError::Closed);
        }
        if from >= self.lock().sessions.next {
            return Ok(Some((Vec::new(), from)));
        }
        let kept = self.recent.read().unwrap_or_else(PoisonError::into_inner).from(from, PAGE);
        Ok(kept.filter(|found| !found.is_empty()).map(|found| {
            let next = found.last().map_or(from, |last| last.position + 1);
            (found, next)
        }))
    }

    /// The same out of the journal's blocks, and out of `spare` where they are damaged.
    pub(in crate::disk) fn positions(
        &self,
        from: u64,
        spare: &mut Spare,
    ) -> Result<(Vec<StoredBatch>, u64), ReadError> {
        let io = |error: io::Error| ReadError::Io { source: Arc::new(error) };
        let end = self.lock().sessions.next;
        let Some(view) = self.journal.at(from).map_err(io)? else { return Err(io(gone(from))) };
        let (mut found, mut next) = (Vec::with_capacity(PAGE), from);
        while next < end && found.len() < PAGE {
            if let Some(stored) = spare.remove(&next) {
                self.remark(Remark::Hurt { session: stored.batch.session, seq: stored.batch.first });
                found.push(stored);
                next += 1;
                continue;
            }
            let advanced = match view.index.block_of(next) {
                Some(number) => {
                    self.read_blocks_ahead(&view, number);
                    let block = self.journal.block(&view, number).map_err(io)?;
                    let before = next;
                    while let (true, Some((stored, until))) = (next < end && found.len() < PAGE, block.at(next)) {
                        found.extend(stored);
                        next = until.min(end);
                    }
                    next > before
                }
                None => false,
            };
            if !advanced {
                // The end of this segment, or a damaged place: then sled may have what was there.
                if next > from {
                    break;
                }
                *spare = self.elsewhere(&self.missing(&view, next..end).map_err(io)?);
                if !spare.contains_key(&next) {
                    return Err(io(gone(next)));
                }
            }
        }
        Ok((found, next))
    }

    /// The positions that are damaged in the block of the first, or behind the last block of its segment: no more than a page.
    fn missing(&self, view: &SegmentView, positions: Range<u64>) -> io::Result<BTreeSet<u64>> {
        let Range { start, end } = positions;
        Ok(match view.index.block_of(start) {
            Some(number) => {
                let behind = view.index.blocks.get(number + 1).map_or(view.index.end, |next| next.first);
                let block = self.journal.block(view, number)?;
                let (mut at, mut missing) = (start, BTreeSet::new());
                while at < end.min(behind) && missing.len() < PAGE {
                    at = block.chunk_end(at).unwrap_or_else(|| {
                        missing.insert(at);
                        at + 1
                    });
                }
                missing
            }
            None => (start..end.min(self.journal.end_of(start))).take(PAGE).collect(),
        })
    }

    /// The batches of some positions from elsewhere: from memory, if sled still lacks them, or from sled.
    fn elsewhere(&self, positions: &BTreeSet<u64>) -> Spare {
        let mut spare = self.recent.read().unwrap_or_else(PoisonError::into_inner).unwritten_at(positions);
        if spare.len() == positions.len() {
            return spare;
        }
        self.open_copy();
        let Some(sled) = self.sled() else { return spare };
        let ranges: Vec<Range<u64>> = positions.iter().map(|position| *position..position + 1).collect();
        let (found, broken) = sled.at_positions(&ranges);
        if let Some(error) = broken {
            tracing::warn!(%error, "sled could not be read to its end");
        }
        spare.extend(found.into_iter().filter_map(|(position, frame)| Some((position, decode(&frame)?))));
        spare
    }
}

fn gone(position: u64) -> io::Error {
    let message = format!("position {position} is not in the journal; to repair it: annals doctor --repair");
    io::Error::new(io::ErrorKind::InvalidData, message)
}
