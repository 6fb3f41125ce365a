//! Answers in a recording of which no request was recorded: what was sent for them is not known.

use super::RequestIndex;
use alloc::vec::Vec;
use annals_core::Seq;
use annals_core::event::Purpose;
use core::ops::Range;
use serde::{Deserialize, Serialize};

/// The answers without a recorded request, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UnrecordedAnswers {
    /// The event that began each.
    begun: Vec<Seq>,
    /// The event that ended each.
    ended: Vec<Seq>,
    /// Whether the newest one has not ended.
    is_open: bool,
    /// Whether a summary was asked for, and what became of it is not known yet.
    summarises: bool,
    /// Whether the newest compaction was recorded with its request: the answers up to the next request are repeated ones.
    repeats: bool,
}

impl UnrecordedAnswers {
    pub(super) fn sent(&mut self, purpose: Purpose) {
        match purpose {
            Purpose::Turn => self.repeats = false,
            Purpose::Summary => self.summarises = true,
            Purpose::Title | Purpose::Other => {}
        }
    }

    pub(super) fn compacted(&mut self, is_completed: bool) {
        self.repeats = core::mem::take(&mut self.summarises) && is_completed;
    }

    pub(super) fn begin(&mut self, seq: Seq) {
        if !self.repeats {
            self.begun.push(seq);
            self.is_open = true;
        }
    }

    /// An answer ended; whether it is one of these.
    pub(super) fn end(&mut self, seq: Seq) -> bool {
        let is_one = core::mem::take(&mut self.is_open);
        if is_one {
            self.ended.push(seq);
        }
        is_one
    }

    /// Those before an event.
    pub(super) fn before(&self, until: Seq) -> Self {
        let part = |list: &[Seq]| list.get(..list.partition_point(|seq| *seq < until)).unwrap_or_default().to_vec();
        Self { begun: part(&self.begun), ended: part(&self.ended), ..Self::default() }
    }
}

fn within(list: &[Seq], range: Range<Seq>) -> &[Seq] {
    let at = |seq: Seq| list.partition_point(|known| *known < seq);
    list.get(at(range.start)..at(range.end)).unwrap_or_default()
}

impl RequestIndex {
    /// The answers between two events of which no request was recorded, by the events that began them.
    pub fn unrecorded(&self, range: Range<Seq>) -> &[Seq] {
        within(&self.unrecorded.begun, range)
    }

    /// Whether an event is of a part of the conversation that was not recorded: its time is when the recording first had it.
    pub fn is_unrecorded(&self, seq: Seq) -> bool {
        if self.unrecorded.ended.is_empty() {
            return false;
        }
        let behind = self.requests.before(seq.plus(1));
        let before = behind.checked_sub(1).and_then(|at| self.requests.get(at));
        let from = before.map_or(Seq::ZERO, |request| request.answer.map_or(request.seq, |answer| answer.seq.plus(1)));
        let until = self.requests.get(behind).map_or(Seq(u64::MAX), |request| request.seq);
        seq >= from && within(&self.unrecorded.ended, from..until).last().is_some_and(|last| seq <= *last)
    }
}
