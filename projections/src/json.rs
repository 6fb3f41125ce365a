//! The JSON of every view: one form for the command, for scenarios and for goldens (scenarios/FORMAT.md, "Views").

use crate::message::{Assistant, Body, Content, Message, ToolCall};
use crate::messages::Messages;
use crate::{Block, Epochs, History, Inbox, Request, RequestMessage, SessionInfo, SystemText, Transcript, UsageTotals};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::{Attachment, Failure};
use annals_core::text::Texts;
use annals_core::{Blobs, Event, Record, Text};
use serde_json::{Map, Value, json};

/// A view in its public JSON form.
pub trait ToJson {
    /// The JSON form, with blobs resolved.
    fn to_json(&self, blobs: &dyn Blobs) -> Value;
}

impl ToJson for Message {
    fn to_json(&self, blobs: &dyn Blobs) -> Value {
        let mut json = match &self.body {
            Body::User { id, text, attachments } => {
                let mut json = json!({"type": "user", "id": id, "text": text.resolve(blobs)});
                attached(&mut json, attachments, blobs);
                json
            }
            Body::Assistant(assistant) => assistant.to_json(blobs),
            Body::System { keys, text } => json!({"type": "system", "text": text.resolve(blobs), "keys": keys}),
            Body::Synthetic { text } => json!({"type": "synthetic", "text": text.resolve(blobs)}),
            Body::Shell { command, output, exit } => json!({
                "type": "shell", "command": command.resolve(blobs), "output": output.resolve(blobs), "exit": exit,
            }),
            Body::Compaction { reason, summary, recent } => json!({
                "type": "compaction", "reason": reason,
                "summary": summary.resolve(blobs), "recent": recent.resolve(blobs),
            }),
            Body::AgentSwitched { agent } => json!({"type": "agent-switched", "agent": agent}),
            Body::ModelSwitched { model } => json!({"type": "model-switched", "model": model}),
        };
        if let Value::Object(fields) = &mut json {
            fields.insert("seq".to_owned(), json!(self.seq));
            fields.insert("at".to_owned(), json!(self.at));
        }
        json
    }
}

impl ToJson for Assistant {
    fn to_json(&self, blobs: &dyn Blobs) -> Value {
        let content: Vec<Value> = self.content.iter().map(|content| content.to_json(blobs)).collect();
        json!({
            "type": "assistant", "agent": self.agent, "model": self.model, "content": content,
            "finish": self.finish, "usage": self.usage, "cost": self.cost,
            "error": self.error.as_ref().map(|error| failure(error, blobs)),
        })
    }
}

impl ToJson for Content {
    fn to_json(&self, blobs: &dyn Blobs) -> Value {
        match self {
            Self::Text { text, .. } => json!({"type": "text", "text": text.resolve(blobs)}),
            Self::Reasoning { text, .. } => json!({"type": "reasoning", "text": text.resolve(blobs)}),
            Self::Tool(call) => call.to_json(blobs),
        }
    }
}

impl ToJson for ToolCall {
    fn to_json(&self, blobs: &dyn Blobs) -> Value {
        let mut json = json!({
            "type": "tool", "call": self.call, "name": self.name, "input": self.input.value(blobs),
            "status": self.status.as_str(), "output": self.output.resolve(blobs),
            "structured": self.structured.as_ref().map(|structured| structured.value(blobs)),
            "paths": self.paths, "truncated": self.truncated,
            "error": self.error.as_ref().map(|error| error.resolve(blobs)),
        });
        let marks = [("lossy", self.lossy), ("hosted", self.hosted), ("pruned", self.pruned.is_some())];
        if let Value::Object(fields) = &mut json {
            for (name, _) in marks.iter().filter(|(_, set)| *set) {
                fields.insert((*name).to_owned(), Value::Bool(true));
            }
        }
        attached(&mut json, &self.attachments, blobs);
        json
    }
}

impl ToJson for History {
    fn to_json(&self, blobs: &dyn Blobs) -> Value {
        self.selected()
            .map(|message| {
                let mut json = message.to_json(blobs);
                if let (true, Value::Object(fields)) = (self.is_pinned(message.seq), &mut json) {
                    fields.insert("pinned".to_owned(), Value::Bool(true));
                }
                json
            })
            .collect()
    }
}

impl Transcript {
    /// The JSON of the messages that `messages` (a fold over a range of records) holds, each marked if it was undone.
    pub fn page_json(&self, messages: &Messages, blobs: &dyn Blobs) -> Value {
        Self::shown(messages)
            .map(|message| {
                let mut json = message.to_json(blobs);
                if let (true, Value::Object(fields)) = (self.is_reverted(message.seq), &mut json) {
                    fields.insert("reverted".to_owned(), Value::Bool(true));
                }
                json
            })
            .collect()
    }
}

impl Epochs {
    /// The view `baseline`, or `null`.
    pub fn baseline_json(&self, blobs: &dyn Blobs) -> Value {
        let Some(epoch) = &self.current else { return Value::Null };
        let parts: Vec<Value> =
            epoch.parts.iter().map(|part| json!({"key": part.key, "text": part.text.resolve(blobs)})).collect();
        let mut json = json!({
            "epoch": epoch.mark.epoch, "seq": epoch.mark.seq, "cause": epoch.mark.cause, "agent": epoch.agent,
            "location": epoch.location.directory, "text": epoch.text(blobs), "parts": parts,
        });
        if let Value::Object(fields) = &mut json {
            if !epoch.known {
                fields.insert("known".to_owned(), Value::Bool(false));
            }
            if let Some(blocked) = &epoch.blocked {
                let blocked = json!({"seq": blocked.seq, "cause": blocked.cause, "keys": blocked.keys});
                fields.insert("blocked".to_owned(), blocked);
            }
        }
        json
    }

    /// The view `snapshot`; `{}` while there is no epoch.
    pub fn snapshot_json(&self, blobs: &dyn Blobs) -> Value {
        let mut json = Map::new();
        for (key, entry) in self.current.iter().flat_map(|epoch| &epoch.snapshot.0) {
            let mut fields = Map::new();
            fields.insert("value".to_owned(), entry.value.value(blobs));
            if let Some(removed) = &entry.removed {
                fields.insert("removed".to_owned(), Value::String(removed.resolve(blobs).into_owned()));
            }
            json.insert(key.as_str().to_owned(), Value::Object(fields));
        }
        Value::Object(json)
    }

    /// The view `epochs`.
    pub fn marks_json(&self) -> Value {
        self.marks.iter().map(|mark| json!({"epoch": mark.epoch, "seq": mark.seq, "cause": mark.cause})).collect()
    }
}

impl ToJson for Inbox {
    fn to_json(&self, blobs: &dyn Blobs) -> Value {
        self.pending
            .iter()
            .map(|pending| {
                let mut json = json!({
                    "id": pending.input, "text": pending.text.resolve(blobs), "delivery": pending.delivery,
                });
                attached(&mut json, &pending.attachments, blobs);
                json
            })
            .collect()
    }
}

impl ToJson for UsageTotals {
    fn to_json(&self, _: &dyn Blobs) -> Value {
        let tokens = &self.tokens;
        json!({
            "input": tokens.input, "output": tokens.output, "reasoning": tokens.reasoning,
            "cache_read": tokens.cache_read, "cache_write": tokens.cache_write, "cost": self.cost,
            "unpriced": self.unpriced,
        })
    }
}

impl SessionInfo {
    /// The view `session`. `running` is what a running process knows; without one, what the log says.
    pub fn to_json(&self, running: Option<bool>, blobs: &dyn Blobs) -> Value {
        let running = running.unwrap_or(self.running);
        json!({
            "id": self.id, "agent": self.agent, "model": self.model,
            "location": self.location.as_ref().map(|location| location.directory.as_str()),
            "title": self.title, "status": if running { "running" } else { "idle" },
            "revert": self.revert.as_ref().map(|revert| json!({
                "first_removed": revert.first_removed, "files": revert.files,
                "diff": revert.diff.as_ref().map(|diff| diff.resolve(blobs)),
            })),
            "parent": self.parent, "origin": self.origin, "fork": self.fork,
            "created": self.created, "updated": self.updated, "next": self.next,
            "children": self.children, "todos": self.todos, "changed": self.changed.totals(),
        })
    }
}

impl Request {
    /// One item of the view `requests`.
    pub fn to_json(&self) -> Value {
        let Value::Object(mut json) = self.shape_json() else { return Value::Null };
        json.insert("agent".to_owned(), json!(self.agent));
        json.insert("model".to_owned(), json!(self.model.model));
        json.insert("tool_choice".to_owned(), json!(self.tool_choice));
        json.insert("digest".to_owned(), json!(self.digest()));
        Value::Object(json)
    }

    /// `{system, messages, tools}` as the view `requests` shows them: what estimates are made of.
    pub fn shape_json(&self) -> Value {
        let system: Vec<&str> = self.system.iter().map(|system: &SystemText| system.text.as_str()).collect();
        let messages: Vec<Value> = self.messages.iter().map(message_json).collect();
        json!({"system": system, "messages": messages, "tools": self.tool_names()})
    }

    /// The estimate of this request in characters of its JSON (Unicode scalar values); a token is four.
    pub fn chars(&self) -> u64 {
        annals_core::canonical::value(&self.shape_json()).chars().count() as u64
    }
}

fn message_json(message: &RequestMessage) -> Value {
    let mut json = Map::new();
    json.insert("role".to_owned(), json!(message.role));
    let mut text: Option<String> = None;
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Text { text: piece, .. } => match &mut text {
                // A wrapped context message brings its own newline; other pieces are paragraphs.
                Some(text) if piece.starts_with('\n') => text.push_str(piece),
                Some(text) => {
                    text.push_str("\n\n");
                    text.push_str(piece);
                }
                None => text = Some(piece.clone()),
            },
            Block::Call { id, tool, input, .. } => {
                let input: Value = serde_json::from_str(input).unwrap_or_else(|_| Value::String(input.clone()));
                calls.push(json!({"id": id, "tool": tool, "input": input}));
            }
            Block::Result { result, .. } => results.push(json!(result)),
            Block::HostedResult { id, result, .. } => {
                let result: Value = serde_json::from_str(result).unwrap_or_else(|_| Value::String(result.clone()));
                results.push(json!({"id": id, "hosted": result}));
            }
            Block::Media { attachment, .. } => {
                let attached = json!({"mime": attachment.mime, "name": attachment.name});
                match json.entry("attachments").or_insert_with(|| json!([])) {
                    Value::Array(list) => list.push(attached),
                    other => *other = json!([attached]),
                }
            }
            Block::Reasoning { .. } => {}
        }
    }
    json.extend(text.map(|text| ("text".to_owned(), Value::String(text))));
    if !calls.is_empty() {
        json.insert("calls".to_owned(), Value::Array(calls));
    }
    if !results.is_empty() {
        json.insert("results".to_owned(), Value::Array(results));
    }
    Value::Object(json)
}

/// One item of the view `events`: the event with its place and time.
impl ToJson for Record<'_> {
    fn to_json(&self, blobs: &dyn Blobs) -> Value {
        let mut json = event_json(self.event, blobs);
        if let Value::Object(fields) = &mut json {
            fields.insert("seq".to_owned(), json!(self.seq));
            // A fact with a moment of its own keeps it: when a retry follows, not when it was scheduled.
            fields.entry("at").or_insert(json!(self.at));
        }
        json
    }
}

/// An event as JSON, with every text whole: what lies in a blob is read.
pub fn event_json(event: &Event, blobs: &dyn Blobs) -> Value {
    let mut event = event.clone();
    event.texts(&mut |text: &mut Text| {
        if text.inline().is_none() {
            *text = text.resolve(blobs).into_owned().into();
        }
    });
    event.to_json()
}

fn failure(failure: &Failure, blobs: &dyn Blobs) -> Value {
    json!({"kind": failure.kind, "message": failure.message.resolve(blobs), "status": failure.status})
}

fn attached(json: &mut Value, attachments: &[Attachment], blobs: &dyn Blobs) {
    if attachments.is_empty() {
        return;
    }
    let list = attachments
        .iter()
        .map(|attachment| json!({"mime": attachment.mime, "name": attachment.name, "uri": attachment.uri.resolve(blobs)}))
        .collect();
    if let Value::Object(fields) = json {
        fields.insert("attachments".to_owned(), Value::Array(list));
    }
}
