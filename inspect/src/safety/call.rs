//! A call as an audit lists it.

use annals_core::event::Rule;
use annals_core::{Seq, SessionId, Time};
use serde::{Deserialize, Serialize};

/// What was decided on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CallOutcome {
    /// It could run.
    Allowed,
    /// It was allowed, and the same for the rest of the session.
    AllowedAlways,
    /// A rule denied it.
    Denied,
    /// The question was answered with no.
    Rejected,
    /// The question was never answered: the run was interrupted.
    Unanswered,
    /// It failed without a question, and no recorded rule explains it: invalid input, for example.
    Unknown,
}

impl CallOutcome {
    /// The word for it in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::AllowedAlways => "allowed always",
            Self::Denied => "denied",
            Self::Rejected => "rejected",
            Self::Unanswered => "not answered",
            Self::Unknown => "not known",
        }
    }
}

/// How a command ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CommandConfinement {
    /// In the sandbox.
    Confined,
    /// Outside of the sandbox, which was in use.
    Outside,
    /// Without a sandbox.
    Unconfined,
    /// Not at all.
    NotRun,
    /// The result does not say.
    Unknown,
}

impl CommandConfinement {
    /// The words for it in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Confined => "in the sandbox",
            Self::Outside => "outside of the sandbox",
            Self::Unconfined => "without a sandbox",
            Self::NotRun => "not run",
            Self::Unknown => "not known whether in a sandbox",
        }
    }
}

/// One decision on a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallDecision {
    /// The event of the question; `null` where none was asked.
    pub asked: Option<Seq>,
    /// The event of the reply.
    pub replied: Option<Seq>,
    /// The permission action; the name of the tool where the log does not have the action.
    pub action: String,
    /// The resources: the first sixteen, the beginning of each. Empty where the log does not have it.
    pub resources: Vec<String>,
    /// What was decided.
    pub outcome: CallOutcome,
    /// Who decided: `user`, `rule`, or the name of what answered in the user's place. Empty where no one did.
    pub by: String,
    /// The rule that decided, if it is known: as the agent's recorded profile has it, or as an earlier reply gave it.
    pub rule: Option<Rule>,
    /// The event of the reply that gave the rule; `null` for a configured rule.
    pub approved: Option<Seq>,
}

impl CallDecision {
    /// Whether the call did not run because of it.
    pub fn stops(&self) -> bool {
        matches!(self.outcome, CallOutcome::Denied | CallOutcome::Rejected | CallOutcome::Unanswered)
    }
}

/// A call, what was decided on it, and what is known of how it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditedCall {
    /// The session that recorded it.
    pub session: SessionId,
    /// The event of the call.
    pub seq: Seq,
    /// The time of the call.
    pub at: Time,
    /// The tool.
    pub tool: String,
    /// The beginning of the command, or the file, or the input.
    pub subject: String,
    /// What was decided, in order. Empty for a call of another agent.
    pub decisions: Vec<CallDecision>,
    /// How a command ran; `null` for other tools.
    pub confinement: Option<CommandConfinement>,
    /// Whether the sandbox gave it a network.
    pub network: bool,
    /// Hosts that the input names, if the call had a way to the network. What it sent is not recorded.
    pub hosts: Vec<String>,
    /// Whether the sandbox seems to have refused it something.
    pub refused: bool,
    /// Protected files that were put back after it.
    pub put_back: Vec<String>,
    /// Files and folders outside of the project that the input names.
    pub outside_project: Vec<String>,
}

impl AuditedCall {
    /// Whether a person may want to look at it.
    pub fn is_notable(&self) -> bool {
        let decided = self.decisions.iter().any(|decision| {
            decision.asked.is_some() || !matches!(decision.outcome, CallOutcome::Allowed | CallOutcome::Unknown)
        });
        decided
            || self.refused
            || !self.put_back.is_empty()
            || !self.outside_project.is_empty()
            || self.confinement == Some(CommandConfinement::Outside)
    }
}
