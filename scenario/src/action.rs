//! Actions: what a script is made of.

mod argument;
mod nested;
mod provider;
mod source;
mod tool;

pub use argument::{CrashPoint, DeclaredSkill, InputScript, RevertAction, SettleTarget};
pub use provider::{AnswerScript, AttemptScript, CallScript, FailureScript};
pub use source::{DeclaredCodec, DeclaredSource};
pub use tool::{CallResult, DeclaredTool, ReplyScript};

use super::reader::{JsonAt, unknown};
use super::{Invalid, ViewPattern};
use crate::names::model_name;
use annals_core::{AgentName, InputId, Key, ModelName};
use nested::Nesting;
use serde_json::Value;

/// One thing that happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Declares a Context Source, or redefines the one with that key.
    Source(Box<DeclaredSource>),
    /// The source now loads this value.
    Set {
        /// Which source.
        key: Key,
        /// What it loads.
        value: Value,
    },
    /// The source now loads as unavailable.
    Unavailable(Key),
    /// The contribution's scope closes.
    Unregister(Key),
    /// A skill of the Location, new or changed.
    Skill(DeclaredSkill),
    /// A skill goes.
    Unskill(String),
    /// A file of the scenario's own tree, new or changed.
    File {
        /// Absolute path.
        path: String,
        /// All of it.
        content: String,
    },
    /// A file goes.
    Unfile(String),
    /// The clock moves on.
    Advance {
        /// By so many milliseconds.
        ms: u64,
    },
    /// Another agent is selected.
    Agent(AgentName),
    /// Another model is selected.
    Model(ModelName),
    /// The Session moves to another directory.
    Move(String),
    /// An input is admitted; nothing runs.
    Admit(InputScript),
    /// A pending input is withdrawn.
    Cancel(InputId),
    /// What the provider answers next, after what it already has to answer.
    Provider(Vec<AttemptScript>),
    /// A tool is declared, or replaced.
    Tool(Box<DeclaredTool>),
    /// A tool's registration closes.
    Untool(String),
    /// What the user answers to the next permission questions.
    Replies(Vec<ReplyScript>),
    /// The Session is resumed and runs until it is idle.
    Run,
    /// An input is admitted, then the Session runs until it is idle.
    Prompt(InputScript),
    /// Compaction is asked for and run.
    Compact,
    /// A revert is staged, cleared or committed.
    Revert(RevertAction),
    /// A user message is pinned, or its pin ends.
    Pin {
        /// The n-th one.
        user: u64,
        /// Whether it is pinned.
        pinned: bool,
    },
    /// A fork begins; later actions go to it.
    Fork {
        /// Before the n-th user message; at the end without.
        at: Option<u64>,
        /// The name by which `session` finds it.
        name: String,
    },
    /// Later actions go to a child of the Session; an addition to `fixtures/scenarios/FORMAT.md`.
    Child {
        /// The n-th one that it began, from 1.
        number: u64,
        /// The name by which `session` finds it.
        name: String,
    },
    /// Later actions go to this Session.
    Session(String),
    /// Work beside the turns begins, and comes to its end; an addition to `fixtures/scenarios/FORMAT.md`.
    Settle(SettleTarget),
    /// What runs is interrupted.
    Interrupt,
    /// Every process-local object is dropped, and the store opened again.
    Restart,
    /// One crash is armed.
    Crash(CrashPoint),
    /// All views are copied into the report.
    Capture(String),
    /// Views are checked.
    Expect {
        /// The index in the script of the action that holds it.
        action: usize,
        /// What is asked of each view, by the name of the view.
        views: Vec<(ViewName, ViewPattern)>,
    },
}

/// A view that `expect` can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ViewName {
    /// Agent, model, Location, title, status, revert.
    Session,
    /// What the model would see next.
    History,
    /// Every message ever shown to a person.
    Transcript,
    /// The Baseline System Context of the epoch.
    Baseline,
    /// The Context Snapshot of the epoch.
    Snapshot,
    /// Inputs that were admitted and not promoted.
    Pending,
    /// The Context Epochs.
    Epochs,
    /// Every attempt that reached the provider, of the whole scenario.
    Requests,
    /// Token totals.
    Usage,
    /// What became of each action that can fail, of the whole scenario.
    Runs,
    /// The log.
    Events,
    /// The file tree, in a scenario whose files are captured; an addition to `fixtures/scenarios/FORMAT.md`.
    Files,
}

impl ViewName {
    /// Every view, in the order of `fixtures/scenarios/FORMAT.md`.
    pub const ALL: &'static [(&'static str, ViewName)] = &[
        ("session", ViewName::Session),
        ("history", ViewName::History),
        ("transcript", ViewName::Transcript),
        ("baseline", ViewName::Baseline),
        ("snapshot", ViewName::Snapshot),
        ("pending", ViewName::Pending),
        ("epochs", ViewName::Epochs),
        ("requests", ViewName::Requests),
        ("usage", ViewName::Usage),
        ("runs", ViewName::Runs),
        ("events", ViewName::Events),
        ("files", ViewName::Files),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find_map(|(name, view)| (*view == self).then_some(*name)).unwrap_or("?")
    }
}

/// The names of all actions, in the order of `fixtures/scenarios/FORMAT.md`.
pub const ACTIONS: &[&str] = &[
    "source",
    "set",
    "unavailable",
    "unregister",
    "skill",
    "unskill",
    "file",
    "unfile",
    "advance",
    "agent",
    "model",
    "move",
    "admit",
    "cancel",
    "provider",
    "tool",
    "untool",
    "replies",
    "run",
    "prompt",
    "compact",
    "revert",
    "pin",
    "unpin",
    "fork",
    "child",
    "session",
    "settle",
    "interrupt",
    "restart",
    "crash",
    "capture",
    "expect",
];

/// Reads the script.
pub(super) fn list(at: &JsonAt<'_>) -> Result<Vec<Action>, Invalid> {
    at.items()?.iter().enumerate().map(|(index, at)| Action::read(at, Nesting::script(index))).collect()
}

impl Action {
    fn read(at: &JsonAt<'_>, within: Nesting) -> Result<Self, Invalid> {
        let fields = at.object()?;
        let (name, argument) = match fields.iter().collect::<Vec<_>>().as_slice() {
            [(name, value)] => (name.as_str(), at.child(name, value)),
            [] => return Err(at.invalid("an action has exactly one key; this object is empty")),
            many => {
                let names: Vec<&str> = many.iter().map(|(name, _)| name.as_str()).collect();
                return Err(at.invalid(format!("an action has exactly one key, here are `{}`", names.join("`, `"))));
            }
        };
        if !ACTIONS.contains(&name) {
            return Err(at.invalid(unknown("action", name, ACTIONS)));
        }
        within.allows(name).map_err(|reason| at.invalid(reason))?;
        Self::argument(name, &argument, within)
    }

    fn argument(name: &str, at: &JsonAt<'_>, within: Nesting) -> Result<Self, Invalid> {
        let text = |what: &str| at.name(what).map(str::to_owned);
        Ok(match name {
            "source" => Self::Source(Box::new(DeclaredSource::read(at, within)?)),
            "set" => {
                let fields = at.fields(&["key", "value"])?;
                Self::Set { key: fields.need("key")?.parsed()?, value: fields.need("value")?.value.clone() }
            }
            "unavailable" => Self::Unavailable(at.parsed()?),
            "unregister" => Self::Unregister(at.parsed()?),
            "skill" => Self::Skill(DeclaredSkill::read(at)?),
            "unskill" => Self::Unskill(text("the name of a skill")?),
            "file" => {
                let fields = at.fields(&["path", "content"])?;
                let content = fields.need("content")?.text()?.to_owned();
                Self::File { path: fields.need("path")?.absolute()?, content }
            }
            "unfile" => Self::Unfile(at.absolute()?),
            "advance" => Self::Advance { ms: argument::duration(at)? },
            "agent" => Self::Agent(AgentName(text("an agent")?)),
            "model" => Self::Model(model_name(at.text()?).map_err(|reason| at.invalid(reason))?),
            "move" => Self::Move(at.absolute()?),
            "admit" => Self::Admit(InputScript::read(at)?),
            "cancel" => Self::Cancel(InputId(text("an input id")?)),
            "provider" => {
                Self::Provider(at.items()?.iter().map(|at| AttemptScript::read(at, within)).collect::<Result<_, _>>()?)
            }
            "tool" => Self::Tool(Box::new(DeclaredTool::read(at, within)?)),
            "untool" => Self::Untool(text("the name of a tool")?),
            "replies" => Self::Replies(at.items()?.iter().map(ReplyScript::read).collect::<Result<_, _>>()?),
            "run" => at.word(&[("idle", Self::Run)].map(|(word, _)| (word, ()))).map(|()| Self::Run)?,
            "prompt" => Self::Prompt(InputScript::read(at)?),
            "compact" => at.nothing().map(|()| Self::Compact)?,
            "revert" => Self::Revert(RevertAction::read(at)?),
            "pin" | "unpin" => Self::Pin { user: argument::user(at)?, pinned: name == "pin" },
            "fork" => {
                let fields = at.fields(&["at", "as"])?;
                let cut = fields.read("at", |at| argument::user(&at))?;
                Self::Fork { at: cut, name: fields.need("as")?.name("the name of a Session")?.to_owned() }
            }
            "child" => {
                let fields = at.fields(&["number", "as"])?;
                let number = argument::ordinal(&fields.need("number")?, "children")?;
                Self::Child { number, name: fields.need("as")?.name("the name of a Session")?.to_owned() }
            }
            "session" => Self::Session(text("the name of a Session")?),
            "settle" => Self::Settle(SettleTarget::read(at)?),
            "interrupt" => at.nothing().map(|()| Self::Interrupt)?,
            "restart" => at.nothing().map(|()| Self::Restart)?,
            "crash" => Self::Crash(at.fields(&["at"])?.need("at")?.word(CrashPoint::WORDS)?),
            "capture" => Self::Capture(argument::label(at)?),
            _ => Self::Expect { action: within.index(), views: argument::views(at)? },
        })
    }
}
