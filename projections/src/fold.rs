//! Folding records with any projection.

use crate::Projection;
use alloc::vec::Vec;
use annals_core::{Batch, Record, Seq};

/// The view of records, in the order in which they are given.
pub fn fold<'a, P: Projection>(records: impl IntoIterator<Item = Record<'a>>) -> P {
    let mut view = P::default();
    records.into_iter().for_each(|record| view.apply(&record));
    view
}

/// The view right after the event `at`: of the records up to it.
pub fn fold_at<'a, P: Projection>(records: impl IntoIterator<Item = Record<'a>>, at: Seq) -> P {
    fold(records.into_iter().take_while(|record| record.seq <= at))
}

/// The view at every cut of a log: after each batch, with the number of the event that is next.
pub fn every_cut<'a, P: Projection + Clone>(batches: impl IntoIterator<Item = &'a Batch>) -> Vec<(Seq, P)> {
    let mut view = P::default();
    let cut = |batch: &Batch| {
        batch.records().for_each(|record| view.apply(&record));
        (batch.next(), view.clone())
    };
    batches.into_iter().map(cut).collect()
}
