//! Permission questions, asked in the editor.

use super::connection::Editor;
use super::content;
use annals_core::{Json, NoBlobs};
use annals_guard::Coverage;
use annals_runtime::host::WaitingQuestion;
use annals_runtime::permission::{Answered, PermissionAnswer, PermissionQuestion};
use serde_json::{Value, json};
use std::path::Path;

const ONCE: &str = "once";
const ALWAYS: &str = "always";
const REJECT: &str = "reject";

/// Where clients put what the user says to a rejection: the protocol has no field for it.
const FEEDBACK: [&str; 2] = ["/outcome/_meta/feedback", "/_meta/feedback"];

/// Asks one question and passes the answer on. A question that the editor cannot answer is rejected.
pub(super) async fn ask(editor: &Editor, session: &str, directory: &Path, mut waiting: WaitingQuestion) {
    let params = params(&waiting.asked, session, directory);
    let answer = tokio::select! {
        answer = editor.request("session/request_permission", &params) => answer.ok(),
        // It was interrupted, or a rule answers it.
        () = waiting.withdrawn() => return,
    };
    let answer = chosen(answer.as_ref(), &waiting.asked);
    waiting.answer(Answered::by_user(answer));
}

fn params(asked: &PermissionQuestion, session: &str, directory: &Path) -> Value {
    let mut call = content::about(&asked.tool, &Json::received(asked.input.clone()), directory, &NoBlobs);
    call.insert("toolCallId".into(), asked.call.as_str().into());
    call.insert("status".into(), "pending".into());
    // What is asked about can be more than the call shows: a folder elsewhere, a part of a command.
    let subject = format!("{}: {}", asked.action, asked.resources.join(", "));
    if !(asked.action == asked.tool || asked.action == "edit") || asked.resources.len() > 1 {
        let mut parts = vec![content::text_part(&subject)];
        if let Some(Value::Array(planned)) = call.remove("content") {
            parts.extend(planned);
        }
        call.insert("content".into(), parts.into());
    }
    let covered = Coverage::wider(&asked.action, &asked.resources);
    let mut options = vec![json!({"optionId": ONCE, "name": "Allow once", "kind": "allow_once"})];
    if !covered.is_empty() {
        let name = format!("Always allow {}", covered.covers.join(", "));
        options.push(json!({"optionId": ALWAYS, "name": name, "kind": "allow_always"}));
    }
    options.push(json!({"optionId": REJECT, "name": "Reject", "kind": "reject_once"}));
    json!({"sessionId": session, "toolCall": call, "options": options})
}

fn chosen(answer: Option<&Value>, asked: &PermissionQuestion) -> PermissionAnswer {
    let option = answer.and_then(|answer| answer.pointer("/outcome/optionId")?.as_str());
    match option {
        Some(ONCE) => PermissionAnswer::Once,
        Some(ALWAYS) => PermissionAnswer::AlwaysBy(Coverage::wider(&asked.action, &asked.resources).rules),
        _ => PermissionAnswer::Reject { feedback: answer.and_then(feedback) },
    }
}

/// What the model reads of a rejection; without it the turn ends.
fn feedback(answer: &Value) -> Option<String> {
    let text = FEEDBACK.iter().filter_map(|place| answer.pointer(place)?.as_str());
    text.map(str::trim).find(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::SessionId;

    #[test]
    fn a_question_offers_what_resembles_the_call_and_an_unknown_answer_rejects() {
        let asked = PermissionQuestion {
            session: SessionId::from_parts(1, 1),
            permission: "p".into(),
            call: "c".into(),
            agent: "build".into(),
            tool: "bash".into(),
            input: r#"{"command":"cargo test a"}"#.into(),
            action: "bash".into(),
            resources: vec!["cargo test a".into()],
        };
        let params = params(&asked, "s", Path::new("/p"));
        assert_eq!(params.pointer("/options/1/name"), Some(&json!("Always allow cargo test *")));
        assert_eq!(params.pointer("/toolCall/title"), Some(&json!("`cargo test a`")));
        let answered = |option: &str| {
            let answer = json!({"outcome": {"outcome": "selected", "optionId": option}});
            chosen(Some(&answer), &asked)
        };
        assert_eq!(answered("once"), PermissionAnswer::Once);
        assert_eq!(answered("anything"), PermissionAnswer::Reject { feedback: None });
        let feedback = |meta: Value| {
            let outcome = json!({"outcome": "selected", "optionId": "reject", "_meta": meta});
            [
                json!({"outcome": outcome}),
                json!({"outcome": {"outcome": "selected", "optionId": "reject"}, "_meta": meta}),
            ]
        };
        for answer in feedback(json!({"feedback": " use cargo nextest "})) {
            let expected = PermissionAnswer::Reject { feedback: Some("use cargo nextest".into()) };
            assert_eq!(chosen(Some(&answer), &asked), expected);
        }
        for answer in feedback(json!({"feedback": " "})).into_iter().chain(feedback(json!({"feedback": 1}))) {
            assert_eq!(chosen(Some(&answer), &asked), PermissionAnswer::Reject { feedback: None });
        }
        let cancelled = json!({"outcome": {"outcome": "cancelled"}});
        assert_eq!(chosen(Some(&cancelled), &asked), PermissionAnswer::Reject { feedback: None });
    }
}
