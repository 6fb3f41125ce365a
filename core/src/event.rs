//! The catalogue: every fact of a session, in the past tense (`docs/reference/events.md`).
//!
//! A kind has a permanent number and a dotted name. Its JSON form is `{type: NAME, ...payload}`, its codec form
//! `(number, length, payload)`; only payload structs derive. A changed shape is a new kind; an unknown one is an error
//! that names it. **Until the first tagged release kinds may be reshaped freely; after it, never.**

mod child;
mod compaction;
mod context;
mod erasure;
mod input;
mod kinds;
mod message;
mod permission;
mod process;
mod profile;
mod revert;
mod session;
mod step;
mod tool;

pub use crate::context::Part;
pub use child::{ChildOutcome, ChildSettled, ChildStarted};
pub use compaction::{
    CallsReduced, CompactionCompleted, CompactionEnded, CompactionFailed, CompactionReason, CompactionStarted,
    CompactionUndone, ReplayedInput, ToolOutputsPruned, ToolOutputsReduced,
};
pub use context::{
    ContextAdmitted, EpochCause, EpochReplacementBlocked, EpochStarted, InstructionDiscovered, SnapshotAdvanced,
};
pub use erasure::{SessionForgotten, TextPlace, TextsErased};
pub use input::{
    Attachment, Delivery, InputAdmitted, InputConfigured, InputDeliveryChanged, InputPromoted, InputWithdrawn,
};
pub use message::{
    FilesCaptured, FilesSummarised, MessagePinned, MessageUnpinned, MessagesEdited, PartEdit, PartUnknown,
    RedactionApplied, ShellRan, SyntheticAdded, Todo, TodoUpdated,
};
pub use permission::{Effect, PermissionAsked, PermissionReplied, Reply, Rule};
pub use process::{GitState, ProcessAttached, ProcessInfo};
pub use profile::{
    AgentProfile, AgentProfileRecorded, ModelProfile, ModelProfileRecorded, OptionsRecorded, Prices, RequestOptions,
    SystemMessages, ToolDefinition, ToolsRecorded,
};
pub use revert::{
    DepartureBegun, DepartureEnded, FileChange, RestoreAbandoned, RestoreBegun, RevertCleared, RevertCommitted,
    RevertStaged,
};
pub use session::{
    AgentSwitched, Location, ModelSwitched, Origin, Parent, Policy, SessionCreated, SessionForked, SessionMoved,
    SessionTitled, Switch, TitleFailed,
};
pub use step::{
    AnswerId, AnswerRecorded, Failure, Finish, Purpose, ReasoningEnded, RequestRecorded, RequestSent, RetryScheduled,
    StepEnded, StepFailed, StepStarted, TextEnded, Usage,
};
pub use tool::{ToolCalled, ToolOutcome, ToolProgressed, ToolSettled};

use crate::canonical::{self, CanonicalError};
use crate::text::{Text, Texts};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// Why an event could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The log was written by a later version, or is damaged: use a version that knows the kind.
    #[error("unknown event kind {0}")]
    UnknownKind(u16),
    /// The JSON names a kind that this version does not know.
    #[error("unknown event type {0:?}")]
    UnknownType(String),
    /// The payload does not have the shape of its kind.
    #[error("malformed payload of {kind}: {message}")]
    Malformed {
        /// The kind's dotted name, or the structure that holds it.
        kind: &'static str,
        /// What the decoder found.
        message: String,
    },
}

macro_rules! catalogue {
    ($( $group:ident $set:ident $about:literal {
        $( $number:literal $name:literal $variant:ident $kind:ident ($($boxed:ident)?) $doc:literal )*
    } )*) => {
        /// One fact of a session, in groups of kinds. See each payload for what it says and what it does not.
        ///
        /// Kinds are only ever added, in minor versions: outside of this repository ask for a payload ([`Event::payload`]), or end a
        /// `match` on an event or a group with `_`. The folds of Annals name every kind, so that none is forgotten when one is added.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Event {
            $( #[doc = $about] $group($set), )*
        }

        $(
            #[doc = $about]
            #[derive(Clone, Debug, PartialEq, Eq)]
            pub enum $set {
                $( #[doc = $doc] $variant(catalogue!(@type $kind $($boxed)?)), )*
            }

            impl From<$set> for Event {
                fn from(event: $set) -> Self {
                    Self::$group(event)
                }
            }
        )*

        /// The kind of an event: a permanent number and name. Kinds are only ever added.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum Kind {
            $( $( #[doc = $doc] $kind = $number, )* )*
        }

        impl Kind {
            /// Every kind, by number.
            pub const ALL: &'static [Kind] = &[$( $(Kind::$kind,)* )*];

            /// The permanent number.
            pub const fn number(self) -> u16 {
                self as u16
            }

            /// The dotted name, such as `input.promoted`.
            pub const fn name(self) -> &'static str {
                match self { $( $( Kind::$kind => $name, )* )* }
            }

            /// The name without the number of its shape: `compaction.ended` of `compaction.ended.2`.
            pub fn family(self) -> &'static str {
                match self.name().rsplit_once('.') {
                    Some((family, shape)) if shape.bytes().all(|byte| byte.is_ascii_digit()) => family,
                    _ => self.name(),
                }
            }

            /// What a fact of this kind says, in one sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $( $( Kind::$kind => $doc, )* )* }
            }

            /// The JSON Schema of its payload.
            #[cfg(feature = "schema")]
            pub(crate) fn payload_schema(self, generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                match self { $( $( Kind::$kind => <$kind as schemars::JsonSchema>::json_schema(generator), )* )* }
            }

            /// The kind of a number.
            pub const fn of_number(number: u16) -> Option<Self> {
                match number { $( $( $number => Some(Kind::$kind), )* )* _ => None }
            }

            /// The kind of a name.
            pub fn of_name(name: &str) -> Option<Self> {
                match name { $( $( $name => Some(Kind::$kind), )* )* _ => None }
            }
        }

        $( $( impl From<$kind> for Event {
            fn from(payload: $kind) -> Self {
                Event::$group($set::$variant(payload.into()))
            }
        }

        impl Payload for $kind {
            const KIND: Kind = Kind::$kind;

            fn of(event: &Event) -> Option<&Self> {
                match event {
                    Event::$group($set::$variant(payload)) => Some(payload),
                    _ => None,
                }
            }
        }

        impl sealed::SealedPayload for $kind {} )* )*

        impl Event {
            /// The kind of this fact.
            pub const fn kind(&self) -> Kind {
                match self { $( Event::$group(event) => match event { $( $set::$variant(_) => Kind::$kind, )* }, )* }
            }

            /// Writes the payload in its codec form (bincode 1).
            ///
            /// # Errors
            /// When a length does not fit the format.
            pub(crate) fn write_payload(&self, out: &mut Vec<u8>) -> Result<(), wincode::WriteError> {
                match self { $( Event::$group(event) => match event { $( $set::$variant(payload) => {
                    let payload: &$kind = payload;
                    wincode::serialize_into(out, payload)
                } )* }, )* }
            }

            /// Reads the payload of a kind from its codec form; all of `bytes` must be used up.
            pub(crate) fn read_payload(kind: Kind, bytes: &[u8]) -> Result<Self, DecodeError> {
                match kind { $( $( Kind::$kind => wincode::deserialize_exact::<$kind>(bytes)
                    .map(Event::from)
                    .map_err(|error| DecodeError::Malformed { kind: $name, message: error.to_string() }), )* )* }
                .and_then(Event::with_legal_keys)
            }

            /// Reads an event from its JSON form.
            ///
            /// # Errors
            /// When the type is unknown, or the payload has a missing, unknown or malformed field.
            pub fn from_json(json: Value) -> Result<Self, DecodeError> {
                let Value::Object(mut fields) = json else {
                    return Err(DecodeError::Malformed { kind: "event", message: "not an object".into() });
                };
                let Some(Value::String(name)) = fields.remove("type") else {
                    return Err(DecodeError::Malformed { kind: "event", message: "no field `type`".into() });
                };
                let kind = Kind::of_name(&name).ok_or(DecodeError::UnknownType(name))?;
                let payload = Value::Object(fields);
                match kind { $( $( Kind::$kind => serde_json::from_value::<$kind>(payload)
                    .map(Event::from)
                    .map_err(|error| DecodeError::Malformed { kind: $name, message: error.to_string() }), )* )* }
            }
        }

        impl Texts for Event {
            fn texts(&mut self, visit: &mut dyn FnMut(&mut Text)) {
                match self { $( Event::$group(event) => match event { $( $set::$variant(payload) => payload.texts(visit), )* }, )* }
            }
        }

        /// Serializes as a newtype variant, which [`canonical`] writes as `{type, ...payload}`.
        impl Serialize for Tagged<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 { $( Event::$group(event) => match event { $( $set::$variant(payload) => {
                    let payload: &$kind = payload;
                    serializer.serialize_newtype_variant("Event", $number, $name, payload)
                } )* }, )* }
            }
        }
    };
    (@type $kind:ident) => { $kind };
    (@type $kind:ident boxed) => { alloc::boxed::Box<$kind> };
}

catalogue! {
    Session SessionEvent "The session itself: how it began, its title, location, agent and model." {
        1 "session.created" Created SessionCreated (boxed) "A session was created, with a location, an agent, a model and a policy."
        2 "session.forked" Forked SessionForked () "A session was forked from another one after an event."
        3 "session.titled" Titled SessionTitled () "The session got a title."
        4 "session.moved" Moved SessionMoved () "The session moved to another location, which ends its system prompt."
        5 "agent.switched" AgentSwitched AgentSwitched () "Another agent was selected, from the next turn on."
        6 "model.switched" ModelSwitched ModelSwitched () "Another model was selected, from the next turn on."
        7 "title.failed" TitleFailed TitleFailed () "A request for a title failed."
        8 "process.attached" ProcessAttached ProcessAttached () "A process began to append to the session."
    }
    Input InputEvent "The inbox: inputs admitted, promoted, withdrawn." {
        10 "input.admitted" Admitted InputAdmitted () "An input was accepted and waits to be sent."
        11 "input.promoted" Promoted InputPromoted () "A waiting input joined the conversation, right before a request."
        12 "input.withdrawn" Withdrawn InputWithdrawn () "A waiting input was withdrawn."
        13 "input.delivery_changed" DeliveryChanged InputDeliveryChanged () "A waiting input changed to steer or queue."
        14 "input.configured" Configured InputConfigured () "An input brought a system text or a choice of tools for the turns that answer it."
    }
    Context ContextEvent "The system context: epochs, context updates, the context snapshot." {
        20 "epoch.started" EpochStarted EpochStarted () "A context epoch started with a system prompt (baseline) and a snapshot of its sources."
        21 "epoch.replacement_blocked" EpochReplacementBlocked EpochReplacementBlocked () "A new system prompt was due, but sources of the current one were unavailable."
        22 "context.admitted" Admitted ContextAdmitted () "A context update joined the conversation."
        23 "snapshot.advanced" SnapshotAdvanced SnapshotAdvanced () "The context snapshot advanced, in the batch of its context update."
        24 "instruction.discovered" InstructionDiscovered InstructionDiscovered () "A nested instruction file was discovered."
    }
    Profile ProfileEvent "What shapes requests: agents, models, tools and options, by hash." {
        30 "agent.profile_recorded" AgentRecorded AgentProfileRecorded () "The profile of an agent, from here on."
        31 "model.profile_recorded" ModelRecorded ModelProfileRecorded () "The profile of a model, from here on."
        32 "tools.recorded" ToolsRecorded ToolsRecorded () "A set of tool definitions that requests refer to by hash."
        33 "options.recorded" OptionsRecorded OptionsRecorded () "A set of request options that requests refer to by hash."
    }
    Step StepEvent "Requests and answers." {
        40 "request.sent" RequestSent RequestSent (boxed) "A request is about to be sent to the provider."
        41 "step.started" Started StepStarted () "The first content of an answer arrived, or its final failure."
        42 "step.ended" Ended StepEnded () "An answer ended and every call in it was settled."
        43 "step.failed" Failed StepFailed () "An answer ended with an error."
        44 "retry.scheduled" RetryScheduled RetryScheduled () "An attempt failed; a retry is scheduled."
        45 "text.ended" TextEnded TextEnded () "A fragment of text was complete."
        46 "reasoning.ended" ReasoningEnded ReasoningEnded () "A fragment of reasoning was complete."
        47 "request.recorded" RequestRecorded RequestRecorded (boxed) "The exact body of a request of another agent, in pieces; the request follows."
        48 "answer.recorded" AnswerRecorded AnswerRecorded (boxed) "The answer to a recorded request, as it was received."
    }
    Tool ToolEvent "Tool calls." {
        50 "tool.called" Called ToolCalled () "The model called a tool; recorded before it runs."
        51 "tool.progressed" Progressed ToolProgressed () "A running tool reported progress."
        52 "tool.settled" Settled ToolSettled (boxed) "A tool call ended with a result or an error."
    }
    Permission PermissionEvent "Permission questions and replies." {
        60 "permission.asked" Asked PermissionAsked () "A tool call asks for permission."
        61 "permission.replied" Replied PermissionReplied () "A permission question was answered."
    }
    Compaction CompactionEvent "Summaries and prunes." {
        70 "compaction.started" Started CompactionStarted () "A compaction started."
        71 "compaction.ended" Ended CompactionEnded () "A summary replaced the messages before it."
        72 "compaction.failed" Failed CompactionFailed () "A compaction failed."
        73 "compaction.undone" Undone CompactionUndone () "A compaction was undone: the messages that it replaced are back."
        74 "tool_outputs.pruned" ToolOutputsPruned ToolOutputsPruned () "Old tool outputs were cleared in what the model reads; the log keeps them."
        77 "compaction.ended.2" Completed CompactionCompleted () "A summary replaced the messages before the kept tail."
        78 "tool_outputs.pruned.2" ToolOutputsReduced ToolOutputsReduced () "Tool outputs were cleared or shortened in what the model reads; the log keeps them."
        79 "tool_outputs.pruned.3" CallsReduced CallsReduced () "Outputs, inputs or hosted results of calls were cleared or shortened in what the model reads; the log keeps them."
    }
    Message MessageEvent "Messages outside the conversation, pins and redaction." {
        75 "message.pinned" Pinned MessagePinned () "A message was pinned: compactions keep it verbatim."
        76 "message.unpinned" Unpinned MessageUnpinned () "A message was unpinned."
        80 "synthetic.added" SyntheticAdded SyntheticAdded () "The runtime added a message in the role of the user."
        81 "shell.ran" ShellRan ShellRan () "The user ran a shell command in the session."
        82 "todo.updated" TodoUpdated TodoUpdated () "The todo list changed."
        83 "redaction.applied" RedactionApplied RedactionApplied () "Secrets were replaced by placeholders."
        86 "messages.edited" Edited MessagesEdited () "The agent changed what it sends of the conversation: parts were replaced or left out; the log keeps them."
        87 "part.unknown" UnknownPart PartUnknown () "A part of a recorded request that the reader of its protocol does not know."
    }
    Files FilesEvent "Captured files, undo, and moves of uncommitted changes." {
        84 "files.captured" Captured FilesCaptured () "A snapshot of the files was taken."
        85 "files.summarised" Summarised FilesSummarised () "The files that the session changed so far."
        90 "revert.staged" RevertStaged RevertStaged () "An undo was staged and can be reviewed."
        91 "revert.cleared" RevertCleared RevertCleared () "A staged undo was dropped."
        92 "revert.committed" RevertCommitted RevertCommitted () "A message and everything after it was undone."
        93 "restore.begun" RestoreBegun RestoreBegun () "Files are about to be restored."
        94 "restore.abandoned" RestoreAbandoned RestoreAbandoned () "A restore failed; the files are unchanged."
        95 "departure.begun" DepartureBegun DepartureBegun () "Moved changes are about to be removed from the old directory."
        96 "departure.ended" DepartureEnded DepartureEnded () "Moved changes were removed from the old directory, or could not be."
    }
    Child ChildEvent "Sub-agents." {
        100 "child.started" Started ChildStarted () "A child session (sub-agent) started."
        101 "child.settled" Settled ChildSettled () "A child session (sub-agent) ended with its result."
    }
    Erasure ErasureEvent "Texts removed from the log, on the record." {
        110 "texts.erased" TextsErased TextsErased () "Texts of the session were erased from every copy of the log."
        111 "session.forgotten" Forgotten SessionForgotten () "The session was forgotten: lists leave it out."
    }
}

/// What an event of one kind says: the stable way to match events, whichever group a kind is in and whichever kinds are added.
///
/// ```
/// use annals_core::Event;
/// use annals_core::event::{InputPromoted, MessagePinned};
/// let event = Event::from(InputPromoted { input: "in-1".into() });
/// assert_eq!(event.payload::<InputPromoted>().map(|promoted| promoted.input.as_str()), Some("in-1"));
/// assert!(event.payload::<MessagePinned>().is_none());
/// ```
pub trait Payload: sealed::SealedPayload + Sized {
    /// The kind that says it.
    const KIND: Kind;

    /// What `event` says, if it is of this kind.
    fn of(event: &Event) -> Option<&Self>;
}

mod sealed {
    pub trait SealedPayload {}
}

impl Event {
    /// What the event says, if it is of the kind of `P`.
    pub fn payload<P: Payload>(&self) -> Option<&P> {
        P::of(self)
    }
}

struct Tagged<'a>(&'a Event);

impl Event {
    /// The JSON form `{type, ...payload}` in RFC 8785 order.
    ///
    /// # Errors
    /// When a number is not below 2^53.
    pub fn to_canonical(&self) -> Result<String, CanonicalError> {
        canonical::own(&Tagged(self))
    }

    /// The JSON form as a value. Facts that cannot be written (a number at or above 2^53) read as `null`.
    pub fn to_json(&self) -> Value {
        self.to_canonical().ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null)
    }
}

/// A list of events as the digest rule writes it.
pub(crate) struct Tagging<'a>(pub &'a [Event]);

impl Serialize for Tagging<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Tagged))
    }
}

pub(crate) use crate::payload::{payload, words};

#[cfg(test)]
pub(crate) use tests::samples;
#[cfg(test)]
mod tests;
