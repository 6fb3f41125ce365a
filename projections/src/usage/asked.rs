//! Which model an attempt was made with.

use crate::Projection;
use annals_core::event::{CompactionEvent, Purpose, SessionEvent, StepEvent};
use annals_core::{Event, ModelName, Record};
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
            Event::Session(
                SessionEvent::Moved(_)
                | SessionEvent::AgentSwitched(_)
                | SessionEvent::ProcessAttached(_)
                | SessionEvent::ModelSwitched(_)
                | SessionEvent::Created(_)
                | SessionEvent::Forked(_),
            )
            | Event::Input(_)
            | Event::Context(_)
            | Event::Profile(_)
            | Event::Step(
                StepEvent::TextEnded(_)
                | StepEvent::ReasoningEnded(_)
                | StepEvent::RequestSent(_)
                | StepEvent::RequestRecorded(_)
                | StepEvent::Started(_),
            )
            | Event::Tool(_)
            | Event::Permission(_)
            | Event::Compaction(
                CompactionEvent::Undone(_)
                | CompactionEvent::ToolOutputsPruned(_)
                | CompactionEvent::ToolOutputsReduced(_)
                | CompactionEvent::CallsReduced(_)
                | CompactionEvent::Started(_),
            )
            | Event::Message(_)
            | Event::Files(_)
            | Event::Child(_)
            | Event::Erasure(_) => None,
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
            Event::Session(
                SessionEvent::Moved(_)
                | SessionEvent::AgentSwitched(_)
                | SessionEvent::ProcessAttached(_)
                | SessionEvent::ModelSwitched(_)
                | SessionEvent::Titled(_)
                | SessionEvent::TitleFailed(_)
                | SessionEvent::Forked(_),
            )
            | Event::Input(_)
            | Event::Context(_)
            | Event::Profile(_)
            | Event::Step(
                StepEvent::TextEnded(_)
                | StepEvent::ReasoningEnded(_)
                | StepEvent::Ended(_)
                | StepEvent::Failed(_)
                | StepEvent::RequestRecorded(_)
                | StepEvent::AnswerRecorded(_)
                | StepEvent::RetryScheduled(_),
            )
            | Event::Tool(_)
            | Event::Permission(_)
            | Event::Compaction(
                CompactionEvent::Undone(_)
                | CompactionEvent::ToolOutputsPruned(_)
                | CompactionEvent::ToolOutputsReduced(_)
                | CompactionEvent::CallsReduced(_)
                | CompactionEvent::Ended(_)
                | CompactionEvent::Completed(_)
                | CompactionEvent::Failed(_),
            )
            | Event::Message(_)
            | Event::Files(_)
            | Event::Child(_)
            | Event::Erasure(_) => {}
        }
    }
}
