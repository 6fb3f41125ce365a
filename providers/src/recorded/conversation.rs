//! The neutral form of a recorded request: what every protocol's body says, in the order of its messages.

use super::rest::unread;
use annals_core::event::{AnswerId, Attachment, Failure, Finish, RequestOptions, ToolDefinition, Usage};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The user, the agent in the user's place, or a tool.
    User,
    /// The model.
    Assistant,
}

/// One piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireItem {
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
    /// An answer, or a part of one, that the body names by the id that its provider gave it.
    Reference {
        /// The JSON of it.
        text: String,
    },
    /// What no reader knows.
    Unknown {
        /// The text, or JSON.
        text: String,
    },
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Who speaks.
    pub speaker: Speaker,
    /// What, piece by piece.
    pub items: Vec<WireItem>,
    /// The JSON Pointer of each item in the body; none of an answer.
    pub pointers: Vec<String>,
}

impl Unit {
    /// A message that says nothing yet.
    pub fn new(speaker: Speaker) -> Self {
        Self { speaker, items: Vec::new(), pointers: Vec::new() }
    }

    /// Adds what is at a place of the body.
    pub(super) fn push(&mut self, pointer: &str, item: WireItem) {
        self.items.push(item);
        self.pointers.push(pointer.to_owned());
    }

    /// Adds what no item has of the message at a place of the body.
    pub(super) fn push_unread(&mut self, message: &serde_json::Value, pointer: &str) {
        for (place, text) in unread(message, pointer, &self.items) {
            self.push(&place, WireItem::Unknown { text });
        }
    }
}

/// A text of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemInstruction {
    /// The JSON Pointer of it in the body.
    pub pointer: String,
    /// All of it.
    pub text: String,
    /// Whether it changes with each request and is about the agent's build, not the model's work.
    pub is_volatile: bool,
}

/// What a request says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WireConversation {
    /// The model, as the provider calls it.
    pub model: String,
    /// The texts of the system prompt.
    pub instructions: Vec<SystemInstruction>,
    /// The tools, in order.
    pub tools: Vec<ToolDefinition>,
    /// The messages, oldest first.
    pub units: Vec<Unit>,
    /// Sampling and output controls, and other fields of the body.
    pub options: RequestOptions,
    /// Members that are about the exchange, not the model's work, such as `stream` and `metadata`.
    pub exchange: std::collections::BTreeMap<String, annals_core::Json>,
    /// The output limit, if one is set.
    pub output_limit: Option<u64>,
    /// The answer before, where the provider has the conversation up to that.
    pub previous: Option<String>,
    /// The ids of items of answers that the provider has.
    pub references: Vec<String>,
}

impl WireConversation {
    /// Whether the provider has a part of the conversation, so that the body does not have it.
    pub fn is_with_provider(&self) -> bool {
        self.previous.is_some() || !self.references.is_empty()
    }

    /// The texts of the system prompt that stay the same from request to request.
    pub fn system(&self) -> Vec<String> {
        let lasting = self.instructions.iter().filter(|instruction| !instruction.is_volatile);
        lasting.map(|instruction| instruction.text.clone()).collect()
    }

    /// Joins answers that follow each other: one answer may have been sent back in several messages.
    pub(super) fn joined(mut self) -> Self {
        let mut units: Vec<Unit> = Vec::with_capacity(self.units.len());
        for unit in self.units {
            match units.last_mut() {
                Some(last) if last.speaker == Speaker::Assistant && unit.speaker == Speaker::Assistant => {
                    last.items.extend(unit.items);
                    last.pointers.extend(unit.pointers);
                }
                _ => units.push(unit),
            }
        }
        self.units = units;
        self
    }

    /// The text of the newest message, if it is the user's.
    pub fn newest_prompt(&self) -> String {
        let newest = self.units.last().filter(|unit| unit.speaker == Speaker::User);
        let texts = newest.into_iter().flat_map(|unit| &unit.items).filter_map(|item| match item {
            WireItem::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// All text of the users' messages, for requests that are recorded as one prompt.
    pub fn prompt(&self) -> String {
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
pub struct DecodedAnswer {
    /// Its content, in order.
    pub items: Vec<WireItem>,
    /// What the provider reported.
    pub usage: Option<Usage>,
    /// How it ended, if it did.
    pub finish: Option<Finish>,
    /// Why it failed.
    pub error: Option<Failure>,
    /// What the provider calls it.
    pub id: Option<AnswerId>,
    /// What the provider calls the items of it, where later requests may name those.
    pub items_ids: Vec<String>,
}

impl DecodedAnswer {
    /// Its text.
    pub fn text(&self) -> String {
        let texts = self.items.iter().filter_map(|item| match item {
            WireItem::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(speaker: Speaker, items: Vec<WireItem>) -> Unit {
        Unit { speaker, items, pointers: Vec::new() }
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
