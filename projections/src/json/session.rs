//! What a session is, its epochs, inputs and usage, in their public form.

use super::AttachmentJson;
use crate::changed::FileTotals;
use crate::session::{Child, Fork, Revert};
use crate::{Epoch, EpochMark, Pending, SessionInfo, UsageTotals};
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::Part;
use annals_core::event::{Delivery, EpochCause, FileChange, InputConfigured, Origin, Parent, ProcessInfo, Todo};
use annals_core::{AgentName, Blobs, InputId, Key, ModelName, Seq, SessionId, Time};
use serde::Serialize;
use serde_json::Value;

/// The view `session`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionJson<'a> {
    /// Its id.
    pub id: Option<SessionId>,
    /// The selected agent.
    pub agent: &'a AgentName,
    /// The selected model.
    pub model: &'a ModelName,
    /// The directory that it works in.
    pub location: Option<&'a str>,
    /// Its title.
    pub title: Option<&'a str>,
    /// Whether a turn runs.
    pub status: RunStatus,
    /// A staged revert.
    pub revert: Option<RevertJson<'a>>,
    /// The session that began it as a child.
    pub parent: Option<&'a Parent>,
    /// The source of an import.
    pub origin: Option<&'a Origin>,
    /// The process that began to append last; left out if that is not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<&'a ProcessInfo>,
    /// What it continues.
    pub fork: Option<&'a Fork>,
    /// Time of its first event.
    pub created: Time,
    /// Time of its last event.
    pub updated: Time,
    /// The Seq of the next event.
    pub next: Seq,
    /// Child sessions.
    pub children: &'a [Child],
    /// The todo list.
    pub todos: &'a [Todo],
    /// What it changed in its project's files.
    pub changed: Option<FileTotals>,
}

/// Whether a turn runs.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// No turn runs.
    Idle,
    /// A turn runs.
    Running,
}

/// A staged revert.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RevertJson<'a> {
    /// The first message that it removes.
    pub first_removed: Seq,
    /// Files that it changes.
    pub files: &'a [FileChange],
    /// The same as a unified diff.
    pub diff: Option<Cow<'a, str>>,
}

impl<'a> SessionJson<'a> {
    /// The view of a session. `running` is what a running process knows; without it, what the log says.
    pub fn of(session: &'a SessionInfo, running: Option<bool>, blobs: &dyn Blobs) -> Self {
        let running = running.unwrap_or(session.running);
        let revert = |revert: &'a Revert| RevertJson {
            first_removed: revert.first_removed,
            files: &revert.files,
            diff: revert.diff.as_ref().map(|diff| diff.resolve(blobs)),
        };
        Self {
            id: session.id,
            agent: &session.agent,
            model: &session.model,
            location: session.location.as_ref().map(|location| location.directory.as_str()),
            title: session.title.as_deref(),
            status: if running { RunStatus::Running } else { RunStatus::Idle },
            revert: session.revert.as_ref().map(revert),
            parent: session.parent.as_ref(),
            origin: session.origin.as_ref(),
            process: session.process.as_ref(),
            fork: session.fork.as_ref(),
            created: session.created,
            updated: session.updated,
            next: session.next,
            children: &session.children,
            todos: &session.todos,
            changed: session.changed.totals(),
        }
    }
}

/// The view `baseline`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BaselineJson<'a> {
    /// Its number, from 1.
    pub epoch: u64,
    /// The event that began it.
    pub seq: Seq,
    /// Why it began.
    pub cause: EpochCause,
    /// The agent that it was rendered for.
    pub agent: &'a AgentName,
    /// The directory that was observed.
    pub location: &'a str,
    /// The whole text.
    pub text: Cow<'a, str>,
    /// The text of each source.
    pub parts: Vec<PartJson<'a>>,
    /// `false` when an import did not record the text; otherwise left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<bool>,
    /// A replacement that was due and could not be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<BlockedJson<'a>>,
}

/// The text of one source in a baseline.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartJson<'a> {
    /// The source.
    pub key: &'a Key,
    /// Its exact text.
    pub text: Cow<'a, str>,
}

/// A replacement of the baseline that was due and could not be made.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockedJson<'a> {
    /// The event that recorded it.
    pub seq: Seq,
    /// Why it was due.
    pub cause: EpochCause,
    /// The sources that could not be read.
    pub keys: &'a [Key],
}

impl<'a> BaselineJson<'a> {
    /// The view of an epoch.
    pub fn of(epoch: &'a Epoch, blobs: &dyn Blobs) -> Self {
        let part = |part: &'a Part| PartJson { key: &part.key, text: part.text.resolve(blobs) };
        Self {
            epoch: epoch.mark.epoch,
            seq: epoch.mark.seq,
            cause: epoch.mark.cause,
            agent: &epoch.agent,
            location: &epoch.location.directory,
            text: Cow::Owned(epoch.text(blobs)),
            parts: epoch.parts.iter().map(part).collect(),
            known: (!epoch.known).then_some(false),
            blocked: epoch.blocked.as_ref().map(|blocked| BlockedJson {
                seq: blocked.seq,
                cause: blocked.cause,
                keys: &blocked.keys,
            }),
        }
    }
}

/// An entry of the view `snapshot`, by the key of its source.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnapshotEntryJson {
    /// The last value that the model was given.
    pub value: Value,
    /// What the model is sent when the source disappears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<String>,
}

/// An item of the view `epochs`.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EpochJson {
    /// Its number, from 1.
    pub epoch: u64,
    /// The event that began it.
    pub seq: Seq,
    /// Why it began.
    pub cause: EpochCause,
}

impl From<&EpochMark> for EpochJson {
    fn from(mark: &EpochMark) -> Self {
        Self { epoch: mark.epoch, seq: mark.seq, cause: mark.cause }
    }
}

/// An item of the view `pending`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PendingJson<'a> {
    /// The input.
    pub id: &'a InputId,
    /// What the user wrote.
    pub text: Cow<'a, str>,
    /// When it is promoted.
    pub delivery: Delivery,
    /// Files and images that came with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentJson<'a>>,
    /// A system text for the turns that answer it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<Cow<'a, str>>,
    /// Which tools those turns are offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<&'a BTreeMap<String, bool>>,
}

impl<'a> PendingJson<'a> {
    /// A waiting input, with what it brought.
    pub fn of(pending: &'a Pending, configured: Option<&'a InputConfigured>, blobs: &dyn Blobs) -> Self {
        let system = configured.and_then(|configured| configured.system.as_ref());
        let tools = configured.map(|configured| &configured.tools).filter(|tools| !tools.is_empty());
        Self {
            system: system.map(|system| system.resolve(blobs)),
            tools,
            id: &pending.input,
            text: pending.text.resolve(blobs),
            delivery: pending.delivery,
            attachments: AttachmentJson::all(&pending.attachments, blobs),
        }
    }
}

/// The view `usage`.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageJson {
    /// Input tokens that were not cached.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Tokens of reasoning.
    pub reasoning: u64,
    /// Input tokens that were read from a cache.
    pub cache_read: u64,
    /// Input tokens that were written to a cache.
    pub cache_write: u64,
    /// In nano-dollars, as far as prices were recorded.
    pub cost: u64,
    /// Attempts that used tokens without a known price.
    pub unpriced: u64,
}

impl From<&UsageTotals> for UsageJson {
    fn from(totals: &UsageTotals) -> Self {
        let tokens = &totals.tokens;
        Self {
            input: tokens.input,
            output: tokens.output,
            reasoning: tokens.reasoning,
            cache_read: tokens.cache_read,
            cache_write: tokens.cache_write,
            cost: totals.cost,
            unpriced: totals.unpriced,
        }
    }
}
