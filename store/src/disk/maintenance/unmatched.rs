//! The journal's batches while they are compared with the records of sled.

use annals_core::Digest;
use std::collections::BTreeMap;

/// The batches of the journal that no record of sled was found equal to yet, by position: half of each digest, which cannot be forged
/// either, so that a million take 17 MB.
#[derive(Debug, Default)]
pub(super) struct Unmatched {
    /// Where the journal begins.
    pub(super) begins: u64,
    /// Batches without a gap between them, by the position of the first.
    runs: BTreeMap<u64, Vec<HalfDigest>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HalfDigest {
    Unmatched([u8; 16]),
    Matched,
}

/// What the journal has at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InJournal {
    /// A batch.
    Batch,
    /// Nothing, at a place where it should have something.
    Missing,
    /// Nothing: it begins later.
    Dropped,
}

impl HalfDigest {
    fn of(digest: Digest) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&digest.0[..16]);
        Self::Unmatched(half)
    }
}

impl Unmatched {
    /// Notes a batch of the journal; positions come in order.
    pub(super) fn put(&mut self, position: u64, digest: Digest) {
        let half = HalfDigest::of(digest);
        match self.runs.last_entry() {
            Some(mut run) if run.key().checked_add(run.get().len() as u64) == Some(position) => {
                run.get_mut().push(half);
            }
            _ => drop(self.runs.insert(position, vec![half])),
        }
    }

    /// Notes a record of sled.
    pub(super) fn take(&mut self, position: u64, digest: Digest) -> InJournal {
        if position < self.begins {
            return InJournal::Dropped;
        }
        let run = self.runs.range_mut(..=position).next_back();
        let here = run.and_then(|(first, run)| run.get_mut(usize::try_from(position - first).ok()?));
        let Some(here) = here else { return InJournal::Missing };
        if *here == HalfDigest::of(digest) {
            *here = HalfDigest::Matched;
        }
        InJournal::Batch
    }

    /// How many before a position have no equal in sled.
    pub(super) fn before(&self, position: u64) -> usize {
        let runs = self.runs.range(..position).flat_map(|(first, run)| {
            let count = usize::try_from(position - first).unwrap_or(usize::MAX);
            run.iter().take(count)
        });
        runs.filter(|half| matches!(half, HalfDigest::Unmatched(_))).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_far_apart_take_no_more_than_their_batches() {
        let (digest, other) = (Digest([1; 32]), Digest([2; 32]));
        let mut unmatched = Unmatched { begins: 5, ..Unmatched::default() };
        for position in [6, 7, 9, u64::MAX - 1, u64::MAX] {
            unmatched.put(position, digest);
        }
        assert_eq!((unmatched.before(u64::MAX), unmatched.before(8), unmatched.runs.len()), (4, 2, 3));
        assert_eq!(unmatched.take(4, digest), InJournal::Dropped);
        assert_eq!(unmatched.take(5, digest), InJournal::Missing);
        assert_eq!(unmatched.take(8, digest), InJournal::Missing);
        assert_eq!(unmatched.take(7, other), InJournal::Batch);
        assert_eq!(unmatched.before(8), 2, "another digest is no match");
        assert_eq!(
            (unmatched.take(7, digest), unmatched.take(u64::MAX - 1, digest)),
            (InJournal::Batch, InJournal::Batch)
        );
        assert_eq!((unmatched.before(8), unmatched.before(u64::MAX)), (1, 2));
    }
}
