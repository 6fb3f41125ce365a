//! How OpenCode's own rows and our views say the same thing: both are brought into one plain form and compared.
//!
//! - A row of `session_message` is one message, in the order of `seq`; so is one of our messages that no committed
//!   revert removed. Seqs differ (their log has records that give no event here), times and texts do not.
//! - `user`: id, text and the time of its **admission**. `system`, `synthetic`, `shell`, `compaction`,
//!   `agent-switched`, `model-switched`: their texts and names.
//! - `assistant`: agent, `provider/id` of the model, when it began and ended, how it finished, its tokens, and its
//!   content in the order in which the pieces began.
//! - A tool's `output` here is what the model was told: the texts of their `content` one after the other; without any,
//!   a completed call's `structured` as JSON. A call id that was used before in the session is `ID~N` here.
//! - Their state `error` with a string input (it never ran) is a failed call here; `structured` `{}` is none.
//! - `session_input`: id, text, delivery, whether promoted; order of admission. Inputs admitted after the boundary of a
//!   committed revert are gone on both sides.
//! - Left out: ids of answers and fragments (we have none), model variants, titles, file trees, times of tools.

use annals_core::event::{Delivery, FilesEvent, Finish, InputEvent};
use annals_core::{Blobs, Event, Record, Seq};
use annals_projections::{Assistant, Body, Content, Message, Messages, Projection, Transcript};
use serde_json::{Value, json};
use std::sync::Arc;

/// A row of `session_message` in the plain form.
pub fn their_message(row: &Value) -> Value {
    let data = &row["data"];
    let at = &row["time_created"];
    match row["type"].as_str().unwrap() {
        "user" => json!({"type": "user", "id": row["id"], "text": data["text"], "at": at}),
        "system" => json!({"type": "system", "text": data["text"], "at": at}),
        "synthetic" => json!({"type": "synthetic", "text": data["text"], "at": at}),
        "shell" => json!({"type": "shell", "command": data["command"], "output": data["output"]}),
        "agent-switched" => json!({"type": "agent-switched", "agent": data["agent"], "at": at}),
        "model-switched" => json!({"type": "model-switched", "model": their_model(&data["model"]), "at": at}),
        "compaction" => json!({
            "type": "compaction", "reason": data["reason"], "summary": data["summary"], "recent": data["recent"],
            "at": at,
        }),
        "assistant" => json!({
            "type": "assistant", "agent": data["agent"], "model": their_model(&data["model"]), "at": at,
            "ended": data["time"]["completed"], "finish": data["finish"],
            "error": data["error"]["message"], "usage": their_usage(&data["tokens"]),
            "content": data["content"].as_array().unwrap().iter().map(their_content).collect::<Vec<_>>(),
        }),
        other => panic!("a message type that this mapping does not know: {other}"),
    }
}

fn their_model(model: &Value) -> String {
    format!("{}/{}", model["providerID"].as_str().unwrap(), model["id"].as_str().unwrap())
}

fn their_usage(tokens: &Value) -> Value {
    if tokens.is_null() {
        return Value::Null;
    }
    json!([tokens["input"], tokens["output"], tokens["reasoning"], tokens["cache"]["read"], tokens["cache"]["write"]])
}

fn their_content(item: &Value) -> Value {
    match item["type"].as_str().unwrap() {
        kind @ ("text" | "reasoning") => json!({"type": kind, "text": item["text"]}),
        "tool" => their_tool(item),
        other => panic!("a content type that this mapping does not know: {other}"),
    }
}

fn their_tool(item: &Value) -> Value {
    let state = &item["state"];
    let texts = state["content"].as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let mut output: String = texts.filter_map(|item| item["text"].as_str()).collect();
    let structured = Some(&state["structured"]).filter(|it| !it.is_null() && **it != json!({}));
    let completed = state["status"] == "completed";
    if let (true, true, Some(structured)) = (completed, output.is_empty(), structured) {
        output = annals_core::canonical::value(structured);
    }
    let paths = Some(&state["outputPaths"]).filter(|it| !it.is_null()).cloned().unwrap_or(json!([]));
    json!({
        "type": "tool", "call": item["id"], "name": item["name"], "input": state["input"], "status": state["status"],
        "output": output, "structured": structured, "error": state["error"]["message"], "paths": paths,
    })
}

/// A message of ours in the plain form.
pub fn our_message(message: &Message, blobs: &dyn Blobs) -> Value {
    let at = message.at;
    match &message.body {
        Body::User { id, text, .. } => json!({"type": "user", "id": id, "text": text.resolve(blobs), "at": at}),
        Body::System { text, .. } => json!({"type": "system", "text": text.resolve(blobs), "at": at}),
        Body::Synthetic { text } => json!({"type": "synthetic", "text": text.resolve(blobs), "at": at}),
        Body::Shell { command, output, .. } => {
            json!({"type": "shell", "command": command.resolve(blobs), "output": output.resolve(blobs)})
        }
        Body::AgentSwitched { agent } => json!({"type": "agent-switched", "agent": agent, "at": at}),
        Body::ModelSwitched { model } => json!({"type": "model-switched", "model": model, "at": at}),
        Body::Compaction { reason, summary, recent, .. } => json!({
            "type": "compaction", "reason": reason, "summary": summary.resolve(blobs),
            "recent": recent.as_ref().map(|recent| recent.resolve(blobs)), "at": at,
        }),
        Body::Assistant(answer) => our_answer(answer, at.millis(), blobs),
    }
}

fn our_answer(answer: &Assistant, at: u64, blobs: &dyn Blobs) -> Value {
    let content: Vec<Value> = answer.content.iter().map(|content| our_content(content, blobs)).collect();
    let error = answer.error.as_ref();
    json!({
        "type": "assistant", "agent": answer.agent, "model": answer.model, "at": at, "ended": answer.ended,
        // A failed answer's finish is `error` there.
        "finish": if error.is_some() { Some(Finish::Error) } else { answer.finish },
        "error": error.map(|error| error.message.resolve(blobs)),
        "usage": answer.usage.map(|it| [it.input, it.output, it.reasoning, it.cache_read, it.cache_write]),
        "content": content,
    })
}

fn our_content(content: &Content, blobs: &dyn Blobs) -> Value {
    match content {
        Content::Text { text, .. } => json!({"type": "text", "text": text.resolve(blobs)}),
        Content::Reasoning { text, .. } => json!({"type": "reasoning", "text": text.resolve(blobs)}),
        Content::Tool(call) => {
            let structured = call.structured.as_ref().map(|json| json.value(blobs));
            let id = call.call.as_str();
            let mut output = call.output.resolve(blobs).into_owned();
            // What a completed call tells without texts is its structured value, written in either order of keys.
            if let (Some(structured), Ok(value)) = (&structured, serde_json::from_str::<Value>(&output))
                && value == *structured
            {
                output = annals_core::canonical::value(structured);
            }
            json!({
                "type": "tool", "call": id.split_once('~').map_or(id, |(foreign, _)| foreign), "name": call.name,
                "input": call.input.value(blobs), "status": call.status.as_str(), "output": output,
                "structured": structured, "error": call.error.as_ref().map(|error| error.resolve(blobs)),
                "paths": call.paths,
            })
        }
    }
}

/// A row of `session_input` in the plain form.
pub fn their_input(row: &Value) -> Value {
    json!({
        "id": row["id"], "text": row["prompt"]["text"], "delivery": row["delivery"],
        "promoted": !row["promoted_seq"].is_null(), "at": row["time_created"],
    })
}

/// What our log says: messages that stand, and inputs, both in the plain form.
#[derive(Default)]
pub struct Ours {
    messages: Messages,
    transcript: Transcript,
    inputs: Vec<(Seq, Value)>,
}

impl Ours {
    /// Takes the next record.
    pub fn apply(&mut self, record: &Record<'_>, blobs: &dyn Blobs) {
        match record.event {
            Event::Input(InputEvent::Admitted(it)) => self.inputs.push((
                record.seq,
                json!({
                    "id": it.input, "text": it.text.resolve(blobs), "promoted": false, "at": record.at,
                    "delivery": if it.delivery == Delivery::Queue { "queue" } else { "steer" },
                }),
            )),
            Event::Input(InputEvent::Promoted(it)) => {
                let waiting = self.inputs.iter_mut().rev().find(|(_, input)| input["id"] == it.input.as_str());
                waiting.unwrap().1["promoted"] = true.into();
            }
            Event::Files(FilesEvent::RevertCommitted(it)) => {
                let stands = |message: &&Arc<Message>| {
                    message.seq < it.first_removed && !self.transcript.is_removed(message.seq)
                };
                let boundary = self.messages.list().iter().filter(stands).map(|message| message.seq).max();
                self.inputs.retain(|(admitted, _)| Some(*admitted) <= boundary);
            }
            _ => {}
        }
        self.messages.apply(record);
        self.transcript.apply(record);
    }

    /// Messages in order.
    pub fn messages(&self, blobs: &dyn Blobs) -> Vec<Value> {
        let stands = |message: &&Arc<Message>| !self.transcript.is_removed(message.seq);
        self.messages.list().iter().filter(stands).map(|message| our_message(message, blobs)).collect()
    }

    /// Inputs in the order of admission.
    pub fn inputs(&self) -> Vec<Value> {
        self.inputs.iter().map(|(_, input)| input.clone()).collect()
    }
}
