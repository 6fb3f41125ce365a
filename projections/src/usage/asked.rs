//! Which model an attempt was made with.

use crate::Projection;
use annals_core::event::{CompactionEvent, Purpose, SessionEvent, StepEvent};
use annals_core::{Event, ModelName, Record, kinds};
use serde::{Deserialize, Serialize};

/// The models that were asked last, by purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedModels {
    /// Who answers turns.
    turn: ModelName,
    /// Who summarises.
    summary: Option<ModelName>,
    /// Who gives titles.
    title: Option<ModelName>,
    /// Who was asked something aside.
    other: Option<ModelName>,
}

impl AskedModels {
    /// The model that answers turns.
    pub fn turn_model(&self) -> &ModelName {
        &self.turn
    }

    /// The model whose attempt a record ends; `None` for a record that ends none.
    pub fn asked(&self, event: &Event) -> Option<&ModelName> {
        match event {
            Event::Step(StepEvent::Ended(_))
            | Event::Step(StepEvent::Failed(_))
            | Event::Step(StepEvent::RetryScheduled(_)) => Some(&self.turn),
            Event::Compaction(
                CompactionEvent::Ended(_) | CompactionEvent::Completed(_) | CompactionEvent::Failed(_),
            ) => Some(self.summary.as_ref().unwrap_or(&self.turn)),
            Event::Step(StepEvent::AnswerRecorded(answer)) => {
                Some(self.other.as_ref().unwrap_or(&self.turn)).filter(|_| answer.usage.is_some())
            }
            Event::Session(SessionEvent::Titled(_)) | Event::Session(SessionEvent::TitleFailed(_)) => {
                Some(self.title.as_ref().unwrap_or(&self.turn))
            }
            kinds!(
                Session(Moved, AgentSwitched, ProcessAttached, ModelSwitched, Created, Forked),
                Input,
                Context,
                Profile,
                Step(TextEnded, ReasoningEnded, RequestSent, RequestRecorded, Started),
                Tool,
                Permission,
                Compaction(Undone, ToolOutputsPruned, ToolOutputsReduced, CallsReduced, Started),
                Message,
                Files,
                Child,
                Erasure
            ) => None,
        }
    }
}

impl Projection for AskedModels {
    const NAME: &'static str = "asked-models";
    const VERSION: u32 = 2;

    fn apply(&mut self, record: &Record<'_>) {
        match record.event {
            Event::Session(SessionEvent::Created(created)) => self.turn = created.model.clone(),
            Event::Step(StepEvent::Started(started)) => self.turn = started.model.clone(),
            Event::Step(StepEvent::RequestSent(sent)) => match sent.purpose {
                Purpose::Turn => self.turn = sent.model.clone(),
                Purpose::Summary => self.summary = Some(sent.model.clone()),
                Purpose::Title => self.title = Some(sent.model.clone()),
                Purpose::Other => self.other = Some(sent.model.clone()),
            },
            Event::Compaction(CompactionEvent::Started(started)) => self.summary = started.model.clone(),
            kinds!(
                Session(Moved, AgentSwitched, ProcessAttached, ModelSwitched, Titled, TitleFailed, Forked),
                Input,
                Context,
                Profile,
                Step(TextEnded, ReasoningEnded, Ended, Failed, RequestRecorded, AnswerRecorded, RetryScheduled),
                Tool,
                Permission,
                Compaction(Undone, ToolOutputsPruned, ToolOutputsReduced, CallsReduced, Ended, Completed, Failed),
                Message,
                Files,
                Child,
                Erasure
            ) => {}
        }
    }
}
