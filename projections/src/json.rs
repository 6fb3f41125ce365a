//! The public JSON form of every view: one for the command, for scenarios and for goldens
//! (`fixtures/scenarios/FORMAT.md`, "Views"). Each is a struct, so that its schema cannot differ from it.

mod message;
mod session;

pub use crate::request::{
    RequestAttachmentJson, RequestCallJson, RequestJson, RequestMessageJson, RequestResultJson, RequestShape,
};
pub use message::{ContentJson, MessageHead, MessageJson};
pub use session::{
    BaselineJson, BlockedJson, EpochJson, PartJson, PendingJson, RevertJson, RunStatus, SessionJson, SnapshotEntryJson,
    UsageJson,
};

use crate::message::{Content, Message};
use crate::messages::Messages;
use crate::{Epochs, History, Inbox, SessionInfo, Transcript, UsageTotals};
use alloc::borrow::{Cow, ToOwned};
use alloc::vec::Vec;
use annals_core::event::{Attachment, Failure};
use annals_core::text::Texts;
use annals_core::{Blobs, Event, Record, Text};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A view in its public JSON form.
pub trait ToJson {
    /// The JSON form, with blobs resolved.
    fn to_json(&self, blobs: &dyn Blobs) -> Value;
}

/// A file or image.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttachmentJson<'a> {
    /// Its media type.
    pub mime: &'a str,
    /// Its name.
    pub name: Option<&'a str>,
    /// Its content or its address.
    pub uri: Cow<'a, str>,
}

impl<'a> AttachmentJson<'a> {
    fn all(attachments: &'a [Attachment], blobs: &dyn Blobs) -> Vec<Self> {
        let one = |attachment: &'a Attachment| Self {
            mime: &attachment.mime,
            name: attachment.name.as_deref(),
            uri: attachment.uri.resolve(blobs),
        };
        attachments.iter().map(one).collect()
    }
}

/// A failure.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailureJson<'a> {
    /// Its kind, such as `rate-limit`.
    pub kind: &'a str,
    /// What happened.
    pub message: Cow<'a, str>,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
}

impl<'a> FailureJson<'a> {
    fn of(failure: &'a Failure, blobs: &dyn Blobs) -> Self {
        Self { kind: &failure.kind, message: failure.message.resolve(blobs), status: failure.status }
    }
}

/// A value with sorted keys. Keys of our structs and maps are texts, so that none is refused.
fn value(json: impl Serialize) -> Value {
    serde_json::to_value(json).unwrap_or_default()
}

impl ToJson for Message {
    fn to_json(&self, blobs: &dyn Blobs) -> Value {
        value(MessageJson::of(self, false, false, blobs))
    }
}

impl ToJson for Content {
    fn to_json(&self, blobs: &dyn Blobs) -> Value {
        value(ContentJson::of(self, blobs))
    }
}

impl ToJson for History {
    fn to_json(&self, blobs: &dyn Blobs) -> Value {
        let pinned = |message: &Message| self.is_pinned(message.seq);
        self.selected().map(|message| value(MessageJson::of(message, pinned(message), false, blobs))).collect()
    }
}

impl History {
    /// The JSON of one selected message, as the view `history` shows it.
    pub fn message_json(&self, message: &Message, blobs: &dyn Blobs) -> Value {
        value(MessageJson::of(message, self.is_pinned(message.seq), false, blobs))
    }
}

impl Transcript {
    /// The JSON of one message, marked if it was undone.
    pub fn message_json(&self, message: &Message, blobs: &dyn Blobs) -> Value {
        value(MessageJson::of(message, false, self.is_reverted(message.seq), blobs))
    }

    /// The JSON of the messages that `messages` (a fold over a range of records) contains, each marked if it was undone.
    pub fn page_json(&self, messages: &Messages, blobs: &dyn Blobs) -> Value {
        let reverted = |message: &Message| self.is_reverted(message.seq);
        let json = |message: &Message| value(MessageJson::of(message, false, reverted(message), blobs));
        self.shown(messages).map(|message| json(&message)).collect()
    }
}

impl Epochs {
    /// The view `baseline`, or `null`.
    pub fn baseline_json(&self, blobs: &dyn Blobs) -> Value {
        value(self.current.as_ref().map(|epoch| BaselineJson::of(epoch, blobs)))
    }

    /// The view `snapshot`; `{}` while there is no epoch.
    pub fn snapshot_json(&self, blobs: &dyn Blobs) -> Value {
        let entries = self.current.iter().flat_map(|epoch| &epoch.snapshot.0).map(|(key, entry)| {
            let removed = entry.removed.as_ref().map(|removed| removed.resolve(blobs).into_owned());
            (key.as_str().to_owned(), value(SnapshotEntryJson { value: entry.value.value(blobs), removed }))
        });
        Value::Object(entries.collect::<Map<_, _>>())
    }

    /// The view `epochs`.
    pub fn marks_json(&self) -> Value {
        self.marks.iter().map(|mark| value(EpochJson::from(mark))).collect()
    }
}

impl ToJson for Inbox {
    fn to_json(&self, blobs: &dyn Blobs) -> Value {
        self.pending
            .iter()
            .map(|pending| value(PendingJson::of(pending, self.configured.get(&pending.input), blobs)))
            .collect()
    }
}

impl ToJson for UsageTotals {
    fn to_json(&self, _: &dyn Blobs) -> Value {
        value(UsageJson::from(self))
    }
}

impl SessionInfo {
    /// The view `session`. `running` is what a running process knows; without it, what the log says.
    pub fn to_json(&self, running: Option<bool>, blobs: &dyn Blobs) -> Value {
        value(SessionJson::of(self, running, blobs))
    }
}

/// One item of the view `events`: the event with its place and time, under the name of its kind without the number of its
/// shape.
impl ToJson for Record<'_> {
    fn to_json(&self, blobs: &dyn Blobs) -> Value {
        let mut json = event_json(self.event, blobs);
        if let Value::Object(fields) = &mut json {
            fields.insert("type".to_owned(), json!(self.event.kind().family()));
            fields.insert("seq".to_owned(), json!(self.seq));
            // A fact with a time of its own keeps it: when a retry follows, not when it was scheduled.
            fields.entry("at").or_insert(json!(self.at));
        }
        json
    }
}

/// An event as JSON, with every text whole: what is in a blob is read.
pub fn event_json(event: &Event, blobs: &dyn Blobs) -> Value {
    let mut event = event.clone();
    event.texts(&mut |text: &mut Text| {
        if text.inline().is_none() {
            *text = text.resolve(blobs).into_owned().into();
        }
    });
    event.to_json()
}
