//! The neutral form of a recorded request: what every protocol's body says, in the order of its messages.

use annals_core::Digest;
use annals_core::event::{AnswerId, Attachment, Failure, Finish, RequestOptions, ToolDefinition, Usage};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// The user, the agent in the user's place, or a tool.
    User,
    /// The model.
    Assistant,
}

/// One piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WireItem {
    /// Text.
    Text(String),
    /// A file or image.
    Media(Attachment),
    /// What the agent adds for the model, such as a system reminder.
    Context {
        /// A name for its kind.
        key: &'static str,
        /// The exact text.
        text: String,
    },
    /// Reasoning of the model.
    Reasoning {
        /// The text; may be empty.
        text: String,
        /// Native metadata, such as a signature.
        metadata: Option<String>,
    },
    /// A tool call of the model.
    Call {
        /// The provider's id.
        id: String,
        /// The tool.
        name: String,
        /// The input as JSON text.
        input: String,
        /// Whether the provider executes it.
        hosted: bool,
        /// Native metadata.
        metadata: Option<String>,
    },
    /// The result of a call that the provider executed.
    HostedResult {
        /// The call.
        id: String,
        /// The result as JSON text.
        result: String,
        /// The error, if it failed.
        error: Option<String>,
    },
    /// The result of a call.
    Result {
        /// The call.
        id: String,
        /// The text.
        text: String,
        /// Whether it is an error.
        failed: bool,
        /// Media that came with it.
        attachments: Vec<Attachment>,
    },
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) speaker: Speaker,
    pub(crate) items: Vec<WireItem>,
}

impl Unit {
    /// Names what identifies a message: its texts, calls, results and media. What an agent adds or leaves out from request to
    /// request (reminders, reasoning) does not count, and a result that is repeated counts once: Gemini CLI doubles those of a
    /// session that it resumes. `None` if nothing else is in it.
    pub(crate) fn name(&self) -> Option<Digest> {
        let (mut lines, mut text) = (Vec::new(), String::new());
        let mut named = |line: String| {
            if !lines.contains(&line) {
                lines.push(line);
            }
        };
        for item in &self.items {
            match item {
                WireItem::Text(piece) => text.push_str(piece.trim()),
                WireItem::Media(media) => {
                    named(format!("media {}\n", Digest::of(media.uri.inline().unwrap_or_default().as_bytes())));
                }
                WireItem::Call { id, hosted: false, .. } => named(format!("call {id}\n")),
                WireItem::Result { id, text, .. } => {
                    named(format!("result {id} {}\n", Digest::of(text.trim().as_bytes())));
                }
                WireItem::Call { hosted: true, .. }
                | WireItem::Context { .. }
                | WireItem::Reasoning { .. }
                | WireItem::HostedResult { .. } => {}
            }
        }
        if lines.is_empty() && text.is_empty() {
            return None;
        }
        let speaker = if self.speaker == Speaker::User { "user" } else { "assistant" };
        Some(Digest::of(format!("{speaker}\n{}{text}", lines.concat()).as_bytes()))
    }
}

/// What a request says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WireConversation {
    /// The model, as the provider calls it.
    pub(crate) model: String,
    /// The texts of the system prompt.
    pub(crate) system: Vec<String>,
    /// The tools, in order.
    pub(crate) tools: Vec<ToolDefinition>,
    /// The messages, oldest first.
    pub(crate) units: Vec<Unit>,
    /// Sampling and output controls, and other fields of the body.
    pub(crate) options: RequestOptions,
    /// The output limit, if one is set.
    pub(crate) output_limit: Option<u64>,
}

impl WireConversation {
    /// Joins answers that follow each other: one answer may have been sent back in several messages.
    pub(crate) fn joined(mut self) -> Self {
        let mut units: Vec<Unit> = Vec::with_capacity(self.units.len());
        for unit in self.units {
            match units.last_mut() {
                Some(last) if last.speaker == Speaker::Assistant && unit.speaker == Speaker::Assistant => {
                    last.items.extend(unit.items);
                }
                _ => units.push(unit),
            }
        }
        self.units = units;
        self
    }

    /// The text of the newest message, if it is the user's.
    pub(crate) fn newest_prompt(&self) -> String {
        let newest = self.units.last().filter(|unit| unit.speaker == Speaker::User).cloned();
        let items =
            newest.map(|unit| unit.items.into_iter().filter(|item| matches!(item, WireItem::Text(_))).collect());
        let unit = Unit { speaker: Speaker::User, items: items.unwrap_or_default() };
        Self { units: vec![unit], ..Self::default() }.prompt()
    }

    /// All text of the users' messages, for requests that are recorded as one prompt.
    pub(crate) fn prompt(&self) -> String {
        let users = self.units.iter().filter(|unit| unit.speaker == Speaker::User);
        let texts = users.flat_map(|unit| &unit.items).filter_map(|item| match item {
            WireItem::Text(text) | WireItem::Context { text, .. } | WireItem::Result { text, .. } => {
                Some(text.as_str())
            }
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }
}

/// What an answer says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DecodedAnswer {
    /// Its content, in order.
    pub(crate) items: Vec<WireItem>,
    /// What the provider reported.
    pub(crate) usage: Option<Usage>,
    /// How it ended, if it did.
    pub(crate) finish: Option<Finish>,
    /// Why it failed.
    pub(crate) error: Option<Failure>,
    /// What the provider calls it.
    pub(crate) id: Option<AnswerId>,
}

impl DecodedAnswer {
    /// The message that later requests contain.
    pub(crate) fn unit(&self) -> Unit {
        Unit { speaker: Speaker::Assistant, items: self.items.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(speaker: Speaker, items: Vec<WireItem>) -> Unit {
        Unit { speaker, items }
    }

    #[test]
    fn a_message_is_known_again_whatever_the_agent_adds_to_it() {
        let text = || WireItem::Text("Hello ".into());
        let reminder = || WireItem::Context { key: "agent/reminder", text: "<system-reminder>".into() };
        let plain = unit(Speaker::User, vec![text()]);
        assert_eq!(plain.name(), unit(Speaker::User, vec![reminder(), text()]).name());
        assert_ne!(plain.name(), unit(Speaker::Assistant, vec![text()]).name());
        assert_eq!(unit(Speaker::User, vec![reminder()]).name(), None);
        let result = || WireItem::Result { id: "1".into(), text: "ok".into(), failed: false, attachments: Vec::new() };
        let doubled = unit(Speaker::User, vec![result(), result()]);
        assert_eq!(doubled.name(), unit(Speaker::User, vec![result()]).name());
        let thought = WireItem::Reasoning { text: "Hm".into(), metadata: None };
        assert_eq!(
            unit(Speaker::Assistant, vec![thought, text()]).name(),
            unit(Speaker::Assistant, vec![WireItem::Text("Hello".into())]).name()
        );
    }

    #[test]
    fn answers_in_several_messages_are_one() {
        let call =
            WireItem::Call { id: "1".into(), name: "ls".into(), input: "{}".into(), hosted: false, metadata: None };
        let units = vec![
            unit(Speaker::Assistant, vec![WireItem::Text("a".into())]),
            unit(Speaker::Assistant, vec![call.clone()]),
            unit(Speaker::User, vec![WireItem::Text("b".into())]),
        ];
        let joined = WireConversation { units, ..WireConversation::default() }.joined();
        assert_eq!(joined.units.len(), 2);
        assert_eq!(joined.units[0].items, [WireItem::Text("a".into()), call]);
    }
}
