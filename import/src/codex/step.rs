//! Answers of a rollout: their start and end, calls and results. See the table in `mapping.rs`.

use super::super::foreign::{JsonObject, Notes, string};
use super::mapping::RolloutMapper;
use super::{AGENT, created};
use annals_core::event::*;
use annals_core::{AgentName, CallId, Event, ModelName, Text, Time};

/// An answer that is being read.
pub(super) struct RolloutStep {
    pub(super) next: u32,
    pub(super) calls: bool,
    pub(super) open: u32,
    pub(super) usage: Option<Usage>,
    /// Whether usage or an output was read: the next content belongs to another answer.
    pub(super) sealed: bool,
    /// Whether it was copied from another thread.
    pub(super) copied: bool,
    pub(super) line: u64,
    pub(super) at: Time,
}

impl RolloutMapper {
    /// The index of the next content of the answer; a new answer starts if the current one is sealed.
    pub(super) fn content(&mut self, line: u64, at: Time) -> u32 {
        if self.step.as_ref().is_some_and(|step| step.sealed) {
            self.close();
        }
        if self.step.is_none() {
            self.epoch();
            let started = StepStarted {
                agent: AgentName(AGENT.into()),
                model: ModelName(self.model.clone()),
                files: None,
                answer: None,
            };
            self.push(line, at, vec![started.into()]);
            self.step = Some(RolloutStep {
                next: 0,
                calls: false,
                open: 0,
                usage: None,
                sealed: false,
                copied: false,
                line,
                at,
            });
        }
        let Some(step) = &mut self.step else { return 0 };
        (step.line, step.at) = (line, at);
        let index = step.next;
        step.next += 1;
        index
    }

    pub(super) fn spent(&mut self, line: u64, at: Time, usage: Option<Usage>) {
        if let (Some(step), Some(usage)) = (&mut self.step, usage) {
            step.sealed = true;
            if step.usage.is_none() && !step.copied {
                step.usage = Some(usage);
                (step.line, step.at) = (line, at);
            }
        }
    }

    /// The usage of an answer that was copied from another thread, which counts it.
    pub(super) fn spent_elsewhere(&mut self, payload: &JsonObject<'_>) {
        payload.note("usage of the thread that it was forked from");
        if let Some(step) = &mut self.step {
            step.sealed = true;
            step.copied = true;
        }
    }

    /// Ends the answer.
    pub(super) fn close(&mut self) {
        let Some(step) = self.step.take() else { return };
        let finish = if step.calls { Finish::ToolCalls } else { Finish::Stop };
        let ended = StepEnded { finish, usage: step.usage, cost: 0, files: None, changed: Vec::new() };
        self.push(step.line, step.at, vec![ended.into()]);
    }

    pub(super) fn output(&mut self, line: u64, at: Time, payload: &JsonObject<'_>) {
        let foreign = payload.text("call_id").unwrap_or_default();
        let mut settled = ToolSettled::bare(CallId::default(), ToolOutcome::Completed);
        if let Some(text) = payload.text("output") {
            settled.output = text.into();
        } else {
            let object = payload.object("output");
            let from = object.as_ref().unwrap_or(payload);
            let name = if object.is_some() { "content" } else { "output" };
            let failed = object.as_ref().and_then(|object| object.raw("success")).is_some_and(|it| it.get() == "false");
            let mut texts: Vec<String> = from.text(name).into_iter().collect();
            for item in from.objects(name) {
                texts.extend(item.text("text"));
                if let Some(uri) = item.text("image_url") {
                    let (mime, uri) = ("image/*".into(), uri.into());
                    settled.attachments.push(Attachment { mime, name: None, uri });
                }
                item.skip_all();
            }
            let text = Text::from(texts.join("\n"));
            if failed {
                settled.outcome = ToolOutcome::Failed;
                settled.error = Some(text.clone());
            }
            settled.output = text;
        }
        payload.skip(&["name", "execution", "tools"]);
        let Some((call, name)) = self.calls.remove(&foreign) else {
            payload.note("an output without a call");
            return;
        };
        let mut events: Vec<Event> = Vec::new();
        if name == "spawn_agent"
            && let Some(child) = settled.output.inline().and_then(spawned)
        {
            let session = self.editions.session(AGENT, &child, created(&child, at.millis()));
            let agent = AgentName(AGENT.into());
            events.push(ChildStarted { child: session, call: Some(call.clone()), agent, background: true }.into());
        }
        settled.call = call;
        settled.structured = self.shown.remove(&foreign);
        events.push(settled.into());
        if let Some(step) = &mut self.step {
            step.sealed = true;
            step.open = step.open.saturating_sub(1);
            (step.line, step.at) = (line, at);
        }
        self.push(line, at, events);
    }

    pub(super) fn fail(&mut self, line: u64, at: Time, error: Failure, start: bool) {
        if self.step.is_none() && start {
            self.content(line, at);
        }
        if let Some(step) = self.step.take() {
            self.push(line, at, vec![StepFailed { error, usage: step.usage, cost: 0 }.into()]);
        }
    }
}

/// The thread that `spawn_agent` started, from its output.
pub(super) fn spawned(output: &str) -> Option<String> {
    let notes = Notes::default();
    let object = JsonObject::parse(output, "", &notes).ok()?;
    object.raw("agent_id").or_else(|| object.raw("new_thread_id")).and_then(|raw| string(raw.get()))
}

/// Token counts. Codex includes cached input in input, and reasoning in output.
pub(super) fn tokens(usage: &JsonObject<'_>) -> Usage {
    let count = |name| usage.number(name).unwrap_or(0);
    let (cached, written, reasoning) =
        (count("cached_input_tokens"), count("cache_write_input_tokens"), count("reasoning_output_tokens"));
    usage.skip_all();
    Usage {
        input: count("input_tokens").saturating_sub(cached).saturating_sub(written),
        output: count("output_tokens").saturating_sub(reasoning),
        reasoning,
        cache_read: cached,
        cache_write: written,
    }
}
