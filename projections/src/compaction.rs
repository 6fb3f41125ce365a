//! What a compaction would cover and keep, and what a prune would clear (`docs/reference/compaction.md`).

use crate::history::History;
use crate::message::{Body, Content, Message, Status};
use crate::request::PRUNED;
use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::Attachment;
use annals_core::{Blobs, CallId, Seq, Text};

/// Characters of a tool result or shell output that an entry shows.
const SHOWN: usize = 2_000;
/// Tokens of the newest tool output that a prune spares.
const SPARED: u64 = 40_000;
/// Tokens that a prune must win.
const WORTHWHILE: u64 = 20_000;
/// User turns at the end that a prune never reaches.
const SPARED_TURNS: usize = 2;
/// The tool whose output is never pruned.
const SPARED_TOOL: &str = "skill";

/// Estimate of a text of `chars` characters (Unicode scalar values), in tokens: a quarter, rounded.
pub const fn estimate(chars: u64) -> u64 {
    (chars + 2) / 4
}

/// One line of the conversation as a summary request shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryLine {
    /// The message that it comes from.
    pub seq: Seq,
    /// `[User]: ...` and the like.
    pub text: String,
}

/// What a compaction would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionPlan {
    /// The summary that the new one replaces.
    pub prior_summary: Option<String>,
    /// What is summarised: the former kept tail, then the entries that are not kept.
    pub conversation: String,
    /// What is kept, rendered; empty when not even the last entry fits.
    pub recent: String,
    /// The first entry that is kept.
    pub kept_from: Option<Seq>,
    /// How many entries are summarised.
    pub covered: usize,
}

/// Everything fits the kept tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Nothing to compact yet")]
pub struct NothingToCompact;

/// Plans a compaction that keeps the longest run of whole entries at the end whose estimates add up to at most
/// `keep_tokens`. Pinned messages are neither summarised nor kept in the tail: they stay in the history themselves.
///
/// # Errors
/// When nothing would be summarised.
pub fn plan(history: &History, keep_tokens: u64, blobs: &dyn Blobs) -> Result<CompactionPlan, NothingToCompact> {
    let mut entries = Vec::new();
    for message in history.since_compaction().filter(|message| !history.is_pinned(message.seq)) {
        entries.extend(of_message(message, blobs).into_iter().map(|text| SummaryLine { seq: message.seq, text }));
    }
    let mut kept = entries.len();
    let mut tokens = 0;
    while let Some(entry) = kept.checked_sub(1).and_then(|at| entries.get(at)) {
        tokens += estimate(entry.text.chars().count() as u64);
        if tokens > keep_tokens {
            break;
        }
        kept -= 1;
    }
    if kept == 0 {
        return Err(NothingToCompact);
    }
    let tail = entries.split_off(kept);
    let (prior_summary, former) = match history.compaction().map(|message| &message.body) {
        Some(Body::Compaction { summary, recent, .. }) => {
            (Some(summary.resolve(blobs).into_owned()), recent.resolve(blobs).into_owned())
        }
        _ => (None, String::new()),
    };
    let former = (!former.is_empty()).then_some(former.as_str());
    let conversation: Vec<&str> = former.into_iter().chain(entries.iter().map(|entry| entry.text.as_str())).collect();
    let recent: Vec<&str> = tail.iter().map(|entry| entry.text.as_str()).collect();
    Ok(CompactionPlan {
        prior_summary,
        conversation: conversation.join("\n\n"),
        recent: recent.join("\n\n"),
        kept_from: tail.first().map(|entry| entry.seq),
        covered: entries.len(),
    })
}

impl CompactionPlan {
    /// The one message of the summary request. `added` is what a caller's hook adds to the conversation;
    /// `instructions` replaces the usual ones.
    pub fn prompt(&self, added: Option<&str>, instructions: Option<&str>) -> String {
        let mut prompt = alloc::format!("<conversation>\n{}\n</conversation>\n\n", self.conversation);
        if let Some(added) = added {
            prompt.push_str(&alloc::format!("<additional-context>\n{added}\n</additional-context>\n\n"));
        }
        if let Some(prior) = &self.prior_summary {
            prompt.push_str(&alloc::format!("<prior-summary>\n{prior}\n</prior-summary>\n\n{MERGE}\n\n"));
        }
        prompt.push_str(instructions.unwrap_or(INSTRUCTIONS));
        prompt
    }
}

/// What a summary request asks for when an earlier summary exists.
pub const MERGE: &str = "Merge the prior summary and the conversation into one summary. Where they differ, the \
conversation is right. Carry every instruction of the user forward unless it was withdrawn, also when the conversation \
does not mention it. Move finished work to Accomplished; drop only what is finished and needed no more.";

/// What a summary request asks for: the template, documented in `docs/compaction.md`.
pub const INSTRUCTIONS: &str = "Write a summary of this session from which the work can go on without the \
conversation. Use exactly these sections, in this order, each even if it is empty (then \"(none)\"). Short bullets; exact \
paths, commands, identifiers and error messages; no word about summarising.

## Goal
What the user wants to reach.

## Instructions
Rules, plans and specifications that still hold, as the user gave them.

## Discoveries
What was learned that the rest of the work needs.

## Accomplished
### Completed
### In progress
### Blocked

## Next step
The one thing to do next.

## Relevant files
Paths, each with why it matters.";

/// What a prune would clear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunePlan {
    /// Whose outputs, oldest first.
    pub calls: Vec<CallId>,
    /// What that wins, in tokens.
    pub tokens: u64,
}

/// Plans a prune of old tool outputs, or `None` when it is not worth it (`docs/reference/compaction.md#pruning`).
pub fn prune(history: &History) -> Option<PrunePlan> {
    let messages: Vec<&Message> = history.since_compaction().collect();
    let mut turns = 0;
    let mut spared = 0;
    let mut plan = PrunePlan { calls: Vec::new(), tokens: 0 };
    'walk: for message in messages.into_iter().rev() {
        turns += usize::from(matches!(message.body, Body::User { .. }));
        let Body::Assistant(assistant) = &message.body else { continue };
        if turns < SPARED_TURNS || history.is_pinned(message.seq) {
            continue;
        }
        for content in assistant.content.iter().rev() {
            let Content::Tool(tool) = content else { continue };
            if tool.pruned.is_some() {
                break 'walk; // a former prune went over everything before it
            }
            // The result of a hosted call is part of the answer that holds it: every request sends it whole.
            if tool.hosted || tool.name == SPARED_TOOL || tool.status != Status::Completed {
                continue;
            }
            let tokens = estimate(tool.output.chars());
            spared += tokens;
            if spared > SPARED {
                plan.tokens += tokens;
                plan.calls.push(tool.call.clone());
            }
        }
    }
    plan.calls.reverse();
    (plan.tokens > WORTHWHILE).then_some(plan)
}

fn of_message(message: &Message, blobs: &dyn Blobs) -> Vec<String> {
    let mut entries = Vec::new();
    let attached = |attachment: &Attachment| {
        let name = attachment.name.clone().unwrap_or_else(|| match attachment.uri.inline() {
            Some(uri) if !uri.starts_with("data:") => uri.to_owned(),
            _ => "file".to_owned(),
        });
        alloc::format!("[Attached {}: {name}]", attachment.mime)
    };
    match &message.body {
        Body::User { text, attachments, .. } => {
            entries.push(alloc::format!("[User]: {}", text.resolve(blobs)));
            entries.extend(attachments.iter().map(attached));
        }
        Body::System { text, .. } => entries.push(alloc::format!("[System update]: {}", text.resolve(blobs))),
        Body::Synthetic { text } => entries.push(alloc::format!("[Synthetic context]: {}", text.resolve(blobs))),
        Body::Shell { command, output, .. } => {
            entries.push(alloc::format!("[Shell]: {}\n{}", command.resolve(blobs), cut(output, blobs)));
        }
        Body::Assistant(assistant) => {
            for content in &assistant.content {
                match content {
                    Content::Text { text, .. } if !text.is_empty() => {
                        entries.push(alloc::format!("[Assistant]: {}", text.resolve(blobs)));
                    }
                    Content::Reasoning { text, .. } if !text.is_empty() => {
                        entries.push(alloc::format!("[Assistant reasoning]: {}", text.resolve(blobs)));
                    }
                    Content::Text { .. } | Content::Reasoning { .. } => {}
                    Content::Tool(tool) => {
                        let input = tool.input.0.resolve(blobs);
                        entries.push(alloc::format!("[Assistant tool call]: {}({input})", tool.name));
                        match (tool.status, tool.pruned, &tool.error) {
                            (Status::Completed, Some(_), _) => {
                                entries.push(alloc::format!("[Tool result]: {PRUNED}"));
                            }
                            (Status::Completed, None, _) => {
                                entries.push(alloc::format!("[Tool result]: {}", cut(&tool.output, blobs)));
                                entries.extend(tool.attachments.iter().map(attached));
                            }
                            (Status::Error, _, Some(error)) => {
                                entries.push(alloc::format!("[Tool error]: {}", cut(error, blobs)));
                            }
                            (Status::Error, _, None) => {
                                entries.push(alloc::format!("[Tool error]: {}", crate::INTERRUPTED));
                            }
                            (Status::Pending | Status::Running, ..) => {}
                        }
                    }
                }
            }
        }
        Body::Compaction { .. } | Body::AgentSwitched { .. } | Body::ModelSwitched { .. } => {}
    }
    entries
}

/// At most [`SHOWN`] characters of a text.
fn cut<'a>(text: &'a Text, blobs: &dyn Blobs) -> Cow<'a, str> {
    let text = text.resolve(blobs);
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => Cow::Owned(alloc::format!("{}\n[truncated]", text.get(..at).unwrap_or_default())),
        None => text,
    }
}

#[cfg(test)]
mod tests;
