use super::Epochs;
use crate::facts::*;
use alloc::vec;
use alloc::vec::Vec;
use annals_core::event::*;
use annals_core::{Event, NoBlobs, Seq};

fn due(events: &[Event]) -> Option<EpochCause> {
    fold::<Epochs>(events).due()
}

fn first() -> Vec<Event> {
    vec![created(Switch::Replace, Switch::Replace), epoch(EpochCause::FirstTurn, &["core/date", "core/rules"])]
}

fn after(events: &[Event]) -> Vec<Event> {
    [&first(), events].concat()
}

fn agent() -> Event {
    AgentSwitched { agent: "plan".into() }.into()
}

fn model() -> Event {
    ModelSwitched { model: "test/beta".into() }.into()
}

fn keys(epochs: &Epochs) -> Vec<&str> {
    epochs.current.iter().flat_map(|epoch| epoch.snapshot.0.keys()).map(|key| key.as_str()).collect()
}

#[test]
fn each_cause_makes_an_epoch_due() {
    assert_eq!(due(&[]), Some(EpochCause::FirstTurn));
    assert_eq!(due(&first()), None);
    assert_eq!(due(&after(&[reverted(5)])), Some(EpochCause::Reverted));
    assert_eq!(due(&after(&[moved()])), Some(EpochCause::Moved));
    assert_eq!(due(&after(&[compacted("summary", "")])), Some(EpochCause::Compaction));
    assert_eq!(due(&after(&[agent()])), Some(EpochCause::AgentSwitched));
    assert_eq!(due(&after(&[model()])), Some(EpochCause::ModelSwitched));
}

#[test]
fn of_several_causes_the_first_in_their_order_is_due() {
    let all = [model(), agent(), compacted("summary", ""), moved()];
    assert_eq!(due(&after(&all)), Some(EpochCause::Moved));
    assert_eq!(due(&after(&all[..3])), Some(EpochCause::Compaction));
    assert_eq!(due(&after(&all[..2])), Some(EpochCause::AgentSwitched));
    assert_eq!(due(&after(&[moved(), reverted(9)])), Some(EpochCause::Moved), "a revert ended no epoch");
    assert_eq!(
        due(&after(&[moved(), epoch(EpochCause::Moved, &[]), reverted(9), moved()])),
        Some(EpochCause::Reverted)
    );
}

#[test]
fn a_new_epoch_settles_every_cause() {
    let all = [model(), agent(), compacted("summary", ""), moved(), epoch(EpochCause::Moved, &[])];
    assert_eq!(due(&after(&all)), None);
    assert_eq!(due(&after(&[moved(), epoch(EpochCause::Moved, &[]), moved()])), Some(EpochCause::Moved));
}

#[test]
fn a_switch_is_due_only_under_the_policy_replace_and_only_of_an_epoch() {
    let keeping = [created(Switch::Keep, Switch::Keep), epoch(EpochCause::FirstTurn, &[]), agent(), model()];
    assert_eq!(due(&keeping), None);
    let before = [created(Switch::Replace, Switch::Replace), agent(), model(), epoch(EpochCause::FirstTurn, &[])];
    assert_eq!(due(&before), None);
    assert!(fold::<Epochs>(&after(&[agent()])).agent_replacement_due());
    assert!(!fold::<Epochs>(&after(&[model()])).agent_replacement_due());
    assert!(!fold::<Epochs>(&after(&[agent(), moved()])).agent_replacement_due(), "no epoch is in force");
}

#[test]
fn a_move_or_a_revert_before_the_first_epoch_leaves_the_first_turn_due() {
    let created = created(Switch::Keep, Switch::Keep);
    assert_eq!(due(&[created.clone(), moved()]), Some(EpochCause::FirstTurn));
    assert_eq!(due(&[created, reverted(1)]), Some(EpochCause::FirstTurn));
}

#[test]
fn an_undone_or_removed_compaction_is_not_due() {
    assert_eq!(due(&after(&[compacted("summary", ""), undone(2)])), None);
    assert_eq!(due(&after(&[compacted("one", ""), compacted("two", ""), undone(3)])), Some(EpochCause::Compaction));
    let removed = fold::<Epochs>(&after(&[compacted("summary", ""), reverted(2), epoch(EpochCause::Reverted, &[])]));
    assert_eq!(removed.due(), None);
    let folded = [compacted("one", ""), epoch(EpochCause::Compaction, &[]), compacted("two", ""), undone(4)];
    assert_eq!(due(&after(&folded)), None, "the first one has its epoch");
}

#[test]
fn the_newest_compaction_is_the_one_that_counts() {
    let two = [compacted("one", ""), epoch(EpochCause::Compaction, &[]), compacted("two", "")];
    assert_eq!(due(&after(&two)), Some(EpochCause::Compaction), "it has no epoch yet, the one before has");
    assert_eq!(due(&after(&[&two[..], &[epoch(EpochCause::Compaction, &[])]].concat())), None);
}

#[test]
fn an_advance_changes_the_snapshot_and_ends_a_block() {
    let epochs = fold::<Epochs>(&after(&[blocked(&["core/date"])]));
    let block = epochs.current.as_ref().and_then(|epoch| epoch.blocked.clone()).expect("a block");
    assert_eq!((block.seq, block.keys), (Seq(2), vec![key("core/date")]));
    let epochs = fold::<Epochs>(&after(&[blocked(&["core/date"]), advanced(&["core/new"], &["core/rules"])]));
    assert_eq!(keys(&epochs), ["core/date", "core/new"]);
    assert_eq!(epochs.current.as_ref().and_then(|epoch| epoch.blocked.as_ref()), None);
    assert_eq!(epochs.anomalies.count, 0);
}

#[test]
fn an_epoch_has_its_number_its_text_and_the_snapshot_that_it_begins_with() {
    let epochs = fold::<Epochs>(&after(&[advanced(&["core/new"], &[]), epoch(EpochCause::Moved, &["core/date"])]));
    let current = epochs.current.as_ref().expect("an epoch");
    assert_eq!((current.mark.epoch, current.mark.seq, current.mark.cause), (2, Seq(3), EpochCause::Moved));
    assert_eq!(keys(&epochs), ["core/date"]);
    assert_eq!(epochs.snapshot(), current.snapshot);
    assert_eq!(epochs.marks.len(), 2);
    let first = fold::<Epochs>(&first());
    assert_eq!(first.current.expect("an epoch").text(&NoBlobs), "core/date\n\ncore/rules");
}

#[test]
fn a_move_and_a_revert_end_the_epoch_and_its_snapshot() {
    for end in [moved(), reverted(9)] {
        let epochs = fold::<Epochs>(&after(&[end]));
        assert_eq!((epochs.current.as_ref(), epochs.snapshot().0.len(), epochs.marks.len()), (None, 0, 1));
    }
}

#[test]
fn what_needs_an_epoch_and_has_none_is_an_anomaly() {
    let created = created(Switch::Keep, Switch::Keep);
    let count = |events: &[Event]| fold::<Epochs>(events).anomalies.count;
    assert_eq!(count(&[created.clone(), blocked(&["core/date"])]), 1);
    assert_eq!(count(&[created, advanced(&["core/date"], &[])]), 1);
    assert_eq!(count(&after(&[advanced(&[], &["core/never"])])), 1);
}

#[test]
fn what_an_import_lacks_is_no_anomaly() {
    let parent = annals_core::SessionId::from_parts(1_780_488_000_000, 2);
    let origin = Origin { agent: "codex".into(), version: None, id: "x".into(), form: "rollout".into(), importer: 1 };
    let forked = SessionForked {
        parent,
        cut: Seq(0),
        parent_digest: annals_core::Digest([0; 32]),
        title: None,
        origin: Some(origin),
        key: annals_core::SessionKey([0x0f; 32]).into(),
    };
    let events = [forked.into(), blocked(&["core/date"]), advanced(&["core/date"], &[])];
    assert_eq!(fold::<Epochs>(&events).anomalies.count, 0);
}
