//! Requests and answers: what was sent, what came back, what it cost (`docs/reference/turn.md#request`).

use super::{payload, words};
use crate::digest::Digest;
use crate::id::{AgentName, ModelName, RequestId};
use crate::left_out::{left_out, present};
use crate::text::{Json, Text, as_text, from_text};
use crate::time::Time;
use alloc::string::String;
use alloc::vec::Vec;

words! {
    /// What a request is for.
    Purpose {
        /// An agent's turn.
        Turn = "turn",
        /// The summary of a compaction.
        Summary = "summary",
        /// The session's title.
        Title = "title",
        /// Something else that a recorded agent asked for aside: a count of tokens, a check of its key, a suggestion.
        Other = "other",
    }
}

words! {
    /// How an answer ended.
    Finish {
        /// The model was done.
        Stop = "stop",
        /// The model waits for results.
        ToolCalls = "tool-calls",
        /// The output limit was reached.
        Length = "length",
        /// A filter cut it off.
        ContentFilter = "content-filter",
        /// It failed.
        Error = "error",
        /// Something a foreign agent recorded that we have no word for.
        Other = "other",
        /// The provider paused among its hosted calls, and is asked to continue.
        Paused = "paused",
    }
}

payload! {
    /// Tokens of one answer. `output` excludes reasoning, `input` excludes what a cache gave or took.
    #[derive(Copy, Default)]
    Usage {
        /// Input that was not cached.
        input: u64,
        /// Visible output.
        output: u64,
        /// Reasoning.
        reasoning: u64,
        /// Input read from a cache.
        cache_read: u64,
        /// Input written to a cache.
        cache_write: u64,
    } texts {}
}

impl Usage {
    /// All input, what a cache gave or took included.
    pub fn input_tokens(self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }
}

payload! {
    /// Why something failed.
    Failure {
        /// A kind of `docs/reference/turn.md#errors-of-a-run` (`rate-limit`, `overflow`, ...) or a foreign agent's own.
        kind: String,
        /// What happened, in words.
        message: Text,
        /// HTTP status, if there was one.
        status: Option<u16>,
    } texts { message }
}

payload! {
    /// A request is about to reach the provider. Durable before every send; shows nothing by itself.
    ///
    /// With the views just before it, this event rebuilds the request byte for byte: system texts from the agent
    /// profile and the baseline, messages from the history, tools and options by hash. `digest` proves it.
    RequestSent {
        /// The same for every attempt.
        request: RequestId,
        /// Its purpose.
        purpose: Purpose,
        /// From 1; a recovery after a compaction starts over.
        attempt: u32,
        /// Hash over the digests of its parts, without attempt, time and ids.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        digest: Digest,
        /// Hash of the exact body in the encoding of the model's protocol; `None` when nothing was encoded.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        wire: Option<Digest>,
        /// The agent of this turn.
        agent: AgentName,
        /// The model of this turn.
        model: ModelName,
        /// Hash of the recorded agent profile.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        agent_profile: Digest,
        /// Hash of the recorded model profile.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        model_profile: Digest,
        /// Hash of the recorded tool set; `None` when no tools are offered.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        tools: Option<Digest>,
        /// Hash of the recorded options.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        options: Digest,
        /// Whether the step allowance ends with this request: no tools, and one message that says so.
        last_step: bool,
        /// The exact last message of a summary or title request that history alone does not give.
        prompt: Option<Text>,
    } texts { prompt }
}

payload! {
    /// The exact body of a request that another agent sent, as `annals record` saw it, or as the agent recorded it in its session file.
    /// [`RequestSent`] follows in the same batch; its `wire` is the digest of the body.
    ///
    /// The body is put together from `pieces` of this event and of earlier ones, as `recipe` says
    /// (`docs/recording.md#recipe`).
    RequestRecorded {
        /// The id in the `request.sent` that follows.
        request: RequestId,
        /// Its attempt.
        attempt: u32,
        /// The method and the path with its query, without credentials: `POST /v1/messages?beta=true`.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        target: String,
        /// How the body is put together.
        recipe: Json,
        /// The pieces that no earlier request of the session had.
        pieces: Vec<Text>,
        /// Hash of what is recorded, if redaction changed the body; the request then has no `wire`.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        redacted: Option<Digest>,
    } texts { recipe, pieces }
}

payload! {
    /// What came back for a recorded request. Decoded, it is in the events of the answer.
    AnswerRecorded {
        /// Which request.
        request: RequestId,
        /// Which attempt.
        attempt: u32,
        /// HTTP status; `None` when none arrived.
        status: Option<u16>,
        /// The media type.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        media: Option<String>,
        /// The body as received, without its transfer compression; `None` when it was not kept.
        body: Option<Text>,
        /// Whether the body arrived to its end.
        complete: bool,
        /// Time from the request to the first byte of the body, in milliseconds.
        first_byte_ms: Option<u64>,
        /// Time from the request to the end of the body, in milliseconds.
        duration_ms: u64,
        /// What the provider reported, for a request with the purpose `other`; any other reports it in the event that ends it.
        usage: Option<Usage>,
        /// In nano-dollars, likewise.
        cost: u64,
    } texts { body }
}

payload! {
    /// What a provider calls an answer. Agents copy answers into the files of resumed sessions: the same ids are the same
    /// answer, which is paid for once.
    AnswerId {
        /// The id of the message.
        message: String,
        /// The id of the request, if it was recorded.
        request: Option<String>,
    } texts {}
}

payload! {
    /// The first content of an answer arrived, or its final failure: from here on there is an assistant message.
    StepStarted {
        /// Who answers.
        agent: AgentName,
        /// Which model.
        model: ModelName,
        /// Git tree of the files when the step began, if captured.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        files: Option<String>,
        /// What the provider calls the answer, if another agent recorded it. Without it the member is left out of JSON.
        #[serde(default, serialize_with = "left_out", deserialize_with = "present")]
        #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
        answer: Option<AnswerId>,
    } texts {}
}

payload! {
    /// An answer ended and every call in it was settled.
    StepEnded {
        /// How the answer ended.
        finish: Finish,
        /// What the provider reported.
        usage: Option<Usage>,
        /// In nano-dollars.
        cost: u64,
        /// Git tree of the files when the step ended, if captured.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        files: Option<String>,
        /// Paths that changed during the step, if captured.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        changed: Vec<String>,
    } texts {}
}

payload! {
    /// An answer ended with an error. What had arrived stays.
    StepFailed {
        /// The error.
        error: Failure,
        /// What the provider reported.
        usage: Option<Usage>,
        /// In nano-dollars.
        cost: u64,
    } texts { error }
}

payload! {
    /// An attempt failed in passing. A wait that a crash interrupts is not continued.
    RetryScheduled {
        /// The number of the attempt that follows, from 2.
        attempt: u32,
        /// When it follows.
        at: Time,
        /// Why it is needed.
        error: Failure,
        /// What the failed attempt reported.
        usage: Option<Usage>,
        /// In nano-dollars.
        cost: u64,
    } texts { error }
}

payload! {
    /// A fragment of text was complete (or was cut off: what had arrived is in it).
    TextEnded {
        /// Its place in the content of the current step, from 0.
        index: u32,
        /// All of it.
        text: Text,
        /// Native metadata, as received; replayed only to the same model.
        metadata: Option<Json>,
    } texts { text, metadata }
}

payload! {
    /// A fragment of reasoning was complete.
    ReasoningEnded {
        /// Its place in the content of the current step, from 0.
        index: u32,
        /// All of it; may be empty when only metadata came.
        text: Text,
        /// Native metadata (signatures, encrypted content), as received; replayed only to the same model.
        metadata: Option<Json>,
    } texts { text, metadata }
}
