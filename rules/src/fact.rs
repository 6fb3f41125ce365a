//! Facts as expressions see them: a kind, and fields with types.

use annals_core::{Seq, SessionId, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactType {
    /// A text.
    Text,
    /// One of some words.
    Word(&'static [&'static str]),
    /// A whole number.
    Number,
    /// Yes or no.
    Bool,
    /// A moment.
    Time,
    /// A length of time.
    Duration,
    /// An amount of money.
    Money,
    /// Several texts. A test holds if it holds for one of them.
    List,
}

impl FactType {
    /// Its name in messages and documentation.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Word(_) => "word",
            Self::Number => "number",
            Self::Bool => "bool",
            Self::Time => "time",
            Self::Duration => "duration",
            Self::Money => "money",
            Self::List => "list",
        }
    }
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FactValue {
    /// A text, or one of some words.
    Text(String),
    /// A whole number.
    Number(i64),
    /// Yes or no.
    Bool(bool),
    /// Milliseconds since 1970.
    Time(i64),
    /// Milliseconds.
    Duration(i64),
    /// Nano-dollars.
    Money(i64),
    /// Several texts.
    List(Vec<String>),
}

macro_rules! kinds {
    ($( $name:literal $kind:ident [$($field:ident),*] $about:literal )*) => {
        /// The kind of a fact.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        pub enum FactKind { $( #[doc = $about] $kind, )* }

        impl FactKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$( Self::$kind, )*];

            /// Its name in expressions.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$kind => $name, )* }
            }

            /// What a fact of this kind is.
            pub const fn about(self) -> &'static str {
                match self { $( Self::$kind => $about, )* }
            }

            /// The fields that only some kinds have.
            pub const fn fields(self) -> &'static [FactField] {
                match self { $( Self::$kind => &[$( FactField::$field, )*], )* }
            }
        }
    };
}

macro_rules! fields {
    ($( $name:literal $field:ident $type:expr, $about:literal )*) => {
        /// A field of a fact.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum FactField { $( #[doc = $about] $field, )* }

        impl FactField {
            /// Every field.
            pub const ALL: &'static [Self] = &[$( Self::$field, )*];

            /// Its name in expressions.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$field => $name, )* }
            }

            /// Its type.
            pub const fn value_type(self) -> FactType {
                match self { $( Self::$field => $type, )* }
            }

            /// What it holds.
            pub const fn about(self) -> &'static str {
                match self { $( Self::$field => $about, )* }
            }
        }
    };
}

kinds! {
    "event" Event [] "Any event. `type` is its name in `annals log`."
    "session" Session [Title, Parent] "The session began, or was forked."
    "prompt" Prompt [Text, Queued] "A prompt of the user joined the conversation."
    "answer" Answer [Text] "A text of the model."
    "reasoning" Reasoning [Text] "A piece of reasoning of the model."
    "call" Call [Tool, Id, Input, Command, Path, Paths, Name, Action, Outside, Hosts, Hosted] "The model called a tool."
    "result" Result [Tool, Id, Input, Command, Path, Paths, Name, Action, Outside, Hosts, Hosted, Outcome, Output, Error, Exit,
        Truncated, Took, Decision, By, Rule, Confinement, Network, Ran] "A call ended. Has the fields of its call."
    "asked" Asked [Permission, Resources, Tool, Id, Command, Path] "A call asked for permission."
    "reply" Reply [Permission, Resources, Reply, By, Text, Tool, Id, Command, Path] "A question for permission was answered."
    "prune" Prune [Tool, Id, Path, Paths, Name, Action, Command, Shortened] "The result of one call was cleared or shortened in what the model reads."
    "summary" Summary [Text, Reason] "A summary replaced older messages."
    "context" Context [Text, Keys] "A context update was sent to the model."
    "baseline" Baseline [Text, Cause, Keys] "A system prompt was composed."
    "request" Request [Purpose, Attempt] "A request was sent to the provider."
    "step" Step [Finish, Cost, Input_, Output_, CacheRead, CacheWrite, Changed] "An answer ended, with its calls."
    "failure" Failure [Text, Reason, Status, Retried, Cost] "An answer failed, or an attempt that is repeated."
    "shell" Shell [Command, Output, Exit] "The user ran a command in the session."
    "todo" Todo [Text, Open, Done] "The todo list changed."
    "undo" Undo [First] "A message and everything after it was undone."
    "switch" Switch [] "Another agent or model was selected."
    "move" Move [] "The session moved to another directory."
    "subagent" Subagent [Id, Child] "A sub-agent started."
    "subagent_result" SubagentResult [Child, Outcome, Text] "A sub-agent ended."
    "redaction" Redaction [Count] "Secrets were replaced before they were recorded."
}

/// How a call may end.
const OUTCOMES: &[&str] = &["completed", "failed", "interrupted", "exhausted", "cancelled"];
/// What is done with a file.
const ACTIONS: &[&str] = &["read", "write", "edit", "use", "run", "other"];
const DECISIONS: &[&str] = &["allowed", "allowed-always", "denied", "rejected", "unanswered", "unknown"];
const CONFINEMENTS: &[&str] = &["confined", "outside", "unconfined", "not-run", "unknown"];

fields! {
    "seq" Seq FactType::Number, "The number of the event."
    "at" At FactType::Time, "Its time."
    "turn" Turn FactType::Number, "The number of the last prompt, as in `--at turn:N`; 0 before the first."
    "type" Type FactType::Text, "The name of the event: `tool.called`."
    "agent" Agent FactType::Text, "The agent in force."
    "model" Model FactType::Text, "The model in force."
    "directory" Directory FactType::Text, "Where the session works."
    "origin" Origin FactType::Text, "The other agent that recorded the session, such as `claude-code`. Absent for a session of Annals."
    "title" Title FactType::Text, "The title, if the session began with one."
    "parent" Parent FactType::Text, "The session that it was forked from, or that started it as a sub-agent."
    "text" Text FactType::Text, "The whole text."
    "queued" Queued FactType::Bool, "Whether it waited for an idle moment."
    "tool" Tool FactType::Text, "The tool."
    "id" Id FactType::Text, "The id of the call."
    "input" Input FactType::Text, "The input of the call as it was received: JSON."
    "command" Command FactType::Text, "The command. Absent for calls that run none."
    "path" Path FactType::Text, "The first file that the call names: from the folder of the project on if it is in there, else absolute."
    "paths" Paths FactType::List, "All files that the call names."
    "name" Name FactType::Text, "The last part of `path`."
    "action" Action FactType::Word(ACTIONS), "What the call does with its file, by the name of the tool: `read`, `write`, `edit`, `use`; `run` for a command; else `other`."
    "outside" Outside FactType::Bool, "Whether a file of it is outside of the project."
    "hosts" Hosts FactType::List, "Hosts that the input names."
    "hosted" Hosted FactType::Bool, "Whether the provider ran it itself."
    "outcome" Outcome FactType::Word(OUTCOMES), "How it ended."
    "output" Output FactType::Text, "What the model reads of the result."
    "error" Error FactType::Text, "The error. Absent without one."
    "exit" Exit FactType::Number, "The exit status of the command, if it is known."
    "truncated" Truncated FactType::Bool, "Whether the output is a part."
    "took" Took FactType::Duration, "Time from the call to its result."
    "decision" Decision FactType::Word(DECISIONS), "What was decided on the call. Absent for calls of other agents."
    "by" By FactType::Text, "Who decided: `user`, `rule`, `reply` (a rule that an earlier reply gave), or the name of what answered instead of the user."
    "rule" Rule FactType::Text, "The rule that decided, if it is known: `edit src/* allow`."
    "confinement" Confinement FactType::Word(CONFINEMENTS), "How the command ran: in the sandbox, outside of it, without one, or not at all."
    "network" Network FactType::Bool, "Whether the sandbox gave it a network."
    "ran" Ran FactType::Bool, "Whether the call ran: it was not denied, rejected or refused."
    "permission" Permission FactType::Text, "The permission action that was asked for."
    "resources" Resources FactType::List, "To what."
    "reply" Reply FactType::Word(&["once", "always", "reject"]), "The reply."
    "shortened" Shortened FactType::Bool, "Whether the two ends remain."
    "reason" Reason FactType::Text, "Why: `auto`, `manual`, `overflow` of a summary; the kind of a failure."
    "keys" Keys FactType::List, "The context sources."
    "cause" Cause FactType::Text, "Why it was composed, such as `first-turn`."
    "purpose" Purpose FactType::Word(&["turn", "summary", "title", "other"]), "What the request is for."
    "attempt" Attempt FactType::Number, "The number of the attempt, from 1."
    "finish" Finish FactType::Word(&["stop", "tool-calls", "length", "content-filter", "error", "other", "paused"]), "How the answer ended."
    "cost" Cost FactType::Money, "The recorded cost."
    "input_tokens" Input_ FactType::Number, "Input that was not cached."
    "output_tokens" Output_ FactType::Number, "Output, with reasoning."
    "cache_read" CacheRead FactType::Number, "Input read from a cache."
    "cache_write" CacheWrite FactType::Number, "Input written to a cache."
    "changed" Changed FactType::List, "Files that changed during it, if they were captured."
    "status" Status FactType::Number, "The HTTP status."
    "retried" Retried FactType::Bool, "Whether another attempt follows."
    "open" Open FactType::Number, "How many items are not done."
    "done" Done FactType::Number, "How many items are done."
    "first" First FactType::Number, "The first event that is gone."
    "child" Child FactType::Text, "The session of the sub-agent."
    "count" Count FactType::Number, "How many."
}

/// The fields of every fact.
pub const COMMON_FIELDS: [FactField; 8] = [
    FactField::Seq,
    FactField::At,
    FactField::Turn,
    FactField::Type,
    FactField::Agent,
    FactField::Model,
    FactField::Directory,
    FactField::Origin,
];

impl FactKind {
    /// Whether a fact of this kind has the field.
    pub fn has(self, field: FactField) -> bool {
        COMMON_FIELDS.contains(&field) || self.fields().contains(&field)
    }
}

/// Where a fact is in its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FactPlace {
    /// The session that recorded it.
    pub session: SessionId,
    /// Its event.
    pub seq: Seq,
    /// Its time.
    pub at: Time,
    /// The number of the last prompt.
    pub turn: u64,
    /// Its number among all facts: an event may be several.
    pub order: u64,
}

/// A fact.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditFact {
    /// Its kind.
    pub kind: FactKind,
    /// Whether it is the first fact of its event.
    pub first: bool,
    /// Where it is.
    pub place: FactPlace,
    /// What is known of it.
    pub fields: BTreeMap<FactField, FactValue>,
    /// The beginning of the text that it concerns.
    pub excerpt: String,
}

impl AuditFact {
    /// Whether a pattern for facts of this kind is about it. Each event is one fact for `event`.
    pub fn is(&self, kind: FactKind) -> bool {
        self.kind == kind || (kind == FactKind::Event && self.first)
    }
}
