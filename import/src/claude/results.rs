//! Tool results of a transcript: `tool_result` blocks with their structured values, todo lists and subagents. See the
//! table in `mapping.rs`.

use super::blocks::{self, UserContent};
use super::mapping::TranscriptBranch;
use super::related::RelatedTranscripts;
use crate::claude::AGENT;
use crate::foreign::JsonObject;
use annals_core::event::*;
use annals_core::{AgentName, Event, SessionId, Text, Time};

impl TranscriptBranch {
    pub(super) fn result(
        &mut self,
        related: &mut RelatedTranscripts,
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
            block.note("a result without a call");
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
        result.iter().for_each(JsonObject::skip_all);
        let child = child.and_then(|(agent, kind, status)| match related.child(&self.foreign, &agent) {
            Some((created, seen)) => Some((agent, kind.or(seen).unwrap_or_default(), status, created)),
            None => {
                object.note("the transcript of a subagent is missing");
                None
            }
        });
        let outcome = if failed { ToolOutcome::Failed } else { ToolOutcome::Completed };
        let bare = ToolSettled::bare(call.clone(), outcome);
        let mut settled = ToolSettled { structured, attachments: content.attachments, ..bare };
        if failed {
            settled.error = Some(output.clone());
        } else {
            settled.output = output.clone();
        }
        let child = child.map(|(agent, kind, status, created)| {
            let background = status == "async_launched";
            let session = self.child(&agent, created);
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
