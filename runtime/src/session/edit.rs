//! Forks with one fact changed: a prompt, the result of a tool, or a system text (`docs/branching.md#edit`).
//!
//! The fork begins before the changed fact. What the session recorded between that and its next request follows, except what the
//! next boundary decides again: inputs wait, context is observed, tokens are counted for the session that paid for them.

mod place;
mod wording;

use super::SessionEditor;
use super::fork::{ForkBeginning, edited_title};
use crate::outcome::{MissingItem, Refusal};
use annals_core::event::{InputAdmitted, InputConfigured, InputEvent, Purpose, StepEvent};
use annals_core::{Event, InputId, Kind, Seq};
use annals_store::{ReadError, Slice};
use place::{TextPlace, input_of, promoted};

/// What kind of text is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// A prompt of the user.
    Prompt,
    /// What a tool returned: its output, or its error if it failed.
    ToolResult,
    /// The system prompt (baseline).
    SystemPrompt,
    /// A context update.
    ContextUpdate,
}

impl TextKind {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::ToolResult => "tool result",
            Self::SystemPrompt => "system prompt",
            Self::ContextUpdate => "context update",
        }
    }
}

/// A text of a session that a fork can have in another wording.
#[derive(Clone, Debug)]
pub struct EditableText {
    /// The event that has the text.
    pub event: Seq,
    /// Its kind.
    pub what: TextKind,
    /// The text as it was recorded.
    pub text: String,
    /// The first event that a fork with another text does not inherit.
    pub cut: Seq,
    /// What follows in the fork, with the recorded text.
    events: Vec<Event>,
    /// Which of them is edited.
    edited: usize,
}

/// A text of a session cannot be edited.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EditRefusal {
    /// The event has no text that can be edited: name another event.
    #[error(
        "event {event} ({}) cannot be edited; a prompt, a tool result or a system text can (see annals log)", kind.name()
    )]
    NoText {
        /// The event.
        event: Seq,
        /// Its kind.
        kind: Kind,
    },
    /// The call has no result.
    #[error("the tool call of event {0} has no result that could be edited")]
    NoResult(Seq),
    /// The system prompt was not recorded.
    #[error("the system prompt of event {0} was not recorded, so it cannot be edited")]
    NotRecorded(Seq),
    /// It was undone.
    #[error("event {0} was undone; fork before the undo (--at), then edit there")]
    Undone(Seq),
    /// The text is the same.
    #[error("the text of event {0} was not changed; nothing was forked")]
    Unchanged(Seq),
    /// It cannot be read, or the fork was refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

impl From<ReadError> for EditRefusal {
    fn from(error: ReadError) -> Self {
        Self::Refused(error.into())
    }
}

impl SessionEditor {
    /// The text of an event that a fork can have in another wording. For a prompt it may be its admission or the message, for a
    /// tool result also the call.
    ///
    /// # Errors
    /// When the event has none, or was undone.
    pub async fn editable(&self, event: Seq) -> Result<EditableText, EditRefusal> {
        let view = self.view().await.map_err(Refusal::from)?;
        if event >= view.cut().next {
            let missing = MissingItem::EventBefore(event.plus(1));
            return Err(Refusal::NotFound(missing).into());
        }
        let found = self.events(event, event.plus(1)).await?.pop();
        let Some((_, fact)) = found else { return Err(EditRefusal::Undone(event)) };
        let place = TextPlace::of(event, &fact, &view)?;
        if view.transcript.is_removed(place.cut) {
            return Err(EditRefusal::Undone(event));
        }
        let until = self.next_request(event, view.cut().next).await?;
        let mut recorded = self.events(place.cut, until).await?;
        // What joins again at the next boundary was perhaps admitted before the cut.
        let joins = |seq: Seq| view.transcript.items.find_by_key(&seq, |item| item.seq);
        let joined = recorded.iter().filter(|(_, fact)| promoted(fact).is_some());
        let admitted: Vec<Seq> = joined
            .filter_map(|(seq, _)| Some(view.transcript.items.get(joins(*seq)?)?.first))
            .filter(|first| *first < place.cut)
            .collect();
        let mut before = Vec::new();
        for admitted in admitted {
            before.extend(self.admission(admitted, place.cut).await?);
        }
        recorded.splice(0..0, before);
        place.text(event, fact.kind(), recorded, &*self.blobs())
    }

    /// Forks with another wording of a text. The title of the fork says which event was edited. A changed prompt waits to be
    /// sent; after any other text the fork continues at its next run.
    ///
    /// # Errors
    /// When the text is the same, or the log refuses.
    pub async fn fork_edited(&self, fact: &EditableText, text: &str) -> Result<Self, EditRefusal> {
        if text == fact.text {
            return Err(EditRefusal::Unchanged(fact.event));
        }
        let ports = &self.state;
        let mut events = fact.events.clone();
        if let Some(event) = events.get_mut(fact.edited) {
            wording::write(event, text, &*self.blobs());
        }
        let mut renamed: Vec<(InputId, InputId)> = Vec::new();
        for event in &mut events {
            rename_input(event, &mut renamed, || ports.ids.input(ports.clock.now()));
        }
        let title = |title: Option<&str>| Some(edited_title(title, fact.what.name(), fact.event));
        let beginning = ForkBeginning { location: None, title: &title, events };
        Ok(self.fork_beginning(fact.cut, beginning).await?)
    }

    /// The events of a range.
    async fn events(&self, from: Seq, until: Seq) -> Result<Vec<(Seq, Event)>, ReadError> {
        let mut found = Vec::new();
        let mut pages = self.state.log.pages(self.id(), from..until);
        while let Some(slices) = pages.next_page().await? {
            let records = slices.iter().flat_map(Slice::records);
            found.extend(records.map(|record| (record.seq, record.event.clone())));
        }
        Ok(found)
    }

    /// The first request of a turn, or of a summary, after an event; the end without one.
    async fn next_request(&self, after: Seq, end: Seq) -> Result<Seq, ReadError> {
        let mut pages = self.state.log.pages(self.id(), after..end).at_most(64);
        while let Some(slices) = pages.next_page().await? {
            let sent = slices.iter().flat_map(Slice::records).find(|record| {
                matches!(record.event, Event::Step(StepEvent::RequestSent(sent)) if matches!(sent.purpose, Purpose::Turn | Purpose::Summary))
            });
            if let Some(sent) = sent {
                return Ok(sent.seq);
            }
        }
        Ok(end)
    }

    /// The admission of an input that joined at `cut`, and what came with it.
    async fn admission(&self, admitted: Seq, cut: Seq) -> Result<Vec<(Seq, Event)>, ReadError> {
        // The settings of an input are in the batch of its admission.
        let found = self.events(admitted, admitted.plus(8).min(cut)).await?;
        let Some(input) = found.first().and_then(|(_, event)| input_of(event)).cloned() else { return Ok(Vec::new()) };
        Ok(found.into_iter().filter(|(_, event)| input_of(event) == Some(&input)).collect())
    }
}

/// Ids of inputs are used up by the session that is continued: the fork has its own.
fn rename_input(event: &mut Event, renamed: &mut Vec<(InputId, InputId)>, fresh: impl Fn() -> InputId) {
    let input = match event {
        Event::Input(InputEvent::Admitted(InputAdmitted { input, .. })) => input,
        Event::Input(InputEvent::Configured(InputConfigured { input, .. })) => input,
        _ => return,
    };
    let known = renamed.iter().find(|(old, _)| old == input).map(|(_, new)| new.clone());
    let new = known.unwrap_or_else(|| {
        let new = fresh();
        renamed.push((input.clone(), new.clone()));
        new
    });
    *input = new;
}
