//! The inbox: what was admitted and waits, and which ids are used up (`docs/reference/inbox.md`).

use crate::Projection;
use crate::anomaly::Anomalies;
use crate::shared::SharedMap;
use alloc::vec::Vec;
use annals_core::event::{Attachment, Delivery, FilesEvent, InputConfigured, InputEvent, SessionEvent};
use annals_core::{Digest, Event, InputId, Record, Seq, Text, Time, kinds};
use serde::{Deserialize, Serialize};

/// An input that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The input.
    pub input: InputId,
    /// What the user wrote.
    pub text: Text,
    /// What came with it.
    pub attachments: Vec<Attachment>,
    /// When it joins.
    pub delivery: Delivery,
    /// The Seq of its admission.
    pub seq: Seq,
    /// The time of its admission.
    pub at: Time,
}

/// The admission that used an id up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    /// The event.
    pub seq: Seq,
    /// Hash of what was admitted, to distinguish a retry from another input.
    pub content: Digest,
    /// As it was admitted first.
    pub delivery: Delivery,
}

impl Admission {
    /// The hash of an input's text and attachments; the same for inline texts and blobs.
    pub fn content(text: &Text, attachments: &[Attachment]) -> Digest {
        let hash = |text: &Text| match text {
            Text::Inline(text) => Digest::of(text.as_bytes()),
            Text::Blob(blob) => blob.blob,
            Text::Absent(absent) => absent.commitment,
        };
        if attachments.is_empty() {
            return hash(text);
        }
        let mut parts = alloc::vec![hash(text)];
        for attachment in attachments {
            parts.push(Digest::of(attachment.mime.as_bytes()));
            parts.push(Digest::of(attachment.name.as_deref().unwrap_or_default().as_bytes()));
            parts.push(hash(&attachment.uri));
        }
        Digest::of_all(&parts)
    }

    /// The hash of the same input with a system text and a choice of tools of its own.
    pub fn configured(content: Digest, configured: &InputConfigured) -> Digest {
        let mut parts = alloc::vec![content, Self::content(configured.system.as_ref().unwrap_or(&Text::from("")), &[])];
        parts.push(Digest::of(&[u8::from(configured.system.is_some())]));
        for (name, offered) in &configured.tools {
            parts.push(Digest::of(name.as_bytes()));
            parts.push(Digest::of(&[u8::from(*offered)]));
        }
        Digest::of_all(&parts)
    }
}

/// What waits, in order of admission, and every id that was ever used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbox {
    /// Admitted, not promoted, in order of admission.
    pub pending: Vec<Pending>,
    /// Used-up ids, inherited ones included; empty after [`Inbox::evict`].
    pub used: SharedMap<InputId, Admission>,
    /// What inputs brought for the turns that answer them, by input; of waiting ones alone after [`Inbox::evict`].
    pub configured: SharedMap<InputId, InputConfigured>,
    /// Whether used-up ids were evicted: such a view is for reading only.
    pub for_looking: bool,
    /// What is wrong in this part of the log.
    pub anomalies: Anomalies,
}

impl Inbox {
    /// The steers that wait, in order of admission.
    pub fn steers(&self) -> impl Iterator<Item = &Pending> {
        self.pending.iter().filter(|pending| pending.delivery == Delivery::Steer)
    }

    /// The oldest queued input.
    pub fn queued(&self) -> Option<&Pending> {
        self.pending.iter().find(|pending| pending.delivery == Delivery::Queue)
    }

    /// Forgets used-up ids. Bounds a saved view that only looks.
    pub fn evict(&mut self) {
        self.used.clear();
        let pending = &self.pending;
        self.configured.retain(|input, _| pending.iter().any(|waiting| waiting.input == *input));
        self.for_looking = true;
    }

    fn take(&mut self, input: &InputId) -> Option<Pending> {
        let at = self.pending.iter().position(|pending| pending.input == *input)?;
        Some(self.pending.remove(at))
    }
}

impl Projection for Inbox {
    const NAME: &'static str = "inbox";
    const VERSION: u32 = 2;

    fn apply(&mut self, record: &Record<'_>) {
        let seq = record.seq;
        match record.event {
            Event::Input(InputEvent::Admitted(admitted)) => {
                let admission = Admission {
                    seq,
                    content: Admission::content(&admitted.text, &admitted.attachments),
                    delivery: admitted.delivery,
                };
                if !self.for_looking && self.used.insert(admitted.input.clone(), admission).is_some() {
                    self.anomalies.note(seq, "an input id is admitted twice");
                }
                self.pending.push(Pending {
                    input: admitted.input.clone(),
                    text: admitted.text.clone(),
                    attachments: admitted.attachments.clone(),
                    delivery: admitted.delivery,
                    seq,
                    at: record.at,
                });
            }
            Event::Input(InputEvent::Promoted(promoted)) => {
                if self.take(&promoted.input).is_none() {
                    self.anomalies.note(seq, "an input is promoted that is not waiting");
                }
            }
            Event::Input(InputEvent::Withdrawn(withdrawn)) => {
                if self.take(&withdrawn.input).is_none() {
                    self.anomalies.note(seq, "an input is withdrawn that is not waiting");
                }
            }
            Event::Input(InputEvent::DeliveryChanged(changed)) => {
                match self.pending.iter_mut().find(|pending| pending.input == changed.input) {
                    Some(pending) => pending.delivery = changed.delivery,
                    None => self.anomalies.note(seq, "the delivery of an input changes that is not waiting"),
                }
            }
            Event::Input(InputEvent::Configured(configured)) => {
                if let Some(admission) = self.used.get(&configured.input) {
                    let content = Admission::configured(admission.content, configured);
                    self.used.insert(configured.input.clone(), Admission { content, ..*admission });
                }
                self.configured.insert(configured.input.clone(), configured.clone());
            }
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                self.pending.retain(|pending| pending.seq < committed.first_removed);
            }
            Event::Session(SessionEvent::Forked(_)) => self.pending.clear(),
            kinds!(
                Session(Created, Titled, Moved, AgentSwitched, ProcessAttached, ModelSwitched, TitleFailed),
                Context,
                Profile,
                Step,
                Tool,
                Permission,
                Compaction,
                Message,
                Files(
                    Captured,
                    Summarised,
                    RevertStaged,
                    RevertCleared,
                    RestoreBegun,
                    RestoreAbandoned,
                    DepartureBegun,
                    DepartureEnded
                ),
                Child,
                Erasure
            ) => {}
        }
    }
}

#[cfg(test)]
mod tests;
