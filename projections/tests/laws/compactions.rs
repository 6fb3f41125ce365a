//! What compactions tell of themselves.

use crate::story::{Command, Writer};
use annals_core::Batch;
use annals_projections::Projection;

#[test]
fn the_ledger_tells_what_left_by_each_compaction_and_what_became_of_it() {
    use annals_projections::{Ledger, LedgerOutcome};
    let mut writer = Writer::new();
    let say = |writer: &mut Writer| {
        writer.command(&Command::Admit { queue: false, text: 1 });
        writer.command(&Command::Promote);
        writer.command(&Command::Step { texts: 1, calls: 1 });
        writer.command(&Command::Settle { fail: false });
        writer.command(&Command::EndStep);
    };
    writer.command(&Command::StartEpoch(annals_core::event::EpochCause::FirstTurn));
    say(&mut writer);
    writer.command(&Command::Pin(0));
    writer.command(&Command::Tell { key: 1, value: 1 });
    say(&mut writer);
    writer.command(&Command::Compact);
    writer.command(&Command::FailCompaction);
    say(&mut writer);
    writer.command(&Command::Compact);
    writer.command(&Command::UndoCompaction);
    let mut ledger = Ledger::default();
    writer.batches.iter().flat_map(Batch::records).for_each(|record| ledger.apply(&record));
    let brief: Vec<_> = ledger
        .entries
        .iter()
        .map(|entry| (entry.messages.len(), entry.tool_outputs.len(), entry.context_messages.len(), entry.pinned.len()))
        .collect();
    // The second compaction also covers the first one's summary.
    assert_eq!(brief, [(3, 2, 1, 1), (0, 0, 0, 0), (3, 1, 1, 1)]);
    let outcomes: Vec<_> = ledger.entries.iter().map(|entry| &entry.outcome).collect();
    assert!(matches!(
        outcomes[..],
        [LedgerOutcome::Completed, LedgerOutcome::Failed { .. }, LedgerOutcome::Undone { .. }]
    ));
    for entry in &ledger.entries {
        let json = serde_json::to_value(entry).unwrap();
        assert_eq!(json["seq"], entry.seq.0, "how it ended does not take the place of where it began");
    }
}

#[test]
fn what_a_summary_does_not_mention_is_quoted() {
    let covered = "Never edit Cargo.lock by hand.\nThe parser is in src/parse_tree.rs, see ParseTree.\nHello there.";
    let (names, instructions) = annals_projections::unmentioned(covered, "The work on src/parse_tree.rs is done.");
    assert_eq!(names, ["Cargo.lock", "ParseTree"]);
    assert_eq!(instructions, ["Never edit Cargo.lock by hand."]);
    let (names, instructions) = annals_projections::unmentioned(
        covered,
        "Rule: never edit Cargo.lock by hand. ParseTree in src/parse_tree.rs.",
    );
    assert_eq!((names.len(), instructions.len()), (0, 0));
}
