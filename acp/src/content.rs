//! Calls of tools as an editor shows them.

use super::diffs;
use annals_core::event::{Attachment, ToolCalled, ToolOutcome, ToolSettled};
use annals_core::{Blobs, Json};
use annals_inspect::timeline::{input_in_brief, output_in_brief, sandbox_warning};
use serde_json::{Map, Value, json};
use std::path::Path;

/// The longest title, in characters.
const TITLE: usize = 120;

/// A call that begins.
pub(super) fn called(called: &ToolCalled, directory: &Path, blobs: &dyn Blobs) -> Value {
    let mut fields = about(&called.name, &called.input, directory, blobs);
    fields.insert("sessionUpdate".into(), "tool_call".into());
    fields.insert("toolCallId".into(), called.call.as_str().into());
    fields.insert("status".into(), "pending".into());
    Value::Object(fields)
}

/// What is known of a call before it runs.
pub(super) fn about(tool: &str, input: &Json, directory: &Path, blobs: &dyn Blobs) -> Map<String, Value> {
    let value = input.value(blobs);
    let brief = input_in_brief(input, &directory.to_string_lossy(), blobs);
    let title = match (tool, brief.as_str()) {
        ("bash", brief) if !brief.is_empty() => format!("`{brief}`"),
        (_, brief) => format!("{tool} {brief}").trim_end().to_owned(),
    };
    let mut fields = Map::new();
    fields.insert("title".into(), title.chars().take(TITLE).collect::<String>().into());
    fields.insert("kind".into(), kind(tool).into());
    fields.insert("rawInput".into(), value.clone());
    let planned = diffs::planned(tool, &value, directory);
    if !planned.is_empty() {
        fields.insert("content".into(), planned.into());
    }
    if let Some(path) = diffs::path_of(&value) {
        let mut place = json!({"path": diffs::absolute(&path, directory)});
        if let (Some(line), Value::Object(place)) = (value.get("offset").and_then(Value::as_u64), &mut place) {
            place.insert("line".into(), line.into());
        }
        fields.insert("locations".into(), json!([place]));
    }
    fields
}

/// A call that has ended.
pub(super) fn settled(settled: &ToolSettled, directory: &Path, blobs: &dyn Blobs) -> Value {
    let completed = settled.outcome == ToolOutcome::Completed;
    let structured = settled.structured.as_ref().map(|value| value.value(blobs));
    let diff = structured.as_ref().and_then(|value| value.get("diff")?.as_str());
    let mut content = diff.map(|diff| diffs::made(diff, directory)).unwrap_or_default();
    let text = settled.error.as_ref().unwrap_or(&settled.output).resolve(blobs);
    if content.is_empty() && !text.trim().is_empty() {
        content.push(text_part(&output_in_brief(&text)));
    }
    // A difference has no place for it.
    if let Some(warning) = sandbox_warning(settled.structured.as_ref(), blobs) {
        content.push(text_part(&warning));
    }
    content.extend(settled.attachments.iter().filter_map(|one| media(one, blobs)).map(part));
    let mut update = json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": settled.call.as_str(),
        "status": if completed { "completed" } else { "failed" },
        "content": content,
    });
    if let (Some(structured), Value::Object(fields)) = (structured, &mut update) {
        fields.insert("rawOutput".into(), structured);
    }
    update
}

/// A text as content of a call.
pub(super) fn text_part(text: &str) -> Value {
    part(json!({"type": "text", "text": text}))
}

fn part(block: Value) -> Value {
    json!({"type": "content", "content": block})
}

/// An image or a sound as a block; `None` for anything else.
pub(super) fn media(attachment: &Attachment, blobs: &dyn Blobs) -> Option<Value> {
    let kind = match attachment.mime.split('/').next() {
        Some("image") => "image",
        Some("audio") => "audio",
        _ => return None,
    };
    let uri = attachment.uri.resolve(blobs);
    let (_, data) = uri.strip_prefix("data:")?.split_once(";base64,")?;
    Some(json!({"type": kind, "data": data, "mimeType": attachment.mime}))
}

/// The kind of a call, for the icon that an editor shows.
fn kind(tool: &str) -> &'static str {
    match tool {
        "read" | "lsp_diagnostics" | "lsp_hover" | "bash_output" => "read",
        "write" | "edit" | "multiedit" | "apply_patch" => "edit",
        "grep" | "glob" | "ls" => "search",
        "bash" | "bash_input" | "bash_kill" => "execute",
        "webfetch" | "websearch" => "fetch",
        "todo" | "task" => "think",
        _ => "other",
    }
}
