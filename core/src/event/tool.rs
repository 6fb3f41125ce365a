//! Tool calls: durable before they run, settled once (`docs/reference/turn.md#tools`).

use super::input::Attachment;
use super::{payload, words};
use crate::id::CallId;
use crate::text::{Json, Text, as_text, from_text};
use alloc::string::String;
use alloc::vec::Vec;

payload! {
    /// The model called a tool. A call that a crash leaves open is settled as interrupted, never run again.
    ToolCalled {
        /// Its place in the content of the current step, from 0.
        index: u32,
        /// Unique within the session.
        call: CallId,
        /// The tool's name.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        name: String,
        /// The input as received.
        input: Json,
        /// Whether the provider executes it itself.
        hosted: bool,
        /// Native metadata of the call, as received.
        metadata: Option<Json>,
    } texts { input, metadata }
}

payload! {
    /// A running tool showed what it has so far; replaces what it showed before.
    ToolProgressed {
        /// Which call.
        call: CallId,
        /// Text so far.
        output: Option<Text>,
        /// Structured value so far.
        structured: Option<Json>,
    } texts { output, structured }
}

words! {
    /// How a call ended.
    ToolOutcome {
        /// With a result.
        Completed = "completed",
        /// With an error that the model sees.
        Failed = "failed",
        /// It was ended early: by an interruption, or because its process ended.
        Interrupted = "interrupted",
        /// It did not run: the step allowance had ended with its answer.
        Exhausted = "exhausted",
    }
}

payload! {
    /// A call ended. Exactly one per call; bounding and this event form one uninterruptible step.
    ToolSettled {
        /// Which call.
        call: CallId,
        /// The result.
        outcome: ToolOutcome,
        /// The Model Tool Output: the bounded text that is replayed to the model.
        output: Text,
        /// What the model sees of a failure.
        error: Option<Text>,
        /// The validated structured value, never cut.
        structured: Option<Json>,
        /// Media that came with it.
        attachments: Vec<Attachment>,
        /// Files that hold output: the tool's own, then the Managed Tool Output File.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        paths: Vec<String>,
        /// Whether `output` is a preview of something larger.
        truncated: bool,
        /// Whether what is missing from `output` was kept nowhere.
        lossy: bool,
        /// The exact result of a hosted call, as received.
        hosted_result: Option<Json>,
        /// Native metadata of the result, as received.
        metadata: Option<Json>,
    } texts { output, error, structured, attachments, hosted_result, metadata }
}

impl ToolSettled {
    /// How a call went, and no more: without output, error or anything that came with them.
    pub fn bare(call: CallId, outcome: ToolOutcome) -> Self {
        Self {
            call,
            outcome,
            output: Text::default(),
            error: None,
            structured: None,
            attachments: Vec::new(),
            paths: Vec::new(),
            truncated: false,
            lossy: false,
            hosted_result: None,
            metadata: None,
        }
    }
}
