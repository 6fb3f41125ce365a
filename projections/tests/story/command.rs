//! What a writer is told.

use annals_core::event::EpochCause;
use proptest::prelude::*;

/// What happens next, if it is legal now; otherwise nothing happens.
#[derive(Clone, Debug)]
pub enum Command {
    Admit { queue: bool, text: u8 },
    Withdraw(u8),
    ChangeDelivery(u8),
    Promote,
    StartEpoch(EpochCause),
    Tell { key: u8, value: u8 },
    Untell { key: u8 },
    Step { texts: u8, calls: u8 },
    Settle { fail: bool },
    EndStep,
    FailStep,
    Retry,
    Compact,
    FailCompaction,
    UndoCompaction,
    Prune,
    Pin(u8),
    Unpin,
    Synthetic,
    Shell,
    Switch { model: bool, to: u8 },
    Move(u8),
    StageRevert(u8),
    ClearRevert,
    CommitRevert,
    Title,
    AskTitle,
    EndTitle { fail: bool },
    Summarise(u8),
    Restore,
    Depart { fail: bool },
    Attach(u8),
}

pub fn commands() -> impl Strategy<Value = Vec<Command>> {
    use Command::*;
    let one = prop_oneof![
        6 => (any::<bool>(), any::<u8>()).prop_map(|(queue, text)| Admit { queue, text }),
        1 => any::<u8>().prop_map(Withdraw),
        1 => any::<u8>().prop_map(ChangeDelivery),
        6 => Just(Promote),
        2 => prop::sample::select(vec![
            EpochCause::FirstTurn, EpochCause::Compaction, EpochCause::Incompatible, EpochCause::Moved,
        ]).prop_map(StartEpoch),
        3 => (0..4_u8, any::<u8>()).prop_map(|(key, value)| Tell { key, value }),
        1 => (0..4_u8).prop_map(|key| Untell { key }),
        6 => (0..3_u8, 0..3_u8).prop_map(|(texts, calls)| Step { texts, calls }),
        4 => any::<bool>().prop_map(|fail| Settle { fail }),
        5 => Just(EndStep),
        1 => Just(FailStep),
        1 => Just(Retry),
        2 => Just(Compact),
        1 => Just(FailCompaction),
        1 => Just(UndoCompaction),
        1 => Just(Prune),
        1 => any::<u8>().prop_map(Pin),
        1 => Just(Unpin),
        1 => Just(Synthetic),
        1 => Just(Shell),
        1 => (any::<bool>(), 0..3_u8).prop_map(|(model, to)| Switch { model, to }),
        1 => (0..3_u8).prop_map(Move),
        1 => any::<u8>().prop_map(StageRevert),
        1 => Just(ClearRevert),
        1 => Just(CommitRevert),
        1 => Just(Title),
        1 => Just(AskTitle),
        1 => any::<bool>().prop_map(|fail| EndTitle { fail }),
        1 => any::<u8>().prop_map(Summarise),
        1 => Just(Restore),
        1 => any::<bool>().prop_map(|fail| Depart { fail }),
        1 => any::<u8>().prop_map(Attach),
    ];
    prop::collection::vec(one, 0..60)
}
