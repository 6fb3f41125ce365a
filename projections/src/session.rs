//! What a session is now: agent, model, location, title, a staged revert, children, todos.

use crate::Projection;
use crate::anomaly::Anomalies;
use crate::changed::ChangedFiles;
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::{
    ChildEvent, ChildOutcome, CompactionEvent, CompactionReason, ContextEvent, FileChange, FilesEvent, Location,
    MessageEvent, Origin, Parent, Policy, ProcessInfo, Purpose, SessionEvent, StepEvent, Todo,
};
use annals_core::{AgentName, CallId, Digest, Event, ModelName, Record, RequestId, Seq, SessionId, Text, Time, kinds};
use serde::{Deserialize, Serialize};

/// Where a fork continues from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fork {
    /// The parent.
    pub parent: SessionId,
    /// The first Seq that is not inherited.
    pub cut: Seq,
    /// The digest of the parent's batch that holds `cut - 1`.
    pub parent_digest: Digest,
}

/// A staged revert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revert {
    /// Where it was staged.
    pub seq: Seq,
    /// The first message that goes.
    pub first_removed: Seq,
    /// Git tree of the files before anything was restored.
    pub original: Option<String>,
    /// What changes, as a unified diff.
    pub diff: Option<Text>,
    /// The same, in brief.
    pub files: Vec<FileChange>,
}

/// A restore of files, or a departure, that was begun and has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restoring {
    /// Where it was begun.
    pub seq: Seq,
    /// Where the files are.
    pub location: Location,
    /// Git tree of the files before it.
    pub from: String,
    /// Git tree of the files after it.
    pub to: String,
}

/// How a session's title was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Titling {
    /// The request that has no end yet.
    pub open: Option<RequestId>,
    /// How many were sent.
    pub asked: u32,
}

/// A child session and how it went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Child {
    /// Where it began.
    pub seq: Seq,
    /// The child.
    pub child: SessionId,
    /// The call that began it.
    pub call: Option<CallId>,
    /// Its agent.
    pub agent: AgentName,
    /// How it ended; `None` while it runs.
    pub outcome: Option<ChildOutcome>,
}

/// What a session is now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Its id; `None` before its first event.
    pub id: Option<SessionId>,
    /// The selected agent.
    pub agent: AgentName,
    /// The selected model.
    pub model: ModelName,
    /// Where it works; `None` before its first event.
    pub location: Option<Location>,
    /// Its title.
    pub title: Option<String>,
    /// What switches do.
    pub policy: Policy,
    /// The parent of a child session.
    pub parent: Option<Parent>,
    /// Where an imported session comes from.
    pub origin: Option<Origin>,
    /// The process that began to append last, if that is recorded.
    pub process: Option<ProcessInfo>,
    /// Where a fork continues from.
    pub fork: Option<Fork>,
    /// A staged revert.
    pub revert: Option<Revert>,
    /// A restore of files that has not ended.
    pub restoring: Option<Restoring>,
    /// A departure of changes that a move took along, if it has not ended.
    pub departing: Option<Restoring>,
    /// Title requests.
    pub titling: Titling,
    /// What it changed in its project's files.
    pub changed: ChangedFiles,
    /// Time of the first event of its own.
    pub created: Time,
    /// Time of the last event.
    pub updated: Time,
    /// The Seq that the next event gets.
    pub next: Seq,
    /// From here on only titles, their requests and processes were recorded: a plan made at or after this Seq is still
    /// valid.
    pub untouched: Seq,
    /// Whether the log ends inside a turn. A running process knows better.
    pub running: bool,
    /// Whether a compaction that the user asked for began and has not ended.
    summarising: bool,
    /// Nested instruction files discovered at this location, in order.
    pub instructions: Vec<String>,
    /// The todo list.
    pub todos: Vec<Todo>,
    /// Child sessions, in order.
    pub children: Vec<Child>,
    /// What is wrong in this part of the log.
    pub anomalies: Anomalies,
}

impl Projection for SessionInfo {
    const NAME: &'static str = "session";
    const VERSION: u32 = 5;

    fn apply(&mut self, record: &Record<'_>) {
        let seq = record.seq;
        if seq != self.next {
            self.anomalies.note(seq, alloc::format!("the next event is {seq}, expected {}", self.next));
        }
        self.next = seq.plus(1);
        self.updated = record.at;
        if !leaves_plans_valid(record.event) {
            self.untouched = self.next;
        }
        if self.id.is_none()
            && !matches!(
                record.event,
                Event::Session(SessionEvent::Created(_)) | Event::Session(SessionEvent::Forked(_))
            )
        {
            self.anomalies.note(seq, "the log does not begin with the creation of its session");
            self.id = Some(record.session);
        }
        self.changed.apply(record);
        match record.event {
            Event::Session(SessionEvent::Created(created)) => {
                if self.id.is_some() {
                    self.anomalies.note(seq, "the session is created twice");
                }
                self.id = Some(record.session);
                self.created = record.at;
                self.agent = created.agent.clone();
                self.model = created.model.clone();
                self.location = Some(created.location.clone());
                self.title = created.title.clone();
                self.policy = created.policy;
                self.parent = created.parent.clone();
                self.origin = created.origin.clone();
                self.process = created.process.clone();
            }
            Event::Session(SessionEvent::Forked(forked)) => {
                self.id = Some(record.session);
                self.created = record.at;
                if forked.title.is_some() {
                    self.title = forked.title.clone();
                }
                self.origin = forked.origin.clone();
                self.parent = None;
                self.process = None;
                self.fork = Some(Fork { parent: forked.parent, cut: forked.cut, parent_digest: forked.parent_digest });
                self.revert = None;
                (self.running, self.summarising) = (false, false);
                (self.restoring, self.departing) = (None, None);
                self.titling = Titling::default();
                self.children.clear();
            }
            Event::Session(SessionEvent::Titled(titled)) => {
                self.title = Some(titled.title.clone());
                self.titling.open.take_if(|open| Some(*open) == titled.request);
            }
            Event::Session(SessionEvent::TitleFailed(failed)) => {
                self.titling.open.take_if(|open| *open == failed.request);
            }
            Event::Session(SessionEvent::Moved(moved)) => {
                self.location = Some(moved.location.clone());
                self.instructions.clear();
                self.restoring = None;
            }
            Event::Session(SessionEvent::AgentSwitched(switched)) => self.agent = switched.agent.clone(),
            Event::Session(SessionEvent::ModelSwitched(switched)) => self.model = switched.model.clone(),
            Event::Session(SessionEvent::ProcessAttached(attached)) => self.process = Some(attached.process.clone()),
            Event::Context(ContextEvent::InstructionDiscovered(discovered)) => {
                if !self.instructions.contains(&discovered.path) {
                    self.instructions.push(discovered.path.clone());
                }
            }
            // No turn waits for what is asked aside.
            Event::Step(StepEvent::RequestSent(sent)) if sent.purpose == Purpose::Other => {}
            // A title is requested in the background: no turn waits for it.
            Event::Step(StepEvent::RequestSent(sent)) if sent.purpose == Purpose::Title => {
                self.titling.open = Some(sent.request);
                self.titling.asked = self.titling.asked.saturating_add(1);
            }
            // A compaction that the user asked for does not count as a turn.
            Event::Compaction(CompactionEvent::Started(started)) => {
                self.summarising = started.reason == CompactionReason::Manual;
            }
            Event::Step(StepEvent::RequestSent(sent)) if sent.purpose == Purpose::Summary && self.summarising => {}
            Event::Step(StepEvent::RequestSent(_)) | Event::Step(StepEvent::Started(_)) => self.running = true,
            Event::Step(StepEvent::Ended(_)) | Event::Step(StepEvent::Failed(_)) => self.running = false,
            Event::Compaction(
                CompactionEvent::Ended(_) | CompactionEvent::Completed(_) | CompactionEvent::Failed(_),
            ) => {
                self.running = false;
                self.summarising = false;
            }
            Event::Files(FilesEvent::RestoreBegun(begun)) => {
                self.restoring = Some(Restoring {
                    seq,
                    location: begun.location.clone(),
                    from: begun.from.clone(),
                    to: begun.to.clone(),
                });
            }
            Event::Files(FilesEvent::RestoreAbandoned(_)) => self.restoring = None,
            Event::Files(FilesEvent::DepartureBegun(begun)) => {
                self.departing = Some(Restoring {
                    seq,
                    location: begun.location.clone(),
                    from: begun.from.clone(),
                    to: begun.to.clone(),
                });
            }
            Event::Files(FilesEvent::DepartureEnded(_)) => self.departing = None,
            Event::Files(FilesEvent::RevertStaged(staged)) => {
                self.restoring = None;
                self.revert = Some(Revert {
                    seq,
                    first_removed: staged.first_removed,
                    original: staged.original.clone(),
                    diff: staged.diff.clone(),
                    files: staged.files.clone(),
                });
            }
            Event::Files(FilesEvent::RevertCleared(_)) => {
                self.restoring = None;
                self.revert = None;
            }
            Event::Files(FilesEvent::RevertCommitted(_)) => {
                self.revert = None;
                self.running = false;
            }
            Event::Child(ChildEvent::Started(started)) => self.children.push(Child {
                seq,
                child: started.child,
                call: started.call.clone(),
                agent: started.agent.clone(),
                outcome: None,
            }),
            Event::Child(ChildEvent::Settled(settled)) => {
                match self.children.iter_mut().rev().find(|child| child.child == settled.child) {
                    Some(child) => child.outcome = Some(settled.outcome),
                    None => self.anomalies.note(seq, "a child session is settled that was not started"),
                }
            }
            Event::Message(MessageEvent::TodoUpdated(updated)) => self.todos = updated.items.clone(),
            kinds!(
                Input,
                Erasure,
                Context(EpochStarted, EpochReplacementBlocked, Admitted, SnapshotAdvanced),
                Profile,
                Step(RetryScheduled, TextEnded, ReasoningEnded, RequestRecorded, AnswerRecorded),
                Tool,
                Permission,
                Compaction(Undone, ToolOutputsPruned, ToolOutputsReduced, CallsReduced),
                Message(Pinned, Unpinned, SyntheticAdded, ShellRan, RedactionApplied, Edited, UnknownPart),
                Files(Captured, Summarised)
            ) => {}
        }
    }
}

/// Whether an event is of a title, or only records a process or a profile that some request is sent with.
fn leaves_plans_valid(event: &Event) -> bool {
    match event {
        Event::Step(StepEvent::RequestSent(sent)) => matches!(sent.purpose, Purpose::Title | Purpose::Other),
        kinds!(
            Session(Titled, TitleFailed, ProcessAttached),
            Profile(AgentRecorded, ModelRecorded, ToolsRecorded, OptionsRecorded)
        ) => true,
        _ => false,
    }
}
