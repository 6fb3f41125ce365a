//! Where the turns of a session begin and what is worth finding in it, so that any page of its turns costs what is on that page.

use super::turns::{ReportTurn, TurnFold, mark};
use crate::SessionAt;
use annals_core::event::{InputEvent, ToolEvent, ToolOutcome};
use annals_core::{Event, InputId, Record, Seq};
use annals_projections::{Projection, SessionInfo, opening};
use annals_store::ReadError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The places of a session's turns, errors, compactions and system prompts: a few bytes for each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnIndex {
    /// What is known of the session itself.
    pub info: SessionInfo,
    /// The start of its first input.
    pub opening: String,
    /// Events that record a failure.
    pub errors: Vec<Seq>,
    /// Events that ended a compaction.
    pub compactions: Vec<Seq>,
    /// Events that began a context epoch.
    pub epochs: Vec<Seq>,
    /// The first event of each turn.
    firsts: Vec<Seq>,
    /// Whether the first of them is what precedes the first prompt.
    precedes: bool,
    /// Events that admitted the prompt of a turn long before it began, by the first event of the turn.
    admitted: BTreeMap<Seq, Seq>,
    waiting: BTreeMap<InputId, Seq>,
}

impl TurnIndex {
    /// How many turns there are.
    pub fn len(&self) -> usize {
        self.firsts.len()
    }

    /// Whether there is no turn: the session has no event.
    pub fn is_empty(&self) -> bool {
        self.firsts.is_empty()
    }

    /// The first event of each turn.
    pub fn firsts(&self) -> &[Seq] {
        &self.firsts
    }

    /// The place in the list of turns of the one that a cut is in: the last one that began before it.
    pub fn turn_at(&self, cut: Seq) -> usize {
        self.firsts.partition_point(|first| *first < cut).saturating_sub(1)
    }

    fn promoted(&mut self, seq: Seq, input: &InputId) {
        let admitted = self.waiting.remove(input);
        let first = admitted.filter(|admitted| admitted.plus(1) == seq).unwrap_or(seq);
        while self.firsts.last().is_some_and(|last| *last >= first) {
            self.firsts.pop();
        }
        self.precedes &= !self.firsts.is_empty();
        self.firsts.push(first);
        if let Some(admitted) = admitted.filter(|admitted| *admitted != first) {
            self.admitted.insert(first, admitted);
        }
    }
}

impl Projection for TurnIndex {
    const NAME: &'static str = "turn-index";
    const VERSION: u32 = 1;

    fn apply(&mut self, record: &Record<'_>) {
        self.info.apply(record);
        let failed = |outcome: ToolOutcome| outcome != ToolOutcome::Completed;
        match record.event {
            Event::Input(InputEvent::Admitted(admitted)) => {
                if self.opening.is_empty() {
                    self.opening = opening(&admitted.text);
                }
                self.waiting.insert(admitted.input.clone(), record.seq);
            }
            Event::Input(InputEvent::Promoted(promoted)) => self.promoted(record.seq, &promoted.input),
            Event::Tool(ToolEvent::Settled(settled)) if failed(settled.outcome) => self.errors.push(record.seq),
            _ => match mark(record.event.kind().name()) {
                Some("error") => self.errors.push(record.seq),
                Some("compaction") => self.compactions.push(record.seq),
                Some("epoch") => self.epochs.push(record.seq),
                _ => {}
            },
        }
        if self.firsts.is_empty() {
            self.firsts.push(record.seq);
            self.precedes = true;
        }
    }
}

impl SessionAt {
    /// Where the turns are, resumed from a saved index.
    pub async fn turn_index(&self) -> Result<std::sync::Arc<TurnIndex>, ReadError> {
        self.saved().await
    }

    /// Turns by their places in the list, of the index of this session up to its end.
    pub async fn turns(&self, index: &TurnIndex, wanted: Range<usize>) -> Result<Vec<ReportTurn>, ReadError> {
        let Some(first) = index.firsts.get(wanted.start).copied().filter(|_| !wanted.is_empty()) else {
            return Ok(Vec::new());
        };
        let end = index.firsts.get(wanted.end).copied().unwrap_or(self.until);
        let before = (wanted.start + usize::from(!index.precedes)).saturating_sub(1);
        let mut fold = TurnFold::after(before as u64);
        // Only for prompts of this page: what waits longer is of a page to come.
        let early: BTreeSet<Seq> = index.admitted.range(first..end).map(|(_, admitted)| *admitted).collect();
        self.at(&early, |record| fold.admit(record, self.blobs())).await?;
        let mut pages = self.log().pages(self.session, first..end);
        while let Some(slice) = pages.next_slice().await? {
            slice.records().for_each(|record| fold.take(&record, self.blobs()));
        }
        Ok(fold.end(Seq::ZERO))
    }
}
