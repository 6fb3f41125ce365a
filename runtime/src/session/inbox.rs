//! Admission: durable and idempotent, and nothing runs because of it (`docs/reference/inbox.md`).

use super::revert::committed;
use super::{Session, SessionEditor};
use crate::lane::Decision;
use crate::outcome::{Admitted, MissingItem, Refusal};
use crate::redaction::Redaction;
use annals_core::event::{Attachment, Delivery, InputAdmitted, InputDeliveryChanged, InputWithdrawn};
use annals_core::{Event, InputId};
use annals_projections::{Admission, SessionView};

/// An input to admit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewInput {
    /// Its id, for idempotence; chosen by the id port without one.
    pub id: Option<InputId>,
    /// What the user wrote.
    pub text: String,
    /// What comes with it.
    pub attachments: Vec<Attachment>,
    /// When it joins.
    pub delivery: Delivery,
}

impl NewInput {
    /// A steer of text alone.
    pub fn steer(text: impl Into<String>) -> Self {
        Self { id: None, text: text.into(), attachments: Vec::new(), delivery: Delivery::Steer }
    }

    /// A queued input of text alone.
    pub fn queue(text: impl Into<String>) -> Self {
        Self { delivery: Delivery::Queue, ..Self::steer(text) }
    }

    /// The same with an id.
    #[must_use]
    pub fn named(mut self, id: impl Into<InputId>) -> Self {
        self.id = Some(id.into());
        self
    }
}

impl Session {
    /// Admits an input, and runs nothing. A staged revert is committed first.
    ///
    /// # Errors
    /// [`Refusal::Conflict`] when the id was used with another text, attachment or delivery, also by an inherited input.
    pub async fn admit(&self, input: NewInput) -> Result<Admitted, Refusal> {
        let NewInput { id, text, attachments, delivery } = input;
        let ports = &self.shared().ports;
        let input = id.unwrap_or_else(|| ports.ids.input(ports.clock.now()));
        let mut admitted = InputAdmitted { input, text: text.into(), attachments, delivery };
        // Before it is compared with what was admitted under its id.
        let mut redaction = Redaction::new(self.shared().settings.redactor.as_ref());
        redaction.text(&mut admitted.text);
        admitted.attachments.iter_mut().for_each(|attachment| redaction.attachment(attachment));
        let (admitted, commits) = self.lane.decide(|view| admission(view, &admitted, redaction.applied())).await?;
        if commits {
            self.shared().coordinator.overtake(self.id());
        }
        Ok(admitted)
    }

    /// Admits an input and lets the session run, without waiting. An input that is known wakes it again.
    ///
    /// # Errors
    /// See [`Session::admit`].
    pub async fn prompt(&self, input: NewInput) -> Result<Admitted, Refusal> {
        let admitted = self.admit(input).await?;
        self.wake();
        Ok(admitted)
    }
}

impl SessionEditor {
    /// Withdraws a pending input. Its id stays used.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when no such input is pending.
    pub async fn withdraw(&self, input: &InputId) -> Result<(), Refusal> {
        self.lane
            .decide(|view| {
                pending(view, input)?;
                Ok(Decision::append(vec![InputWithdrawn { input: input.clone() }.into()], ()))
            })
            .await
    }

    /// Changes when a pending input joins; it keeps its place. Nothing runs because of it. Returns whether that changed
    /// anything.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when no such input is pending.
    pub async fn set_delivery(&self, input: &InputId, delivery: Delivery) -> Result<bool, Refusal> {
        self.lane
            .decide(|view| {
                if pending(view, input)? == delivery {
                    return Ok::<_, Refusal>(Decision::nothing(false));
                }
                let changed = InputDeliveryChanged { input: input.clone(), delivery };
                Ok(Decision::append(vec![changed.into()], true))
            })
            .await
    }
}

/// What to record for an input, and whether that commits a staged revert.
fn admission(
    view: &SessionView,
    admitted: &InputAdmitted,
    redacted: Option<Event>,
) -> Result<Decision<(Admitted, bool)>, Refusal> {
    if let Some(earlier) = view.inbox.used.get(&admitted.input) {
        let same = earlier.delivery == admitted.delivery
            && earlier.content == Admission::content(&admitted.text, &admitted.attachments);
        return if same {
            Ok(Decision::nothing((Admitted::Known, false)))
        } else {
            Err(Refusal::Conflict(admitted.input.clone()))
        };
    }
    let mut events: Vec<Event> = Vec::new();
    let commits = view.session.revert.as_ref();
    if let Some(revert) = commits {
        events.extend(committed(view, revert.first_removed));
    }
    events.push(admitted.clone().into());
    events.extend(redacted);
    Ok(Decision::append(events, (Admitted::New, commits.is_some())))
}

fn pending(view: &SessionView, input: &InputId) -> Result<Delivery, Refusal> {
    let found = view.inbox.pending.iter().find(|pending| pending.input == *input);
    found.map(|pending| pending.delivery).ok_or_else(|| Refusal::NotFound(MissingItem::PendingInput(input.clone())))
}
