//! Blocks of Anthropic messages: texts, images, results.

use super::super::foreign::{JsonObject, string};
use annals_core::Json;
use annals_core::event::{Attachment, Todo, TodoUpdated, Usage};

/// The content of a user's message.
#[derive(Debug, Default)]
pub struct UserContent {
    /// Its texts.
    pub texts: Vec<String>,
    /// Its images and documents.
    pub attachments: Vec<Attachment>,
}

impl UserContent {
    /// All texts, joined by a blank line.
    pub fn text(&self) -> String {
        self.texts.join("\n\n")
    }

    /// Adds a block that is not a tool result.
    pub fn block(&mut self, block: &JsonObject<'_>) {
        block.skip(&["cache_control", "citations"]);
        match block.text("type").as_deref() {
            Some("text") => self.texts.extend(block.text("text")),
            Some("image" | "document") => self.attachments.extend(media(block)),
            Some("tool_reference") => block.skip_all(),
            _ => {
                block.skip_all();
                block.note(&format!("a {} block", block.text("type").unwrap_or_default()));
            }
        }
    }

    /// A content that is a text or a list of blocks.
    pub fn read(owner: &JsonObject<'_>, field: &str) -> Self {
        let mut content = Self::default();
        match owner.text(field) {
            Some(text) => content.texts.push(text),
            None => owner.objects(field).iter().for_each(|block| content.block(block)),
        }
        content
    }
}

fn media(block: &JsonObject<'_>) -> Option<Attachment> {
    let source = block.object("source")?;
    let mime = source.text("media_type").unwrap_or_default();
    source.skip(&["type"]);
    let uri = match (source.text("data"), source.text("url")) {
        (Some(data), _) => format!("data:{mime};base64,{data}"),
        (None, Some(url)) => url,
        (None, None) => return None,
    };
    Some(Attachment { mime, name: block.text("title"), uri: uri.into() })
}

/// Token counts. Input excludes cached tokens; output includes reasoning.
pub fn usage(usage: &JsonObject<'_>) -> Usage {
    let count = |name| usage.number(name).unwrap_or(0);
    usage.skip_all();
    Usage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        reasoning: 0,
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
    }
}

/// Native metadata of a thinking block: everything but its text, as received.
pub fn signature(block: &JsonObject<'_>) -> Option<Json> {
    let raw = block.raw("signature")?;
    Some(Json::received(format!("{{\"signature\":{}}}", raw.get())))
}

/// The data of a `redacted_thinking` block, as received.
pub fn hidden(block: &JsonObject<'_>) -> Option<Json> {
    let raw = block.raw("data")?;
    Some(Json::received(format!("{{\"redacted_thinking\":{}}}", raw.get())))
}

/// The result of a hosted call, as received.
pub fn hosted(block: &JsonObject<'_>) -> Option<Json> {
    block.json("content")
}

/// The todo list after a `TodoWrite` call, if every item is valid.
pub fn todos(result: &JsonObject<'_>) -> Option<TodoUpdated> {
    if !result.has("newTodos") {
        return None;
    }
    let item = |todo: JsonObject<'_>| {
        todo.skip_all();
        Some(Todo { content: todo.text("content")?, status: todo.text("status")?, priority: todo.text("priority") })
    };
    result.objects("newTodos").into_iter().map(item).collect::<Option<Vec<_>>>().map(|items| TodoUpdated { items })
}

/// The text between `<NAME>` and `</NAME>`.
pub fn tagged(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (inner, _) = rest.rsplit_once(&format!("</{name}>"))?;
    Some(inner.to_owned())
}

/// The prompt of a `queued_command` attachment: a text, or blocks.
pub fn queued(attachment: &JsonObject<'_>) -> UserContent {
    UserContent::read(attachment, "prompt")
}

/// Whether a structured result is only a text, which repeats the error.
pub fn repeats(raw: &str) -> bool {
    string(raw).is_some()
}
