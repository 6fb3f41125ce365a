//! A run as JSON lines, for programs; `docs/run.md` describes them.

use super::RunEnd;
use crate::bus::{Fragment, Notice};
use crate::permission::PermissionQuestion;
use annals_core::event::ChildEvent;
use annals_core::{Blobs, Event, SessionId};
use annals_projections::{SessionView, event_json};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Writes a run as JSON, one object per line.
#[derive(Debug, Default)]
pub struct JsonLines {
    /// The session that is shown, and its children.
    sessions: BTreeSet<SessionId>,
}

impl JsonLines {
    /// `session`: what runs.
    pub fn begin(&mut self, view: &SessionView, out: &mut dyn Write) -> io::Result<()> {
        let session = &view.session;
        self.sessions.extend(session.id);
        let object = json!({
            "type": "session", "session": session.id, "agent": session.agent, "model": session.model,
            "directory": session.location.as_ref().map(|location| &location.directory), "next": session.next,
        });
        line(&object, out)
    }

    /// `event` for each fact, `delta` for each piece of an answer.
    pub fn notice(&mut self, notice: &Notice, blobs: &dyn Blobs, out: &mut dyn Write) -> io::Result<()> {
        if !self.sessions.contains(&notice.session()) {
            return Ok(());
        }
        match notice {
            Notice::Committed(batch) => batch.records().try_for_each(|record| {
                if let Event::Child(ChildEvent::Started(started)) = record.event {
                    self.sessions.insert(started.child);
                }
                let object = json!({
                    "type": "event", "session": record.session, "seq": record.seq, "at": record.at,
                    "event": event_json(record.event, blobs),
                });
                line(&object, out)
            }),
            Notice::Delta(delta) => {
                let (of, place) = match &delta.fragment {
                    Fragment::Text(index) => ("text", json!(index)),
                    Fragment::Reasoning(index) => ("reasoning", json!(index)),
                    Fragment::ToolInput(call) => ("tool-input", json!(call)),
                    Fragment::Summary => ("summary", Value::Null),
                };
                let object = json!({
                    "type": "delta", "session": delta.session, "request": delta.request, "of": of, "place": place,
                    "text": delta.text,
                });
                line(&object, out)
            }
            Notice::ToolsReduced { session, model, left_out } => {
                let object = json!({"type": "tools-reduced", "session": session, "model": model, "left_out": left_out});
                line(&object, out)
            }
            Notice::Busy(_) | Notice::Idle { .. } => Ok(()),
        }
    }

    /// `question`: the user is asked, at the terminal.
    pub fn question(&mut self, question: &PermissionQuestion, out: &mut dyn Write) -> io::Result<()> {
        let object = json!({
            "type": "question", "session": question.session, "permission": question.permission, "call": question.call,
            "tool": question.tool, "action": question.action, "resources": question.resources,
        });
        line(&object, out)
    }

    /// `end`: how the run ended, and what was used in the session so far. `message` explains an end that is an error.
    pub fn end(view: &SessionView, ended: &RunEnd, message: &str, out: &mut dyn Write) -> io::Result<()> {
        // The prices of its models are on its log: where none is known, nothing is known of the cost.
        let cost = (view.usage.cost > 0 || view.usage.unpriced == 0).then_some(view.usage.cost);
        let object = json!({
            "type": "end", "session": view.session.id, "next": view.session.next, "outcome": ended.as_str(),
            "error": ended.error_kind().map(|kind| json!({"kind": kind, "message": message})),
            "usage": view.usage.tokens, "cost": cost,
        });
        line(&object, out)
    }
}

fn line(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")?;
    out.flush()
}
