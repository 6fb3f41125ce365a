//! Which sealed segments of the journal hold something of a session's own log. Found as far as a reader
//! asked, and kept, so that a reader of one place does not look through every segment again.

use super::segment::Segment;
use annals_core::{Seq, SessionId};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// A sealed segment, and the position behind its last.
pub type SealedSegment = (Arc<Segment>, u64);

/// How many sessions are remembered.
const SESSIONS: usize = 1024;

/// What is known of the sessions that were looked up last.
#[derive(Debug, Default)]
pub struct SessionLocator {
    known: Mutex<HashMap<SessionId, LocatedSession>>,
}

/// What is known of one session: everything that it has in the segments from one position to another.
#[derive(Clone, Debug)]
struct LocatedSession {
    from: u64,
    to: u64,
    /// Oldest first.
    ranges: VecDeque<SegmentRange>,
}

/// What a segment holds of the session.
#[derive(Clone, Debug)]
struct SegmentRange {
    from: Seq,
    to: Seq,
    sealed: SealedSegment,
}

impl LocatedSession {
    fn add(&mut self, found: Option<(Seq, Seq)>, sealed: &SealedSegment) {
        let (segment, end) = sealed;
        let range = found.map(|(from, to)| SegmentRange { from, to, sealed: sealed.clone() });
        if segment.first >= self.to {
            self.to = *end;
            self.ranges.extend(range);
        } else {
            self.from = segment.first;
            range.into_iter().for_each(|range| self.ranges.push_front(range));
        }
    }

    /// Whether the segments before it cannot hold `seq`: Seqs rise from segment to segment.
    fn reaches_back_to(&self, seq: Seq) -> bool {
        self.ranges.front().is_some_and(|range| range.from <= seq)
    }

    fn holding(&self, seq: Seq) -> Option<&SealedSegment> {
        let behind = self.ranges.partition_point(|range| range.from <= seq);
        let range = self.ranges.get(behind.checked_sub(1)?)?;
        (seq < range.to).then_some(&range.sealed)
    }
}

impl SessionLocator {
    /// The sealed segment that holds `seq` of a session, if that was found before.
    pub fn known(&self, session: SessionId, seq: Seq) -> Option<SealedSegment> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&session)?.holding(seq).cloned()
    }

    /// The sealed segment that holds `seq` of a session, if any does. `sealed` gives the segments from one position to
    /// another, oldest first, `sealed_to` is where they end; `part` says from where to where a segment holds the session.
    pub fn holding(
        &self,
        (session, seq): (SessionId, Seq),
        sealed_to: u64,
        sealed: impl Fn(u64, u64) -> Vec<SealedSegment>,
        part: impl Fn(&SealedSegment) -> io::Result<Option<(Seq, Seq)>>,
    ) -> io::Result<Option<SealedSegment>> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(&session).cloned();
        let mut located = known.unwrap_or(LocatedSession { from: sealed_to, to: sealed_to, ranges: VecDeque::new() });
        for sealed in &sealed(located.to, sealed_to) {
            located.add(part(sealed)?, sealed);
        }
        let before = if located.reaches_back_to(seq) { Vec::new() } else { sealed(0, located.from) };
        for sealed in before.iter().rev() {
            located.add(part(sealed)?, sealed);
            if located.reaches_back_to(seq) {
                break;
            }
        }
        let found = located.holding(seq).cloned();
        let mut known = lock();
        if known.len() >= SESSIONS && !known.contains_key(&session) {
            known.clear();
        }
        known.insert(session, located);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::{SealedSegment, Segment, SessionLocator};
    use crate::disk::folder::files::{Access, Disk, RealDisk};
    use annals_core::{Seq, SessionId};
    use std::cell::RefCell;
    use std::sync::Arc;

    /// Segments of ten positions; each holds five Seqs of the session, but for the third, which holds none.
    fn part((segment, _): &SealedSegment) -> Option<(Seq, Seq)> {
        let n = segment.first / 10;
        let n = if n > 2 { n - 1 } else { n };
        (segment.first != 20).then(|| (Seq(n * 5), Seq(n * 5 + 5)))
    }

    #[test]
    fn a_trail_is_walked_once_from_the_newest_and_goes_on_with_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        let file = RealDisk.open(&dir.path().join("segment"), Access::Create).unwrap();
        let all: Vec<SealedSegment> = (0..6u64)
            .map(|n| (Arc::new(Segment::new(n * 10, true, dir.path().join("segment"), file.clone())), n * 10 + 10))
            .collect();
        let (locator, asked) = (SessionLocator::default(), RefCell::new(Vec::new()));
        let holding = |seq: u64, until: u64| {
            let sealed = |from: u64, to: u64| -> Vec<SealedSegment> {
                all.iter().filter(|(segment, end)| segment.first >= from && *end <= to).cloned().collect()
            };
            let part = |sealed: &SealedSegment| {
                asked.borrow_mut().push(sealed.0.first);
                Ok(part(sealed))
            };
            let found = locator.holding((SessionId([1; 16]), Seq(seq)), until, sealed, part).unwrap();
            (found.map(|(segment, _)| segment.first), asked.take())
        };
        assert_eq!(holding(12, 50), (Some(30), vec![40, 30]), "from the newest back, as far as needed");
        assert_eq!(holding(17, 50), (Some(40), vec![]), "known");
        assert_eq!(holding(2, 50), (Some(0), vec![20, 10, 0]));
        assert_eq!(holding(7, 50), (Some(10), vec![]));
        assert_eq!(holding(20, 50), (None, vec![]), "what is not sealed is in none");
        assert_eq!(holding(22, 60), (Some(50), vec![50]), "a segment was sealed meanwhile");
        assert_eq!(holding(0, 60), (Some(0), vec![]));
    }
}
