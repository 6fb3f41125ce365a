//! Tool results of a transcript: `tool_result` blocks with their structured values, todo lists and subagents. See the
//! table in `mapping.rs`.

use super::TranscriptFile;
use super::blocks::{self, UserContent};
use super::mapping::TranscriptBranch;
use crate::claude::AGENT;
use crate::foreign::{JsonObject, quote};
use crate::sink::ImportSink;
use annals_core::event::*;
use annals_core::{AgentName, CallId, Event, Json, SessionId, Text, Time};

/// The member of a structured result that has the full output, of which the model read a preview.
const FULL: &str = "fullOutput";

impl TranscriptBranch {
    #[expect(clippy::too_many_arguments, reason = "the fields of one line")]
    pub(super) fn result(
        &mut self,
        sink: &ImportSink<'_>,
        file: &mut TranscriptFile,
        line: u64,
        at: Time,
        block: &JsonObject<'_>,
        object: &JsonObject<'_>,
        events: &mut Vec<Event>,
    ) {
        let foreign = block.text("tool_use_id").unwrap_or_default();
        let failed = block.flag("is_error");
        let content = UserContent::read(block, "content");
        let structured =
            object.json("toolUseResult").filter(|json| json.0.inline().is_none_or(|it| !blocks::repeats(it)));
        let Some((call, _)) = self.calls.remove(&foreign) else {
            // Its call is in no line: the text is kept without it.
            if content.texts.is_empty() {
                block.note("a result without a call");
            } else {
                self.message(&foreign, events);
                events.push(SyntheticAdded { text: content.texts.join("\n").into() }.into());
            }
            return;
        };
        if let Some(step) = &mut self.step {
            (step.line, step.at) = (line, at);
        }
        let output = Text::from(content.texts.join("\n"));
        let result = object.object("toolUseResult");
        let child = result.as_ref().and_then(|result| {
            let agent = result.text("agentId")?;
            Some((agent, result.text("agentType"), result.text("status").unwrap_or_default()))
        });
        let todo = result.as_ref().and_then(blocks::todos);
        let persisted = result.as_ref().and_then(|result| result.text("persistedOutputPath"));
        let persisted = persisted.or_else(|| saved_to(content.texts.first()?));
        result.iter().for_each(JsonObject::skip_all);
        let child = child.and_then(|(agent, kind, status)| match file.related.child(&self.foreign, &agent) {
            Some((created, seen)) => Some((agent, kind.or(seen).unwrap_or_default(), status, created)),
            None => {
                object.note("the transcript of a subagent is missing");
                None
            }
        });
        let outcome = if failed { ToolOutcome::Failed } else { ToolOutcome::Completed };
        let bare = ToolSettled::bare(call.clone(), outcome);
        let mut settled = ToolSettled { structured, attachments: content.attachments, ..bare };
        if let Some(path) = persisted {
            settled.truncated = true;
            match full_output(sink, file, self.session(), &call, &path, structured_of(&settled)) {
                Some(full) => settled.structured = Some(full),
                None => {
                    settled.lossy = true;
                    object.note("the file of an output is missing");
                }
            }
        }
        if failed {
            settled.error = Some(output.clone());
        } else {
            settled.output = output.clone();
        }
        let child = child.map(|(agent, kind, status, created)| {
            let background = status == "async_launched";
            let session = self.child(&agent, created);
            if background {
                self.background.started(&foreign, &agent, session);
            }
            let started = ChildStarted { child: session, call: Some(call), agent: AgentName(kind), background };
            events.push(started.into());
            (session, background)
        });
        events.push(settled.into());
        if let Some((child, false)) = child {
            let outcome = if failed { ChildOutcome::Failed } else { ChildOutcome::Completed };
            events.push(ChildSettled { child, outcome, result: output }.into());
        }
        events.extend(todo.map(Event::from));
    }

    /// The session id of a subagent, from its creation time (ms).
    fn child(&self, agent: &str, created: u64) -> SessionId {
        self.editions.session(AGENT, &format!("{}/{agent}", self.foreign), created)
    }
}

/// The path in a result that was replaced by a preview.
fn saved_to(text: &str) -> Option<String> {
    let rest = text.trim_start().strip_prefix("<persisted-output>")?;
    let (_, path) = rest.split_once("saved to: ")?;
    path.lines().next().map(|path| path.trim().to_owned())
}

fn structured_of(settled: &ToolSettled) -> String {
    let inline = settled.structured.as_ref().and_then(|json| json.0.inline());
    inline.filter(|json| json.starts_with('{')).unwrap_or("{}").to_owned()
}

/// The structured result with the full output: from the file, or as an earlier import kept it before the agent deleted the file.
fn full_output(
    sink: &ImportSink<'_>,
    file: &mut TranscriptFile,
    session: SessionId,
    call: &CallId,
    path: &str,
    structured: String,
) -> Option<Json> {
    let Some(full) = file.related.output(path) else {
        return file.kept_outputs(sink, session).get(call).cloned();
    };
    let members = structured.strip_suffix('}').unwrap_or("{");
    let comma = if members.len() > 1 { "," } else { "" };
    Some(Json::received(format!("{members}{comma}{}:{}}}", quote(FULL), quote(&full))))
}
