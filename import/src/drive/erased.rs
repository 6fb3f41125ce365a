//! Sessions with erased texts: the log has events that the source does not know, so everything behind them has other numbers.

use annals_core::event::{CompactionEvent, FilesEvent, MessageEvent, SessionEvent, StepEvent};
use annals_core::{Batch, Blobs, Digest, Disclosure, Event, Json, Seq, SessionId, SessionKey};
use annals_projections::{Recipe, RecipePart};
use annals_store::{Draft, EventLog, ReadError};
use std::ops::Range;

/// Where the log of a session has events of an erasure, and how many: in the numbers of the log, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ErasureEvents(Vec<(Seq, u64)>);

impl ErasureEvents {
    /// Those of a session that ends before `head`. Costs one read, unless its first batch has lost the session's key.
    pub async fn of(log: &dyn EventLog, session: SessionId, head: Seq) -> Result<Self, ReadError> {
        let first = log.read(session, Seq::ZERO, 1).await?;
        let mut found = Self::default();
        if first.first().is_none_or(|slice| slice.batch.session_key().is_some() && slice.batch.session == session) {
            return Ok(found);
        }
        let mut pages = log.pages(session, Seq::ZERO..head);
        while let Some(page) = pages.next_page().await? {
            for slice in &page {
                if matches!(slice.batch.events.first(), Some(Event::Erasure(_))) {
                    found.0.push((slice.batch.first, slice.batch.events.len() as u64));
                }
            }
        }
        Ok(found)
    }

    /// Whether texts were erased within a range of events of the log: later ones have another key.
    pub fn any_in(&self, range: Range<Seq>) -> bool {
        self.0.iter().any(|(at, _)| range.contains(at))
    }

    /// Those before a cut: what a fork that is not in the log yet inherits.
    pub fn before(&self, cut: Seq) -> Self {
        Self(self.0.iter().copied().filter(|(at, _)| *at < cut).collect())
    }

    /// The number in the log of an event of the source.
    pub fn number(&self, mut seq: Seq) -> Seq {
        for (at, events) in &self.0 {
            if seq >= *at {
                seq = seq.plus(*events);
            }
        }
        seq
    }

    /// Gives a draft of the source, and what it refers to, the numbers of the log.
    pub fn renumber(&self, draft: &mut Draft) {
        if self.0.is_empty() {
            return;
        }
        draft.expected = self.number(draft.expected);
        for event in &mut draft.events {
            match event {
                Event::Session(SessionEvent::Forked(forked)) => forked.cut = self.number(forked.cut),
                Event::Step(StepEvent::RequestRecorded(recorded)) => {
                    let recipe = recorded.recipe.0.inline().and_then(|recipe| Recipe::parse(recipe).ok());
                    if let Some(mut recipe) = recipe {
                        for part in &mut recipe.parts {
                            match part {
                                RecipePart::Pieces { seq, .. }
                                | RecipePart::Marked { seq, .. }
                                | RecipePart::Bytes { seq, .. } => *seq = seq.map(|seq| self.number(seq)),
                                RecipePart::Copied(_) => {}
                            }
                        }
                        recorded.recipe = Json::received(recipe.to_json());
                    }
                }
                Event::Compaction(CompactionEvent::Completed(completed)) => {
                    completed.first_kept = self.number(completed.first_kept);
                }
                Event::Compaction(CompactionEvent::Undone(undone)) => {
                    undone.compaction = self.number(undone.compaction);
                }
                Event::Message(MessageEvent::Edited(edited)) => {
                    for edit in &mut edited.edits {
                        (edit.message, edit.place) = (self.number(edit.message), self.number(edit.place));
                    }
                }
                Event::Message(MessageEvent::Pinned(pinned)) => pinned.message = self.number(pinned.message),
                Event::Message(MessageEvent::Unpinned(unpinned)) => unpinned.message = self.number(unpinned.message),
                Event::Files(FilesEvent::RevertStaged(staged)) => {
                    staged.first_removed = self.number(staged.first_removed);
                }
                Event::Files(FilesEvent::RevertCommitted(committed)) => {
                    committed.first_removed = self.number(committed.first_removed);
                }
                _ => {}
            }
        }
    }
}

/// Gives each text of a draft the key that it has under the key of its session. So it is compared with the commitment to an erased text,
/// not by its length alone. A draft whose texts cannot be read stays as it is.
pub(super) fn disclose(draft: &mut Draft, key: &SessionKey, blobs: &dyn Blobs) {
    let Draft { session, expected: first, at, ref events, .. } = *draft;
    let events = events.clone();
    let batch = Batch { session, first, at, prev: None, events, digest: Digest([0; 32]), states: Vec::new() };
    if let Ok(disclosed) = batch.disclose(Some(key), blobs, &mut |_| Disclosure::Disclose) {
        (draft.events, draft.states) = (disclosed.events, disclosed.states);
    }
}

#[cfg(test)]
mod tests {
    use super::ErasureEvents;
    use annals_core::Seq;

    #[test]
    fn numbers_behind_an_erasure_are_moved_by_its_events() {
        let erased = ErasureEvents(vec![(Seq(10), 1), (Seq(13), 2)]);
        let numbers: Vec<u64> = [0, 9, 10, 11, 12, 20].into_iter().map(|seq| erased.number(Seq(seq)).0).collect();
        assert_eq!(numbers, [0, 9, 11, 12, 15, 23]);
        assert_eq!(erased.before(Seq(13)), ErasureEvents(vec![(Seq(10), 1)]));
        let any = |from, until| erased.any_in(Seq(from)..Seq(until));
        assert!(any(0, 11) && any(10, 11) && !any(0, 10) && !any(11, 13));
    }
}
