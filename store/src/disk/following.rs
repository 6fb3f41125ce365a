//! Following a store on disk: pages of what is kept in memory, or of the files for who lags behind.

use super::journal::Stored;
use super::reading::decode;
use super::shared::Shared;
use crate::following::{Page, Pages};
use crate::log::{Boxed, Followed, Position, ReadError, Slice};
use annals_core::{Seq, SessionId};
use std::io;
use std::sync::{Arc, PoisonError};

/// How many Batches a follower takes at a time.
const PAGE: usize = 256;

/// The pages of one Session.
#[derive(Debug)]
pub struct SessionPages {
    /// The store.
    pub shared: Arc<Shared>,
    /// Whose.
    pub session: SessionId,
    /// The first Seq wanted.
    pub from: Seq,
    /// Where the Session ended when following began.
    pub began_at: Seq,
}

impl Pages for SessionPages {
    fn next(&mut self) -> Boxed<'_, Result<Vec<Page>, ReadError>> {
        Box::pin(async move {
            let slices = self.shared.read(self.session, self.from, PAGE)?;
            if let Some(last) = slices.last() {
                self.from = last.until;
            }
            let page = |slice: Slice| Page {
                new: slice.batch.first >= self.began_at,
                item: Followed::Batch { slice, position: None },
            };
            Ok(slices.into_iter().map(page).collect())
        })
    }
}

/// The pages of every Session.
#[derive(Debug)]
pub struct AllPages {
    /// The store.
    pub shared: Arc<Shared>,
    /// The first position wanted.
    pub from: Position,
    /// How long the store was when following began.
    pub began_at: Position,
}

impl Pages for AllPages {
    fn next(&mut self) -> Boxed<'_, Result<Vec<Page>, ReadError>> {
        Box::pin(async move {
            // A place that holds no Batch (see `frame::Void`) is passed over.
            loop {
                let from = self.from.0;
                let (found, next) = self.shared.positions(from)?;
                if found.is_empty() && next == from {
                    return Ok(Vec::new());
                }
                self.from = Position(next);
                if found.is_empty() {
                    continue;
                }
                let page = |Stored { batch, position }: Stored| Page {
                    new: position >= self.began_at.0,
                    item: Followed::Batch {
                        slice: Slice { from: batch.first, until: batch.next(), batch },
                        position: Some(Position(position)),
                    },
                };
                return Ok(found.into_iter().map(page).collect());
            }
        })
    }
}

impl Shared {
    /// The next Batches from a position on, and the position behind them.
    fn positions(&self, from: u64) -> Result<(Vec<Stored>, u64), ReadError> {
        if self.is_closed() {
            return Err(ReadError::Closed);
        }
        let end = self.lock().sessions.next;
        if from >= end {
            return Ok((Vec::new(), from));
        }
        let kept = self.recent.read().unwrap_or_else(PoisonError::into_inner).from(from, PAGE);
        if let Some(found) = kept.filter(|found| !found.is_empty()) {
            let next = found.last().map_or(from, |last| last.position + 1);
            return Ok((found, next));
        }
        let io = |error: io::Error| ReadError::Io { source: Arc::new(error) };
        let Some(loaded) = self.journal.load_at(from).map_err(io)? else {
            return Err(io(gone(from)));
        };
        let (mut found, mut next) = (Vec::new(), from);
        while next < end && found.len() < PAGE {
            match loaded.frame(next) {
                Some(frame) => found.extend(decode(frame.bytes)),
                // The end of this segment, or a damaged place: then sled may have what stood there.
                None if next > from => break,
                None => found.extend(Some(self.position_in_sled(next).ok_or_else(|| io(gone(next)))?)),
            }
            next += 1;
        }
        Ok((found, next))
    }

    fn position_in_sled(&self, position: u64) -> Option<Stored> {
        let mut found = None;
        let broken = self.sled()?.every(|_, value| {
            if found.is_none() {
                found = decode(value).filter(|stored| stored.position == position);
            }
        });
        if let Some(error) = broken {
            tracing::warn!(%error, "sled could not be read to its end");
        }
        found
    }
}

fn gone(position: u64) -> io::Error {
    let told = format!("position {position} is not in the journal; open the store again to have it mended");
    io::Error::new(io::ErrorKind::InvalidData, told)
}
