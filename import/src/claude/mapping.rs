//! The mapping of Claude Code transcripts, line by line.
//!
//! | Claude Code | Annals |
//! |---|---|
//! | the first line, the first answer's model | `session.created`; the agent is `claude-code`, or the subagent's kind |
//! | a user line | `input.admitted` with `input.promoted`; with `isMeta`, the `origin` of a program, or a local command's echo, `synthetic.added` (`user.rs`) |
//! | a `queued_command` attachment | the same: it joined while an answer ran |
//! | a notification of a background task | `child.settled` |
//! | `<bash-input>` and `<bash-stdout>` | `shell.ran` |
//! | assistant lines of one `message.id` | one step: `step.started`, then a fact per block |
//! | `text`, `thinking`, `tool_use` | `text.ended`, `reasoning.ended`, `tool.called` |
//! | a `tool_result` block with `toolUseResult` | `tool.settled`; a todo list as `todo.updated`, a subagent as `child.*` |
//! | the next prompt or answer | `step.ended` of the one before, at the time of its last line |
//! | `compact_boundary` and its summary | `compaction.started`, `compaction.completed`; `message.pinned` where older messages precede the summary |
//! | `prompt_snapshot`, what an attachment is `rendered` to | `epoch.started`, `context.admitted` (`context.rs`) |
//! | `api-request` with its shape and blobs | profiles, `request.recorded`, `request.sent` (`sent.rs`) |
//! | a prompt or answer under an earlier line | `revert.committed`; the branch left behind as `session.forked` (`tree.rs`) |
//! | `api_error`, `isApiErrorMessage` | `retry.scheduled`, `step.failed` |
//! | `custom-title`, `ai-title` | `session.titled` |
//! | a line of another version or git branch than the line before | `process.attached`, behind the line's own events |

use super::answer::TranscriptStep;
use super::background::BackgroundTasks;
use super::compaction::CompactBoundary;
use super::context::TranscriptContext;
use super::process;
use super::sent::RequestState;
use super::{TranscriptFile, TranscriptHeader};
use crate::foreign::JsonObject;
use crate::identity::{Editions, UniqueIds};
use crate::sink::{BatchWriter, ImportSink, ReceiverGone};
use annals_core::event::*;
use annals_core::{CallId, Event, Seq, SessionId, Time};
use std::collections::HashMap;

/// How a line relates to its parent in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// A text of the user, or of the program in the user's name: it follows its parent.
    Prompt,
    /// A block of an answer, with the answer's id: a new answer follows its parent.
    Answer(String),
    /// Results, attachments, notes: they stay in the order of the file.
    Other,
}

/// The kind of a line.
pub fn kind_of(object: &JsonObject<'_>) -> LineKind {
    let message = object.object("message");
    match object.text("type").as_deref() {
        Some("assistant") => {
            let id = message.as_ref().and_then(|message| message.text("id"));
            message.iter().for_each(JsonObject::skip_all);
            LineKind::Answer(id.or_else(|| object.text("uuid")).unwrap_or_default())
        }
        Some("user") => {
            let results = message.as_ref().is_some_and(|message| {
                message.objects("content").iter().any(|block| {
                    block.skip_all();
                    block.text("type").as_deref() == Some("tool_result")
                })
            });
            message.iter().for_each(JsonObject::skip_all);
            if results { LineKind::Other } else { LineKind::Prompt }
        }
        _ => LineKind::Other,
    }
}

/// One branch of a transcript: a session of its own.
pub struct TranscriptBranch {
    pub(super) writer: BatchWriter,
    pub(super) foreign: String,
    pub(super) agent: String,
    pub(super) model: String,
    pub(super) step: Option<TranscriptStep>,
    pub(super) calls: HashMap<String, (CallId, String)>,
    pub(super) unique: UniqueIds,
    /// Messages that were not reverted, with the uuid of their line.
    pub(super) messages: Vec<(Seq, String)>,
    /// A boundary that waits for its summary.
    pub(super) boundary: Option<CompactBoundary>,
    /// Messages that the boundary of the current line keeps.
    pub(super) kept: Vec<Seq>,
    /// Older messages that precede the newest summary.
    pub(super) pinned: Vec<Seq>,
    pub(super) shell: Option<String>,
    /// The title, and how much it counts.
    pub(super) title: Option<(u8, String)>,
    /// The directory that the session began in.
    pub(super) directory: String,
    pub(super) background: BackgroundTasks,
    pub(super) context: TranscriptContext,
    /// What is known of requests, where the transcript has some.
    pub(super) requests: Option<Box<RequestState>>,
    /// The process that the last line names.
    pub(super) process: ProcessInfo,
    pub(super) editions: Editions,
}

impl TranscriptBranch {
    /// An empty branch.
    pub fn new(
        writer: BatchWriter,
        header: &TranscriptHeader,
        agent: String,
        model: String,
        process: ProcessInfo,
        sink: &ImportSink<'_>,
    ) -> Self {
        Self {
            process,
            editions: sink.editions.clone(),
            writer,
            foreign: header.session.clone(),
            directory: header.cwd.clone(),
            agent,
            model,
            step: None,
            calls: HashMap::new(),
            unique: UniqueIds::default(),
            messages: Vec::new(),
            boundary: None,
            kept: Vec::new(),
            pinned: Vec::new(),
            shell: None,
            title: None,
            background: BackgroundTasks::default(),
            context: TranscriptContext::default(),
            requests: None,
        }
    }

    /// The fork that continues an abandoned part of this branch.
    pub fn fork(&self, writer: BatchWriter) -> Self {
        Self {
            process: self.process.clone(),
            editions: self.editions.clone(),
            writer,
            foreign: self.foreign.clone(),
            directory: self.directory.clone(),
            agent: self.agent.clone(),
            model: self.model.clone(),
            step: None,
            // Open calls are not inherited.
            calls: HashMap::new(),
            unique: self.unique.clone(),
            messages: self.messages.clone(),
            boundary: None,
            kept: Vec::new(),
            pinned: self.pinned.clone(),
            shell: None,
            title: None,
            background: BackgroundTasks::default(),
            context: self.context.clone(),
            requests: self.requests.as_ref().map(|state| Box::new(state.forked())),
        }
    }

    /// Its session id.
    pub fn session(&self) -> SessionId {
        self.writer.session
    }

    /// The sequence number of its next event.
    pub fn next(&self) -> Seq {
        self.writer.next()
    }

    /// Appends the events of one line.
    pub fn append(
        &mut self,
        sink: &mut ImportSink<'_>,
        line: u64,
        at: Time,
        events: Vec<Event>,
    ) -> Result<Seq, ReceiverGone> {
        if let Some(state) = &mut self.requests {
            for (seq, event) in (self.writer.next().0..).zip(&events) {
                state.apply(self.writer.session, Seq(seq), at, event);
            }
        }
        self.writer.batch(sink, line, at, events)
    }

    /// The first message at or after a position.
    pub fn first_after(&self, position: Seq) -> Option<(Seq, String)> {
        self.messages.iter().find(|(seq, _)| *seq >= position).cloned()
    }

    /// Whether a line of this kind under a parent at `position` abandons later messages.
    pub fn rewinds(&self, kind: &LineKind, position: Seq) -> bool {
        let follows = match kind {
            LineKind::Prompt => true,
            LineKind::Answer(id) => self.step.as_ref().is_none_or(|step| step.message != *id),
            LineKind::Other => false,
        };
        follows && self.messages.last().is_some_and(|(seq, _)| *seq >= position)
    }

    /// Removes the messages from here on.
    pub fn forget_from(&mut self, first_removed: Seq) {
        self.messages.retain(|(seq, _)| *seq < first_removed);
        self.pinned.retain(|seq| *seq < first_removed);
        self.calls.clear();
        self.context.end(EpochCause::Reverted);
        if let Some(state) = &mut self.requests {
            state.forget();
        }
    }

    /// Maps a line without a parent and an id.
    pub fn unlinked(
        &mut self,
        sink: &mut ImportSink<'_>,
        file: &mut TranscriptFile,
        line: u64,
        at: Time,
        object: &JsonObject<'_>,
    ) -> Result<(), ReceiverGone> {
        let kind = object.text("type").unwrap_or_default();
        // What the user called it counts more than what the agent did.
        let (rank, title) = match kind.as_str() {
            "custom-title" => (2, object.text("customTitle")),
            "ai-title" => (1, object.text("aiTitle")),
            "summary" if object.text("leafUuid").is_some_and(|leaf| file.has_line(&leaf)) => {
                (0, object.text("summary"))
            }
            _ => (0, None),
        };
        match kind.as_str() {
            // Its value is counted as lost.
            "permission-mode" => {}
            _ if !is_known(&kind) => {
                object.skip_all();
                object.note("not recognised");
            }
            _ => object.skip_all(),
        }
        let is_newer = |title: &String| !self.title.as_ref().is_some_and(|(of, known)| *of > rank || known == title);
        match title.filter(|title| !title.is_empty()).filter(is_newer) {
            Some(title) => {
                self.title = Some((rank, title.clone()));
                // The end of the source would have ended a complete answer, too.
                self.end(sink)?;
                self.append(sink, line, at, vec![SessionTitled::given(title).into()]).map(|_| ())
            }
            None => Ok(()),
        }
    }

    /// Maps a line of the tree; `reverted` is the revert before it.
    #[expect(clippy::too_many_arguments, reason = "the fields of one line")]
    pub fn linked(
        &mut self,
        sink: &mut ImportSink<'_>,
        file: &mut TranscriptFile,
        line: u64,
        at: Time,
        uuid: &str,
        kind: LineKind,
        object: &JsonObject<'_>,
        reverted: Option<Event>,
    ) -> Result<(), ReceiverGone> {
        let mut events: Vec<Event> = reverted.into_iter().collect();
        let process = process::of_line(object, &self.process);
        if process != self.process && !matches!(kind, LineKind::Answer(_)) {
            // The end of the source would have ended a complete answer, too.
            self.end(sink)?;
        }
        match object.text("type").as_deref() {
            Some("assistant") => {
                let LineKind::Answer(id) = kind else { return Ok(()) };
                self.answer(sink, file, line, at, uuid, id, object, &mut events)?;
            }
            Some("user") => self.user(sink, file, line, at, uuid, object, &mut events)?,
            Some("attachment") => self.attachment(sink, uuid, object, &mut events)?,
            Some("system") => {
                if object.text("subtype").as_deref() == Some("local_command") {
                    self.end(sink)?;
                }
                self.system(at, object, &mut events);
            }
            _ => {
                object.skip_all();
                object.note("not recognised");
            }
        }
        if process != self.process {
            self.process = process.clone();
            events.push(ProcessAttached { process }.into());
        }
        self.append(sink, line, at, events).map(|_| ())
    }

    /// Registers the next event as a message.
    pub(super) fn message(&mut self, uuid: &str, events: &[Event]) {
        self.messages.push((self.next().plus(events.len() as u64), uuid.to_owned()));
    }
}

/// Whether a line without an id has a kind that is read, or that only concerns how the program shows and stores the session.
fn is_known(kind: &str) -> bool {
    const KNOWN: [&str; 36] = [
        "agent-color",
        "agent-name",
        "agent-setting",
        "ai-title",
        "api-request",
        "api-request-blob",
        "api-request-resumed",
        "api-request-shape",
        "artifact-autoreact-ledger",
        "artifact-comment-monitor",
        "atis-latch",
        "attribution-snapshot",
        "bridge-session",
        "continued-in",
        "cost-state",
        "custom-title",
        "derived-from",
        "file-history-delta",
        "file-history-snapshot",
        "fork-context-ref",
        "frame-link",
        "history-suppression",
        "isolation-latch",
        "last-prompt",
        "memory-mode",
        "mode",
        "observer-ref",
        "pr-link",
        "progress",
        "queue-operation",
        "resume-head-vouch",
        "session-owner",
        "summary",
        "tag",
        "tools-used",
        "worktree-state",
    ];
    KNOWN.contains(&kind)
}
