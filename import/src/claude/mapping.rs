//! The mapping of Claude Code transcripts, line by line.
//!
//! | Claude Code | Annals |
//! |---|---|
//! | the first line, the first answer's model | `session.created`; the agent is `claude-code`, or the subagent's kind |
//! | a user line | `input.admitted` with `input.promoted`; with `isMeta`, or a local command's echo, `synthetic.added` |
//! | a `queued_command` attachment | `input.admitted` with `input.promoted`: it joined while an answer ran |
//! | `<bash-input>` and `<bash-stdout>` | `shell.ran` |
//! | assistant lines of one `message.id` | one step: `step.started`, then a fact per block |
//! | `text`, `thinking`, `tool_use` | `text.ended`, `reasoning.ended`, `tool.called` |
//! | a `tool_result` block with `toolUseResult` | `tool.settled`; a todo list as `todo.updated`, a subagent as `child.*` |
//! | the next prompt or answer | `step.ended` of the one before, at the time of its last line |
//! | `compact_boundary` and its summary | `compaction.started`, `compaction.ended` |
//! | a prompt or answer under an earlier line | `revert.committed`; the branch left behind as `session.forked` (`tree.rs`) |
//! | `api_error`, `isApiErrorMessage` | `retry.scheduled`, `step.failed` |
//! | `custom-title`, `ai-title` | `session.titled` |
//! | a line of another version or git branch than the line before | `process.attached`, behind the line's own events |

use super::answer::TranscriptStep;
use super::blocks::{self, UserContent};
use super::process;
use super::related::RelatedTranscripts;
use crate::foreign::JsonObject;
use crate::identity::{Editions, UniqueIds};
use crate::sink::{BatchWriter, ImportSink, ReceiverGone};
use annals_core::event::*;
use annals_core::{CallId, Event, InputId, Seq, SessionId, Text, Time};
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
    pub(super) boundary: Option<(CompactionReason, u64)>,
    pub(super) shell: Option<String>,
    pub(super) title: Option<String>,
    /// The process that the last line names.
    pub(super) process: ProcessInfo,
    pub(super) editions: Editions,
}

impl TranscriptBranch {
    /// An empty branch.
    pub fn new(
        writer: BatchWriter,
        foreign: String,
        agent: String,
        model: String,
        process: ProcessInfo,
        editions: &Editions,
    ) -> Self {
        Self {
            process,
            editions: editions.clone(),
            writer,
            foreign,
            agent,
            model,
            step: None,
            calls: HashMap::new(),
            unique: UniqueIds::default(),
            messages: Vec::new(),
            boundary: None,
            shell: None,
            title: None,
        }
    }

    /// The fork that continues an abandoned part of this branch.
    pub fn fork(&self, writer: BatchWriter) -> Self {
        Self {
            process: self.process.clone(),
            editions: self.editions.clone(),
            writer,
            foreign: self.foreign.clone(),
            agent: self.agent.clone(),
            model: self.model.clone(),
            step: None,
            // Open calls are not inherited.
            calls: HashMap::new(),
            unique: self.unique.clone(),
            messages: self.messages.clone(),
            boundary: None,
            shell: None,
            title: None,
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
        self.calls.clear();
    }

    /// Maps a line without a parent and an id.
    pub fn unlinked(
        &mut self,
        sink: &mut ImportSink<'_>,
        line: u64,
        at: Time,
        object: &JsonObject<'_>,
    ) -> Result<(), ReceiverGone> {
        let kind = object.text("type").unwrap_or_default();
        let title = match kind.as_str() {
            "custom-title" => object.text("customTitle"),
            "ai-title" => object.text("aiTitle"),
            _ => None,
        };
        match kind.as_str() {
            // Its value is counted as lost.
            "permission-mode" => {}
            "custom-title" | "ai-title" | "queue-operation" | "last-prompt" | "mode" | "progress" | "agent-name"
            | "pr-link" => object.skip_all(),
            _ => {
                object.skip_all();
                object.note("not recognised");
            }
        }
        match title.filter(|title| self.title.as_ref() != Some(title)) {
            Some(title) => {
                self.title = Some(title.clone());
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
        related: &mut RelatedTranscripts,
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
                self.answer(sink, line, at, uuid, id, object, &mut events)?;
            }
            Some("user") => self.user(sink, related, line, at, uuid, object, &mut events)?,
            Some("attachment") => {
                let Some(attachment) = object.object("attachment") else { return Ok(()) };
                let kind = attachment.text("type").unwrap_or_default();
                if kind == "queued_command" {
                    attachment.skip(&["commandMode", "source_uuid", "origin", "timestamp", "isMeta"]);
                    let content = blocks::queued(&attachment);
                    self.settle(sink)?;
                    self.input(uuid, content, &mut events);
                } else {
                    // The text that the model was sent is not recorded.
                    attachment.skip_all();
                    object.note(&kind);
                }
            }
            Some("system") => self.system(at, object, &mut events),
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

    fn input(&mut self, uuid: &str, content: UserContent, events: &mut Vec<Event>) {
        let input = InputId(self.unique.next(uuid));
        let text = content.text().into();
        let attachments = content.attachments;
        events.push(InputAdmitted { input: input.clone(), text, attachments, delivery: Delivery::Steer }.into());
        self.message(uuid, events);
        events.push(InputPromoted { input }.into());
    }

    /// Registers the next event as a message.
    pub(super) fn message(&mut self, uuid: &str, events: &[Event]) {
        self.messages.push((self.next().plus(events.len() as u64), uuid.to_owned()));
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one line")]
    fn user(
        &mut self,
        sink: &mut ImportSink<'_>,
        related: &mut RelatedTranscripts,
        line: u64,
        at: Time,
        uuid: &str,
        object: &JsonObject<'_>,
        events: &mut Vec<Event>,
    ) -> Result<(), ReceiverGone> {
        let Some(message) = object.object("message") else { return Ok(()) };
        message.skip(&["role"]);
        let (meta, summary) = (object.flag("isMeta"), object.flag("isCompactSummary"));
        let mut content = UserContent::default();
        match message.text("content") {
            Some(text) => content.texts.push(text),
            None => {
                for block in message.objects("content") {
                    if block.text("type").as_deref() == Some("tool_result") {
                        self.result(related, line, at, &block, object, events);
                    } else {
                        content.block(&block);
                    }
                }
            }
        }
        object.skip(&["mcpMeta", "imagePasteIds", "origin", "summarizeMetadata", "interruptedMessageId"]);
        if content.texts.is_empty() && content.attachments.is_empty() {
            return Ok(());
        }
        let text = content.text();
        const ECHOES: [&str; 8] = [
            "<command-name>",
            "<command-message>",
            "<local-command-",
            "<task-notification>",
            "<user-memory-input>",
            "<system-reminder>",
            "<bash-stderr>",
            "<teammate-message",
        ];
        if text.starts_with("[Request interrupted by user") {
            if let Some(step) = self.step.take() {
                let error = Failure { kind: "interrupted".into(), message: text.as_str().into(), status: None };
                events.push(StepFailed { error, usage: step.usage, cost: 0 }.into());
            }
            self.message(uuid, events);
            events.push(SyntheticAdded { text: text.into() }.into());
            return Ok(());
        }
        if events.is_empty() {
            self.settle(sink)?;
        } else {
            // Results of the answer are on the same line, before its end.
            events.extend(self.over().map(|(_, _, ended)| ended));
        }
        if summary {
            let (reason, estimate) = self.boundary.take().unwrap_or((CompactionReason::Auto, 0));
            events.push(CompactionStarted { reason, model: None, estimate: 0 }.into());
            self.message(uuid, events);
            let (summary, recent) = (text.into(), Text::default());
            events.push(CompactionEnded { reason, summary, recent, estimate, usage: None, cost: 0 }.into());
        } else if let Some(command) = blocks::tagged(&text, "bash-input") {
            self.shell = Some(command);
        } else if let (Some(output), Some(_)) = (blocks::tagged(&text, "bash-stdout"), &self.shell) {
            let errors = blocks::tagged(&text, "bash-stderr").unwrap_or_default();
            let command = self.shell.take().unwrap_or_default().into();
            self.message(uuid, events);
            events.push(ShellRan { command, output: format!("{output}{errors}").into(), exit: None }.into());
        } else if meta || ECHOES.iter().any(|echo| text.starts_with(echo)) {
            self.message(uuid, events);
            events.push(SyntheticAdded { text: text.into() }.into());
        } else {
            self.input(uuid, content, events);
        }
        Ok(())
    }
}
