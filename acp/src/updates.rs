//! What happens in a session, as updates for the editor.

use super::connection::Editor;
use super::content;
use super::options::SelectableOptions;
use annals_core::event::{
    Finish, InputEvent, MessageEvent, PermissionEvent, Purpose, Reply, SessionEvent, StepEvent, Todo, ToolEvent, Usage,
};
use annals_core::{Blobs, CallId, Event, InputId, PermissionId, Record, SessionId, Text};
use annals_runtime::bus::{Delta, Fragment, Notice};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Inputs of the editor itself, which it shows already.
pub(super) type OwnInputs = Arc<Mutex<BTreeSet<InputId>>>;

/// Makes updates of notices.
pub(super) struct Updates {
    editor: Editor,
    session: SessionId,
    id: String,
    directory: PathBuf,
    blobs: Arc<dyn Blobs + Send + Sync>,
    own: OwnInputs,
    selection: Arc<SelectableOptions>,
    inputs: BTreeMap<InputId, Text>,
    /// Fragments of the current step of which something was sent.
    sent: BTreeSet<(bool, u32)>,
    /// Calls of which nothing is known yet but that they were made.
    pending: BTreeSet<CallId>,
    /// The calls that questions are about.
    questions: BTreeMap<PermissionId, CallId>,
    cost: u64,
    /// How the last answer ended.
    finish: Option<Finish>,
}

impl Updates {
    pub(super) fn new(
        editor: Editor,
        (session, id): (SessionId, String),
        directory: PathBuf,
        blobs: Arc<dyn Blobs + Send + Sync>,
        own: OwnInputs,
        selection: Arc<SelectableOptions>,
    ) -> Self {
        Self {
            editor,
            session,
            id,
            directory,
            blobs,
            own,
            selection,
            inputs: BTreeMap::new(),
            sent: BTreeSet::new(),
            pending: BTreeSet::new(),
            questions: BTreeMap::new(),
            cost: 0,
            finish: None,
        }
    }

    /// The session has cost that much already, in nano-dollars.
    pub(super) fn with_cost(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// How the last answer ended.
    pub(super) fn finish(&self) -> Option<Finish> {
        self.finish
    }

    /// Sends what a notice says to the editor.
    pub(super) fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Delta(delta) if delta.session == self.session => self.delta(delta),
            Notice::Committed(batch) => {
                let session = self.session;
                batch.records().filter(|record| record.session == session).for_each(|record| self.record(&record));
            }
            Notice::Delta(_) | Notice::ToolsReduced { .. } | Notice::Busy(_) | Notice::Idle { .. } => {}
        }
    }

    fn send(&self, update: &Value) {
        self.editor.update(&self.id, update);
    }

    fn delta(&mut self, delta: &Delta) {
        let (reasoning, index) = match &delta.fragment {
            Fragment::Text(index) => (false, *index),
            Fragment::Reasoning(index) => (true, *index),
            Fragment::ToolInput(_) | Fragment::Summary => return,
        };
        if !delta.text.is_empty() {
            self.sent.insert((reasoning, index));
            self.send(&chunk(if reasoning { THOUGHT } else { ANSWER }, &delta.text));
        }
    }

    fn ended(&mut self, reasoning: bool, index: u32, text: &Text) {
        let text = text.resolve(&*self.blobs);
        if !self.sent.contains(&(reasoning, index)) && !text.is_empty() {
            self.send(&chunk(if reasoning { THOUGHT } else { ANSWER }, &text));
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        match record.event {
            Event::Step(event) => self.step(event),
            Event::Tool(event) => self.tool(event),
            Event::Input(InputEvent::Admitted(admitted)) => {
                self.inputs.insert(admitted.input.clone(), admitted.text.clone());
            }
            Event::Input(InputEvent::Promoted(promoted)) => {
                let text = self.inputs.remove(&promoted.input);
                let own = self.own.lock().unwrap_or_else(PoisonError::into_inner).remove(&promoted.input);
                if let Some(text) = text.filter(|_| !own) {
                    self.send(&chunk(PROMPT, &text.resolve(&*self.blobs)));
                }
            }
            Event::Permission(PermissionEvent::Asked(asked)) => {
                if let Some(call) = &asked.call {
                    self.questions.insert(asked.permission.clone(), call.clone());
                }
            }
            Event::Permission(PermissionEvent::Replied(replied)) => {
                let call = self.questions.remove(&replied.permission);
                if let Some(call) = call.filter(|_| replied.reply != Reply::Reject) {
                    self.begins(&call);
                }
            }
            Event::Message(MessageEvent::TodoUpdated(todo)) => self.send(&plan(&todo.items)),
            Event::Session(SessionEvent::Titled(titled)) => {
                self.send(&json!({"sessionUpdate": "session_info_update", "title": titled.title}));
            }
            Event::Session(SessionEvent::AgentSwitched(switched)) => {
                self.selection.set_agent(switched.agent.clone());
                self.send(&json!({"sessionUpdate": "current_mode_update", "currentModeId": switched.agent.as_str()}));
                self.send(&self.selection.update());
            }
            Event::Session(SessionEvent::ModelSwitched(switched)) => {
                self.selection.set_model(switched.model.clone());
                self.send(&self.selection.update());
            }
            _ => {}
        }
    }

    fn step(&mut self, event: &StepEvent) {
        match event {
            StepEvent::RequestSent(sent) if sent.purpose == Purpose::Turn => self.finish = None,
            StepEvent::Started(_) => self.sent.clear(),
            StepEvent::TextEnded(ended) => self.ended(false, ended.index, &ended.text),
            StepEvent::ReasoningEnded(ended) => self.ended(true, ended.index, &ended.text),
            StepEvent::Ended(ended) => {
                self.finish = Some(ended.finish);
                self.cost = self.cost.saturating_add(ended.cost);
                if let Some(usage) = &ended.usage {
                    self.send(&used(usage, self.selection.context(), self.cost));
                }
            }
            _ => {}
        }
    }

    fn tool(&mut self, event: &ToolEvent) {
        match event {
            ToolEvent::Called(called) if !called.hosted => {
                self.pending.insert(called.call.clone());
                self.send(&content::called(called, &self.directory, &*self.blobs));
            }
            ToolEvent::Progressed(progressed) => {
                let begins = self.pending.remove(&progressed.call);
                let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": progressed.call.as_str()});
                let Value::Object(fields) = &mut update else { return };
                if begins {
                    fields.insert("status".into(), "in_progress".into());
                }
                if let Some(output) = &progressed.output {
                    fields.insert("content".into(), json!([content::text_part(&output.resolve(&*self.blobs))]));
                }
                self.send(&update);
            }
            ToolEvent::Settled(settled) => {
                self.pending.remove(&settled.call);
                self.send(&content::settled(settled, &self.directory, &*self.blobs));
            }
            ToolEvent::Called(_) => {}
        }
    }

    /// A call may run.
    fn begins(&mut self, call: &CallId) {
        if self.pending.remove(call) {
            let call = call.as_str();
            self.send(&json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "in_progress"}));
        }
    }
}

pub(super) const PROMPT: &str = "user_message_chunk";
pub(super) const ANSWER: &str = "agent_message_chunk";
pub(super) const THOUGHT: &str = "agent_thought_chunk";

/// A piece of text.
pub(super) fn chunk(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}

/// The list of tasks.
pub(super) fn plan(items: &[Todo]) -> Value {
    let entries = items.iter().map(|item| {
        let status = match item.status.as_str() {
            "in_progress" => "in_progress",
            "completed" | "cancelled" => "completed",
            _ => "pending",
        };
        let priority = match item.priority.as_deref() {
            Some("high") => "high",
            Some("low") => "low",
            _ => "medium",
        };
        json!({"content": item.content, "status": status, "priority": priority})
    });
    json!({"sessionUpdate": "plan", "entries": entries.collect::<Vec<_>>()})
}

/// How full the window of the model is, and what the session has cost.
fn used(usage: &Usage, size: u64, cost: u64) -> Value {
    let used = [usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning];
    let used = used.into_iter().fold(0, u64::saturating_add);
    let mut update = json!({"sessionUpdate": "usage_update", "used": used, "size": size});
    if let (1.., Value::Object(fields)) = (cost, &mut update) {
        #[expect(clippy::cast_precision_loss, reason = "it is shown")]
        let amount = cost as f64 / 1e9;
        fields.insert("cost".into(), json!({"amount": amount, "currency": "USD"}));
    }
    update
}
