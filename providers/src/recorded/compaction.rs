//! Who asked for a compaction, as far as the request behind it shows it; and what agents write around a summary.

use super::conversation::{Speaker, WireConversation, WireItem};
use annals_core::event::CompactionReason;

/// The command of the user that Claude Code sends behind the summary.
const COMMAND: &str = "<command-name>/compact</command-name>";

/// How texts begin with which OpenCode continues by itself behind a summary.
const CONTINUES: [(&str, CompactionReason); 2] = [
    ("The previous request exceeded the provider's size limit", CompactionReason::Overflow),
    ("Continue if you have next steps, or stop and ask for clarification", CompactionReason::Auto),
];

/// What OpenCode asks in the user's place before a summary, which it sends as the answer to it.
const QUESTION: &str = "What did we do so far?";

/// What Claude Code adds to a summary to continue by itself.
const RESUMES: &str = "without asking the user any further questions";

/// Who asked for a compaction: `summary` is its message, `behind` the texts of the request behind that. What is not shown is
/// [`CompactionReason::Unknown`]: Gemini CLI sends the same in both cases.
pub fn compaction_reason<'t>(summary: &str, behind: impl Iterator<Item = &'t str> + Clone) -> CompactionReason {
    if behind.clone().any(|text| text.contains(COMMAND)) {
        return CompactionReason::Manual;
    }
    let mut signs = CONTINUES.into_iter().filter(|(start, _)| behind.clone().any(|text| text.starts_with(start)));
    match signs.next() {
        Some((_, reason)) => reason,
        None if summary.contains(RESUMES) => CompactionReason::Auto,
        None => CompactionReason::Unknown,
    }
}

/// Whether an agent wrote a text in the user's place to continue behind a summary.
pub(super) fn continues(text: &str) -> bool {
    CONTINUES.iter().any(|(start, _)| text.trim_start().starts_with(start))
}

/// Marks the question before a summary as the agent's.
pub(super) fn with_question(mut conversation: WireConversation) -> WireConversation {
    let is_it = |item: &WireItem| matches!(item, WireItem::Text(text) if text.trim() == QUESTION);
    let first = conversation.units.first_mut().filter(|unit| unit.speaker == Speaker::User);
    if let Some([item]) = first.map(|unit| unit.items.as_mut_slice())
        && is_it(item)
    {
        *item = WireItem::Context { key: "agent/context", text: QUESTION.to_owned() };
    }
    conversation
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asked_is_known_by_what_follows_the_summary() {
        let reason = |summary, behind: &[&str]| compaction_reason(summary, behind.iter().copied());
        let resumed = "Continue the conversation from where it left off without asking the user any further questions.";
        let command = "<command-name>/compact</command-name>\n  <command-args></command-args>";
        assert_eq!(reason(resumed, &["<local-command-caveat>", command, "more"]), CompactionReason::Manual);
        assert_eq!(reason(resumed, &["more"]), CompactionReason::Auto);
        assert_eq!(reason("What we did.", &["more"]), CompactionReason::Unknown);
        let next =
            "Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed.";
        assert_eq!(reason("What we did.", &[next]), CompactionReason::Auto);
        let media = "The previous request exceeded the provider's size limit due to large media attachments.";
        assert_eq!(reason("What we did.", &[&format!("{media}\n\n{next}")]), CompactionReason::Overflow);
    }
}
