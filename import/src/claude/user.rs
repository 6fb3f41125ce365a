//! User lines of a transcript: prompts, the program's words in the user's place, results. See the table in `mapping.rs`.

use super::TranscriptFile;
use super::blocks::{self, UserContent};
use super::mapping::TranscriptBranch;
use crate::foreign::JsonObject;
use crate::sink::{ImportSink, ReceiverGone};
use annals_core::event::*;
use annals_core::{Event, InputId, Time};

/// How texts begin that the program wrote in the user's place.
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

/// Whether the program says that a text is its own, or that of another agent or task.
fn is_of_program(object: &JsonObject<'_>) -> bool {
    const USERS: [&str; 2] = ["human", "voice-call"];
    let origin = object.object("origin").and_then(|origin| {
        origin.skip_all();
        origin.text("kind")
    });
    let source = object.text("promptSource");
    match origin {
        Some(kind) => !USERS.contains(&kind.as_str()),
        None => source.as_deref() == Some("system"),
    }
}

impl TranscriptBranch {
    fn input(&mut self, uuid: &str, content: UserContent, events: &mut Vec<Event>) {
        let input = InputId(self.unique.next(uuid));
        let text = content.text().into();
        let attachments = content.attachments;
        events.push(InputAdmitted { input: input.clone(), text, attachments, delivery: Delivery::Steer }.into());
        self.message(uuid, events);
        events.push(InputPromoted { input }.into());
    }

    /// Words of the program in the user's place. A notification may settle a task in the background.
    fn synthetic(&mut self, uuid: &str, text: String, events: &mut Vec<Event>) {
        let settled = self.background.settled(&text);
        events.extend(settled.into_iter().map(Event::from));
        if let Some(state) = &mut self.requests {
            state.say(&text);
        }
        self.message(uuid, events);
        events.push(SyntheticAdded { text: text.into() }.into());
    }

    /// Maps a line of the type `attachment`.
    pub(super) fn attachment(
        &mut self,
        sink: &mut ImportSink<'_>,
        uuid: &str,
        object: &JsonObject<'_>,
        events: &mut Vec<Event>,
    ) -> Result<(), ReceiverGone> {
        let Some(attachment) = object.object("attachment") else { return Ok(()) };
        let kind = attachment.text("type").unwrap_or_default();
        match kind.as_str() {
            "queued_command" => {
                // What the model reads of it is the prompt, in words of the program.
                object.skip(&["rendered", "renderedRole", "renderedInHumanTurn", "renderedBesideToolResult"]);
                let is_task = attachment.text("commandMode").as_deref() == Some("task-notification");
                let is_program = is_of_program(&attachment) || attachment.flag("isMeta") || is_task;
                attachment.skip(&["source_uuid", "origin", "timestamp", "delivery_id", "rowSource", "runId"]);
                let content = blocks::queued(&attachment);
                self.settle(sink)?;
                let text = content.text();
                if is_program || ECHOES.iter().any(|echo| text.starts_with(echo)) {
                    self.synthetic(uuid, text, events);
                } else {
                    if let Some(state) = &mut self.requests {
                        state.say(&text);
                    }
                    self.input(uuid, content, events);
                }
            }
            "prompt_snapshot" => self.prompt(&attachment),
            _ => {
                attachment.skip_all();
                if self.rendered(&kind, object).is_empty() && object.text("version").is_some_and(|it| is_before(&it)) {
                    // The text that the model was sent is not recorded.
                    object.note(&kind);
                }
            }
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one line")]
    pub(super) fn user(
        &mut self,
        sink: &mut ImportSink<'_>,
        file: &mut TranscriptFile,
        line: u64,
        at: Time,
        uuid: &str,
        object: &JsonObject<'_>,
        events: &mut Vec<Event>,
    ) -> Result<(), ReceiverGone> {
        let Some(message) = object.object("message") else { return Ok(()) };
        message.skip(&["role"]);
        let (meta, summary) = (object.flag("isMeta"), object.flag("isCompactSummary"));
        let is_program = is_of_program(object);
        let mut content = UserContent::default();
        match message.text("content") {
            Some(text) => content.texts.push(text),
            None => {
                for block in message.objects("content") {
                    if block.text("type").as_deref() == Some("tool_result") {
                        self.result(sink, file, line, at, &block, object, events);
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
            self.summary(uuid, text, events);
        } else if let Some(command) = blocks::tagged(&text, "bash-input") {
            self.shell = Some(command);
        } else if let (Some(output), Some(_)) = (blocks::tagged(&text, "bash-stdout"), &self.shell) {
            let errors = blocks::tagged(&text, "bash-stderr").unwrap_or_default();
            let command = self.shell.take().unwrap_or_default().into();
            self.message(uuid, events);
            events.push(ShellRan { command, output: format!("{output}{errors}").into(), exit: None }.into());
        } else if meta || is_program || ECHOES.iter().any(|echo| text.starts_with(echo)) {
            self.synthetic(uuid, text, events);
        } else {
            self.input(uuid, content, events);
        }
        Ok(())
    }
}

/// Whether a version wrote no attachment as the model read it. From 2.1.300 on, what is not rendered was not sent.
fn is_before(version: &str) -> bool {
    const RENDERED: [u64; 3] = [2, 1, 300];
    let mut numbers = version.split('.').map(|number| number.parse::<u64>().unwrap_or(0));
    let numbers = [(); 3].map(|()| numbers.next().unwrap_or(0));
    numbers < RENDERED
}
