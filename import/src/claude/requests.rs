//! Requests that Claude Code writes into a transcript since 2026: `api-request-shape` (system prompt and tools),
//! `api-request-blob` (a message) and `api-request` lines. A request names its messages by hash: the SHA-256 of their JSON with
//! sorted keys and without spaces. Messages without a blob are made from the lines of the conversation.

use super::file::any_line;
use crate::foreign::JsonObject;
use annals_core::{Time, canonical};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;

/// A SHA-256.
pub(super) type PartHash = [u8; 32];

/// How many requests are remembered, to which later ones refer: that is the one before, or before a retry.
const REMEMBERED: usize = 16;

/// How many blocks of the user's lines one message may have that is looked for.
const JOINED_MAX: usize = 128;

/// A request that waits for its answer.
pub(super) struct NotedRequest {
    pub(super) line: u64,
    pub(super) at: Time,
    /// What the agent calls it.
    pub(super) id: String,
    /// What the agent calls its purpose.
    pub(super) source: String,
    /// The fields of the body but system prompt, tools and messages.
    pub(super) params: Map<String, Value>,
    /// System prompt and tools.
    pub(super) shape: Option<Rc<Map<String, Value>>>,
    pub(super) shape_hash: PartHash,
    pub(super) messages: Vec<PartHash>,
    /// Where marks for the provider's cache are in the body, and each mark.
    pub(super) marks: Vec<(Vec<Value>, Value)>,
    /// The hash of the whole body, in hexadecimal digits; empty without one.
    pub(super) hash: String,
}

/// The messages of one answer as they may be sent back, made from its lines up to now.
#[derive(Default)]
struct AnswerForms {
    message: String,
    blocks: Vec<Value>,
    hashes: Vec<PartHash>,
}

/// What a transcript says about requests up to a line.
#[derive(Default)]
pub(super) struct RequestLog {
    /// Whether the transcript has requests at all: if not, nothing is kept.
    is_active: bool,
    shapes: HashMap<PartHash, Rc<Map<String, Value>>>,
    messages: HashMap<PartHash, Rc<str>>,
    /// Those from before the newest compaction.
    before: HashMap<PartHash, Rc<str>>,
    answer: AnswerForms,
    /// The blocks of the user's lines since the newest answer: the agent sends them in one message.
    since_answer: Vec<Value>,
    sent: VecDeque<(String, Vec<PartHash>)>,
    waiting: Vec<NotedRequest>,
}

impl RequestLog {
    /// Of the files of a transcript.
    pub(super) fn of(paths: &[PathBuf]) -> Self {
        // Lines of requests begin with their type.
        let has_requests = |path: &PathBuf| any_line(path, |line| line.starts_with(br#"{"type":"api-request"#));
        Self { is_active: paths.iter().any(has_requests), ..Self::default() }
    }

    /// Keeps messages for the requests of a fork.
    pub(super) fn activate(&mut self) {
        self.is_active = true;
    }

    /// Whether the transcript has requests.
    pub(super) fn is_active(&self) -> bool {
        self.is_active
    }

    /// The canonical JSON of a message, without marks for the cache.
    pub(super) fn message(&self, hash: &PartHash) -> Option<&Rc<str>> {
        self.messages.get(hash).or_else(|| self.before.get(hash))
    }

    /// Takes in a line of a request; `false` if its kind is another one, or it does not have the hash that it names.
    pub(super) fn line(&mut self, kind: &str, line: u64, at: Time, object: &JsonObject<'_>) -> bool {
        let parsed = |name: &str| object.raw(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        let is_right = match kind {
            "api-request-shape" => self.shape(object.text("shapeHash").as_deref(), parsed("shape")),
            "api-request-blob" => self.blob(object.text("hash").as_deref(), parsed("message")),
            "api-request" => {
                self.request(line, at, object);
                true
            }
            _ => return false,
        };
        object.skip_all();
        is_right
    }

    fn shape(&mut self, hash: Option<&str>, shape: Option<Value>) -> bool {
        let (Some(hash), Some(shape)) = (hash.and_then(unhex), shape) else { return false };
        let is_right = hash_of(&canonical::value(&shape)) == hash;
        if let Value::Object(shape) = shape {
            self.shapes.insert(hash, Rc::new(shape));
        }
        is_right
    }

    fn blob(&mut self, hash: Option<&str>, message: Option<Value>) -> bool {
        let (Some(hash), Some(message)) = (hash.and_then(unhex), message) else { return false };
        let text = canonical::value(&in_blocks(message.clone()));
        let text = if hash_of(&text) == hash { text } else { canonical::value(&message) };
        let is_right = hash_of(&text) == hash;
        if is_right {
            self.messages.insert(hash, text.into());
        }
        is_right
    }

    fn request(&mut self, line: u64, at: Time, object: &JsonObject<'_>) {
        let parsed = |name: &str| object.raw(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        let id = object.text("id").unwrap_or_default();
        let keep = object.number("keep").and_then(|keep| usize::try_from(keep).ok()).unwrap_or(0);
        let base = object.text("base").unwrap_or_default();
        let base = self.sent.iter().rev().find(|(sent, _)| *sent == base).map(|(_, messages)| messages.as_slice());
        // Of a request that is not in this file, the messages are not known.
        let unknown = [0; 32];
        let kept = (0..keep).map(|at| base.and_then(|base| base.get(at)).copied().unwrap_or(unknown));
        let tail = object.texts("tail").into_iter().map(|hash| unhex(&hash).unwrap_or(unknown));
        let messages: Vec<PartHash> = kept.chain(tail).collect();
        let mark = |mark: &Value| Some((mark.get("path")?.as_array()?.clone(), mark.get("value")?.clone()));
        let marks = parsed("cacheControl").and_then(|marks| Some(marks.as_array()?.iter().filter_map(mark).collect()));
        let shape_hash = object.text("shapeHash").as_deref().and_then(unhex).unwrap_or(unknown);
        let shape = self.shapes.get(&shape_hash).cloned();
        let params = match parsed("params") {
            Some(Value::Object(params)) => params,
            _ => Map::new(),
        };
        self.sent.push_back((id.clone(), messages.clone()));
        if self.sent.len() > REMEMBERED {
            self.sent.pop_front();
        }
        self.waiting.push(NotedRequest {
            line,
            at,
            id,
            source: object.text("querySource").unwrap_or_default(),
            params,
            shape,
            shape_hash,
            messages,
            marks: marks.unwrap_or_default(),
            hash: object.text("requestDigest").unwrap_or_default(),
        });
    }

    /// Takes in a line of the conversation: the message that later requests may contain.
    pub(super) fn learn(&mut self, kind: &str, object: &JsonObject<'_>) {
        if !self.is_active || !matches!(kind, "user" | "assistant") {
            return;
        }
        let message = object.peeked("message").and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        let Some(Value::Object(mut message)) = message else { return };
        let content = message.remove("content").unwrap_or_default();
        if kind == "user" {
            self.insert("user", content.clone());
            let message = in_blocks(serde_json::json!({"content": content}));
            let blocks = message.get("content").and_then(Value::as_array);
            self.since_answer.extend(blocks.into_iter().flatten().cloned());
            if self.since_answer.len() <= JOINED_MAX {
                self.insert("user", self.since_answer.clone().into());
            }
            return;
        }
        let id = message.get("id").and_then(Value::as_str).unwrap_or_default();
        if self.answer.message != id {
            self.since_answer.clear();
            self.answer = AnswerForms { message: id.to_owned(), ..AnswerForms::default() };
        }
        let Value::Array(blocks) = content else { return };
        let without_caller = |mut block: Value| {
            if let Some(block) = block.as_object_mut() {
                block.remove("caller");
            }
            block
        };
        self.answer.blocks.extend(blocks.into_iter().map(without_caller));
        // What was a part of the answer a line ago is none now.
        for hash in std::mem::take(&mut self.answer.hashes) {
            self.messages.remove(&hash);
        }
        let forms: [&[&str]; 4] = [&[], &["thinking", "redacted_thinking"], &["thinking"], &["redacted_thinking"]];
        for without in forms {
            let kind = |block: &Value| block.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
            let kept = self.answer.blocks.iter().filter(|block| !without.contains(&kind(block).as_str()));
            let hash = self.insert("assistant", kept.cloned().collect::<Vec<_>>().into());
            self.answer.hashes.push(hash);
        }
    }

    fn insert(&mut self, role: &str, content: Value) -> PartHash {
        let text = canonical::value(&in_blocks(serde_json::json!({"role": role, "content": content})));
        let hash = hash_of(&text);
        self.messages.insert(hash, text.into());
        hash
    }

    /// A compaction: the agent writes what it keeps once more.
    pub(super) fn compacted(&mut self) {
        self.before = std::mem::take(&mut self.messages);
    }

    /// Removes the requests up to the one that an answer names.
    pub(super) fn answered(&mut self, id: Option<&str>, at: Time) -> Vec<NotedRequest> {
        match id.and_then(|id| self.waiting.iter().position(|request| request.id == id)) {
            Some(place) => self.waiting.drain(..=place).collect(),
            None => self.before(at),
        }
    }

    /// Removes the requests that were sent before a time: they got no answer.
    pub(super) fn before(&mut self, at: Time) -> Vec<NotedRequest> {
        let count = self.waiting.iter().take_while(|request| request.at < at).count();
        self.waiting.drain(..count).collect()
    }
}

impl NotedRequest {
    /// The hashes that the agent recorded: of all parts together, and of the whole.
    pub(super) fn hashes(&self) -> String {
        let lines: Vec<String> = [&self.shape_hash].into_iter().chain(&self.messages).map(hex).collect();
        let parts = hex(&hash_of(&lines.join("\n")));
        if self.hash.is_empty() { format!("parts:{parts}") } else { format!("parts:{parts} whole:{}", self.hash) }
    }
}

/// A message whose text is one block.
fn in_blocks(mut message: Value) -> Value {
    if let Some(content) = message.get_mut("content")
        && let Value::String(text) = content
    {
        *content = serde_json::json!([{"type": "text", "text": text}]);
    }
    message
}

/// The SHA-256 of a text.
pub(super) fn hash_of(text: &str) -> PartHash {
    Sha256::digest(text.as_bytes()).into()
}

/// A hash in hexadecimal digits.
pub(super) fn hex(hash: &PartHash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<PartHash> {
    let mut hash = PartHash::default();
    if text.len() != 64 {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::Notes;

    fn take(log: &mut RequestLog, line: &str) -> bool {
        let notes = Notes::default();
        let object = JsonObject::parse(line, "", &notes).unwrap();
        let kind = object.text("type").unwrap();
        let taken = log.line(&kind, 1, Time(5), &object);
        log.learn(&kind, &object);
        object.skip_all();
        taken
    }

    #[test]
    fn messages_are_found_by_hash_in_blobs_and_in_lines() {
        let mut log = RequestLog { is_active: true, ..RequestLog::default() };
        let hello = r#"{"content":[{"text":"Hello","type":"text"}],"role":"user"}"#;
        take(&mut log, r#"{"type":"user","message":{"role":"user","content":"Hello"}}"#);
        assert_eq!(log.message(&hash_of(hello)).map(|it| &**it), Some(hello));
        let part = r#"{"type":"assistant","message":{"id":"m","content":[BLOCK]}}"#;
        let thought = r#"{"type":"thinking","thinking":"Hm","signature":"s"}"#;
        let call = r#"{"type":"tool_use","id":"c","name":"ls","input":{},"caller":{"type":"direct"}}"#;
        take(&mut log, &part.replace("BLOCK", thought));
        take(&mut log, &part.replace("BLOCK", call));
        let bare = r#"{"content":[{"id":"c","input":{},"name":"ls","type":"tool_use"}],"role":"assistant"}"#;
        assert!(log.message(&hash_of(bare)).is_some());
        let whole = r#"{"content":[{"signature":"s","thinking":"Hm","type":"thinking"},{"id":"c","input":{},"name":"ls","type":"tool_use"}],"role":"assistant"}"#;
        assert!(log.message(&hash_of(whole)).is_some());
        let alone = r#"{"content":[{"signature":"s","thinking":"Hm","type":"thinking"}],"role":"assistant"}"#;
        assert!(log.message(&hash_of(alone)).is_none(), "the answer continued");
        // Results of parallel calls are lines of their own, in the order in which they came, and one message.
        let result = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"ID","content":"o"}]}}"#;
        take(&mut log, &result.replace("ID", "second"));
        take(&mut log, &result.replace("ID", "first"));
        let block = r#"{"content":"o","tool_use_id":"ID","type":"tool_result"}"#;
        let both = [block.replace("ID", "second"), block.replace("ID", "first")].join(",");
        assert!(log.message(&hash_of(&format!(r#"{{"content":[{both}],"role":"user"}}"#))).is_some());
        let wrong = format!(
            r#"{{"type":"api-request-blob","hash":"{}","message":{{"role":"user","content":"x"}}}}"#,
            "0".repeat(64)
        );
        assert!(!take(&mut log, &wrong));
    }

    #[test]
    fn a_request_has_the_first_messages_of_another_and_its_own() {
        let mut log = RequestLog { is_active: true, ..RequestLog::default() };
        let hash = |digit: &str| digit.repeat(64);
        let request = |id: &str, more: &str| format!(r#"{{"type":"api-request","id":"{id}",{more}}}"#);
        take(&mut log, &request("a", &format!(r#""keep":0,"tail":["{}","{}"]"#, hash("1"), hash("2"))));
        take(&mut log, &request("b", &format!(r#""base":"a","keep":1,"tail":["{}"]"#, hash("3"))));
        take(&mut log, &request("c", r#""base":"elsewhere","keep":1,"tail":[]"#));
        assert_eq!(log.answered(Some("a"), Time(0)).len(), 1);
        let sent = log.before(Time(6));
        assert_eq!(sent[0].messages, [[0x11; 32], [0x33; 32]]);
        assert_eq!(sent[1].messages, [[0; 32]], "the message is not known");
        assert!(log.before(Time(9)).is_empty());
    }
}
