//! An examination for programs, and the places without a batch in ranges.

use super::doctor::{Examination, UnusedBlobs};
use super::usage::{DiskUsage, StoreUsage};
use crate::disk::journal::frame::{Gap, GapCause};
use crate::log::Position;
use serde_json::{Value, json};
use std::ops::Range;

impl GapCause {
    /// What a place without a batch is, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Torn => "an unfinished write was cut off here earlier; nothing acknowledged is missing",
            Self::Lost => "damaged in every copy and lost",
        }
    }
}

impl Examination {
    /// The places without a batch: ranges of positions with one cause each.
    pub fn gap_ranges(&self) -> Vec<(Range<Position>, GapCause)> {
        let mut ranges: Vec<(Range<Position>, GapCause)> = Vec::new();
        for (position, gap) in &self.gaps {
            let end = Position(position.0.saturating_add(gap.count));
            match ranges.last_mut().filter(|(range, cause)| range.end == *position && *cause == gap.cause) {
                Some((range, _)) => range.end = end,
                None => ranges.push((*position..end, gap.cause)),
            }
        }
        ranges
    }

    /// The public form, with the space that the store takes and blobs that no batch names, as `annals doctor --json`
    /// prints it.
    pub fn to_json(&self, usage: &StoreUsage, garbage: Option<&UnusedBlobs>) -> Value {
        let of = |usage: DiskUsage| json!({"files": usage.files, "bytes": usage.bytes});
        let findings: Vec<String> = self.findings.iter().map(ToString::to_string).collect();
        let gap = |(position, gap): &(Position, Gap)| json!({"position": position.0, "count": gap.count, "what": gap.cause.words()});
        json!({
            "journal": of(usage.journal), "sealed": of(usage.sealed), "index": of(usage.sled),
            "blobs": of(usage.blobs), "views": of(usage.cache), "outputs": of(usage.outputs),
            "worktrees": of(usage.worktrees), "set_aside": usage.set_aside, "second_copy_unchecked": self.unchecked,
            "batches": self.batches, "sound": self.findings.is_empty(), "findings": findings,
            "voids": self.gaps.iter().map(gap).collect::<Vec<_>>(),
            "garbage": garbage.map(|garbage| json!({
                "blobs": garbage.blobs.iter().map(|(hash, bytes)| json!({"blob": hash, "bytes": bytes}))
                    .collect::<Vec<_>>(),
                "unfinished": garbage.unfinished.iter().map(|(path, bytes)| json!({"file": path, "bytes": bytes}))
                    .collect::<Vec<_>>(),
            })),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_gaps_of_one_cause_are_one_range() {
        let gap = |at: u64, count, cause| (Position(at), Gap { cause, whose: None, count });
        let gaps = vec![
            gap(1, 2, GapCause::Torn),
            gap(3, 1, GapCause::Torn),
            gap(4, 1, GapCause::Lost),
            gap(9, 1, GapCause::Lost),
        ];
        let examination = Examination { gaps, ..Examination::default() };
        let expected = [
            (Position(1)..Position(4), GapCause::Torn),
            (Position(4)..Position(5), GapCause::Lost),
            (Position(9)..Position(10), GapCause::Lost),
        ];
        assert_eq!(examination.gap_ranges(), expected);
    }
}
