//! Notices that wait while something else is shown: what would be shown of them, and no more.

use crate::bus::{Delta, Fragment, Notice};
use annals_core::Event;
use annals_core::event::ToolEvent;
use std::collections::VecDeque;

/// Notices that wait, for example while a question is open, in their order.
///
/// **Invariant**: what waits is bounded by what will be shown. Pieces of one fragment are one piece, and what a running tool
/// showed meanwhile is left out: the end of its call says more.
#[derive(Debug, Default)]
pub struct HeldNotices(VecDeque<Notice>);

impl HeldNotices {
    /// Keeps a notice, or what of it will be shown.
    pub fn keep(&mut self, notice: Notice) {
        match notice {
            Notice::Busy(_) | Notice::Idle { .. } => {}
            Notice::ToolsReduced { .. } => self.0.push_back(notice),
            Notice::Committed(batch) => {
                if batch.records().any(|record| !matches!(record.event, Event::Tool(ToolEvent::Progressed(_)))) {
                    self.0.push_back(Notice::Committed(batch));
                }
            }
            Notice::Delta(Delta { fragment: Fragment::ToolInput(_) | Fragment::Summary, .. }) => {}
            Notice::Delta(delta) => match self.earlier(&delta) {
                Some(text) => text.push_str(&delta.text),
                None => self.0.push_back(Notice::Delta(delta)),
            },
        }
    }

    /// Removes and returns the oldest notice.
    pub fn pop(&mut self) -> Option<Notice> {
        self.0.pop_front()
    }

    /// The text of what waits of the same fragment, unless a fact came after it.
    fn earlier(&mut self, wanted: &Delta) -> Option<&mut String> {
        let deltas = self.0.iter_mut().rev().map_while(|notice| match notice {
            Notice::Delta(delta) => Some(delta),
            Notice::Committed(_) | Notice::ToolsReduced { .. } | Notice::Busy(_) | Notice::Idle { .. } => None,
        });
        let same = |delta: &&mut Delta| {
            (delta.session, &delta.request, &delta.fragment) == (wanted.session, &wanted.request, &wanted.fragment)
        };
        deltas.filter(same).map(|delta| &mut delta.text).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::event::{InputWithdrawn, ToolProgressed};
    use annals_core::{Batch, Digest, RequestId, Seq, SessionId, Time};
    use std::sync::Arc;

    fn delta(session: u64, fragment: Fragment, text: &str) -> Notice {
        let session = SessionId::from_parts(session, 1);
        Notice::Delta(Delta { session, request: RequestId::from_parts(1, 1), fragment, text: text.into() })
    }

    fn batch(event: impl Into<Event>) -> Notice {
        let (session, digest) = (SessionId::from_parts(1, 1), Digest::of(b""));
        let events = vec![event.into()];
        Notice::Committed(Arc::new(Batch {
            session,
            first: Seq(1),
            at: Time(1),
            prev: None,
            events,
            digest,
            states: Vec::new(),
        }))
    }

    #[test]
    fn pieces_of_one_fragment_wait_as_one_and_progress_does_not_wait() {
        let mut held = HeldNotices::default();
        for _ in 0..1_000 {
            held.keep(delta(1, Fragment::Text(0), "a"));
            held.keep(delta(2, Fragment::Text(0), "b"));
            held.keep(batch(ToolProgressed { call: "c".into(), output: Some("...".into()), structured: None }));
            held.keep(Notice::Busy(SessionId::from_parts(1, 1)));
        }
        held.keep(batch(InputWithdrawn { input: "i".into() }));
        held.keep(delta(1, Fragment::Text(0), "c"));
        held.keep(delta(1, Fragment::Text(1), "d"));
        let texts = std::iter::from_fn(|| held.pop()).map(|notice| match notice {
            Notice::Delta(delta) => delta.text,
            Notice::Committed(_) => "fact".into(),
            Notice::ToolsReduced { .. } | Notice::Busy(_) | Notice::Idle { .. } => String::new(),
        });
        assert_eq!(
            texts.collect::<Vec<_>>(),
            ["a".repeat(1_000), "b".repeat(1_000), "fact".into(), "c".into(), "d".into()]
        );
    }
}
