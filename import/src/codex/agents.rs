//! Agents that work for each other: threads that were started, their tasks and answers. See the table in `mapping.rs`.

use super::super::foreign::JsonObject;
use super::mapping::RolloutMapper;
use super::{AGENT, created};
use annals_core::event::*;
use annals_core::{AgentName, Event, SessionId, Time};

impl RolloutMapper {
    /// A message between agents: the task of this one is its input, everything else is a text that the program adds.
    pub(super) fn agent_message(&mut self, line: u64, at: Time, payload: &JsonObject<'_>) {
        let (author, recipient) = (payload.text("author"), payload.text("recipient"));
        let mut texts = Vec::new();
        for item in payload.objects("content") {
            item.skip_all();
            match item.text("text").or_else(|| item.text("encrypted_content")) {
                Some(text) if is_encrypted(&text) => item.note("an encrypted message"),
                text => texts.extend(text),
            }
        }
        let text = texts.concat();
        let is_task = recipient.is_some() && recipient == self.meta.agent_path && text.contains("NEW_TASK");
        payload.skip_all();
        if text.is_empty() {
            return;
        }
        self.close();
        if is_task {
            let foreign = payload.text("id").unwrap_or_else(|| format!("line-{line}"));
            self.input(line, at, &foreign, text, Vec::new());
            return;
        }
        let mut events: Vec<Event> = Vec::new();
        if text.contains("FINAL_ANSWER")
            && let Some(child) = author.and_then(|author| self.children.get_mut(&author))
            && !std::mem::replace(&mut child.settled, true)
        {
            let result = text.split_once("Payload:\n").map_or(text.as_str(), |(_, payload)| payload).into();
            events.push(ChildSettled { child: child.session, outcome: ChildOutcome::Completed, result }.into());
        }
        events.push(SyntheticAdded { text: text.into() }.into());
        self.push(line, at, events);
    }

    /// What another agent does, as Codex shows it: it was started, or has ended.
    pub(super) fn agent_activity(&mut self, line: u64, at: Time, item: &JsonObject<'_>) {
        let Some(thread) = item.text("agent_thread_id").or_else(|| item.text("new_thread_id")) else { return };
        let path = item.text("agent_path").unwrap_or_else(|| thread.clone());
        match item.text("kind").as_deref() {
            Some("started") | None => {
                let call = item.text("id").or_else(|| item.text("call_id"));
                let call = call.and_then(|id| self.calls.get(&id)).map(|(call, _)| call.clone());
                if let Some(event) = self.child_started(&thread, &path, call, at) {
                    self.push(line, at, vec![event]);
                }
            }
            Some(kind @ ("completed" | "failed" | "errored" | "interrupted" | "shutdown")) => {
                let outcome = match kind {
                    "completed" => ChildOutcome::Completed,
                    "failed" | "errored" => ChildOutcome::Failed,
                    _ => ChildOutcome::Cancelled,
                };
                // The answer of one that completed comes with its message.
                if outcome != ChildOutcome::Completed
                    && let Some(child) = self.children.get_mut(&path)
                    && !std::mem::replace(&mut child.settled, true)
                {
                    let settled = ChildSettled { child: child.session, outcome, result: kind.into() };
                    self.push(line, at, vec![settled.into()]);
                }
            }
            Some(_) => {}
        }
    }

    /// The start of a thread by this one, once.
    pub(super) fn child_started(
        &mut self,
        thread: &str,
        path: &str,
        call: Option<annals_core::CallId>,
        at: Time,
    ) -> Option<Event> {
        let session = self.editions.session(AGENT, thread, created(thread, at.millis()));
        if self.children.values().any(|child| child.session == session) {
            return None;
        }
        self.children.insert(path.to_owned(), StartedAgent { session, settled: false });
        let agent = AgentName(AGENT.into());
        Some(ChildStarted { child: session, call, agent, background: true }.into())
    }
}

/// A thread that this one started.
#[derive(Clone, Debug)]
pub(super) struct StartedAgent {
    session: SessionId,
    settled: bool,
}

/// Whether a text is a Fernet token, which only the provider can read.
fn is_encrypted(text: &str) -> bool {
    text.len() > 64 && text.starts_with("gAAAA") && !text.contains(char::is_whitespace)
}
