//! What a timeline is made of.

use annals_core::event::{Attachment, Delivery, Finish, ToolOutcome, Usage};
use annals_core::{CallId, InputId, Json, ModelName, PermissionId, Seq, Text, Time};

/// One thing on a timeline.
#[derive(Clone, Debug)]
pub struct Item {
    /// The event that it begins with.
    pub seq: Seq,
    /// When it happened.
    pub at: Time,
    /// What it is.
    pub what: What,
    /// For content of an answer: the number of its step and its place in it.
    pub place: Option<(u64, u32)>,
    /// Whether later events still belong to it: it and what follows it are not told yet.
    pub open: bool,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum What {
    /// A waiting input joined while the model was idle: what follows answers it.
    Turn {
        /// Which user message it is, from 1.
        number: u64,
    },
    /// Somebody said something; it is told whole.
    Said {
        /// Who: `you`, an agent, `runtime`.
        who: String,
        /// Whether the model did.
        model: bool,
        /// What.
        text: Text,
        /// What came with it.
        attachments: Vec<Attachment>,
        /// The number of a user message that joined while the model worked.
        number: Option<u64>,
    },
    /// An input waits while other things happen.
    Waits {
        /// Which.
        input: InputId,
        /// What it says.
        text: Text,
        /// When it joins.
        delivery: Delivery,
    },
    /// The model thought.
    Thought {
        /// What it lets us see.
        text: Text,
    },
    /// A tool was called.
    Called(Box<Called>),
    /// A compaction.
    Compacted(Box<Compacted>),
    /// Something to know, in a line; more of it is quoted in brief.
    Note {
        /// Its label.
        label: &'static str,
        /// What sort of thing it is.
        sort: Sort,
        /// The line.
        line: String,
        /// More.
        more: Option<Text>,
    },
    /// The model's answer to a turn was complete.
    Answered(Activity),
    /// The log holds the impossible here.
    Impossible {
        /// What is wrong, in words.
        what: String,
    },
}

/// What sort of thing a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// About the Session.
    Session,
    /// About System Context.
    Context,
    /// Somebody should look.
    Warning,
    /// It went wrong.
    Failure,
}

/// A tool call and what became of it.
#[derive(Clone, Debug)]
pub struct Called {
    /// Its id.
    pub call: CallId,
    /// The tool.
    pub name: String,
    /// What it was given.
    pub input: Json,
    /// How it ended, if it did.
    pub settled: Option<Settled>,
    /// A permission question about it, and the answer.
    pub asked: Option<Asked>,
}

/// A permission question.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its id.
    pub permission: PermissionId,
    /// Action and resources, in words.
    pub question: String,
    /// The answer and who gave it, in words.
    pub answer: Option<String>,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub struct Settled {
    /// How.
    pub outcome: ToolOutcome,
    /// After how long, in milliseconds.
    pub ms: u64,
    /// The Model Tool Output.
    pub output: Text,
    /// What the model sees of a failure.
    pub error: Option<Text>,
    /// The structured value.
    pub structured: Option<Json>,
    /// Whether the output is a preview.
    pub truncated: bool,
    /// Files that hold output.
    pub paths: Vec<String>,
}

/// A compaction.
#[derive(Clone, Debug)]
pub struct Compacted {
    /// Who asked, and what the request would have been, in words.
    pub reason: String,
    /// The summary, or why there is none; `None` while it runs.
    pub outcome: Option<Result<Text, String>>,
    /// After how long, in milliseconds.
    pub ms: u64,
    /// Estimates of the history before and after, in tokens; 0 when unknown.
    pub estimates: (u64, u64),
    /// In nano-dollars.
    pub cost: u64,
}

/// What the model did since a turn began.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    /// When the turn began.
    pub began: Time,
    /// When its last step ended.
    pub ended: Time,
    /// How many steps it took.
    pub steps: u64,
    /// The model of the last step.
    pub model: ModelName,
    /// What was reported.
    pub usage: Usage,
    /// In nano-dollars.
    pub cost: u64,
    /// How the last step ended.
    pub finish: Option<Finish>,
    /// Paths that changed, if captured.
    pub changed: Vec<String>,
}
