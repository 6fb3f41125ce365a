//! Answers of a transcript: assistant lines of one `message.id`, a block or more each. See the table in `mapping.rs`.

use super::TranscriptFile;
use super::blocks;
use super::mapping::TranscriptBranch;
use crate::foreign::JsonObject;
use crate::sink::{ImportSink, ReceiverGone};
use annals_core::event::*;
use annals_core::{AgentName, CallId, Event, Json, ModelName, Text, Time};

/// An answer that is being read.
pub(super) struct TranscriptStep {
    pub(super) message: String,
    pub(super) next: u32,
    pub(super) calls: bool,
    pub(super) usage: Option<Usage>,
    /// In nano-dollars; each line of an answer repeats it. Older versions recorded it.
    pub(super) cost: u64,
    pub(super) stop: Option<String>,
    /// Whether its last block is text: nothing follows it in this answer.
    pub(super) text: bool,
    pub(super) line: u64,
    pub(super) at: Time,
}

impl TranscriptBranch {
    /// Ends the open answer.
    pub fn settle(&mut self, sink: &mut ImportSink<'_>) -> Result<(), ReceiverGone> {
        match self.over() {
            Some((line, at, ended)) => self.append(sink, line, at, vec![ended]).map(|_| ()),
            None => Ok(()),
        }
    }

    pub(super) fn over(&mut self) -> Option<(u64, Time, Event)> {
        let step = self.step.take()?;
        let finish = match step.stop.as_deref() {
            Some("end_turn" | "stop_sequence") => Finish::Stop,
            Some("tool_use") => Finish::ToolCalls,
            Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
            Some("refusal") => Finish::ContentFilter,
            Some(_) => Finish::Other,
            None if step.calls => Finish::ToolCalls,
            None => Finish::Stop,
        };
        let ended = StepEnded { finish, usage: step.usage, cost: step.cost, files: None, changed: Vec::new() };
        Some((step.line, step.at, ended.into()))
    }

    /// The end of the source: ends an answer that is marked as complete.
    pub fn end(&mut self, sink: &mut ImportSink<'_>) -> Result<(), ReceiverGone> {
        let over = |step: &TranscriptStep| step.text && step.stop.as_deref().is_some_and(|stop| stop != "tool_use");
        if self.step.as_ref().is_some_and(over) { self.settle(sink) } else { Ok(()) }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one line")]
    pub(super) fn answer(
        &mut self,
        sink: &mut ImportSink<'_>,
        file: &mut TranscriptFile,
        line: u64,
        at: Time,
        uuid: &str,
        id: String,
        object: &JsonObject<'_>,
        events: &mut Vec<Event>,
    ) -> Result<(), ReceiverGone> {
        let Some(message) = object.object("message") else { return Ok(()) };
        message.skip(&[
            "id",
            "type",
            "role",
            "stop_sequence",
            "stop_details",
            "container",
            "context_management",
            "diagnostics",
        ]);
        let model = message.text("model").map(|model| format!("anthropic/{model}")).unwrap_or(self.model.clone());
        if self.step.as_ref().is_none_or(|step| step.message != id) {
            self.settle(sink)?;
            if model != self.model && !model.contains('<') {
                self.model.clone_from(&model);
                events.push(ModelSwitched { model: ModelName(model.clone()) }.into());
            }
            let requests = file.requests.answered(object.text("requestRef").as_deref(), at);
            if requests.is_empty() {
                self.unrequested(events);
            } else {
                // What precedes the answer precedes its request.
                self.append(sink, line, at, std::mem::take(events))?;
                self.send(sink, &file.requests, requests, true)?;
            }
            self.message(uuid, events);
            let agent = AgentName(self.agent.clone());
            let answer = message.text("id").map(|message| AnswerId { message, request: object.text("requestId") });
            events.push(StepStarted { agent, model: ModelName(model), files: None, answer }.into());
            self.step = Some(TranscriptStep {
                message: id,
                next: 0,
                calls: false,
                usage: None,
                cost: 0,
                stop: None,
                text: false,
                line,
                at,
            });
        }
        let blocks = match message.text("content") {
            Some(text) => {
                self.text(text, events);
                Vec::new()
            }
            None => message.objects("content"),
        };
        for block in blocks {
            self.block(&block, events);
        }
        let failed = object.flag("isApiErrorMessage");
        let spent = message.object("usage").map(|usage| blocks::usage(&usage));
        let (cost, stop) = (object.money("costUSD").unwrap_or(0), message.text("stop_reason"));
        let error = object.text("error");
        object.skip(&["durationMs", "apiErrorStatus", "apiError", "requestRef"]);
        if let Some(step) = &mut self.step {
            step.usage = spent.or(step.usage);
            step.cost = cost.max(step.cost);
            step.stop = stop.or(step.stop.take());
            (step.line, step.at) = (line, at);
        }
        if failed && let Some(step) = self.step.take() {
            let message = events.iter().rev().find_map(|event| match event {
                Event::Step(StepEvent::TextEnded(ended)) => Some(ended.text.clone()),
                _ => None,
            });
            let kind = error.unwrap_or_else(|| "api-error".into());
            let error = Failure { kind, message: message.unwrap_or_default(), status: None };
            events.push(StepFailed { error, usage: step.usage, cost: step.cost }.into());
        }
        Ok(())
    }

    pub(super) fn index(&mut self) -> u32 {
        let Some(step) = &mut self.step else { return 0 };
        step.text = false;
        let index = step.next;
        step.next = step.next.saturating_add(1);
        index
    }

    pub(super) fn text(&mut self, text: String, events: &mut Vec<Event>) {
        let index = self.index();
        if let Some(step) = &mut self.step {
            step.text = true;
        }
        events.push(TextEnded { index, text: text.into(), metadata: None }.into());
    }

    pub(super) fn block(&mut self, block: &JsonObject<'_>, events: &mut Vec<Event>) {
        let kind = block.text("type").unwrap_or_default();
        match kind.as_str() {
            "text" => {
                block.skip(&["citations"]);
                self.text(block.text("text").unwrap_or_default(), events);
            }
            "thinking" => {
                let index = self.index();
                let text = block.text("thinking").unwrap_or_default().into();
                events.push(ReasoningEnded { index, text, metadata: blocks::signature(block) }.into());
            }
            "redacted_thinking" => {
                let index = self.index();
                let metadata = blocks::hidden(block);
                events.push(ReasoningEnded { index, text: Text::default(), metadata }.into());
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let index = self.index();
                let (foreign, name) = (block.text("id").unwrap_or_default(), block.text("name").unwrap_or_default());
                let call = CallId(self.unique.next(&foreign));
                self.calls.insert(foreign, (call.clone(), name.clone()));
                let hosted = kind != "tool_use";
                if let Some(step) = &mut self.step {
                    step.calls |= !hosted;
                }
                block.skip(&["caller", "server_name"]);
                let input = block.json("input").unwrap_or_else(|| Json::received("{}"));
                events.push(ToolCalled { index, call, name, input, hosted, metadata: None }.into());
            }
            _ if kind.ends_with("_tool_result") => {
                let foreign = block.text("tool_use_id").unwrap_or_default();
                let Some((call, _)) = self.calls.remove(&foreign) else {
                    block.skip_all();
                    block.note("a result without a call");
                    return;
                };
                let result = blocks::hosted(block);
                let bare = ToolSettled::bare(call, ToolOutcome::Completed);
                events.push(ToolSettled { hosted_result: result, ..bare }.into());
            }
            _ => {
                block.skip_all();
                block.note(&format!("a {kind} block"));
            }
        }
    }
}
