//! The one place where events become messages (`docs/reference/events.md#folds`).

use crate::message::{Assistant, Body, Content, Message, Status, ToolCall};
use crate::shared::SharedVec;
use crate::{ANSWER_INTERRUPTED, INTERRUPTED};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use annals_core::event::{
    Attachment, CompactionEvent, ContextEvent, Event, Failure, FilesEvent, Finish, InputAdmitted, InputEvent,
    MessageEvent, PermissionEvent, SessionEvent, StepEvent, ToolEvent, ToolOutcome,
};
use annals_core::{CallId, InputId, Record, Seq, Text, Time, kinds};
use serde::{Deserialize, Serialize};

/// The key of the message of a part that no reader knows.
pub const UNKNOWN_PART: &str = "part/unknown";

/// Every message of a log in the order of its Seq, built incrementally.
/// [`crate::History`] selects from it; a transcript page is this fold over a range of records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    #[serde(with = "crate::shared::arcs")]
    pub(crate) list: SharedVec<Arc<Message>>,
    /// Admitted inputs that wait, in order of admission.
    waiting: Vec<(InputId, Time, Text, Vec<Attachment>)>,
    /// Messages that hold open calls, with how many.
    open: Vec<(Seq, u32)>,
    /// The message of the newest step.
    step: Option<Seq>,
}

impl Messages {
    /// The messages so far, by Seq.
    pub fn list(&self) -> &SharedVec<Arc<Message>> {
        &self.list
    }

    /// The message that the event at `seq` made.
    pub fn get(&self, seq: Seq) -> Option<&Message> {
        let at = self.list.find_by_key(&seq, |message| message.seq)?;
        self.list.get(at).map(|message| &**message)
    }

    /// The messages that hold open calls, by Seq.
    pub fn open(&self) -> impl Iterator<Item = Seq> {
        self.open.iter().map(|(holder, _)| *holder)
    }

    /// Evicts every message that no later record can change: what remains are those with open calls, and that of the
    /// newest step. The effect of later records stays the same.
    pub fn evict(&mut self) {
        let (open, step) = (&self.open, self.step);
        self.list.retain(|message| step == Some(message.seq) || open.iter().any(|(holder, _)| *holder == message.seq));
    }

    /// Removes the messages before the first one that a later record can change, and returns them.
    pub fn take_settled(&mut self) -> Vec<Arc<Message>> {
        let first = self.open().chain(self.step).min();
        let end = first.map_or(self.list.len(), |first| self.list.partition_point(|message| message.seq < first));
        self.list.drain_front(end)
    }

    pub(crate) fn get_mut(&mut self, seq: Seq) -> Option<&mut Message> {
        let at = self.list.find_by_key(&seq, |message| message.seq)?;
        self.list.get_mut(at).map(Arc::make_mut)
    }

    fn assistant(&mut self, seq: Option<Seq>) -> Option<&mut Assistant> {
        match &mut self.get_mut(seq?)?.body {
            Body::Assistant(assistant) => Some(assistant),
            _ => None,
        }
    }

    /// An open call and the message that holds it.
    fn open_call(&mut self, call: &CallId) -> Option<(Seq, &mut ToolCall)> {
        let is_it = |content: &Content| matches!(content, Content::Tool(tool) if tool.is_open() && tool.call == *call);
        let holder = self.open.iter().rev().map(|(holder, _)| *holder).find(|holder| {
            self.get(*holder).is_some_and(|message| match &message.body {
                Body::Assistant(assistant) => assistant.content.iter().any(is_it),
                _ => false,
            })
        })?;
        self.assistant(Some(holder))?.content.iter_mut().rev().find_map(|content| match content {
            Content::Tool(tool) if tool.is_open() && tool.call == *call => Some((holder, &mut **tool)),
            _ => None,
        })
    }

    /// Every open call.
    fn open_calls(&mut self, mut change: impl FnMut(&mut ToolCall)) {
        for holder in self.open.iter().map(|(holder, _)| *holder).collect::<Vec<_>>() {
            let Some(assistant) = self.assistant(Some(holder)) else { continue };
            for content in &mut assistant.content {
                match content {
                    Content::Tool(tool) if tool.is_open() => change(tool),
                    _ => {}
                }
            }
        }
    }

    /// Ends what is open from a Seq on as interrupted: calls, and the answer of the newest step.
    fn interrupt_from(&mut self, first: Seq, seq: Seq, at: Time) {
        for holder in self.open.iter().map(|(holder, _)| *holder).filter(|holder| *holder >= first).collect::<Vec<_>>()
        {
            let Some(assistant) = self.assistant(Some(holder)) else { continue };
            for content in &mut assistant.content {
                if let Content::Tool(call) = content
                    && call.is_open()
                {
                    call.status = Status::Error;
                    call.outcome = Some(ToolOutcome::Interrupted);
                    call.error = Some(INTERRUPTED.into());
                    call.settled = Some((seq, at));
                }
            }
        }
        self.open.retain(|(holder, _)| *holder < first);
        let step = self.step.take_if(|step| *step >= first);
        if let Some(answer) = self.assistant(step)
            && answer.finish.is_none()
        {
            answer.finish = Some(Finish::Error);
            answer.error =
                Some(Failure { kind: "interrupted".into(), message: ANSWER_INTERRUPTED.into(), status: None });
            answer.ended = Some(at);
        }
    }

    fn count_open(&mut self, holder: Seq) {
        match self.open.iter_mut().find(|(seq, _)| *seq == holder) {
            Some((_, count)) => *count += 1,
            None => self.open.push((holder, 1)),
        }
    }

    fn count_settled(&mut self, holder: Seq) {
        for (_, count) in self.open.iter_mut().filter(|(seq, _)| *seq == holder) {
            *count = count.saturating_sub(1);
        }
        self.open.retain(|(_, count)| *count > 0);
    }

    fn push(&mut self, seq: Seq, at: Time, body: Body) -> Option<Seq> {
        self.list.push(Arc::new(Message { seq, at, body }));
        Some(seq)
    }

    fn insert(&mut self, content: Content) -> Option<Seq> {
        let step = self.step;
        let assistant = self.assistant(step)?;
        let at = assistant.content.partition_point(|other| other.index() <= content.index());
        assistant.content.insert(at, content);
        step
    }

    /// Takes in one record; gives the Seq of the message that it made or changed.
    pub fn apply(&mut self, record: &Record<'_>) -> Option<Seq> {
        let (seq, at) = (record.seq, record.at);
        match record.event {
            Event::Input(InputEvent::Admitted(admitted)) => {
                let InputAdmitted { input, text, attachments, .. } = admitted;
                self.waiting.push((input.clone(), at, text.clone(), attachments.clone()));
                None
            }
            Event::Input(InputEvent::Withdrawn(withdrawn)) => {
                self.waiting.retain(|(input, ..)| *input != withdrawn.input);
                None
            }
            Event::Input(InputEvent::Promoted(promoted)) => {
                // A promotion without an admission is an anomaly of the inbox; here it is a message without text.
                let place = self.waiting.iter().position(|(input, ..)| *input == promoted.input);
                let (id, at, text, attachments) = match place {
                    Some(place) => self.waiting.remove(place),
                    None => (promoted.input.clone(), at, Text::default(), Vec::new()),
                };
                self.push(seq, at, Body::User { id, text, attachments, shortened: None })
            }
            Event::Context(ContextEvent::Admitted(admitted)) => {
                self.push(seq, at, Body::System { keys: admitted.keys.clone(), text: admitted.text.clone() })
            }
            Event::Message(MessageEvent::UnknownPart(part)) => {
                let keys = UNKNOWN_PART.parse().into_iter().collect();
                self.push(seq, at, Body::System { keys, text: part.text.clone() })
            }
            Event::Message(MessageEvent::SyntheticAdded(added)) => {
                self.push(seq, at, Body::Synthetic { text: added.text.clone() })
            }
            Event::Message(MessageEvent::ShellRan(ran)) => {
                let body = Body::Shell { command: ran.command.clone(), output: ran.output.clone(), exit: ran.exit };
                self.push(seq, at, body)
            }
            Event::Compaction(CompactionEvent::Ended(ended)) => {
                let body = Body::Compaction {
                    reason: ended.reason,
                    summary: ended.summary.clone(),
                    ends: None,
                    recent: Some(ended.recent.clone()),
                    first_kept: seq,
                };
                self.push(seq, at, body)
            }
            Event::Compaction(CompactionEvent::Completed(completed)) => {
                let body = Body::Compaction {
                    reason: completed.reason,
                    summary: completed.summary.clone(),
                    ends: completed.truncated.then_some(completed.ends),
                    recent: None,
                    first_kept: completed.first_kept,
                };
                self.push(seq, at, body)
            }
            Event::Session(SessionEvent::AgentSwitched(switched)) => {
                self.push(seq, at, Body::AgentSwitched { agent: switched.agent.clone() })
            }
            Event::Session(SessionEvent::ModelSwitched(switched)) => {
                self.push(seq, at, Body::ModelSwitched { model: switched.model.clone() })
            }
            Event::Step(StepEvent::Started(started)) => {
                self.step = Some(seq);
                let assistant = Assistant {
                    agent: started.agent.clone(),
                    model: started.model.clone(),
                    content: Vec::new(),
                    finish: None,
                    usage: None,
                    cost: 0,
                    error: None,
                    ended: None,
                };
                self.push(seq, at, Body::Assistant(Box::new(assistant)))
            }
            Event::Step(StepEvent::Ended(ended)) => {
                let step = self.step;
                let assistant = self.assistant(step)?;
                assistant.finish = Some(ended.finish);
                assistant.usage = ended.usage;
                assistant.cost = ended.cost;
                assistant.ended = Some(at);
                step
            }
            Event::Step(StepEvent::Failed(failed)) => {
                let step = self.step;
                let assistant = self.assistant(step)?;
                assistant.finish = Some(Finish::Error);
                assistant.error = Some(failed.error.clone());
                assistant.usage = failed.usage;
                assistant.cost = failed.cost;
                assistant.ended = Some(at);
                step
            }
            Event::Step(StepEvent::TextEnded(ended)) => self.insert(Content::Text {
                seq,
                index: ended.index,
                text: ended.text.clone(),
                metadata: ended.metadata.clone(),
            }),
            Event::Step(StepEvent::ReasoningEnded(ended)) => self.insert(Content::Reasoning {
                seq,
                index: ended.index,
                text: ended.text.clone(),
                metadata: ended.metadata.clone(),
            }),
            Event::Tool(ToolEvent::Called(called)) => {
                let step = self.insert(Content::Tool(Box::new(ToolCall::new(record, called))))?;
                self.count_open(step);
                Some(step)
            }
            Event::Tool(ToolEvent::Progressed(progressed)) => {
                let (holder, call) = self.open_call(&progressed.call)?;
                if let Some(output) = &progressed.output {
                    call.output = output.clone();
                }
                if progressed.structured.is_some() {
                    call.structured = progressed.structured.clone();
                }
                Some(holder)
            }
            Event::Tool(ToolEvent::Settled(settled)) => {
                let (holder, call) = self.open_call(&settled.call)?;
                call.settle(record, settled);
                self.count_settled(holder);
                Some(holder)
            }
            Event::Permission(PermissionEvent::Asked(asked)) => {
                let (holder, call) = self.open_call(asked.call.as_ref()?)?;
                call.status = Status::Pending;
                Some(holder)
            }
            Event::Permission(PermissionEvent::Replied(_)) => {
                // An answer names its question, not the call: every waiting call runs again, or is settled next.
                self.open_calls(|call| call.status = Status::Running);
                None
            }
            Event::Session(SessionEvent::Forked(_)) => {
                // Neither waiting inputs nor what is open are inherited.
                self.waiting.clear();
                self.interrupt_from(Seq::ZERO, seq, at);
                None
            }
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                self.interrupt_from(committed.first_removed, seq, at);
                None
            }
            kinds!(
                Session(Created, Titled, Moved, TitleFailed, ProcessAttached),
                Input(DeliveryChanged, Configured),
                Context(EpochStarted, EpochReplacementBlocked, SnapshotAdvanced, InstructionDiscovered),
                Profile,
                Step(RequestSent, RequestRecorded, AnswerRecorded, RetryScheduled),
                Compaction(Started, Failed, Undone, ToolOutputsPruned, ToolOutputsReduced, CallsReduced),
                Message(Pinned, Unpinned, TodoUpdated, RedactionApplied, Edited),
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
            ) => None,
        }
    }
}
