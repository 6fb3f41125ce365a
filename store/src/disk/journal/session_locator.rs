//! Where a Session's own log lies in the journal: which sealed segments hold something of it. Found as far as somebody
//! asked, and kept, so that a reader of one place does not look through every segment again.

use super::segment::Segment;
use annals_core::{Seq, SessionId};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// A sealed segment, and the position behind its last.
pub type Sealed = (Arc<Segment>, u64);

/// How many Sessions are remembered.
const SESSIONS: usize = 1024;

/// The trails that were followed last.
#[derive(Debug, Default)]
pub struct Trails {
    known: Mutex<HashMap<SessionId, Trail>>,
}

/// What is known of one Session: everything that it has in the segments from one position to another.
#[derive(Clone, Debug)]
struct Trail {
    from: u64,
    to: u64,
    /// Oldest first.
    steps: VecDeque<Step>,
}

/// What a segment holds of the Session.
#[derive(Clone, Debug)]
struct Step {
    from: Seq,
    to: Seq,
    sealed: Sealed,
}

impl Trail {
    fn add(&mut self, found: Option<(Seq, Seq)>, sealed: &Sealed) {
        let (segment, end) = sealed;
        let step = found.map(|(from, to)| Step { from, to, sealed: sealed.clone() });
        if segment.first >= self.to {
            self.to = *end;
            self.steps.extend(step);
        } else {
            self.from = segment.first;
            step.into_iter().for_each(|step| self.steps.push_front(step));
        }
    }

    /// Whether what lies before it cannot hold `seq`: Seqs rise from segment to segment.
    fn reaches_back_to(&self, seq: Seq) -> bool {
        self.steps.front().is_some_and(|step| step.from <= seq)
    }

    fn holding(&self, seq: Seq) -> Option<&Sealed> {
        let behind = self.steps.partition_point(|step| step.from <= seq);
        let step = self.steps.get(behind.checked_sub(1)?)?;
        (seq < step.to).then_some(&step.sealed)
    }
}

impl Trails {
    /// The sealed segment that holds `seq` of a Session, if that was found before.
    pub fn known(&self, session: SessionId, seq: Seq) -> Option<Sealed> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&session)?.holding(seq).cloned()
    }

    /// The sealed segment that holds `seq` of a Session, if any does. `sealed` gives the segments from one position to
    /// another, oldest first, `sealed_to` is where they end; `part` says from where to where a segment holds the Session.
    pub fn holding(
        &self,
        (session, seq): (SessionId, Seq),
        sealed_to: u64,
        sealed: impl Fn(u64, u64) -> Vec<Sealed>,
        part: impl Fn(&Sealed) -> io::Result<Option<(Seq, Seq)>>,
    ) -> io::Result<Option<Sealed>> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().get(&session).cloned();
        let mut trail = known.unwrap_or(Trail { from: sealed_to, to: sealed_to, steps: VecDeque::new() });
        for sealed in &sealed(trail.to, sealed_to) {
            trail.add(part(sealed)?, sealed);
        }
        let before = if trail.reaches_back_to(seq) { Vec::new() } else { sealed(0, trail.from) };
        for sealed in before.iter().rev() {
            trail.add(part(sealed)?, sealed);
            if trail.reaches_back_to(seq) {
                break;
            }
        }
        let found = trail.holding(seq).cloned();
        let mut known = lock();
        if known.len() >= SESSIONS && !known.contains_key(&session) {
            known.clear();
        }
        known.insert(session, trail);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::{Sealed, Segment, Trails};
    use crate::disk::folder::files::{Disk, How, RealDisk};
    use annals_core::{Seq, SessionId};
    use std::cell::RefCell;
    use std::sync::Arc;

    /// Segments of ten positions; each holds five Seqs of the Session, but for the third, which holds none.
    fn part((segment, _): &Sealed) -> Option<(Seq, Seq)> {
        let n = segment.first / 10;
        let n = if n > 2 { n - 1 } else { n };
        (segment.first != 20).then(|| (Seq(n * 5), Seq(n * 5 + 5)))
    }

    #[test]
    fn a_trail_is_walked_once_from_the_newest_and_goes_on_with_the_journal() {
        let dir = tempfile::tempdir().unwrap();
        let file = RealDisk.open(&dir.path().join("segment"), How::Create).unwrap();
        let all: Vec<Sealed> = (0..6u64)
            .map(|n| (Arc::new(Segment::new(n * 10, true, dir.path().join("segment"), file.clone())), n * 10 + 10))
            .collect();
        let (trails, asked) = (Trails::default(), RefCell::new(Vec::new()));
        let holding = |seq: u64, until: u64| {
            let sealed = |from: u64, to: u64| -> Vec<Sealed> {
                all.iter().filter(|(segment, end)| segment.first >= from && *end <= to).cloned().collect()
            };
            let part = |sealed: &Sealed| {
                asked.borrow_mut().push(sealed.0.first);
                Ok(part(sealed))
            };
            let found = trails.holding((SessionId([1; 16]), Seq(seq)), until, sealed, part).unwrap();
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
