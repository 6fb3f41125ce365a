//! The views that requests are built from, folded along a session in bounded memory.

use crate::SessionAt;
use annals_core::event::{CompactionEvent, RequestSent};
use annals_core::{Blobs, Event, Record};
use annals_projections::{BuildError, BuiltRequest, RequestBuilder, SessionView};
use annals_store::ReadError;

/// History, epochs and profiles at a place, and what the requests built so far share. What a compaction covered is evicted.
#[derive(Debug, Default)]
pub(crate) struct RequestFold {
    pub(crate) view: SessionView,
    builder: RequestBuilder,
}

impl RequestFold {
    /// Begins with a view.
    pub(crate) fn new(view: SessionView) -> Self {
        Self { view, builder: RequestBuilder::default() }
    }

    /// Applies the next record. A view that is stale then must be made again before the record after it.
    pub(crate) fn apply(&mut self, record: &Record<'_>) {
        self.builder.apply(&mut self.view, record);
        if matches!(record.event, Event::Compaction(CompactionEvent::Ended(_) | CompactionEvent::Completed(_))) {
            self.view.history.evict();
        }
    }

    /// Makes a stale view again: a revert, or a compaction that was undone, returned what had been evicted.
    pub(crate) async fn restore(&mut self, past: &SessionAt, after: &Record<'_>) -> Result<(), ReadError> {
        if self.view.is_stale() {
            self.view = past.view(after.seq.plus(1)).await?;
            self.builder.reset();
        }
        Ok(())
    }

    /// Builds a request from the view.
    pub(crate) fn build(&mut self, sent: &RequestSent, blobs: &dyn Blobs) -> Result<BuiltRequest<'_>, BuildError> {
        self.builder.build(&self.view, sent, blobs)
    }
}
