//! One stream of a store that is followed as a whole.

use super::message::StreamMessage;
use super::reading::damaged;
use crate::log::{PartGaps, ReadError};
use annals_core::{Batch, SessionId};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Number of empty reads after which nothing older can come.
const IDLE: u32 = 3;

/// A batch that was read and not given.
pub struct ReadBatch {
    pub batch: Arc<Batch>,
    /// Its number in its stream.
    pub seq: u64,
    /// The number that the follower is behind with it: of the last copy behind a marker that of the marker, of the others the one before.
    pub place: u64,
    /// Of a copy: the number that the batch had, which was passed when nothing had it any more.
    pub was: Option<u64>,
    /// When it was stored.
    pub time: String,
}

/// What a page of a stream has.
#[derive(Default)]
pub struct ShardPage {
    pub batches: Vec<ReadBatch>,
    /// The next number to read.
    pub next: u64,
    /// Numbers without a message.
    pub gaps: Vec<Range<u64>>,
}

/// One stream.
pub struct FollowedShard {
    /// What was read and not given.
    pub ready: VecDeque<ReadBatch>,
    /// How many times in a row nothing was found.
    idle: u32,
    /// Numbers that had no message when they were passed: what was there may be a copy behind a marker.
    gaps: Vec<Range<u64>>,
    /// How many of them a cursor keeps, and those.
    kept: Option<(usize, PartGaps)>,
    /// The next number to read.
    pub next: u64,
    /// The last number when following began.
    pub began_at: u64,
}

impl FollowedShard {
    /// A stream that is followed from a number on, behind `gaps`; its last number is `began_at`.
    pub fn new(next: u64, began_at: u64, gaps: &[Range<u64>]) -> Self {
        Self { ready: VecDeque::new(), idle: 0, gaps: gaps.to_vec(), kept: None, next, began_at }
    }

    /// The gaps before a number that has a message, or of which nothing was read.
    pub fn gaps_before(&mut self, next: u64) -> PartGaps {
        let count = self.gaps.partition_point(|gap| gap.end <= next);
        match &self.kept {
            Some((kept, gaps)) if *kept == count => gaps.clone(),
            _ => {
                let gaps: PartGaps = self.gaps.get(..count).unwrap_or_default().into();
                self.kept = Some((count, gaps.clone()));
                gaps
            }
        }
    }

    /// The message with this number was delivered: the gap is closed.
    pub fn resolve(&mut self, number: u64) {
        let at = self.gaps.partition_point(|gap| gap.end <= number);
        let Some(gap) = self.gaps.get(at).filter(|gap| gap.contains(&number)).cloned() else { return };
        let rest = [gap.start..number, number + 1..gap.end];
        self.gaps.splice(at..=at, rest.into_iter().filter(|gap| !gap.is_empty()));
        self.kept = None;
    }

    /// Whether something that was there when following began has to be read first.
    pub fn is_behind(&self) -> bool {
        self.ready.is_empty() && self.next <= self.began_at
    }

    /// Adds what was read.
    pub fn take(&mut self, page: ShardPage) {
        let found = !page.batches.is_empty() || !page.gaps.is_empty() || !self.ready.is_empty();
        self.idle = if found { 0 } else { self.idle.saturating_add(1) };
        if self.idle >= IDLE {
            // The markers of what was erased before came with it.
            self.gaps.clear();
            self.kept = None;
        }
        self.ready.extend(page.batches);
        self.next = page.next;
        page.gaps.into_iter().for_each(|gap| self.passed(gap));
    }

    /// Notes numbers without a message.
    fn passed(&mut self, gap: Range<u64>) {
        self.kept = None;
        match self.gaps.last_mut() {
            Some(last) if last.end >= gap.start => last.end = last.end.max(gap.end),
            _ => self.gaps.push(gap),
        }
    }

    /// Whether a message was not there any more when its number was passed.
    pub fn missed(&self, seq: u64, page: &[Range<u64>]) -> bool {
        let among = |gaps: &[Range<u64>]| {
            let at = gaps.partition_point(|gap| gap.end <= seq);
            gaps.get(at).is_some_and(|gap| gap.contains(&seq))
        };
        among(&self.gaps) || among(page)
    }
}

pub fn read_batch(message: &StreamMessage, session: SessionId, place: u64) -> Result<ReadBatch, ReadError> {
    let first = message.first().unwrap_or_default();
    let batch = message.batch().ok_or_else(|| damaged(session, first, "the batch here is damaged"))?;
    Ok(ReadBatch { batch, seq: message.seq, place, was: None, time: message.time.clone() })
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "one gap is meant")]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_has_the_gaps_that_were_passed_without_those_whose_batches_were_given_since() {
        let mut shard = FollowedShard::new(5, 0, &[1..3]);
        shard.take(ShardPage { next: 12, gaps: vec![5..8, 9..12], ..ShardPage::default() });
        assert_eq!(*shard.gaps_before(5), [1..3]);
        assert_eq!(*shard.gaps_before(9), [1..3, 5..8], "what follows was not passed yet");
        shard.resolve(6);
        shard.resolve(4);
        assert_eq!(*shard.gaps_before(12), [1..3, 5..6, 7..8, 9..12]);
        [1, 2, 5, 7].into_iter().for_each(|number| shard.resolve(number));
        assert_eq!(*shard.gaps_before(12), [9..12]);
        assert!(shard.missed(9, &[]) && !shard.missed(7, &[]) && shard.missed(14, &[13..15]));
    }
}
