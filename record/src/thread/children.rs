//! The subagents of a conversation.

use super::{Thread, ThreadError};
use annals_core::event::{ProcessAttached, ProcessInfo};
use annals_core::{CallId, SessionId, Time};
use serde_json::Value;

impl Thread {
    /// The open call with a text in its input that `is_prompt`, and that started no subagent yet.
    pub(crate) fn call_with(&self, is_prompt: &dyn Fn(&str) -> bool) -> Option<CallId> {
        let open = self.transcriber.open.as_ref()?;
        let mut calls = open.calls.iter().filter(|call| call.child.is_none());
        let has = |input: &str| match serde_json::from_str::<Value>(input) {
            Ok(Value::Object(input)) => input.values().filter_map(Value::as_str).any(is_prompt),
            _ => false,
        };
        calls.find(|call| has(&call.input)).map(|call| call.ours.clone())
    }

    /// Whether the agent does not wait for the subagent that a call starts.
    pub(crate) fn is_background(&self, call: &CallId) -> bool {
        let open = self.transcriber.open.as_ref();
        let call = open.and_then(|open| open.calls.iter().find(|open| open.ours == *call));
        call.is_none_or(|call| {
            let input: Value = serde_json::from_str(&call.input).unwrap_or_default();
            call.name == "spawn_agent" || input.get("run_in_background").and_then(Value::as_bool) == Some(true)
        })
    }

    /// A subagent began; the result of `call` will be its own.
    pub(crate) fn child(&mut self, child: SessionId, call: Option<CallId>) {
        self.transcriber.children.push(child);
        let open = self.transcriber.open.as_mut();
        if let Some(open) = open.and_then(|open| open.calls.iter_mut().find(|open| Some(&open.ours) == call.as_ref())) {
            open.child = Some(child);
        }
    }

    /// The session that started this one.
    pub(crate) fn parent(&self) -> Option<SessionId> {
        self.view.session.parent.as_ref().map(|parent| parent.session)
    }

    /// Another process records from here on.
    pub(crate) async fn process(&mut self, at: Time, process: ProcessInfo) -> Result<(), ThreadError> {
        self.append(at, vec![ProcessAttached { process }.into()]).await
    }
}
