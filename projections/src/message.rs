//! Messages: what the events of a Session add up to for a reader, before any cut (spec 4).

use crate::INTERRUPTED;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::{
    Attachment, CompactionReason, Event, Failure, Finish, InputAdmitted, ToolCalled, ToolOutcome, ToolSettled, Usage,
};
use annals_core::{AgentName, CallId, InputId, Json, Key, ModelName, Record, Seq, Text, Time};
use serde::{Deserialize, Serialize};

/// A message and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The Seq of the event that made it.
    pub seq: Seq,
    /// When it came to be. A user message has the time of its admission.
    pub at: Time,
    /// What it says.
    pub body: Body,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// A promoted input.
    User {
        /// The input.
        id: InputId,
        /// What the user wrote.
        text: Text,
        /// What came with it.
        attachments: Vec<Attachment>,
    },
    /// An answer.
    Assistant(Box<Assistant>),
    /// A Mid-Conversation System Message.
    System {
        /// The Context Sources it speaks of.
        keys: Vec<Key>,
        /// The exact text.
        text: Text,
    },
    /// The runtime's words in the user's place.
    Synthetic {
        /// The exact text.
        text: Text,
    },
    /// A shell command of the user.
    Shell {
        /// The command line.
        command: Text,
        /// What it printed.
        output: Text,
        /// Its exit status.
        exit: Option<i32>,
    },
    /// A completed compaction.
    Compaction {
        /// Who asked for it.
        reason: CompactionReason,
        /// The summary.
        summary: Text,
        /// The kept tail, rendered.
        recent: Text,
    },
    /// Another agent was selected.
    AgentSwitched {
        /// Which.
        agent: AgentName,
    },
    /// Another model was selected.
    ModelSwitched {
        /// Which.
        model: ModelName,
    },
}

/// An answer of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assistant {
    /// Who answered.
    pub agent: AgentName,
    /// Which model.
    pub model: ModelName,
    /// In the order in which the fragments began.
    pub content: Vec<Content>,
    /// How it ended; `None` while it is open.
    pub finish: Option<Finish>,
    /// What the provider reported.
    pub usage: Option<Usage>,
    /// In nano-dollars.
    pub cost: u64,
    /// Why it failed.
    pub error: Option<Failure>,
    /// When it ended.
    pub ended: Option<Time>,
}

/// A fragment of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// Visible text.
    Text {
        /// Its event.
        seq: Seq,
        /// Its place in the content.
        index: u32,
        /// All of it.
        text: Text,
        /// Native metadata.
        metadata: Option<Json>,
    },
    /// Reasoning.
    Reasoning {
        /// Its event.
        seq: Seq,
        /// Its place in the content.
        index: u32,
        /// All of it.
        text: Text,
        /// Native metadata.
        metadata: Option<Json>,
    },
    /// A tool call.
    Tool(Box<ToolCall>),
}

impl Content {
    /// Its place in the content.
    pub fn index(&self) -> u32 {
        match self {
            Self::Text { index, .. } | Self::Reasoning { index, .. } => *index,
            Self::Tool(call) => call.index,
        }
    }
}

/// Where a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// It waits for somebody's permission.
    Pending,
    /// It runs.
    Running,
    /// It gave a result.
    Completed,
    /// It gave an error.
    Error,
}

impl Status {
    /// The word as views have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Error => "error",
        }
    }
}

/// A tool call and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The Seq of `tool.called`.
    pub seq: Seq,
    /// When it was called.
    pub at: Time,
    /// Its place in the content.
    pub index: u32,
    /// Its id.
    pub call: CallId,
    /// The tool.
    pub name: String,
    /// The input as received.
    pub input: Json,
    /// Whether the provider executes it.
    pub hosted: bool,
    /// Native metadata of the call.
    pub metadata: Option<Json>,
    /// Where it stands.
    pub status: Status,
    /// The Model Tool Output (so far, while it runs).
    pub output: Text,
    /// What the model sees of a failure.
    pub error: Option<Text>,
    /// The structured value.
    pub structured: Option<Json>,
    /// Media that came with it.
    pub attachments: Vec<Attachment>,
    /// Files that hold output.
    pub paths: Vec<String>,
    /// Whether `output` is a preview.
    pub truncated: bool,
    /// Whether what is missing was kept nowhere.
    pub lossy: bool,
    /// The exact result of a hosted call.
    pub hosted_result: Option<Json>,
    /// Native metadata of the result.
    pub result_metadata: Option<Json>,
    /// The Seq and time of its settlement.
    pub settled: Option<(Seq, Time)>,
    /// The Seq of the prune that took its output out of the model's view.
    pub pruned: Option<Seq>,
}

impl ToolCall {
    /// Whether it is not settled yet.
    pub fn is_open(&self) -> bool {
        matches!(self.status, Status::Pending | Status::Running)
    }

    fn new(record: &Record<'_>, called: &ToolCalled) -> Self {
        Self {
            seq: record.seq,
            at: record.at,
            index: called.index,
            call: called.call.clone(),
            name: called.name.clone(),
            input: called.input.clone(),
            hosted: called.hosted,
            metadata: called.metadata.clone(),
            status: Status::Running,
            output: Text::default(),
            error: None,
            structured: None,
            attachments: Vec::new(),
            paths: Vec::new(),
            truncated: false,
            lossy: false,
            hosted_result: None,
            result_metadata: None,
            settled: None,
            pruned: None,
        }
    }

    fn settle(&mut self, record: &Record<'_>, settled: &ToolSettled) {
        self.status = match settled.outcome {
            ToolOutcome::Completed => Status::Completed,
            ToolOutcome::Failed => Status::Error,
        };
        self.output = settled.output.clone();
        self.error = settled.error.clone();
        if settled.structured.is_some() || settled.outcome == ToolOutcome::Completed {
            self.structured = settled.structured.clone();
        }
        self.attachments = settled.attachments.clone();
        self.paths = settled.paths.clone();
        self.truncated = settled.truncated;
        self.lossy = settled.lossy;
        self.hosted_result = settled.hosted_result.clone();
        self.result_metadata = settled.metadata.clone();
        self.settled = Some((record.seq, record.at));
    }
}

/// Every message of a log in the order of its Seq, built incrementally: the one place where events become messages.
/// [`crate::History`] selects from it; a transcript page is this fold over a range of records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    pub(crate) list: Vec<Message>,
    /// Admitted inputs that wait, in order of admission.
    waiting: Vec<(InputId, Time, Text, Vec<Attachment>)>,
    /// Messages that hold open calls, with how many.
    open: Vec<(Seq, u32)>,
    /// The message of the newest step.
    step: Option<Seq>,
}

impl Messages {
    /// The messages so far, by Seq.
    pub fn list(&self) -> &[Message] {
        &self.list
    }

    /// The message that the event at `seq` made.
    pub fn get(&self, seq: Seq) -> Option<&Message> {
        self.list.binary_search_by_key(&seq, |message| message.seq).ok().and_then(|at| self.list.get(at))
    }

    pub(crate) fn get_mut(&mut self, seq: Seq) -> Option<&mut Message> {
        self.list.binary_search_by_key(&seq, |message| message.seq).ok().and_then(|at| self.list.get_mut(at))
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
        self.list.push(Message { seq, at, body });
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
            Event::InputAdmitted(admitted) => {
                let InputAdmitted { input, text, attachments, .. } = admitted;
                self.waiting.push((input.clone(), at, text.clone(), attachments.clone()));
                None
            }
            Event::InputWithdrawn(withdrawn) => {
                self.waiting.retain(|(input, ..)| *input != withdrawn.input);
                None
            }
            Event::InputPromoted(promoted) => {
                // A promotion without an admission is an anomaly of the inbox; here it is a message without text.
                let place = self.waiting.iter().position(|(input, ..)| *input == promoted.input);
                let (id, at, text, attachments) = match place {
                    Some(place) => self.waiting.remove(place),
                    None => (promoted.input.clone(), at, Text::default(), Vec::new()),
                };
                self.push(seq, at, Body::User { id, text, attachments })
            }
            Event::ContextAdmitted(told) => {
                self.push(seq, at, Body::System { keys: told.keys.clone(), text: told.text.clone() })
            }
            Event::SyntheticAdded(added) => self.push(seq, at, Body::Synthetic { text: added.text.clone() }),
            Event::ShellRan(ran) => {
                let body = Body::Shell { command: ran.command.clone(), output: ran.output.clone(), exit: ran.exit };
                self.push(seq, at, body)
            }
            Event::CompactionEnded(ended) => {
                let body = Body::Compaction {
                    reason: ended.reason,
                    summary: ended.summary.clone(),
                    recent: ended.recent.clone(),
                };
                self.push(seq, at, body)
            }
            Event::AgentSwitched(switched) => self.push(seq, at, Body::AgentSwitched { agent: switched.agent.clone() }),
            Event::ModelSwitched(switched) => self.push(seq, at, Body::ModelSwitched { model: switched.model.clone() }),
            Event::StepStarted(started) => {
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
            Event::StepEnded(ended) => {
                let step = self.step;
                let assistant = self.assistant(step)?;
                assistant.finish = Some(ended.finish);
                assistant.usage = ended.usage;
                assistant.cost = ended.cost;
                assistant.ended = Some(at);
                step
            }
            Event::StepFailed(failed) => {
                let step = self.step;
                let assistant = self.assistant(step)?;
                assistant.finish = Some(Finish::Error);
                assistant.error = Some(failed.error.clone());
                assistant.usage = failed.usage;
                assistant.cost = failed.cost;
                assistant.ended = Some(at);
                step
            }
            Event::TextEnded(ended) => self.insert(Content::Text {
                seq,
                index: ended.index,
                text: ended.text.clone(),
                metadata: ended.metadata.clone(),
            }),
            Event::ReasoningEnded(ended) => self.insert(Content::Reasoning {
                seq,
                index: ended.index,
                text: ended.text.clone(),
                metadata: ended.metadata.clone(),
            }),
            Event::ToolCalled(called) => {
                let step = self.insert(Content::Tool(Box::new(ToolCall::new(record, called))))?;
                self.count_open(step);
                Some(step)
            }
            Event::ToolProgressed(progressed) => {
                let (holder, call) = self.open_call(&progressed.call)?;
                if let Some(output) = &progressed.output {
                    call.output = output.clone();
                }
                if progressed.structured.is_some() {
                    call.structured = progressed.structured.clone();
                }
                Some(holder)
            }
            Event::ToolSettled(settled) => {
                let (holder, call) = self.open_call(&settled.call)?;
                call.settle(record, settled);
                self.count_settled(holder);
                Some(holder)
            }
            Event::PermissionAsked(asked) => {
                let (holder, call) = self.open_call(asked.call.as_ref()?)?;
                call.status = Status::Pending;
                Some(holder)
            }
            Event::PermissionReplied(_) => {
                // An answer names its question, not the call: whatever waits runs again, or is settled next.
                self.open_calls(|call| call.status = Status::Running);
                None
            }
            Event::SessionForked(_) => {
                // Open calls and waiting inputs are not inherited (DESIGN section 2, Fork).
                self.waiting.clear();
                self.open_calls(|call| {
                    call.status = Status::Error;
                    call.error = Some(INTERRUPTED.into());
                    call.settled = Some((seq, at));
                });
                self.open.clear();
                None
            }
            Event::RevertCommitted(committed) => {
                self.open.retain(|(holder, _)| *holder < committed.first_removed);
                self.step = self.step.filter(|step| *step < committed.first_removed);
                None
            }
            ignored!(
                SessionCreated SessionTitled SessionMoved InputDeliveryChanged EpochStarted
                EpochReplacementBlocked SnapshotAdvanced InstructionDiscovered AgentProfileRecorded
                ModelProfileRecorded ToolsRecorded OptionsRecorded RequestSent RetryScheduled CompactionStarted
                CompactionFailed CompactionUndone ToolOutputsPruned MessagePinned MessageUnpinned TodoUpdated
                RedactionApplied FilesCaptured RevertStaged RevertCleared ChildStarted ChildSettled
            ) => None,
        }
    }
}
