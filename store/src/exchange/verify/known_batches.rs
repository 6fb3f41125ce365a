//! Several exports of one session in one file: they continue each other (`fixtures/FORMAT.md`, rule 12).

use annals_core::{Digest, Seq, SessionId};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// The batches of the exports so far.
#[derive(Debug, Default)]
pub(super) struct KnownBatches {
    /// The digest that the first export with a batch at this place carries, and the number of that export.
    batches: BTreeMap<(SessionId, Seq), (Digest, u64)>,
    /// The sessions of which the current export has another batch; each is reported once.
    other: BTreeSet<SessionId>,
    export: u64,
}

impl KnownBatches {
    /// Another export begins.
    pub fn next_export(&mut self) {
        self.export += 1;
        self.other.clear();
    }

    /// Takes in a batch. Gives the digest of the batch that an earlier export has at its place, if that is another one and the first
    /// such of its session here.
    pub fn take(&mut self, session: SessionId, first: Seq, digest: Digest) -> Option<Digest> {
        match self.batches.entry((session, first)) {
            Entry::Vacant(place) => {
                place.insert((digest, self.export));
                None
            }
            Entry::Occupied(known) => {
                let (known, export) = *known.get();
                (export < self.export && known != digest && self.other.insert(session)).then_some(known)
            }
        }
    }
}
