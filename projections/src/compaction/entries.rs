//! The conversation as a summary request shows it.

use super::attached;
use crate::message::{Body, Content, Message, Status, ToolCall};
use crate::shorten::{SHORTENED_ENDS, values_without_middle};
use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use annals_core::event::Attachment;
use annals_core::{Blobs, Seq};

/// Characters of a tool result, an error or a shell output that an entry shows.
const SHOWN: usize = 2_000;

/// What an entry is: the order in which a request that is too large does without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryClass {
    /// A call, its result and the attachments of that, by the event of the call.
    Call(Seq),
    /// What the assistant said or reasoned.
    Said,
    /// Words of the user and of the runtime, attachments, shell commands and context messages.
    Other,
}

/// One line of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SummaryEntry {
    pub(super) class: EntryClass,
    /// `[User]: ...` and the like.
    pub(super) text: String,
    /// Where the output begins in the text of a result, an error or a shell command, and the content in that of a text file.
    pub(super) output: Option<usize>,
    /// Where the input begins in the text of a call.
    input: Option<usize>,
    /// Whether the text lacks its middle already.
    pub(super) shortened: bool,
}

impl SummaryEntry {
    fn other(text: String) -> Self {
        Self { class: EntryClass::Other, text, output: None, input: None, shortened: false }
    }

    fn speech(text: String) -> Self {
        Self { class: EntryClass::Said, ..Self::other(text) }
    }

    fn with_output(class: EntryClass, head: &str, output: &str) -> Self {
        let text = alloc::format!("{head}{output}");
        Self { class, output: Some(head.len()), ..Self::other(text) }
    }

    fn attached(class: EntryClass, attachment: &Attachment, blobs: &dyn Blobs) -> Self {
        let line = alloc::format!("[Attached {}: {}]", attachment.mime, name(attachment));
        match attached::shown(attachment, blobs) {
            Some(text) => Self::with_output(class, &alloc::format!("{line}\n"), &text),
            None => Self { class, ..Self::other(line) },
        }
    }

    /// The text of a call whose input lacks the middle of its long texts, if that is shorter.
    pub(super) fn with_short_input(&self) -> Option<String> {
        let (head, input) = self.text.split_at_checked(self.input?)?;
        Some(alloc::format!("{head}{}", values_without_middle(input, SHORTENED_ENDS)?))
    }

    /// The kept tail of an imported compaction.
    pub(super) fn recent(text: &str) -> Self {
        Self::other(text.to_owned())
    }
}

/// The entries of a message.
pub(super) fn of_message(message: &Message, blobs: &dyn Blobs) -> Vec<SummaryEntry> {
    let mut entries = Vec::new();
    match &message.body {
        Body::User { text, attachments, shortened, .. } => {
            let sent = shortened.as_ref().unwrap_or(text).resolve(blobs);
            let entry = SummaryEntry::other(alloc::format!("[User]: {sent}"));
            entries.push(SummaryEntry { shortened: shortened.is_some(), ..entry });
            let attached = |attachment| SummaryEntry::attached(EntryClass::Other, attachment, blobs);
            entries.extend(attachments.iter().map(attached));
        }
        Body::System { text, .. } => {
            entries.push(SummaryEntry::other(alloc::format!("[System update]: {}", text.resolve(blobs))));
        }
        Body::Synthetic { text } => {
            entries.push(SummaryEntry::other(alloc::format!("[Synthetic context]: {}", text.resolve(blobs))));
        }
        Body::Shell { command, output, .. } => {
            let head = alloc::format!("[Shell]: {}\n", command.resolve(blobs));
            entries.push(SummaryEntry::with_output(EntryClass::Other, &head, &cut(output.resolve(blobs))));
        }
        Body::Assistant(assistant) => {
            for content in &assistant.content {
                match content {
                    Content::Text { text, .. } if !text.is_empty() => {
                        entries.push(SummaryEntry::speech(alloc::format!("[Assistant]: {}", text.resolve(blobs))));
                    }
                    Content::Reasoning { text, .. } if !text.is_empty() => {
                        entries.push(SummaryEntry::speech(alloc::format!(
                            "[Assistant reasoning]: {}",
                            text.resolve(blobs)
                        )));
                    }
                    Content::Text { .. } | Content::Reasoning { .. } => {}
                    Content::Tool(tool) => of_call(tool, &mut entries, blobs),
                }
            }
        }
        Body::Compaction { .. } | Body::AgentSwitched { .. } | Body::ModelSwitched { .. } => {}
    }
    entries
}

fn of_call(tool: &ToolCall, entries: &mut Vec<SummaryEntry>, blobs: &dyn Blobs) {
    let class = EntryClass::Call(tool.seq);
    let head = alloc::format!("[Assistant tool call]: {}(", tool.name);
    let text = alloc::format!("{head}{})", tool.input_as_read(blobs));
    entries.push(SummaryEntry { class, input: Some(head.len()), ..SummaryEntry::other(text) });
    match tool.status {
        Status::Completed => {
            let output = cut(tool.output_as_read(blobs));
            entries.push(SummaryEntry::with_output(class, "[Tool result]: ", &output));
            if tool.pruned.is_none() {
                entries.extend(tool.attachments.iter().map(|one| SummaryEntry::attached(class, one, blobs)));
            }
        }
        Status::Error => {
            let error = tool.error.as_ref().map_or(Cow::Borrowed(crate::INTERRUPTED), |error| error.resolve(blobs));
            entries.push(SummaryEntry::with_output(class, "[Tool error]: ", &cut(error)));
        }
        Status::Pending | Status::Running => {}
    }
}

fn name(attachment: &Attachment) -> String {
    let named = attachment.name.as_deref().or(attachment.uri.inline().filter(|uri| !uri.starts_with("data:")));
    named.unwrap_or("file").to_string()
}

/// At most [`SHOWN`] characters of a text.
fn cut(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => Cow::Owned(alloc::format!("{}\n[truncated]", text.get(..at).unwrap_or_default())),
        None => text,
    }
}
