//! Messages: what the events of a session add up to for a reader, before any cut (`docs/reference/events.md#folds`).

use crate::shorten::{PRUNED, SHORTENED_ENDS, values_without_middle, without_middle, without_middle_chars};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::{Attachment, CompactionReason, Failure, Finish, ToolCalled, ToolOutcome, ToolSettled, Usage};
use annals_core::{AgentName, Blobs, CallId, InputId, Json, Key, ModelName, Record, Seq, Text, Time};
use serde::{Deserialize, Serialize};

/// A message and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The Seq of the event that made it.
    pub seq: Seq,
    /// Time of creation. A user message has the time of its admission.
    pub at: Time,
    /// What it says.
    pub body: Body,
}

impl Message {
    /// The text of a user message as it is sent.
    pub fn user_text(&self) -> Option<&Text> {
        match &self.body {
            Body::User { text, shortened, .. } => Some(shortened.as_ref().unwrap_or(text)),
            _ => None,
        }
    }

    /// The summary of a compaction as it is sent: whole, or its two ends.
    pub fn summary_as_sent<'a>(&'a self, blobs: &dyn Blobs) -> Option<Cow<'a, str>> {
        let Body::Compaction { summary, ends, .. } = &self.body else { return None };
        let whole = summary.resolve(blobs);
        Some(match ends.and_then(|ends| without_middle(&whole, ends)) {
            Some(short) => Cow::Owned(short),
            None => whole,
        })
    }
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// A promoted input.
    User {
        /// The input.
        id: InputId,
        /// What the user wrote.
        text: Text,
        /// What came with it.
        attachments: Vec<Attachment>,
        /// What is sent in the place of the text while a compaction replays it without its middle. Only in a history.
        shortened: Option<Text>,
    },
    /// An answer.
    Assistant(Box<Assistant>),
    /// A Mid-Conversation System Message.
    System {
        /// The Context Sources it speaks of.
        keys: Vec<Key>,
        /// The exact text.
        text: Text,
    },
    /// The runtime's words in the user's place.
    Synthetic {
        /// The exact text.
        text: Text,
    },
    /// A shell command of the user.
    Shell {
        /// The command line.
        command: Text,
        /// What it printed.
        output: Text,
        /// Its exit status.
        exit: Option<i32>,
    },
    /// A completed compaction.
    Compaction {
        /// Who asked for it.
        reason: CompactionReason,
        /// The summary as it was answered.
        summary: Text,
        /// How many characters of each end of the summary are sent, if it is truncated.
        ends: Option<u64>,
        /// The kept tail as text, in what imports record.
        recent: Option<Text>,
        /// The first message that stays; of an import, the compaction itself.
        first_kept: Seq,
    },
    /// Another agent was selected.
    AgentSwitched {
        /// The agent.
        agent: AgentName,
    },
    /// Another model was selected.
    ModelSwitched {
        /// The model.
        model: ModelName,
    },
}

/// An answer of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assistant {
    /// Who answered.
    pub agent: AgentName,
    /// Which model.
    pub model: ModelName,
    /// In the order in which the fragments began.
    pub content: Vec<Content>,
    /// How it ended; `None` while it is open.
    pub finish: Option<Finish>,
    /// What the provider reported.
    pub usage: Option<Usage>,
    /// In nano-dollars.
    pub cost: u64,
    /// Why it failed.
    pub error: Option<Failure>,
    /// When it ended.
    pub ended: Option<Time>,
}

/// A fragment of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// Visible text.
    Text {
        /// Its event.
        seq: Seq,
        /// Its place in the content.
        index: u32,
        /// All of it.
        text: Text,
        /// Native metadata.
        metadata: Option<Json>,
    },
    /// Reasoning.
    Reasoning {
        /// Its event.
        seq: Seq,
        /// Its place in the content.
        index: u32,
        /// All of it.
        text: Text,
        /// Native metadata.
        metadata: Option<Json>,
    },
    /// A tool call.
    Tool(Box<ToolCall>),
}

impl Content {
    /// Its place in the content.
    pub fn index(&self) -> u32 {
        match self {
            Self::Text { index, .. } | Self::Reasoning { index, .. } => *index,
            Self::Tool(call) => call.index,
        }
    }
}

/// The state of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It waits for a permission.
    Pending,
    /// It runs.
    Running,
    /// It gave a result.
    Completed,
    /// It gave an error.
    Error,
}

impl Status {
    /// The word as views have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Error => "error",
        }
    }
}

/// A tool call with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The Seq of `tool.called`.
    pub seq: Seq,
    /// When it was called.
    pub at: Time,
    /// Its place in the content.
    pub index: u32,
    /// Its id.
    pub call: CallId,
    /// The tool.
    pub name: String,
    /// The input as received.
    pub input: Json,
    /// Whether the provider executes it.
    pub hosted: bool,
    /// Native metadata of the call.
    pub metadata: Option<Json>,
    /// Its state.
    pub status: Status,
    /// How it ended; `None` before.
    pub outcome: Option<ToolOutcome>,
    /// The Model Tool Output (so far, while it runs).
    pub output: Text,
    /// What the model sees of a failure.
    pub error: Option<Text>,
    /// The structured value.
    pub structured: Option<Json>,
    /// Media that came with it.
    pub attachments: Vec<Attachment>,
    /// Files that hold output.
    pub paths: Vec<String>,
    /// Whether `output` is a preview.
    pub truncated: bool,
    /// Whether what is missing was kept nowhere.
    pub lossy: bool,
    /// The exact result of a hosted call.
    pub hosted_result: Option<Json>,
    /// Native metadata of the result.
    pub result_metadata: Option<Json>,
    /// The Seq and time of its settlement.
    pub settled: Option<(Seq, Time)>,
    /// The Seq of the prune that took its output out of the model's view.
    pub pruned: Option<Seq>,
    /// The Seq of the event that left the two ends of its output in the model's view.
    pub shortened: Option<Seq>,
    /// The Seq of the event that left the two ends of the long texts of its input in the model's view.
    pub short_input: Option<Seq>,
    /// The Seq of the event since which the model reads the two ends of a hosted result, as text.
    pub short_hosted_result: Option<Seq>,
}

impl ToolCall {
    /// Whether it is not settled yet.
    pub fn is_open(&self) -> bool {
        matches!(self.status, Status::Pending | Status::Running)
    }

    /// The output of a completed call as the model reads it.
    pub fn output_as_read<'a>(&'a self, blobs: &dyn Blobs) -> Cow<'a, str> {
        if self.pruned.is_some() {
            return Cow::Borrowed(PRUNED);
        }
        let whole = self.output.resolve(blobs);
        match self.shortened.and_then(|_| without_middle(&whole, SHORTENED_ENDS)) {
            Some(short) => Cow::Owned(short),
            None => whole,
        }
    }

    /// The input as the model reads it.
    pub fn input_as_read<'a>(&'a self, blobs: &dyn Blobs) -> Cow<'a, str> {
        let whole = self.input.0.resolve(blobs);
        match self.short_input.and_then(|_| values_without_middle(&whole, SHORTENED_ENDS)) {
            Some(short) => Cow::Owned(short),
            None => whole,
        }
    }

    /// The hosted result in words, if it is shortened.
    pub fn short_hosted_result(&self, blobs: &dyn Blobs) -> Option<String> {
        let whole = self.hosted_result.as_ref().filter(|_| self.short_hosted_result.is_some())?.0.resolve(blobs);
        Some(without_middle(&whole, SHORTENED_ENDS).unwrap_or_else(|| whole.into_owned()))
    }

    /// Whether the model reads only a part of its output, its input or its result.
    pub fn is_shortened(&self) -> bool {
        let output = self.shortened.filter(|_| self.pruned.is_none());
        output.or(self.short_input).or(self.short_hosted_result).is_some()
    }

    /// The length of [`ToolCall::output_as_read`] in characters.
    pub fn chars_as_read(&self) -> u64 {
        if self.pruned.is_some() {
            return PRUNED.len() as u64;
        }
        let whole = self.output.chars();
        self.shortened.and_then(|_| without_middle_chars(whole, SHORTENED_ENDS)).unwrap_or(whole)
    }

    pub(crate) fn new(record: &Record<'_>, called: &ToolCalled) -> Self {
        Self {
            seq: record.seq,
            at: record.at,
            index: called.index,
            call: called.call.clone(),
            name: called.name.clone(),
            input: called.input.clone(),
            hosted: called.hosted,
            metadata: called.metadata.clone(),
            status: Status::Running,
            outcome: None,
            output: Text::default(),
            error: None,
            structured: None,
            attachments: Vec::new(),
            paths: Vec::new(),
            truncated: false,
            lossy: false,
            hosted_result: None,
            result_metadata: None,
            settled: None,
            pruned: None,
            shortened: None,
            short_input: None,
            short_hosted_result: None,
        }
    }

    pub(crate) fn settle(&mut self, record: &Record<'_>, settled: &ToolSettled) {
        self.status = match settled.outcome {
            ToolOutcome::Completed => Status::Completed,
            ToolOutcome::Failed | ToolOutcome::Interrupted | ToolOutcome::Exhausted => Status::Error,
        };
        self.outcome = Some(settled.outcome);
        self.output = settled.output.clone();
        self.error = settled.error.clone();
        if settled.structured.is_some() || settled.outcome == ToolOutcome::Completed {
            self.structured = settled.structured.clone();
        }
        self.attachments = settled.attachments.clone();
        self.paths = settled.paths.clone();
        self.truncated = settled.truncated;
        self.lossy = settled.lossy;
        self.hosted_result = settled.hosted_result.clone();
        self.result_metadata = settled.metadata.clone();
        self.settled = Some((record.seq, record.at));
    }
}
