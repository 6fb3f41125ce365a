//! A stretch of a log, read in portions that end where it does.

use crate::{EventLog, ReadError, Slice};
use annals_core::{Record, Seq, SessionId};

/// Batches read at a time at most.
const MOST: u64 = 512;
/// How many records a Batch is thought to have before any is read.
const USUAL: u64 = 8;

/// The Batches of a Session that hold something of `[from, until)`, oldest first. Reads as many at a time as will do if
/// they go on as they did, so that little is read behind the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    session: SessionId,
    from: Seq,
    until: Seq,
    next: Seq,
    batches: u64,
}

impl Reading {
    /// A stretch that nothing is read of yet.
    pub fn new(session: SessionId, from: Seq, until: Seq) -> Self {
        Self { session, from, until, next: from, batches: 0 }
    }

    /// The next portion; `None` at the end of the stretch, or of the log. The last Batch may reach behind the stretch: see
    /// [`Reading::records`].
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn portion(&mut self, log: &dyn EventLog) -> Result<Option<Vec<Slice>>, ReadError> {
        if self.next >= self.until {
            return Ok(None);
        }
        let (left, done) = (self.until.0 - self.next.0, self.next.0 - self.from.0);
        let wanted = match self.batches {
            0 => left.div_ceil(USUAL),
            batches => left.saturating_mul(batches).div_ceil(done.max(1)),
        };
        let limit = usize::try_from(wanted.clamp(1, MOST)).unwrap_or(1);
        let slices = log.read(self.session, self.next, limit).await?;
        let Some(end) = slices.last().map(|slice| slice.until) else { return Ok(None) };
        self.batches += slices.len() as u64;
        self.next = end.max(self.next.plus(1));
        Ok(Some(slices))
    }

    /// The records of a portion's Batch that are in the stretch.
    pub fn records<'a>(&self, slice: &'a Slice) -> impl Iterator<Item = Record<'a>> {
        let (from, until) = (self.from, self.until);
        slice.records().filter(move |record| record.seq >= from && record.seq < until)
    }
}
