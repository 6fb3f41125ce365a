//! Walking through a session event by event: the views before each event, and what the event changes in them.

use crate::SessionAt;
use crate::view_diff::{Change, changes};
use annals_core::event::InputEvent;
use annals_core::{Event, Record, Seq};
use annals_projections::{Projection, SessionView};
use annals_store::{ReadError, Slice};

/// A place in a session, at an event.
#[derive(Clone)]
pub struct EventWalk {
    past: SessionAt,
    seq: Seq,
    /// The views before the event.
    view: SessionView,
}

/// The event at a place of a walk.
#[derive(Clone, Debug)]
pub struct WalkedEvent {
    /// The batch that it was appended with.
    pub slice: Slice,
    /// The event.
    pub seq: Seq,
    /// What it changes in the views.
    pub changes: Vec<Change>,
}

impl WalkedEvent {
    /// The event with its place and time.
    pub fn record(&self) -> Option<Record<'_>> {
        self.slice.records().find(|record| record.seq == self.seq)
    }
}

impl EventWalk {
    /// Begins at the first event.
    pub fn new(past: SessionAt) -> Self {
        Self { past, seq: Seq::ZERO, view: SessionView::default() }
    }

    /// The session.
    pub fn past(&self) -> &SessionAt {
        &self.past
    }

    /// The event of the place.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// The last event.
    pub fn last(&self) -> Seq {
        Seq(self.past.until.0.saturating_sub(1))
    }

    /// The views before the event.
    pub fn view(&self) -> &SessionView {
        &self.view
    }

    /// Goes to an event, or to the last one if there is none. Forward it costs the events between.
    pub async fn go(&mut self, seq: Seq) -> Result<(), ReadError> {
        let seq = seq.min(self.last());
        if seq < self.seq {
            self.view = self.past.view(seq).await?;
        } else {
            let view = &mut self.view;
            self.past.each(self.seq, seq, |record| view.apply(record)).await?;
        }
        self.seq = seq;
        Ok(())
    }

    /// Goes to the next input that is promoted; returns whether there is one.
    pub async fn next_turn(&mut self) -> Result<bool, ReadError> {
        let mut pages = self.past.log().pages(self.past.session, self.seq.plus(1)..self.past.until);
        let found = loop {
            let Some(slice) = pages.next_slice().await? else { return Ok(false) };
            let promoted = |record: &Record<'_>| matches!(record.event, Event::Input(InputEvent::Promoted(_)));
            let seq = slice.records().find(promoted).map(|record| record.seq);
            if let Some(seq) = seq {
                break seq;
            }
        };
        drop(pages);
        self.go(found).await?;
        Ok(true)
    }

    /// The event of the place, and what it changes; `None` in a session without events.
    pub async fn event(&self) -> Result<Option<WalkedEvent>, ReadError> {
        let Some(slice) = self.past.log().batch_at(self.past.session, self.seq).await? else { return Ok(None) };
        let mut after = self.view.clone();
        slice.records().filter(|record| record.seq == self.seq).for_each(|record| after.apply(&record));
        let changes = changes(&self.view, &after, self.past.blobs());
        Ok(Some(WalkedEvent { slice, seq: self.seq, changes }))
    }
}
