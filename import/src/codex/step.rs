//! Answers of a rollout: their start and end, calls and results. See the table in `mapping.rs`.

use super::super::foreign::{JsonObject, Notes, string};
use super::AGENT;
use super::mapping::RolloutMapper;
use super::usage::plus;
use annals_core::event::*;
use annals_core::{AgentName, CallId, Event, ModelName, Text, Time};

/// An answer that is being read.
#[derive(Clone)]
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

    /// The index of a call that a script made while its own call is open.
    pub(super) fn nested_content(&mut self, line: u64, at: Time) -> u32 {
        match &mut self.step {
            Some(step) if step.open > 0 => {
                (step.line, step.at) = (line, at);
                step.next += 1;
                step.next - 1
            }
            _ => self.content(line, at),
        }
    }

    pub(super) fn spent(&mut self, line: u64, at: Time, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        self.repeated = None;
        let sum = self.unassigned.take().map_or(usage, |before| plus(before, usage));
        match &mut self.step {
            Some(step) if step.usage.is_none() && !step.copied => {
                step.sealed = true;
                step.usage = Some(sum);
                (step.line, step.at) = (line, at);
            }
            step => {
                step.iter_mut().for_each(|step| step.sealed = true);
                self.unassigned = Some(sum);
            }
        }
    }

    /// A repeated count. In a thread with copies it may be the first own answer's, where totals start anew: it is used if no other
    /// count follows.
    pub(super) fn counted_again(&mut self, line: u64, at: Time, last: Option<Usage>) {
        if self.has_copies() && !self.is_copy(line, at) && self.step.as_ref().is_some_and(|step| step.usage.is_none()) {
            self.repeated = last.filter(|usage| *usage != Usage::default());
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
        let usage = step.usage.or(self.repeated.take().filter(|_| !step.copied));
        let ended = StepEnded { finish, usage, cost: 0, files: None, changed: Vec::new() };
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
            events.extend(self.child_started(&child, &child, Some(call.clone()), at));
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

    /// A turn that ended with an error: `{message, codex_error_info}`.
    pub(super) fn failed_turn(&mut self, line: u64, at: Time, error: &JsonObject<'_>) {
        let message = error.text("message").unwrap_or_default().into();
        let (mut kind, mut status) = (error.text("codex_error_info"), None);
        if let Some(info) = error.object("codex_error_info") {
            kind = info.names().next().map(str::to_owned);
            let detail = kind.as_deref().and_then(|kind| info.object(kind));
            status = detail.as_ref().and_then(|detail| detail.number("http_status_code"));
            detail.iter().for_each(JsonObject::skip_all);
            info.skip_all();
        }
        error.skip_all();
        let kind = kind.unwrap_or_else(|| "error".into());
        let status = status.and_then(|status| u16::try_from(status).ok());
        self.fail(line, at, Failure { kind, message, status }, true);
        self.failed = true;
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
