//! A session in reading order: the words for the entries of the fold [`Timeline`].

mod brief;
mod exit;
mod note;
mod tool;

pub use annals_projections::{
    CallQuestion, CallResult, CompactionOutcome, EntryKind, Timeline, TimelineCall, TimelineCompaction, TimelineEntry,
    TimelineNote, TurnSummary,
};
pub use brief::{brief, changed};
pub use exit::{CommandFailure, command_failure, last_lines, sandbox_warning};
pub use note::{NoteLine, Topic, note_line};
pub use tool::{input_in_brief, one_line, output_in_brief};

/// A permission question in words: the action and what it acts on.
pub fn question(action: &str, resources: &[String]) -> String {
    format!("{action} {}", resources.join(" "))
}

/// A reply to a permission question in words.
pub fn reply(replied: &annals_core::event::PermissionReplied) -> String {
    let feedback = replied.feedback.as_ref().and_then(|text| text.inline()).map(|text| format!(": {text}"));
    format!("{} by {}{}", replied.reply, replied.by, feedback.unwrap_or_default())
}
