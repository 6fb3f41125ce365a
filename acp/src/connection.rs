//! JSON-RPC with the editor: one message per line.

use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// An error as the editor reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
}

impl RpcError {
    pub(super) fn internal(message: impl ToString) -> Self {
        Self { code: -32603, message: message.to_string() }
    }

    pub(super) fn invalid(message: impl ToString) -> Self {
        Self { code: -32602, message: message.to_string() }
    }

    pub(super) fn unknown_session(id: &str) -> Self {
        Self { code: -32002, message: format!("there is no session {id:?}") }
    }

    pub(super) fn unknown_method(method: &str) -> Self {
        Self { code: -32601, message: format!("{method} is not supported") }
    }
}

/// A message of the editor.
#[derive(Debug)]
pub(super) enum EditorMessage {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    Answer {
        id: u64,
        answer: Result<Value, RpcError>,
    },
    /// It is not a message; the error says why.
    Broken(RpcError),
}

#[derive(Deserialize)]
struct RawMessage {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Value,
    error: Option<RawError>,
}

#[derive(Deserialize)]
struct RawError {
    code: i64,
    message: String,
}

impl EditorMessage {
    /// Reads a line.
    pub(super) fn of(line: &str) -> Self {
        let raw: RawMessage = match serde_json::from_str(line) {
            Ok(raw) => raw,
            Err(error) => {
                return Self::Broken(RpcError { code: -32700, message: format!("no JSON-RPC message: {error}") });
            }
        };
        match (raw.method, raw.id) {
            (Some(method), Some(id)) if !id.is_null() => Self::Request { id, method, params: raw.params },
            (Some(method), _) => Self::Notification { method, params: raw.params },
            (None, id) => match id.as_ref().and_then(Value::as_u64) {
                Some(id) => {
                    let failed = raw.error.map(|RawError { code, message }| RpcError { code, message });
                    Self::Answer { id, answer: failed.map_or(Ok(raw.result), Err) }
                }
                None => Self::Broken(RpcError { code: -32600, message: "neither a request nor an answer".into() }),
            },
        }
    }
}

type Waiting = oneshot::Sender<Result<Value, RpcError>>;

/// The editor. Clones write to the same place.
#[derive(Clone)]
pub(super) struct Editor {
    outgoing: mpsc::UnboundedSender<String>,
    shared: Arc<EditorRequests>,
}

#[derive(Default)]
struct EditorRequests {
    next: AtomicU64,
    waiting: Mutex<BTreeMap<u64, Waiting>>,
}

impl Editor {
    /// An editor that reads lines from `outgoing`.
    pub(super) fn new(outgoing: mpsc::UnboundedSender<String>) -> Self {
        Self { outgoing, shared: Arc::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<u64, Waiting>> {
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: &Value) {
        // Once the writer has ended, no one reads.
        drop(self.outgoing.send(message.to_string()));
    }

    /// Sends an update of a session.
    pub(super) fn update(&self, session: &str, update: &Value) {
        self.notify("session/update", &json!({"sessionId": session, "update": update}));
    }

    fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Answers a request.
    pub(super) fn answer(&self, id: &Value, answer: Result<Value, RpcError>) {
        self.send(&match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(RpcError { code, message }) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        });
    }

    /// Sends a request and waits for the answer. If the caller stops waiting, the editor is informed.
    pub(super) async fn request(&self, method: &str, params: &Value) -> Result<Value, RpcError> {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.waiting().insert(id, sender);
        let open = OpenRequest { editor: self, id };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = answer.await.unwrap_or_else(|_| Err(RpcError::internal("the editor has gone")));
        drop(open);
        answer
    }

    /// Takes the answer to a request. One that no request waits for has no effect.
    pub(super) fn answered(&self, id: u64, answer: Result<Value, RpcError>) {
        let waiting = self.waiting().remove(&id);
        if let Some(waiting) = waiting {
            drop(waiting.send(answer));
        }
    }

    /// No answer comes any more.
    pub(super) fn has_gone(&self) {
        self.waiting().clear();
    }
}

/// A request that is waited for.
struct OpenRequest<'a> {
    editor: &'a Editor,
    id: u64,
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        let unanswered = self.editor.waiting().remove(&self.id).is_some();
        if unanswered {
            self.editor.notify("$/cancel_request", &json!({"requestId": self.id}));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn a_request_gets_its_answer_and_one_that_is_given_up_is_cancelled() {
        let (sender, mut sent) = mpsc::unbounded_channel();
        let editor = Editor::new(sender);
        let asking = {
            let editor = editor.clone();
            tokio::spawn(async move { editor.request("a", &json!({})).await })
        };
        assert_eq!(sent.recv().await.as_deref(), Some(r#"{"id":0,"jsonrpc":"2.0","method":"a","params":{}}"#));
        editor.answered(7, Ok(json!("for nobody")));
        editor.answered(0, Ok(json!(1)));
        assert_eq!(asking.await.ok(), Some(Ok(json!(1))));
        let given_up = tokio::time::timeout(Duration::from_millis(1), editor.request("b", &Value::Null)).await;
        assert!(given_up.is_err());
        drop(sent.recv().await);
        let cancelled = sent.recv().await.unwrap_or_default();
        assert!(cancelled.contains("$/cancel_request") && cancelled.contains(r#""requestId":1"#), "{cancelled}");
    }

    #[test]
    fn a_line_that_is_no_message_is_told_as_such() {
        let EditorMessage::Broken(error) = EditorMessage::of("{") else { unreachable!("it is broken") };
        assert_eq!(error.code, -32700);
        let EditorMessage::Broken(error) = EditorMessage::of("{}") else { unreachable!("it is no message") };
        assert_eq!(error.code, -32600);
    }
}
