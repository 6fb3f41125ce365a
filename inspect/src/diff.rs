//! What differs: two sessions aligned by turns, two requests part by part. (Two cuts: [`crate::view_diff`].)

mod folded;
mod requests;
mod said;
mod sessions;
mod transcript;

pub use folded::{FoldDiff, folds};
pub(crate) use requests::compare;
pub use requests::{First, Part, RequestDiff, requests};
pub use sessions::{Pair, SessionDiff, Turn, TurnEntry, sessions};
pub use transcript::{TranscriptDiff, TranscriptKind, TranscriptPart, transcript};

use crate::SessionAt;
use annals_store::ReadError;
use serde::Serialize;

/// Makes the index of what messages say, where pages are kept.
pub(crate) async fn index(past: &SessionAt) -> Result<(), ReadError> {
    said::index(past).await
}

/// Lines that two texts differ in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lines {
    /// Only in the second.
    pub added: u64,
    /// Only in the first.
    pub removed: u64,
}

impl Lines {
    /// Counts the lines that differ.
    pub fn between(before: &str, after: &str) -> Self {
        let mut lines = Self::default();
        for change in similar::TextDiff::from_lines(before, after).iter_all_changes() {
            match change.tag() {
                similar::ChangeTag::Insert => lines.added += 1,
                similar::ChangeTag::Delete => lines.removed += 1,
                similar::ChangeTag::Equal => {}
            }
        }
        lines
    }
}
