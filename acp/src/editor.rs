//! What the editor does for a session: files with what is not saved in them, and questions of models.

use super::connection::Editor;
use annals_runtime::Boxed;
use annals_runtime::prompt::{UserPrompt, UserQuestion};
use annals_tools::EditorFiles;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// How many options a question in an editor may have.
const OPTIONS: usize = 9;

/// The option that answers nothing.
const NONE: &str = "none";

/// What an editor offers, as `initialize` says.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ClientCapabilities {
    pub(super) fs: ClientFiles,
}

/// Which methods for files an editor has.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ClientFiles {
    read_text_file: bool,
    write_text_file: bool,
}

/// The editor, as a session uses it. Before the session is announced nothing is asked.
#[derive(Clone)]
pub(super) struct ClientEditor {
    editor: Editor,
    files: ClientFiles,
    session: Arc<OnceLock<String>>,
}

impl fmt::Debug for ClientEditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientEditor").field("files", &self.files).finish_non_exhaustive()
    }
}

impl ClientEditor {
    pub(super) fn new(editor: Editor, capabilities: ClientCapabilities) -> Self {
        Self { editor, files: capabilities.fs, session: Arc::default() }
    }

    /// Whether it holds files.
    pub(super) fn has_files(&self) -> bool {
        self.files.read_text_file || self.files.write_text_file
    }

    /// What the editor calls the session from now on.
    pub(super) fn names(&self, session: &str) {
        drop(self.session.set(session.to_owned()));
    }

    async fn request(&self, method: &str, mut params: Value) -> Option<Value> {
        let session = self.session.get()?;
        params.as_object_mut()?.insert("sessionId".into(), session.as_str().into());
        self.editor.request(method, &params).await.ok()
    }
}

impl EditorFiles for ClientEditor {
    fn text<'a>(&'a self, path: &'a Path) -> Boxed<'a, Option<String>> {
        Box::pin(async move {
            let path = path.to_str().filter(|_| self.files.read_text_file)?;
            let answer = self.request("fs/read_text_file", json!({"path": path})).await?;
            answer.get("content")?.as_str().map(str::to_owned)
        })
    }

    fn write<'a>(&'a self, path: &'a Path, text: &'a str) -> Boxed<'a, bool> {
        Box::pin(async move {
            match path.to_str().filter(|_| self.files.write_text_file) {
                Some(path) => {
                    self.request("fs/write_text_file", json!({"path": path, "content": text})).await.is_some()
                }
                None => false,
            }
        })
    }
}

impl UserPrompt for ClientEditor {
    /// Asks by the question that every editor knows: one of several options. What has none cannot be asked.
    fn ask(&self, question: UserQuestion) -> Boxed<'_, Option<String>> {
        Box::pin(async move {
            if question.options.is_empty() || question.options.len() > OPTIONS {
                return None;
            }
            let params = params(&question);
            let answer = self.request("session/request_permission", params).await?;
            chosen(&answer, &question)
        })
    }
}

fn params(question: &UserQuestion) -> Value {
    let named = question.options.iter().enumerate();
    let mut options: Vec<Value> =
        named.map(|(at, name)| json!({"optionId": at.to_string(), "name": name, "kind": "allow_once"})).collect();
    options.push(json!({"optionId": NONE, "name": "No answer", "kind": "reject_once"}));
    let call = json!({
        "toolCallId": question.call.as_str(), "title": question.question, "kind": "other", "status": "pending",
    });
    json!({"toolCall": call, "options": options})
}

/// The option that was chosen; an empty answer for none of them.
fn chosen(answer: &Value, question: &UserQuestion) -> Option<String> {
    let option = answer.pointer("/outcome/optionId")?.as_str()?;
    let found = option.parse().ok().and_then(|at: usize| question.options.get(at));
    Some(found.cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::SessionId;

    #[test]
    fn a_question_of_a_model_offers_its_options_and_none_of_them() {
        let question = UserQuestion {
            session: SessionId::from_parts(1, 1),
            call: "c".into(),
            question: "Which?".into(),
            options: vec!["red".into(), "blue".into()],
            multiple: false,
        };
        let params = params(&question);
        assert_eq!(params.pointer("/options/1/name"), Some(&json!("blue")));
        assert_eq!(params.pointer("/options/2/kind"), Some(&json!("reject_once")));
        let answered =
            |option: &str| chosen(&json!({"outcome": {"outcome": "selected", "optionId": option}}), &question);
        assert_eq!((answered("1").as_deref(), answered(NONE).as_deref()), (Some("blue"), Some("")));
        assert_eq!(chosen(&json!({"outcome": {"outcome": "cancelled"}}), &question), None);
    }
}
