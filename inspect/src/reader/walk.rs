//! Walking through the records of a Session, page by page.

use annals_core::{Seq, SessionId};
use annals_store::{EventLog, ReadError, Slice};
use std::collections::VecDeque;
use std::sync::Arc;

/// How many Batches are read at a time.
const PAGE: usize = 256;

/// The Batches of a Session in `[from, until)`, in order.
pub struct Walk {
    log: Arc<dyn EventLog>,
    session: SessionId,
    from: Seq,
    until: Seq,
    ready: VecDeque<Slice>,
}

impl Walk {
    /// From `from` until before `until`.
    pub fn new(log: Arc<dyn EventLog>, session: SessionId, from: Seq, until: Seq) -> Self {
        Self { log, session, from, until, ready: VecDeque::new() }
    }

    /// The Seq that comes next.
    pub fn place(&self) -> Seq {
        self.ready.front().map_or(self.from, |slice| slice.from)
    }

    /// The next Batch, or the part of it that is in view; `None` at the end.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn next(&mut self) -> Result<Option<Slice>, ReadError> {
        if self.ready.is_empty() && self.from < self.until {
            self.ready = self.log.read(self.session, self.from, PAGE).await?.into();
            self.from = self.ready.back().map_or(self.until, |last| last.until);
        }
        let next = self.ready.pop_front().filter(|slice| slice.from < self.until);
        Ok(next.map(|slice| Slice { until: slice.until.min(self.until), ..slice }))
    }
}
