//! Actions, the elements of a script.

mod argument;
mod nested;
mod provider;
mod source;
mod tool;

pub use argument::{CrashPoint, DeclaredSkill, InputScript, RevertAction, SettleTarget};
pub use provider::{AnswerScript, AttemptScript, CallScript, FailureScript};
pub use source::{DeclaredCodec, DeclaredSource};
pub use tool::{DeclaredTool, ReplyScript, ScriptedResult};

use super::reader::{JsonAt, unknown};
use super::{Invalid, ViewPattern};
use crate::names::model_name;
use annals_core::{AgentName, InputId, Key, ModelName};
use nested::Nesting;
use serde_json::Value;

/// One action.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Declares a context source, or redefines the one with that key.
    Source(Box<DeclaredSource>),
    /// The source now loads this value.
    Set {
        /// The key of the source.
        key: Key,
        /// The new value.
        value: Value,
    },
    /// The source now loads as unavailable.
    Unavailable(Key),
    /// The source now loads as absent: there is nothing; an addition to `fixtures/scenarios/FORMAT.md`.
    Absent(Key),
    /// Closes the scope of a contribution.
    Unregister(Key),
    /// Adds or changes a skill of the location.
    Skill(DeclaredSkill),
    /// Removes a skill.
    Unskill(String),
    /// Adds or changes a file of the scenario's file tree.
    File {
        /// Absolute path.
        path: String,
        /// Its full content.
        content: String,
    },
    /// Removes a file.
    Unfile(String),
    /// Advances the clock.
    Advance {
        /// Milliseconds.
        ms: u64,
    },
    /// Selects another agent.
    Agent(AgentName),
    /// Selects another model.
    Model(ModelName),
    /// Moves the session to another directory.
    Move(String),
    /// Admits an input; nothing runs.
    Admit(InputScript),
    /// Withdraws a pending input.
    Cancel(InputId),
    /// Queues answers of the provider.
    Provider(Vec<AttemptScript>),
    /// Declares or replaces a tool.
    Tool(Box<DeclaredTool>),
    /// Closes the registration of a tool.
    Untool(String),
    /// Sets the user's answers to the next permission questions.
    Replies(Vec<ReplyScript>),
    /// Resumes the session and runs it until it is idle.
    Run,
    /// Admits an input, then runs the session until it is idle.
    Prompt(InputScript),
    /// Requests and runs a compaction.
    Compact,
    /// Stages, clears or commits a revert.
    Revert(RevertAction),
    /// Pins or unpins a user message.
    Pin {
        /// The n-th user message, from 1.
        user: u64,
        /// Whether to pin it.
        pinned: bool,
    },
    /// Creates a fork; later actions apply to it.
    Fork {
        /// The fork starts before the n-th user message; `None` for the end.
        at: Option<u64>,
        /// Its name for `session`.
        name: String,
    },
    /// Later actions apply to a child of the session; an addition to `fixtures/scenarios/FORMAT.md`.
    Child {
        /// The n-th child, from 1.
        number: u64,
        /// Its name for `session`.
        name: String,
    },
    /// Later actions apply to this session.
    Session(String),
    /// Starts background work and waits for its end; an addition to `fixtures/scenarios/FORMAT.md`.
    Settle(SettleTarget),
    /// Interrupts what is running.
    Interrupt,
    /// Drops all objects of the process and opens the store again.
    Restart,
    /// Arms one crash.
    Crash(CrashPoint),
    /// Copies all views into the report.
    Capture(String),
    /// Checks views.
    Expect {
        /// The index of this action in the script.
        action: usize,
        /// The expected pattern of each view.
        views: Vec<(ViewName, ViewPattern)>,
    },
}

/// A view that `expect` can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ViewName {
    /// Agent, model, location, title, status, revert.
    Session,
    /// The messages of the next request.
    History,
    /// Every message ever shown to the user.
    Transcript,
    /// The baseline of the epoch.
    Baseline,
    /// The context snapshot of the epoch.
    Snapshot,
    /// Inputs that are admitted and not promoted.
    Pending,
    /// The context epochs.
    Epochs,
    /// Every request to the provider in the whole scenario.
    Requests,
    /// Token totals.
    Usage,
    /// The outcome of each action that can fail, in the whole scenario.
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

    /// Its name in scenario files.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find_map(|(name, view)| (*view == self).then_some(*name)).unwrap_or("?")
    }
}

/// The names of all actions, in the order of `fixtures/scenarios/FORMAT.md`.
pub const ACTIONS: &[&str] = &[
    "source",
    "set",
    "unavailable",
    "absent",
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
            "absent" => Self::Absent(at.parsed()?),
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
