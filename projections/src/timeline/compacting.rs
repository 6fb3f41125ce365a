//! Compactions in a timeline: one entry from its start to its outcome.

use super::{CompactionOutcome, EntryKind, Timeline, TimelineCompaction, TimelineEntry};
use alloc::boxed::Box;
use annals_core::Record;
use annals_core::event::{CompactionEvent, CompactionReason};

impl Timeline {
    pub(super) fn compaction(&mut self, record: &Record<'_>, event: &CompactionEvent) {
        match event {
            CompactionEvent::Started(started) => {
                let compaction = TimelineCompaction {
                    reason: started.reason,
                    outcome: None,
                    ms: 0,
                    before: started.estimate,
                    after: 0,
                    cost: 0,
                };
                self.push(record, EntryKind::Compaction(Box::new(compaction)), true);
            }
            CompactionEvent::Ended(ended) => {
                let outcome = CompactionOutcome::Summary(ended.summary.clone());
                self.compacted(record, ended.reason, outcome, ended.estimate, ended.cost);
            }
            CompactionEvent::Completed(ended) => {
                let outcome = CompactionOutcome::Summary(ended.summary.clone());
                self.compacted(record, ended.reason, outcome, ended.estimate, ended.cost);
            }
            CompactionEvent::Failed(failed) => {
                let outcome = CompactionOutcome::Failed(failed.error.clone());
                self.compacted(record, failed.reason, outcome, 0, failed.cost);
            }
            CompactionEvent::Undone(_)
            | CompactionEvent::ToolOutputsPruned(_)
            | CompactionEvent::ToolOutputsReduced(_)
            | CompactionEvent::CallsReduced(_) => self.other_compaction(record, event),
        }
    }

    fn compacted(
        &mut self,
        record: &Record<'_>,
        reason: CompactionReason,
        outcome: CompactionOutcome,
        after: u64,
        cost: u64,
    ) {
        let is_compaction = |entry: &TimelineEntry| matches!(entry.kind, EntryKind::Compaction(_));
        let open = self.entries.iter_mut().rev().find(|entry| entry.open && is_compaction(entry));
        let Some(entry) = open else {
            // An import may have recorded no start.
            let compaction = TimelineCompaction { reason, outcome: Some(outcome), ms: 0, before: 0, after, cost };
            return self.push(record, EntryKind::Compaction(Box::new(compaction)), false);
        };
        entry.open = false;
        let began = entry.at;
        if let EntryKind::Compaction(compaction) = &mut entry.kind {
            compaction.outcome = Some(outcome);
            if compaction.reason == CompactionReason::Unknown {
                compaction.reason = reason;
            }
            compaction.ms = record.at.millis().saturating_sub(began.millis());
            compaction.after = after;
            compaction.cost = cost;
        }
    }
}
