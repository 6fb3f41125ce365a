//! Counting the texts that are withheld, and those that the log says are erased.

use super::report::WithheldTexts;
use annals_core::event::ErasureEvent;
use annals_core::{Batch, Event, KnownText, Seq, SessionId};
use std::collections::BTreeSet;

/// The texts of what is verified.
#[derive(Debug, Default)]
pub(super) struct AbsentTexts {
    texts: WithheldTexts,
    /// The places of absent texts that nothing says are erased.
    absent: BTreeSet<(SessionId, Seq, String)>,
}

impl AbsentTexts {
    /// Counts a batch of so many texts.
    pub fn take(&mut self, batch: &Batch, texts: u64) {
        self.texts.texts += texts;
        for state in batch.states.iter().filter(|state| matches!(state.known, KnownText::Absent(_))) {
            let seq = batch.first.plus(u64::from(state.event));
            self.absent.insert((batch.session, seq, state.place.clone()));
        }
        for event in &batch.events {
            if let Event::Erasure(ErasureEvent::TextsErased(erased)) = event {
                for text in &erased.what {
                    let was_absent = self.absent.remove(&(batch.session, text.seq, text.place.clone()));
                    self.texts.erased += u64::from(was_absent);
                }
            }
        }
    }

    /// The count; `None` when every text is there.
    pub fn end(self) -> Option<WithheldTexts> {
        let withheld = self.absent.len() as u64;
        Some(WithheldTexts { withheld, ..self.texts }).filter(|texts| texts.withheld + texts.erased > 0)
    }
}
