//! Where a text is in a session, and what follows it in a fork with another wording.

use super::{EditRefusal, EditableText, TextKind, wording};
use annals_core::event::{ContextEvent, InputEvent, MessageEvent, SessionEvent, StepEvent, ToolEvent};
use annals_core::{Blobs, CallId, Event, InputId, Kind, Seq, kinds};
use annals_projections::{Body, Content, SessionView};

/// Where a text is, and where a fork without it is cut.
pub(super) struct TextPlace {
    what: TextKind,
    pub(super) cut: Seq,
    /// Where the prompt was admitted.
    admitted: Option<Seq>,
    call: Option<CallId>,
}

impl TextPlace {
    pub(super) fn of(event: Seq, fact: &Event, view: &SessionView) -> Result<Self, EditRefusal> {
        let of = |what, cut| Self { what, cut, admitted: None, call: None };
        Ok(match fact {
            Event::Input(InputEvent::Admitted(_) | InputEvent::Promoted(_)) => {
                let item =
                    view.transcript.items.iter().find(|item| item.user && [item.seq, item.first].contains(&event));
                let (cut, first) = item.map_or((event, event), |item| (item.seq, item.first));
                Self { admitted: Some(first), ..of(TextKind::Prompt, cut) }
            }
            Event::Tool(ToolEvent::Called(called)) => Self::of_call(event, &called.call, view)?,
            Event::Tool(ToolEvent::Settled(settled)) => Self::of_call(event, &settled.call, view)?,
            Event::Context(ContextEvent::EpochStarted(started)) if !started.known || started.parts.is_empty() => {
                return Err(EditRefusal::NotRecorded(event));
            }
            Event::Context(ContextEvent::EpochStarted(_)) => of(TextKind::SystemPrompt, event),
            Event::Context(ContextEvent::Admitted(_)) => of(TextKind::ContextUpdate, event),
            _ => return Err(EditRefusal::NoText { event, kind: fact.kind() }),
        })
    }

    fn of_call(event: Seq, call: &CallId, view: &SessionView) -> Result<Self, EditRefusal> {
        let holds =
            |content: &Content| matches!(content, Content::Tool(tool) if tool.call == *call && tool.settled.is_some());
        let mut holders = view.history.messages().iter().filter(|message| match &message.body {
            Body::Assistant(assistant) => message.seq < event && assistant.content.iter().any(holds),
            _ => false,
        });
        let holder = holders.next_back().ok_or(EditRefusal::NoResult(event))?;
        Ok(Self { what: TextKind::ToolResult, cut: holder.seq, admitted: None, call: Some(call.clone()) })
    }

    /// Picks what follows in the fork out of what was recorded, and finds the text in it.
    pub(super) fn text(
        self,
        event: Seq,
        kind: Kind,
        recorded: Vec<(Seq, Event)>,
        blobs: &dyn Blobs,
    ) -> Result<EditableText, EditRefusal> {
        let joined: Vec<InputId> = recorded.iter().filter_map(|(_, event)| promoted(event)).collect();
        let mut later = false;
        let mut kept = Vec::new();
        for (seq, mut fact) in recorded {
            // After an input that joins again the next boundary decides.
            later |= promoted(&fact).is_some();
            if follows(&mut fact, self.what, later, &joined) {
                wording::whole(&mut fact, blobs);
                kept.push((seq, fact));
            }
        }
        let edited = kept.iter().position(|(seq, fact)| match (self.what, fact) {
            (TextKind::Prompt, Event::Input(InputEvent::Admitted(_))) => Some(*seq) == self.admitted,
            (TextKind::ToolResult, Event::Tool(ToolEvent::Settled(settled))) => {
                Some(&settled.call) == self.call.as_ref()
            }
            (TextKind::SystemPrompt, Event::Context(ContextEvent::EpochStarted(_)))
            | (TextKind::ContextUpdate, Event::Context(ContextEvent::Admitted(_))) => true,
            _ => false,
        });
        let missing = || match self.what {
            TextKind::ToolResult => EditRefusal::NoResult(event),
            _ => EditRefusal::NoText { event, kind },
        };
        let edited = edited.ok_or_else(missing)?;
        let (seq, fact) = kept.get(edited).ok_or_else(missing)?;
        let (event, text) = (*seq, wording::read(fact, blobs));
        Ok(EditableText {
            event,
            what: self.what,
            text,
            cut: self.cut,
            edited,
            events: kept.into_iter().map(|(_, fact)| fact).collect(),
        })
    }
}

/// The input that an event promotes.
pub(super) fn promoted(event: &Event) -> Option<InputId> {
    match event {
        Event::Input(InputEvent::Promoted(promoted)) => Some(promoted.input.clone()),
        _ => None,
    }
}

/// The input that an event admits or configures.
pub(super) fn input_of(event: &Event) -> Option<&InputId> {
    match event {
        Event::Input(InputEvent::Admitted(admitted)) => Some(&admitted.input),
        Event::Input(InputEvent::Configured(configured)) => Some(&configured.input),
        _ => None,
    }
}

/// Whether a recorded fact follows in the fork. What was paid for the answer stays with the session that paid.
fn follows(event: &mut Event, what: TextKind, later: bool, joined: &[InputId]) -> bool {
    match event {
        Event::Input(InputEvent::Admitted(_) | InputEvent::Configured(_)) => {
            what == TextKind::Prompt && !later || input_of(event).is_some_and(|input| joined.contains(input))
        }
        Event::Context(ContextEvent::EpochStarted(_)) => !later && what == TextKind::SystemPrompt,
        Event::Context(ContextEvent::Admitted(_) | ContextEvent::SnapshotAdvanced(_)) => {
            !later && matches!(what, TextKind::SystemPrompt | TextKind::ContextUpdate)
        }
        Event::Context(ContextEvent::InstructionDiscovered(_)) => what == TextKind::ToolResult,
        Event::Step(StepEvent::Started(started)) => {
            started.answer = None;
            what == TextKind::ToolResult
        }
        Event::Step(StepEvent::Ended(ended)) => {
            (ended.usage, ended.cost) = (None, 0);
            what == TextKind::ToolResult
        }
        Event::Step(StepEvent::Failed(failed)) => {
            (failed.usage, failed.cost) = (None, 0);
            what == TextKind::ToolResult
        }
        Event::Step(StepEvent::TextEnded(_) | StepEvent::ReasoningEnded(_))
        | Event::Tool(ToolEvent::Called(_) | ToolEvent::Settled(_)) => what == TextKind::ToolResult,
        Event::Session(SessionEvent::AgentSwitched(_) | SessionEvent::ModelSwitched(_)) => true,
        Event::Message(MessageEvent::TodoUpdated(_)) => what == TextKind::ToolResult,
        kinds!(
            Session(Created, Forked, Titled, Moved, TitleFailed, ProcessAttached),
            Input(Promoted, Withdrawn, DeliveryChanged),
            Context(EpochReplacementBlocked),
            Profile,
            Step(RequestSent, RequestRecorded, AnswerRecorded, RetryScheduled),
            Tool(Progressed),
            Permission,
            Compaction,
            Message,
            Files(
                Captured,
                Summarised,
                RevertStaged,
                RevertCleared,
                RevertCommitted,
                RestoreBegun,
                RestoreAbandoned,
                DepartureBegun,
                DepartureEnded
            ),
            Child,
            Erasure
        ) => false,
    }
}
