//! The files of a project in time, replayed from the calls of a session, and who wrote each line (`docs/questions/files.md`).
//!
//! A log has no copy of the files, but calls that write or edit them, results that show them, and in sessions with captures a
//! Git tree at each step. This fold puts them together: a line keeps the call that put it there. What no fact says, such as
//! what a command did to a file, is not guessed but named ([`Inference`]).

mod call;
mod known;
mod patch;
mod path;
mod read;
mod shown;

pub use known::{ContentSource, Inference, KnownFile, KnownLine, LineCause, LineWriter};

pub use shown::{ReplayedChange, ReplayedDiff, ReplayedFile};

use crate::SessionAt;
use annals_core::event::{FilesEvent, InputEvent, MessageEvent, SessionEvent, StepEvent, ToolEvent, ToolOutcome};
use annals_core::{Blobs, CallId, Event, InputId, Record, Seq};
use annals_store::ReadError;
use call::{FileChange, FileToolCall};
use std::collections::BTreeMap;

/// A call that may have changed files, and what led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlamedCall {
    /// The event of the call.
    pub seq: Seq,
    /// Its id.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The events in which the prompts of its turn joined, oldest first.
    pub prompts: Vec<Seq>,
}

/// A capture that a record names: the files as they were then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTree {
    /// The event.
    pub seq: Seq,
    /// The id of the Git tree.
    pub tree: String,
}

/// The fold.
#[derive(Clone, Debug, Default)]
pub struct FileHistory {
    /// The directory of the session: paths below it are relative to it.
    pub directory: String,
    /// What is known of each file.
    pub files: BTreeMap<String, KnownFile>,
    /// The calls that lines name.
    pub calls: BTreeMap<Seq, BlamedCall>,
    open: BTreeMap<CallId, (Seq, FileToolCall)>,
    /// Calls whose effect on files is not recorded.
    commands: Vec<Seq>,
    admitted: BTreeMap<InputId, Seq>,
    prompts: Vec<Seq>,
    answered: bool,
    capture: Option<NamedTree>,
    last_capture: Seq,
}

impl FileHistory {
    /// The files of a session before a cut, replayed from its calls.
    pub async fn before(past: &SessionAt, until: Seq) -> Result<Self, ReadError> {
        let mut history = Self::default();
        past.each(Seq::ZERO, until, |record| {
            history.apply(record, past.blobs());
        })
        .await?;
        Ok(history)
    }

    /// Applies a record; gives the capture that it names, if files may differ since the capture before.
    pub fn apply(&mut self, record: &Record<'_>, blobs: &dyn Blobs) -> Option<NamedTree> {
        let seq = record.seq;
        match record.event {
            Event::Session(SessionEvent::Created(created)) => self.directory.clone_from(&created.location.directory),
            Event::Session(SessionEvent::Moved(moved)) => self.directory.clone_from(&moved.location.directory),
            Event::Input(InputEvent::Admitted(input)) => {
                self.admitted.insert(input.input.clone(), seq);
            }
            Event::Input(InputEvent::Promoted(_)) => {
                if std::mem::take(&mut self.answered) {
                    self.prompts.clear();
                }
                self.prompts.push(seq);
            }
            Event::Step(StepEvent::Started(_)) => self.answered = true,
            Event::Tool(ToolEvent::Called(called)) => {
                if let Some(call) = FileToolCall::of(called, blobs) {
                    self.open.insert(called.call.clone(), (seq, call));
                }
            }
            Event::Tool(ToolEvent::Settled(settled)) => {
                if let Some((called, call)) = self.open.remove(&settled.call) {
                    if settled.outcome == ToolOutcome::Completed {
                        let changes = call.changes(settled, &self.directory, blobs);
                        self.settle(called, seq, settled.call.clone(), &call, changes);
                    } else if call.is_command() {
                        self.settle(called, seq, settled.call.clone(), &call, Vec::new());
                    }
                }
            }
            Event::Files(FilesEvent::RevertCommitted(_)) => {
                self.files.values_mut().for_each(|file| file.infer(seq, Inference::Revert));
            }
            // A command of the user.
            Event::Message(MessageEvent::ShellRan(_)) => self.commands.push(seq),
            _ => {}
        }
        self.captured(record)
    }

    /// Takes the content of a file from a capture; `None` if it is not in it.
    pub fn capture(&mut self, path: &str, seq: Seq, content: Option<&str>) {
        let file = self.files.entry(path.to_owned()).or_default();
        let since = file.captured;
        let cause = match since {
            None if file.is_unknown() => LineWriter { seq, cause: LineCause::Before },
            _ => {
                let after = since.unwrap_or(Seq::ZERO);
                let mut near = self.commands.iter().rev().take_while(|command| **command > after);
                match near.next() {
                    Some(command) => LineWriter { seq: *command, cause: LineCause::Command },
                    None => LineWriter { seq, cause: LineCause::Outside },
                }
            }
        };
        match content {
            Some(content) => file.take(content, cause, seq, ContentSource::Captured),
            None => file.remove(seq),
        }
        file.captured = Some(seq);
    }

    /// A path as this fold names files.
    pub fn resolved(&self, path: &str) -> String {
        path::resolved(path, &self.directory)
    }

    /// The event that admitted an input.
    pub fn admitted(&self, input: &InputId) -> Option<Seq> {
        self.admitted.get(input).copied()
    }

    /// The first command after the last fact about a file: it may have changed it, and nothing says so.
    pub fn unsure(&self, file: &KnownFile) -> Option<Seq> {
        let last = if file.captured.is_some() { file.last.max(self.last_capture) } else { file.last };
        self.commands.iter().find(|command| **command > last).copied()
    }

    /// Takes what a call did; one whose effect is not recorded is remembered as such.
    fn settle(&mut self, called: Seq, settled: Seq, id: CallId, call: &FileToolCall, changes: Vec<FileChange>) {
        let known = changes.iter().any(|change| !matches!(change, FileChange::Read { .. }));
        let opaque = match call.is_command() {
            true => !known && !call.only_reads(),
            false => changes.is_empty() && !call.only_looks(),
        };
        if opaque {
            self.commands.push(called);
        }
        if known || opaque {
            let (prompts, tool) = (self.prompts.clone(), call.tool.clone());
            self.calls.insert(called, BlamedCall { seq: called, call: id, tool, prompts });
        }
        for change in changes {
            self.change(called, settled, change);
        }
    }

    fn change(&mut self, called: Seq, settled: Seq, change: FileChange) {
        let written = LineWriter { seq: called, cause: LineCause::Written };
        match change {
            FileChange::Read { path, text } => {
                let outside = LineWriter { seq: called, cause: LineCause::Outside };
                let file = self.files.entry(path).or_default();
                let cause = match file.is_unknown() {
                    true => LineWriter { seq: called, cause: LineCause::Before },
                    false => self
                        .commands
                        .iter()
                        .rev()
                        .find(|command| **command > file.last)
                        .map_or(outside, |command| LineWriter { seq: *command, cause: LineCause::Command }),
                };
                file.take(&text, cause, settled, ContentSource::Shown);
            }
            FileChange::Write { path, text, command_line } => {
                let file = self.files.entry(path).or_default();
                file.take(&text, written, settled, ContentSource::Written);
                if command_line {
                    file.infer(called, Inference::CommandLine);
                }
            }
            FileChange::Replace { path, before, edits } => {
                let file = self.files.entry(path).or_default();
                if let Some(before) = before {
                    let cause = match file.is_unknown() {
                        true => LineCause::Before,
                        false => LineCause::Outside,
                    };
                    file.take(&before, LineWriter { seq: called, cause }, settled, ContentSource::Shown);
                }
                for edit in &edits {
                    file.replace(edit, written, settled);
                }
            }
            FileChange::Patch { path, moved_to, hunks } => {
                let mut file = self.files.remove(&path).unwrap_or_default();
                file.patch(&hunks, written, settled);
                if let Some(target) = &moved_to {
                    self.files.entry(path.clone()).or_default().remove(settled);
                    self.files.insert(target.clone(), file);
                } else {
                    self.files.insert(path, file);
                }
            }
            FileChange::Delete { path } => self.files.entry(path).or_default().remove(settled),
        }
    }

    fn captured(&mut self, record: &Record<'_>) -> Option<NamedTree> {
        let tree = match record.event {
            Event::Step(StepEvent::Started(started)) => started.files.as_deref(),
            Event::Step(StepEvent::Ended(ended)) => ended.files.as_deref(),
            Event::Files(FilesEvent::Captured(captured)) => Some(captured.tree.as_str()),
            Event::Files(FilesEvent::Summarised(summarised)) => Some(summarised.to.as_str()),
            _ => None,
        }?;
        self.last_capture = record.seq;
        if self.capture.as_ref().is_some_and(|capture| capture.tree == tree) {
            return None;
        }
        self.capture = Some(NamedTree { seq: record.seq, tree: tree.to_owned() });
        self.capture.clone()
    }
}
