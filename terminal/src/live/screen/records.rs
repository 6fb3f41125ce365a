//! The lines on the screen for each event of the session, as it is recorded.

use super::{Screen, WaitingInput};
use crate::layout::{plain, wrap};
use crate::style::{Emphasis, counted, duration};
use annals_core::event::{
    ChildEvent, CompactionEvent, ContextEvent, EpochCause, FilesEvent, Finish, InputEvent, MessageEvent,
    PermissionEvent, ProfileEvent, Purpose, SessionEvent, StepEvent, ToolEvent,
};
use annals_core::{Blobs, CallId, Event, InputId, Key, Record, Text};
use annals_inspect::timeline::one_line;
use std::io::{self, Write};
use std::time::Instant;

impl Screen {
    pub(super) fn record(&mut self, record: &Record<'_>, blobs: &dyn Blobs, out: &mut dyn Write) -> io::Result<()> {
        if let Event::Child(ChildEvent::Started(started)) = record.event {
            self.calls.child(started.child, started.agent.as_str());
            self.tasks.began(started);
        }
        if !self.shows(record.session) {
            self.about_permissions(record, out)?;
            return self.call_of(record, blobs, out);
        }
        match record.event {
            Event::Child(ChildEvent::Settled(settled)) => self.task_ended(settled, blobs, out),
            Event::Input(event) => self.about_input(event, record, blobs, out),
            Event::Context(event) => self.about_context(event, out),
            Event::Step(event) => self.about_step(event, record, blobs, out),
            Event::Tool(event) => {
                if matches!(event, ToolEvent::Called(called) if !called.hosted) {
                    self.print_answer(out)?;
                }
                self.call_of(record, blobs, out)
            }
            Event::Permission(PermissionEvent::Asked(_) | PermissionEvent::Replied(_)) => {
                self.about_permissions(record, out)
            }
            Event::Compaction(event) => self.about_compaction(event, blobs, out),
            Event::Message(MessageEvent::RedactionApplied(applied)) => {
                let counts: Vec<String> =
                    applied.counts.iter().map(|(what, count)| format!("{count} × {what}")).collect();
                self.line(Emphasis::Warn, &format!("secrets replaced by placeholders: {}", counts.join(", ")), out)
            }
            Event::Session(SessionEvent::AgentSwitched(switched)) => {
                self.works[1] = switched.agent.to_string();
                self.aside(&format!("agent {}", switched.agent), out)
            }
            Event::Session(SessionEvent::ModelSwitched(switched)) => {
                self.works[0] = switched.model.to_string();
                self.aside(&format!("model {}", switched.model), out)
            }
            Event::Profile(ProfileEvent::ModelRecorded(recorded)) => {
                self.window.model(&recorded.profile);
                Ok(())
            }
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                self.inputs.retain(|waiting| waiting.seq < committed.first_removed);
                self.aside("the undo is final", out)
            }
            _ => Ok(()),
        }
    }

    fn about_input(
        &mut self,
        event: &InputEvent,
        record: &Record<'_>,
        blobs: &dyn Blobs,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match event {
            InputEvent::Admitted(admitted) => {
                match self.tasks.gave_input() {
                    // Its text was shown with the end of the task.
                    true => drop(self.typed.insert(admitted.input.clone())),
                    false => {
                        let (input, text) = (admitted.input.clone(), admitted.text.clone());
                        // The view that the screen began with may hold it.
                        self.take_input(&input);
                        self.inputs.push(WaitingInput { input, seq: record.seq, text });
                    }
                }
                Ok(())
            }
            InputEvent::Promoted(promoted) => match self.take_input(&promoted.input) {
                None => {
                    // What was said before the result of a task came is not the answer to it.
                    if self.typed.remove(&promoted.input) { self.print_answer(out) } else { Ok(()) }
                }
                Some(text) => match (self.typed.remove(&promoted.input), self.chat.is_some()) {
                    (true, _) => Ok(()),
                    (false, true) => self.show_prompt(&text.resolve(blobs), out),
                    (false, false) => self.line(Emphasis::User, &format!("› {}", brief(&text, blobs)), out),
                },
            },
            InputEvent::Withdrawn(withdrawn) => {
                self.take_input(&withdrawn.input);
                Ok(())
            }
            InputEvent::DeliveryChanged(_) | InputEvent::Configured(_) => Ok(()),
        }
    }

    /// The text of a message that waits no longer.
    fn take_input(&mut self, input: &InputId) -> Option<Text> {
        let at = self.inputs.iter().position(|waiting| waiting.input == *input)?;
        Some(self.inputs.remove(at).text)
    }

    /// A message of the user, in all its lines.
    pub(in crate::live) fn show_prompt(&mut self, text: &str, out: &mut dyn Write) -> io::Result<()> {
        let width = self.remarks.style().width.saturating_sub(2);
        for (at, line) in wrap(&plain(text.trim_end()), width).iter().enumerate() {
            let mark = if at == 0 { "› " } else { "  " };
            self.line(Emphasis::User, &format!("{mark}{line}"), out)?;
        }
        Ok(())
    }

    fn about_context(&mut self, event: &ContextEvent, out: &mut dyn Write) -> io::Result<()> {
        match event {
            ContextEvent::EpochStarted(started) if started.cause != EpochCause::FirstTurn => {
                self.aside(&format!("new system prompt: {}", started.cause), out)
            }
            ContextEvent::EpochReplacementBlocked(blocked) => {
                let text = format!("the system prompt cannot be replaced yet; unavailable: {}", joined(&blocked.keys));
                self.line(Emphasis::Warn, &text, out)
            }
            ContextEvent::Admitted(admitted) => {
                self.aside(&format!("context update sent to the model: {}", joined(&admitted.keys)), out)
            }
            _ => Ok(()),
        }
    }

    fn about_step(
        &mut self,
        event: &StepEvent,
        record: &Record<'_>,
        blobs: &dyn Blobs,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match event {
            StepEvent::RequestSent(sent) if !matches!(sent.purpose, Purpose::Title | Purpose::Other) => {
                self.asked = Some((sent.model.to_string(), Instant::now()));
                self.arrived = 0;
                Ok(())
            }
            StepEvent::Started(_) => {
                self.shown.clear();
                Ok(())
            }
            StepEvent::Failed(_) => {
                self.asked = None;
                Ok(())
            }
            StepEvent::TextEnded(ended) => self.ended(false, ended.index, &ended.text.resolve(blobs), out),
            StepEvent::ReasoningEnded(ended) => self.ended(true, ended.index, &ended.text.resolve(blobs), out),
            StepEvent::Ended(ended) => {
                self.asked = None;
                self.window.answered(ended);
                match ended.finish {
                    Finish::Length => self.line(Emphasis::Warn, "the answer reached the model's output limit", out),
                    Finish::ContentFilter => {
                        self.line(Emphasis::Warn, "a content filter of the provider cut the answer off", out)
                    }
                    Finish::Stop | Finish::ToolCalls | Finish::Error | Finish::Other | Finish::Paused => Ok(()),
                }
            }
            StepEvent::RetryScheduled(retry) => {
                self.asked = None;
                let wait = duration(retry.at.millis().saturating_sub(record.at.millis()));
                let why = brief(&retry.error.message, blobs);
                self.line(Emphasis::Warn, &format!("{why}; attempt {} in {wait}", retry.attempt), out)
            }
            _ => Ok(()),
        }
    }

    fn made_smaller(&mut self, made: &[(&Vec<CallId>, &str, &str)], out: &mut dyn Write) -> io::Result<()> {
        for (calls, what, verb) in made.iter().filter(|(calls, ..)| !calls.is_empty()) {
            let count = counted(calls.len() as u64, what);
            self.aside(&format!("{count} {verb} the model's context; the log keeps all of it"), out)?;
        }
        Ok(())
    }

    fn about_compaction(&mut self, event: &CompactionEvent, blobs: &dyn Blobs, out: &mut dyn Write) -> io::Result<()> {
        match event {
            CompactionEvent::Started(started) => {
                self.aside(&format!("compacting the history ({})", started.reason), out)
            }
            CompactionEvent::Ended(_) | CompactionEvent::Completed(_) => {
                self.aside("the history was compacted; the log keeps all of it", out)
            }
            CompactionEvent::Failed(failed) => {
                let why = brief(&failed.error.message, blobs);
                self.line(Emphasis::Warn, &format!("the compaction failed: {why}"), out)
            }
            CompactionEvent::ToolOutputsPruned(pruned) => {
                let count = counted(pruned.calls.len() as u64, "old tool output");
                self.aside(&format!("{count} removed from the model's context; the log keeps them"), out)
            }
            CompactionEvent::ToolOutputsReduced(reduced) => {
                let made = [(&reduced.calls, "removed from"), (&reduced.shortened, "shortened in")];
                self.made_smaller(&made.map(|(calls, verb)| (calls, "tool output", verb)), out)
            }
            CompactionEvent::CallsReduced(reduced) => {
                let made = [
                    (&reduced.calls, "tool output", "removed from"),
                    (&reduced.shortened, "tool output", "shortened in"),
                    (&reduced.inputs, "input", "shortened in"),
                    (&reduced.hosted, "result of the provider", "shortened in"),
                ];
                self.made_smaller(&made, out)
            }
            CompactionEvent::Undone(_) => Ok(()),
        }
    }
}

/// A text on one line.
pub(super) fn brief(text: &Text, blobs: &dyn Blobs) -> String {
    one_line(&plain(&text.resolve(blobs)))
}

fn joined(keys: &[Key]) -> String {
    keys.iter().map(Key::as_str).collect::<Vec<_>>().join(", ")
}
