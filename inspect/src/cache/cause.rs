//! Why a prefix broke, and which event broke it.

use super::prefix::Piece;
use crate::Fact;
use annals_core::event::{
    CompactionEvent, ContextEvent, EpochCause, FilesEvent, MessageEvent, ProfileEvent, SessionEvent, ToolEvent,
};
use annals_core::{CallId, Event, Record, Seq, SessionId};
use serde::Serialize;

/// Why a request does not begin with all of the one before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Another model: another cache.
    ModelSwitch,
    /// Another agent, with system text or tools of its own.
    AgentSwitch,
    /// The agent's own system text was defined anew.
    AgentText,
    /// Other tools.
    Tools,
    /// Another Baseline System Context.
    Baseline(EpochCause),
    /// A compaction replaced messages.
    Compaction,
    /// A prune cleared tool outputs.
    Prune,
    /// A committed revert removed messages.
    Revert,
    /// A compaction was undone.
    CompactionUndone,
    /// A message was pinned or unpinned.
    Pin,
    /// The agent changed what it sends of the conversation.
    Edited,
    /// Mid-Conversation System Messages left with a new Context Epoch.
    Epoch(EpochCause),
    /// More time passed than the provider keeps a prefix, and it reported that it read nothing.
    TimePassed,
    /// A message of the earlier request is rendered differently: a call in it was settled since, or the model's profile
    /// renders it in another way.
    Rewritten,
    /// No event between the two requests explains it.
    Unknown,
}

impl Cause {
    /// In words.
    pub fn words(&self) -> String {
        match self {
            Self::ModelSwitch => "another model".to_owned(),
            Self::AgentSwitch => "another agent".to_owned(),
            Self::AgentText => "the agent's text changed".to_owned(),
            Self::Tools => "other tools".to_owned(),
            Self::Baseline(cause) => format!("new baseline ({cause})"),
            Self::Compaction => "compaction".to_owned(),
            Self::Prune => "outputs pruned".to_owned(),
            Self::Revert => "revert".to_owned(),
            Self::CompactionUndone => "compaction undone".to_owned(),
            Self::Pin => "message pinned or unpinned".to_owned(),
            Self::Edited => "the agent changed its history".to_owned(),
            Self::Epoch(cause) => format!("context messages left with a new epoch ({cause})"),
            Self::TimePassed => "time passed".to_owned(),
            Self::Rewritten => "an earlier message changed".to_owned(),
            Self::Unknown => "no event explains it".to_owned(),
        }
    }
}

/// What of a request the next one is judged by, apart from its pieces.
pub(super) struct PrefixBasis {
    /// Whether the first system text is the agent's own.
    pub(super) agent_text: bool,
    /// The event that opened the baseline.
    pub(super) epoch: Option<Seq>,
}

/// What an event between two requests did that can break a prefix.
pub(super) struct Between {
    did: Did,
    fact: Fact,
}

enum Did {
    Model,
    Agent,
    AgentText,
    Tools,
    Epoch(EpochCause),
    Compaction,
    Prune(Vec<CallId>),
    Revert,
    Undone,
    Pin,
    Edited,
    /// A call was settled.
    Settled,
    /// What the model is was recorded anew.
    Profile,
}

impl Between {
    pub(super) fn of(record: &Record<'_>, session: SessionId) -> Option<Self> {
        let did = match record.event {
            Event::Session(event) => match event {
                SessionEvent::ModelSwitched(_) => Did::Model,
                SessionEvent::AgentSwitched(_) => Did::Agent,
                SessionEvent::Created(_)
                | SessionEvent::Forked(_)
                | SessionEvent::Titled(_)
                | SessionEvent::Moved(_)
                | SessionEvent::TitleFailed(_)
                | SessionEvent::ProcessAttached(_) => return None,
            },
            Event::Profile(event) => match event {
                ProfileEvent::AgentRecorded(_) => Did::AgentText,
                ProfileEvent::ToolsRecorded(_) => Did::Tools,
                ProfileEvent::ModelRecorded(_) => Did::Profile,
                ProfileEvent::OptionsRecorded(_) => return None,
            },
            Event::Context(event) => match event {
                ContextEvent::EpochStarted(started) => Did::Epoch(started.cause),
                ContextEvent::EpochReplacementBlocked(_)
                | ContextEvent::Admitted(_)
                | ContextEvent::SnapshotAdvanced(_)
                | ContextEvent::InstructionDiscovered(_) => return None,
            },
            Event::Compaction(event) => match event {
                CompactionEvent::Ended(_) | CompactionEvent::Completed(_) => Did::Compaction,
                CompactionEvent::ToolOutputsPruned(pruned) => Did::Prune(pruned.calls.clone()),
                CompactionEvent::ToolOutputsReduced(reduced) => {
                    Did::Prune(reduced.calls.iter().chain(&reduced.shortened).cloned().collect())
                }
                CompactionEvent::CallsReduced(reduced) => {
                    Did::Prune(reduced.calls.iter().chain(reduced.shortened()).cloned().collect())
                }
                CompactionEvent::Undone(_) => Did::Undone,
                CompactionEvent::Started(_) | CompactionEvent::Failed(_) => return None,
            },
            Event::Files(event) => match event {
                FilesEvent::RevertCommitted(_) => Did::Revert,
                FilesEvent::Captured(_)
                | FilesEvent::Summarised(_)
                | FilesEvent::RevertStaged(_)
                | FilesEvent::RevertCleared(_)
                | FilesEvent::RestoreBegun(_)
                | FilesEvent::RestoreAbandoned(_)
                | FilesEvent::DepartureBegun(_)
                | FilesEvent::DepartureEnded(_) => return None,
            },
            Event::Message(event) => match event {
                MessageEvent::Pinned(_) | MessageEvent::Unpinned(_) => Did::Pin,
                MessageEvent::Edited(_) => Did::Edited,
                MessageEvent::SyntheticAdded(_)
                | MessageEvent::ShellRan(_)
                | MessageEvent::TodoUpdated(_)
                | MessageEvent::RedactionApplied(_)
                | MessageEvent::UnknownPart(_) => return None,
            },
            Event::Tool(event) => match event {
                ToolEvent::Settled(_) => Did::Settled,
                ToolEvent::Called(_) | ToolEvent::Progressed(_) => return None,
            },
            // What they add comes after what was sent before.
            Event::Input(_) | Event::Step(_) | Event::Permission(_) | Event::Child(_) => return None,
            // An erased text is gone from what was sent before, too.
            Event::Erasure(_) => return None,
        };
        Some(Self { did, fact: Fact::of(record, session) })
    }
}

/// What differs: the part where the prefix breaks.
pub(super) enum Differs {
    /// The model.
    Model,
    /// The tools.
    Tools,
    /// The agent's own system text.
    AgentText,
    /// The baseline.
    Baseline,
    /// A message: where the one before had this event's text.
    Message {
        /// The call, if it was the result of one.
        call: Option<CallId>,
        /// The event whose text is there now.
        now: Option<Seq>,
        /// Whether it is the same event's text, rendered differently.
        same_event: bool,
    },
    /// Nothing but time.
    Time,
}

impl Differs {
    pub(super) fn of(before: Option<&Piece>, now: Option<&Piece>, kept: &PrefixBasis, new: &PrefixBasis) -> Self {
        let part = |piece: Option<&Piece>, part: &str| piece.is_some_and(|piece| piece.part.starts_with(part));
        if part(before, "tools") || part(now, "tools") {
            return Self::Tools;
        }
        if part(before, "system") || part(now, "system") {
            let first = |piece: Option<&Piece>| piece.is_some_and(|piece| piece.part == "system 0");
            let agent = (first(before) && kept.agent_text) || (first(now) && new.agent_text);
            return if agent || kept.epoch == new.epoch { Self::AgentText } else { Self::Baseline };
        }
        let seq = before.and_then(|piece| piece.seq);
        Self::Message {
            call: before.and_then(|piece| piece.call.clone()),
            now: now.and_then(|piece| piece.seq),
            same_event: seq.is_some() && seq == now.and_then(|piece| piece.seq),
        }
    }

    /// The cause and its event, out of what happened between the two requests.
    pub(super) fn explain(&self, between: &[Between]) -> (Cause, Option<Fact>) {
        let newest = |wanted: &dyn Fn(&Did) -> Option<Cause>| {
            let found = between.iter().rev().find_map(|it| wanted(&it.did).map(|cause| (cause, Some(it.fact))));
            found.unwrap_or((Cause::Unknown, None))
        };
        let or = |(cause, fact): (Cause, Option<Fact>), other: Cause| {
            if fact.is_none() { (other, None) } else { (cause, fact) }
        };
        let agent = |did: &Did| matches!(did, Did::Agent).then_some(Cause::AgentSwitch);
        match self {
            Self::Time => (Cause::TimePassed, None),
            Self::Model => {
                or(newest(&|did| matches!(did, Did::Model).then_some(Cause::ModelSwitch)), Cause::ModelSwitch)
            }
            Self::AgentText => match newest(&agent) {
                (_, None) => {
                    or(newest(&|did| matches!(did, Did::AgentText).then_some(Cause::AgentText)), Cause::AgentText)
                }
                switched => switched,
            },
            Self::Tools => match newest(&|did| matches!(did, Did::Tools).then_some(Cause::Tools)) {
                (_, None) => or(newest(&agent), Cause::Tools),
                recorded => recorded,
            },
            Self::Baseline => newest(&|did| match did {
                Did::Epoch(cause) => Some(Cause::Baseline(*cause)),
                _ => None,
            }),
            Self::Message { call, now, same_event } => {
                let pruned = newest(&|did| match (did, call) {
                    (Did::Prune(calls), Some(call)) if calls.contains(call) => Some(Cause::Prune),
                    _ => None,
                });
                if pruned.1.is_some() {
                    return pruned;
                }
                let rewritten = newest(&|did| match did {
                    Did::Compaction => Some(Cause::Compaction),
                    Did::Revert => Some(Cause::Revert),
                    Did::Undone => Some(Cause::CompactionUndone),
                    Did::Pin => Some(Cause::Pin),
                    Did::Edited => Some(Cause::Edited),
                    _ => None,
                });
                if rewritten.1.is_some() {
                    return rewritten;
                }
                let settled = between.iter().find(|it| matches!(it.did, Did::Settled) && Some(it.fact.seq) == *now);
                if let Some(settled) = settled {
                    return (Cause::Rewritten, Some(settled.fact));
                }
                let epoch = newest(&|did| match did {
                    Did::Epoch(cause) => Some(Cause::Epoch(*cause)),
                    Did::Profile if *same_event => Some(Cause::Rewritten),
                    _ => None,
                });
                or(epoch, if *same_event { Cause::Rewritten } else { Cause::Unknown })
            }
        }
    }
}
