//! What a session is: where, with whom, under which policy, from what.

use super::{ErasureEvent, Event, Failure, ProcessInfo, SessionEvent, Usage, payload, words};
use crate::Seq;
use crate::commitment::StoredKey;
use crate::digest::Digest;
use crate::id::{AgentName, CallId, ModelName, RequestId, SessionId};
use crate::left_out::{left_out, present};
use crate::text::{as_text, from_text};
use alloc::string::String;

payload! {
    /// Where a session works: a directory, and a workspace if the host has several.
    #[derive(PartialOrd, Ord, Hash)]
    Location {
        /// Absolute path.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        directory: String,
        /// The host's name of the workspace.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        workspace: Option<String>,
    } texts {}
}

words! {
    /// What a switch does to the Context Epoch (`docs/reference/context.md#policy`).
    Switch {
        /// The epoch continues; changed guidance is sent as a context update.
        Keep = "keep",
        /// The next boundary begins a new epoch.
        Replace = "replace",
    }
}

payload! {
    /// The policy of a session, recorded when it is created and never changed.
    #[derive(Copy)]
    Policy {
        /// What an agent switch does.
        agent_switch: Switch,
        /// What a model switch does.
        model_switch: Switch,
    } texts {}
}

impl Default for Policy {
    fn default() -> Self {
        Self { agent_switch: Switch::Keep, model_switch: Switch::Keep }
    }
}

payload! {
    /// The session, and the call in it, that began a child.
    Parent {
        /// The parent session.
        session: SessionId,
        /// The call of the parent that began it, if known.
        call: Option<CallId>,
    } texts {}
}

payload! {
    /// Where an imported session comes from. Nothing of the import's own time or place is in it.
    Origin {
        /// The agent that recorded it: `opencode`, `codex`, `claude-code`.
        agent: String,
        /// That agent's version, as recorded.
        version: Option<String>,
        /// The session's id there.
        id: String,
        /// The form it was read from: `v2-events`, `v1-export`, `rollout`, `transcript`; `wire` for a recording.
        form: String,
        /// The number of our mapping.
        importer: u32,
    } texts {}
}

impl Origin {
    /// The form of a recording of what the agent sent and received.
    pub const WIRE: &str = "wire";

    /// Whether the session is a recording, not an import.
    pub fn is_recording(&self) -> bool {
        self.form == Self::WIRE
    }
}

payload! {
    /// A Session began. Always the first event of a log, unless [`SessionForked`] is.
    SessionCreated {
        /// Where it works.
        location: Location,
        /// The selected agent.
        agent: AgentName,
        /// The selected model.
        model: ModelName,
        /// What switches do.
        policy: Policy,
        /// Its title, if it has one from the start.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        title: Option<String>,
        /// Set for a child session.
        parent: Option<Parent>,
        /// Set for an imported session.
        origin: Option<Origin>,
        /// The process that created it, if that is recorded. Without it the member is left out of JSON.
        #[serde(default, serialize_with = "left_out", deserialize_with = "present")]
        #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "Option::is_none"))]
        process: Option<ProcessInfo>,
        /// The session's key; in JSON its hash.
        #[serde(rename = "key_hash")]
        key: StoredKey,
    } texts {}
}

payload! {
    /// A Session began as the continuation of `parent` up to `cut`: the first event of its log, at seq = `cut`. Reads
    /// below the cut go to the parent; nothing is copied (`docs/reference/fork.md`).
    SessionForked {
        /// Whose log continues here.
        parent: SessionId,
        /// The first Seq that is not inherited; the Seq of this event.
        cut: Seq,
        /// Digest of the parent's batch that holds `cut - 1`; the `prev` of this event's batch.
        parent_digest: Digest,
        /// The fork's title.
        #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
        title: Option<String>,
        /// Set when a fork was imported from another agent.
        origin: Option<Origin>,
        /// The key of the fork's own events; in JSON its hash. What it inherits keeps the key of the ancestor that wrote it.
        #[serde(rename = "key_hash")]
        key: StoredKey,
    } texts {}
}

payload! {
    /// The session got a title: from the user, from an import, or from a model that was asked for one.
    SessionTitled {
        /// One line.
        #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
        title: String,
        /// The title request that gave it; `None` when no model was asked.
        request: Option<RequestId>,
        /// What that request reported.
        usage: Option<Usage>,
        /// In nano-dollars.
        cost: u64,
    } texts {}
}

impl SessionTitled {
    /// A title that no request gave.
    pub fn given(title: impl Into<String>) -> Self {
        Self { title: title.into(), request: None, usage: None, cost: 0 }
    }
}

payload! {
    /// A title request ended without a title. Nothing else is touched by it (`docs/reference/turn.md#titles`).
    TitleFailed {
        /// Which request.
        request: RequestId,
        /// Why: the provider's error, `blank`, `overtaken` by a title that was given meanwhile, or `interrupted`.
        error: Failure,
        /// What the provider reported.
        usage: Option<Usage>,
        /// In nano-dollars.
        cost: u64,
    } texts { error }
}

payload! {
    /// The session moved. Its Context Epoch ended; the destination starts over with a complete baseline
    /// (`docs/reference/revert.md#moves`).
    SessionMoved {
        /// Where it works from here on.
        location: Location,
    } texts {}
}

payload! {
    /// Another agent was selected; turns that began before keep theirs.
    AgentSwitched {
        /// The agent of the next turn.
        agent: AgentName,
    } texts {}
}

payload! {
    /// Another model was selected; turns that began before keep theirs.
    ModelSwitched {
        /// The model of the next turn.
        model: ModelName,
    } texts {}
}

impl Event {
    /// The key that the session has from this event on; `None` for an event that brings none. Only the first event of a batch does.
    pub fn stored_key(&self) -> Option<&StoredKey> {
        match self {
            Self::Session(SessionEvent::Created(created)) => Some(&created.key),
            Self::Session(SessionEvent::Forked(forked)) => Some(&forked.key),
            Self::Erasure(ErasureEvent::TextsErased(erased)) => Some(&erased.key),
            _ => None,
        }
    }

    /// Whether the event begins a session: it is the first of its log.
    pub const fn begins(&self) -> bool {
        matches!(self, Self::Session(SessionEvent::Created(_) | SessionEvent::Forked(_)))
    }

    /// Removes the key from an event that brings one; its hash stays.
    pub(crate) fn drop_key(&mut self) {
        match self {
            Self::Session(SessionEvent::Created(created)) => created.key.key = None,
            Self::Session(SessionEvent::Forked(forked)) => forked.key.key = None,
            Self::Erasure(ErasureEvent::TextsErased(erased)) => erased.key.key = None,
            _ => {}
        }
    }

    /// Puts a key into an event that brings one; any other event stays as it is.
    pub fn set_key(&mut self, key: impl Into<StoredKey>) {
        match self {
            Self::Session(SessionEvent::Created(created)) => created.key = key.into(),
            Self::Session(SessionEvent::Forked(forked)) => forked.key = key.into(),
            Self::Erasure(ErasureEvent::TextsErased(erased)) => erased.key = key.into(),
            _ => {}
        }
    }
}
