//! Admission: durable and idempotent, and nothing runs because of it (`docs/reference/inbox.md`).

use super::revert::committed;
use super::{Session, SessionEditor};
use crate::lane::Decision;
use crate::outcome::{Admitted, MissingItem, Refusal};
use annals_core::event::{Attachment, Delivery, InputAdmitted, InputConfigured, InputDeliveryChanged, InputWithdrawn};
use annals_core::{Event, InputId};
use annals_guard::redaction::Redaction;
use annals_projections::{Admission, SessionView};
use std::collections::BTreeMap;

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
    /// A system text for the turns that answer it, after that of the agent.
    pub system: Option<String>,
    /// Whether those turns are offered a tool, by its name or by a pattern (`*`); of several the exact name counts, then the
    /// longest pattern. Tools that the agent is denied stay hidden. Empty for all tools.
    pub tools: BTreeMap<String, bool>,
}

impl NewInput {
    /// A steer of text alone.
    pub fn steer(text: impl Into<String>) -> Self {
        let (attachments, tools) = (Vec::new(), BTreeMap::new());
        Self { id: None, text: text.into(), attachments, delivery: Delivery::Steer, system: None, tools }
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

    /// The same with a system text for the turns that answer it.
    #[must_use]
    pub fn with_system(mut self, system: impl Into<String>) -> Self {
        self.system = Some(system.into());
        self
    }

    /// The same with a tool, or the tools of a pattern, offered or left out in the turns that answer it.
    #[must_use]
    pub fn with_tool(mut self, name: impl Into<String>, offered: bool) -> Self {
        self.tools.insert(name.into(), offered);
        self
    }
}

impl Session {
    /// Admits an input, and runs nothing. A staged revert is committed first.
    ///
    /// # Errors
    /// [`Refusal::Conflict`] when the id was used with another text, attachment, delivery, system text or tools, also by an inherited input.
    pub async fn admit(&self, input: NewInput) -> Result<Admitted, Refusal> {
        let NewInput { id, text, attachments, delivery, system, tools } = input;
        let ports = &self.shared().ports;
        let input = id.unwrap_or_else(|| ports.ids.input(ports.clock.now()));
        let mut configured = (system.is_some() || !tools.is_empty()).then(|| InputConfigured {
            input: input.clone(),
            system: system.map(Into::into),
            tools,
        });
        let mut admitted = InputAdmitted { input, text: text.into(), attachments, delivery };
        // Before it is compared with what was admitted under its id.
        let mut redaction = Redaction::new(self.shared().settings.redactor.as_ref());
        redaction.text(&mut admitted.text);
        admitted.attachments.iter_mut().for_each(|attachment| redaction.attachment(attachment));
        let system = configured.iter_mut().filter_map(|configured| configured.system.as_mut());
        system.for_each(|system| redaction.text(system));
        let further: Vec<Event> = configured.clone().map(Event::from).into_iter().chain(redaction.applied()).collect();
        let configured = configured.as_ref();
        let (admitted, commits) =
            self.lane.decide(|view| admission(view, &admitted, configured, further.clone())).await?;
        if commits {
            self.shared().coordinator.overtake(self.id());
        }
        Ok(admitted)
    }

    /// Admits an input and lets the session run, without waiting. An input that is known wakes it again.
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
    configured: Option<&InputConfigured>,
    further: Vec<Event>,
) -> Result<Decision<(Admitted, bool)>, Refusal> {
    if let Some(earlier) = view.inbox.used.get(&admitted.input) {
        let content = Admission::content(&admitted.text, &admitted.attachments);
        let content = configured.map_or(content, |configured| Admission::configured(content, configured));
        let same = earlier.delivery == admitted.delivery && earlier.content == content;
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
    events.extend(further);
    Ok(Decision::append(events, (Admitted::New, commits.is_some())))
}

fn pending(view: &SessionView, input: &InputId) -> Result<Delivery, Refusal> {
    let found = view.inbox.pending.iter().find(|pending| pending.input == *input);
    found.map(|pending| pending.delivery).ok_or_else(|| Refusal::NotFound(MissingItem::PendingInput(input.clone())))
}
