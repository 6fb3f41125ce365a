//! Facts of a boundary that wait for its request, with which they are appended (`docs/reference/turn.md#appending`).

use annals_core::event::InputEvent;
use annals_core::{Event, Record, Seq, SessionId, Time};
use annals_projections::{RequestBuilder, SessionView};
use std::sync::Arc;

/// Events that are decided and not appended yet, and the view as it will be with them.
#[derive(Default)]
pub(super) struct Staged {
    events: Vec<Event>,
    view: Option<Arc<SessionView>>,
    /// The Seq of the first of them.
    first: Seq,
}

impl Staged {
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Whether the first of them would be the next event of a session with this view.
    pub(super) fn follows(&self, view: &SessionView) -> bool {
        self.first == view.cut().next
    }

    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    /// The view with them, once there are any.
    pub(super) fn view(&self) -> Option<&Arc<SessionView>> {
        self.view.as_ref()
    }

    /// Adds events after those that are there. Requests are built from the view with them.
    pub(super) fn add(
        &mut self,
        now: &Arc<SessionView>,
        requests: &mut RequestBuilder,
        (session, at): (SessionId, Time),
        events: Vec<Event>,
    ) {
        if events.is_empty() {
            return;
        }
        if self.is_empty() {
            self.first = now.cut().next;
        }
        let view = Arc::make_mut(self.view.get_or_insert_with(|| now.clone()));
        let begin = self.first.plus(self.events.len() as u64);
        for (seq, event) in (begin.0..).zip(&events) {
            requests.apply_all(view, &Record { session, seq: Seq(seq), at, event });
        }
        self.events.extend(events);
    }

    /// Its promotions of inputs that are still pending: they count even if something was appended since.
    pub(super) fn promotions(&self, view: &SessionView) -> Vec<Event> {
        let waits = |event: &&Event| match event {
            Event::Input(InputEvent::Promoted(promoted)) => {
                view.inbox.pending.iter().any(|pending| pending.input == promoted.input)
            }
            _ => false,
        };
        let events = if view.epochs.current.is_some() { &*self.events } else { &[] };
        events.iter().filter(waits).cloned().collect()
    }
}
