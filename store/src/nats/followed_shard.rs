//! One stream of a store that is followed as a whole.

use super::message::StreamMessage;
use super::reading::damaged;
use crate::log::ReadError;
use annals_core::{Batch, SessionId};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// After how many reads that found nothing it is known that nothing older comes.
const IDLE: u32 = 3;

/// A batch that was read and not given.
pub struct ReadBatch {
    pub batch: Arc<Batch>,
    /// Its number in its stream.
    pub seq: u64,
    /// The number that the follower is behind with it: of the last copy behind a marker that of the marker, of the others the one before.
    pub place: u64,
    /// Its number, if other copies of its session follow before the marker is passed.
    pub copy: u64,
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
    /// Where following began.
    pub start: u64,
    /// The marker that it began at, and the last copy behind it that was given before.
    pub copy: Option<(u64, u64)>,
    /// How many times in a row nothing was found.
    pub idle: u32,
    /// Numbers that had no message when they were passed: what was there may be a copy behind a marker.
    pub gaps: Vec<Range<u64>>,
    /// The next number to read.
    pub next: u64,
    /// The last number when following began.
    pub began_at: u64,
}

impl FollowedShard {
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
        }
        self.ready.extend(page.batches);
        self.next = page.next;
        page.gaps.into_iter().for_each(|gap| self.passed(gap));
    }

    /// Notes numbers without a message.
    fn passed(&mut self, gap: Range<u64>) {
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
        seq >= self.start && (among(&self.gaps) || among(page))
    }
}

pub fn read_batch(message: &StreamMessage, session: SessionId, place: u64) -> Result<ReadBatch, ReadError> {
    let first = message.first().unwrap_or_default();
    let batch = message.batch().ok_or_else(|| damaged(session, first, "the batch here is damaged"))?;
    Ok(ReadBatch { batch, seq: message.seq, place, copy: 0, time: message.time.clone() })
}
