//! The laws that every fold obeys: halves, saved views, any order of events.

use crate::story::{Writer, commands};
use annals_core::Batch;
use annals_projections::{
    Calls, Epochs, History, Inbox, Ledger, Permissions, Profiles, Projection, RequestIndex, Requests, SessionInfo,
    SessionView, Statistics, Timeline, Transcript, Unpriced, UsageByModel, UsageTotals,
};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

fn fold<P: Projection>(mut view: P, batches: &[Batch]) -> P {
    batches.iter().flat_map(Batch::records).for_each(|record| view.apply(&record));
    view
}

/// Folding the second half onto the first, saved and read back or not, equals folding the whole; and a log out of order
/// folds to something that can be saved.
fn obeys<P>(log: &[Batch], at: usize) -> Result<(), TestCaseError>
where
    P: Projection + PartialEq + Debug + Serialize + DeserializeOwned,
{
    let whole = fold(P::default(), log);
    let (first, second) = log.split_at(at);
    let half = fold(P::default(), first);
    let saved = serde_json::to_vec(&half).map_err(|error| TestCaseError::fail(format!("{}: {error}", P::NAME)))?;
    prop_assert_eq!(&fold(half, second), &whole, "{}: two halves", P::NAME);
    let read: P =
        serde_json::from_slice(&saved).map_err(|error| TestCaseError::fail(format!("{}: {error}", P::NAME)))?;
    prop_assert_eq!(&fold(read, second), &whole, "{}: a saved view and the rest", P::NAME);
    let mut disordered: Vec<Batch> = log.iter().rev().cloned().collect();
    disordered.rotate_left(at);
    disordered.extend_from_slice(log);
    let strange = fold(P::default(), &disordered);
    let saved = serde_json::to_vec(&strange).map_err(|error| TestCaseError::fail(format!("{}: {error}", P::NAME)))?;
    prop_assert_eq!(serde_json::from_slice::<P>(&saved).ok(), Some(strange), "{}: any order", P::NAME);
    Ok(())
}

proptest! {
    #[test]
    fn every_fold_obeys_the_laws(commands in commands(), split in any::<prop::sample::Index>()) {
        let log = Writer::run(&commands).batches;
        let at = split.index(log.len());
        obeys::<SessionInfo>(&log, at)?;
        obeys::<History>(&log, at)?;
        obeys::<Transcript>(&log, at)?;
        obeys::<Epochs>(&log, at)?;
        obeys::<Inbox>(&log, at)?;
        obeys::<Calls>(&log, at)?;
        obeys::<Permissions>(&log, at)?;
        obeys::<UsageTotals>(&log, at)?;
        obeys::<Unpriced>(&log, at)?;
        obeys::<UsageByModel>(&log, at)?;
        obeys::<Profiles>(&log, at)?;
        obeys::<Requests>(&log, at)?;
        obeys::<SessionView>(&log, at)?;
        obeys::<Ledger>(&log, at)?;
        obeys::<RequestIndex>(&log, at)?;
        obeys::<Statistics>(&log, at)?;
        obeys::<Timeline>(&log, at)?;
    }
}
