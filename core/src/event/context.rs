//! System Context as facts: epochs, messages, snapshot advances (`docs/reference/context.md#epochs`).

use super::session::Location;
use super::{DecodeError, Event, payload, words};
use crate::context::{Entry, InvalidKey, Key, Part};
use crate::event::ContextEvent;
use crate::id::{AgentName, CallId};
use crate::text::{Text, as_text, from_text};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

words! {
    /// Why a Context Epoch began. When several are due, the first in the order of
    /// `docs/reference/context.md#what-makes-a-new-epoch-due` is recorded.
    EpochCause {
        /// The session's first turn.
        FirstTurn = "first-turn",
        /// A committed revert ended the one before.
        Reverted = "reverted",
        /// A move ended the one before.
        Moved = "moved",
        /// A compaction was completed.
        Compaction = "compaction",
        /// Another agent was selected under the policy `replace`.
        AgentSwitched = "agent-switched",
        /// Another model was selected under the policy `replace`.
        ModelSwitched = "model-switched",
        /// A stored value could not be understood, or a source without removal text disappeared.
        Incompatible = "incompatible",
    }
}

payload! {
    /// A Context Epoch began. Its Baseline System Context is the parts joined by a blank line, exactly.
    ///
    /// System messages before it leave the history. One caused by a compaction keeps those after that
    /// compaction, since its baseline does not include them
    /// (`docs/reference/context.md#which-context-messages-a-request-contains`).
    EpochStarted {
        /// The cause.
        cause: EpochCause,
        /// The agent that the baseline was rendered for.
        agent: AgentName,
        /// Where it was observed.
        location: Location,
        /// The rendered pieces, in order.
        parts: Vec<Part>,
        /// The Context Snapshot that it starts with.
        entries: BTreeMap<Key, Entry>,
        /// False for an imported epoch whose baseline was not kept: `parts` and `entries` then say nothing.
        known: bool,
    } texts { parts, entries }
}

payload! {
    /// A new baseline was due and could not be made; the current one stays in force. Recorded once per change of the keys.
    EpochReplacementBlocked {
        /// What made a new epoch due.
        cause: EpochCause,
        /// The sources of the current epoch that are unavailable, in order of composition.
        keys: Vec<Key>,
    } texts {}
}

payload! {
    /// A Mid-Conversation System Message joined the history, in the same batch as the advance of the snapshot.
    ContextAdmitted {
        /// The Context Sources it speaks of, in the order of their texts.
        keys: Vec<Key>,
        /// The exact text.
        text: Text,
    } texts { text }
}

payload! {
    /// The Context Snapshot advanced: the new value of each source in the update.
    SnapshotAdvanced {
        /// Fresh entries.
        set: BTreeMap<Key, Entry>,
        /// Sources that no longer apply.
        removed: Vec<Key>,
    } texts { set }
}

payload! {
    /// A successful read discovered an instruction file below the location's upward path. It joins the instructions
    /// while the session stays at its location (`docs/reference/context.md#instructions`).
    InstructionDiscovered {
        /// The file.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        path: String,
        /// The call that read near it, if any.
        call: Option<CallId>,
    } texts {}
}

impl Event {
    /// Refuses, in a fact read from its codec form, a key of a source that the JSON form would refuse, and a key of the session
    /// that is not the one of the hash.
    pub(super) fn with_legal_keys(self) -> Result<Self, DecodeError> {
        let illegal = |key: &&Key| !key.is_legal();
        let bad = match &self {
            Event::Context(ContextEvent::EpochStarted(epoch)) => {
                epoch.parts.iter().map(|part| &part.key).chain(epoch.entries.keys()).find(illegal)
            }
            Event::Context(ContextEvent::EpochReplacementBlocked(blocked)) => blocked.keys.iter().find(illegal),
            Event::Context(ContextEvent::Admitted(message)) => message.keys.iter().find(illegal),
            Event::Context(ContextEvent::SnapshotAdvanced(advance)) => {
                advance.set.keys().chain(&advance.removed).find(illegal)
            }
            _ => None,
        };
        if self.stored_key().is_some_and(|stored| stored.key.is_some_and(|key| key.hash() != stored.hash)) {
            let message = "its key does not match the recorded hash".to_string();
            return Err(DecodeError::Malformed { kind: self.kind().name(), message });
        }
        match bad {
            None => Ok(self),
            Some(key) => Err(DecodeError::Malformed {
                kind: self.kind().name(),
                message: InvalidKey(key.as_str().into()).to_string(),
            }),
        }
    }
}
