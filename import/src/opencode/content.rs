//! Parts of answers that both generations of OpenCode share: content indexes, calls, results, usage, files.

use super::super::foreign::JsonObject;
use super::super::identity::UniqueIds;
use annals_core::event::{Attachment, FileChange, Finish, Todo, TodoUpdated, Usage};
use annals_core::{CallId, Json, Text};
use std::collections::HashMap;

/// The open step: its message, and the indexes of its content.
#[derive(Debug, Default)]
pub struct StepSlots {
    message: Option<String>,
    slots: HashMap<String, u32>,
    next: u32,
    /// Metadata from the start of a fragment, by slot.
    pub metadata: HashMap<String, Json>,
}

impl StepSlots {
    /// A new step.
    pub fn of(message: String) -> Self {
        Self { message: Some(message), ..Self::default() }
    }

    fn is_of(&self, data: &JsonObject<'_>) -> bool {
        let here = data.text("assistantMessageID") == self.message;
        if !here {
            data.note("content of a step that is not running");
        }
        here
    }

    /// The next index, for a new fragment or call of this step.
    pub fn open(&mut self, data: &JsonObject<'_>, slot: &str) -> Option<u32> {
        self.is_of(data).then(|| self.take(slot))
    }

    /// The next index; `slot` names it.
    pub fn take(&mut self, slot: &str) -> u32 {
        let index = self.next;
        self.next = self.next.saturating_add(1);
        self.slots.insert(slot.to_owned(), index);
        index
    }

    /// The index of a fragment; the next one if its start is missing.
    pub fn slot(&mut self, data: &JsonObject<'_>, slot: &str) -> Option<u32> {
        self.is_of(data).then(|| self.slots.get(slot).copied().unwrap_or_else(|| self.take(slot)))
    }
}

/// A call that is not settled.
#[derive(Clone, Debug)]
pub struct PendingToolCall {
    /// Its id, unique within the session.
    pub id: CallId,
    /// Its index in the step.
    pub index: u32,
    /// The name of the tool.
    pub name: String,
    /// Its input as it arrived.
    pub raw: Option<String>,
    /// Whether `tool.called` was recorded.
    pub called: bool,
    /// The last output that was shown.
    pub output: Option<Text>,
    /// The last structured value that was shown.
    pub structured: Option<Json>,
}

/// Open calls. A foreign call id is unique only within its assistant message.
#[derive(Debug, Default)]
pub struct OpenCalls {
    open: HashMap<(String, String), PendingToolCall>,
    unique: UniqueIds,
}

impl OpenCalls {
    /// Adds a call.
    pub fn started(&mut self, message: String, foreign: String, name: String, index: u32) {
        let id = CallId(self.unique.next(&foreign));
        let call = PendingToolCall { id, index, name, raw: None, called: false, output: None, structured: None };
        self.open.insert((message, foreign), call);
    }

    fn key(data: &JsonObject<'_>) -> Option<(String, String)> {
        Some((data.text("assistantMessageID")?, data.text("callID")?))
    }

    /// The open call that a record names.
    pub fn of(&mut self, data: &JsonObject<'_>) -> Option<&mut PendingToolCall> {
        self.open.get_mut(&Self::key(data)?)
    }

    /// Removes the open call that a record settles.
    pub fn settled(&mut self, data: &JsonObject<'_>) -> Option<PendingToolCall> {
        self.open.remove(&Self::key(data)?)
    }
}

/// The result of a tool.
#[derive(Debug, Default)]
pub struct ToolRecordOutput {
    /// Its texts, joined without anything between them; `None` without any.
    pub text: Option<Text>,
    /// Its structured value, unless empty.
    pub structured: Option<Json>,
    /// Its media.
    pub attachments: Vec<Attachment>,
}

/// Reads `content` and `structured` of a V2 tool record.
pub fn output(data: &JsonObject<'_>) -> ToolRecordOutput {
    let mut shown = ToolRecordOutput::default();
    let mut text: Option<String> = None;
    for item in data.objects("content") {
        match item.text("type").as_deref() {
            Some("text") => text.get_or_insert_default().push_str(&item.text("text").unwrap_or_default()),
            _ => shown.attachments.extend(attachment(&item)),
        }
    }
    shown.text = text.map(Text::from);
    shown.structured = data.json("structured").filter(|json| json.0.inline() != Some("{}"));
    shown
}

fn attachment(item: &JsonObject<'_>) -> Option<Attachment> {
    let uri = item.text("uri").or_else(|| item.text("url")).or_else(|| item.text("data"))?;
    item.skip(&["type", "id"]);
    Some(Attachment {
        mime: item.text("mime").or_else(|| item.text("mediaType")).unwrap_or_default(),
        name: item.text("name").or_else(|| item.text("filename")),
        uri: uri.into(),
    })
}

/// The files of a prompt.
pub fn attachments(prompt: &JsonObject<'_>) -> Vec<Attachment> {
    let mut found = Vec::new();
    for file in prompt.objects("files") {
        match attachment(&file) {
            Some(attachment) => found.push(attachment),
            None => prompt.note("files"),
        }
    }
    found
}

/// One attachment of a V1 file part.
pub fn file_part(part: &JsonObject<'_>) -> Option<Attachment> {
    attachment(part)
}

/// How an answer ended. An unknown word is noted.
pub fn finish(word: &str, data: &JsonObject<'_>) -> Finish {
    match word {
        "stop" => Finish::Stop,
        "tool-calls" => Finish::ToolCalls,
        "length" => Finish::Length,
        "content-filter" => Finish::ContentFilter,
        "error" => Finish::Error,
        _ => {
            data.note("finish");
            Finish::Other
        }
    }
}

/// Token counts.
pub fn usage(tokens: &JsonObject<'_>) -> Usage {
    let cache = tokens.object("cache");
    let cached = |name| cache.as_ref().and_then(|cache| cache.number(name)).unwrap_or(0);
    tokens.skip(&["total"]);
    Usage {
        input: tokens.number("input").unwrap_or(0),
        output: tokens.number("output").unwrap_or(0),
        reasoning: tokens.number("reasoning").unwrap_or(0),
        cache_read: cached("read"),
        cache_write: cached("write"),
    }
}

/// The most bytes of a list of names in one event: a batch has to fit into one record, and names are not moved to blobs.
const NAMES_MAX: usize = 24 * 1024;

/// The first items of a list, as many as fit into one event; the omission is noted.
pub fn bounded<T>(list: Vec<T>, name: impl Fn(&T) -> usize, data: &JsonObject<'_>, what: &str) -> Vec<T> {
    let mut sum = 0;
    let fits = list.iter().take_while(|item| {
        sum += name(item) + 32;
        sum <= NAMES_MAX
    });
    let count = fits.count();
    if count < list.len() {
        data.note(&format!("{what}: more than one event can store"));
    }
    list.into_iter().take(count).collect()
}

/// Names of files, as many as fit into one event.
pub fn names(data: &JsonObject<'_>, field: &str) -> Vec<String> {
    bounded(data.texts(field), String::len, data, field)
}

/// The files that a revert changes.
pub fn files(revert: &JsonObject<'_>) -> Vec<FileChange> {
    let change = |file: JsonObject<'_>| {
        file.skip(&["patch", "before", "after"]); // The diff of the whole revert contains them.
        Some(FileChange {
            path: file.text("file").or_else(|| file.text("path"))?,
            status: file.text("status").unwrap_or_else(|| "modified".into()),
            additions: file.number("additions").unwrap_or(0),
            deletions: file.number("deletions").unwrap_or(0),
        })
    };
    let found = revert.objects("files").into_iter().filter_map(change).collect();
    bounded(found, |change| change.path.len() + change.status.len(), revert, "files")
}

/// The todo list after a `todowrite` call: `structured.todos`, if every item is valid.
pub fn todos(data: &JsonObject<'_>) -> Option<TodoUpdated> {
    let structured = data.object("structured");
    let list = structured.as_ref()?;
    let items = todo_items(list);
    list.skip_all();
    items
}

/// The field `todos` of an object, if every item is valid.
pub fn todo_items(object: &JsonObject<'_>) -> Option<TodoUpdated> {
    if !object.has("todos") {
        return None;
    }
    let item = |todo: JsonObject<'_>| {
        let read =
            Todo { content: todo.text("content")?, status: todo.text("status")?, priority: todo.text("priority") };
        todo.skip_all();
        Some(read)
    };
    let items = object.objects("todos").into_iter().map(item).collect::<Option<Vec<_>>>()?;
    let length = |todo: &Todo| todo.content.len() + todo.status.len() + todo.priority.as_ref().map_or(0, String::len);
    Some(TodoUpdated { items: bounded(items, length, object, "todos") })
}
