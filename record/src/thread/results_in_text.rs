//! Results of calls in a text: OpenCode writes the conversation down when it asks for a summary, and the next request begins with the
//! summary, so that the newest results are in no other request.

use crate::facts::WaitingCall;
use annals_providers::recorded::WireItem;
use serde_json::Value;

/// How it writes a call, and a result or an error behind it.
const CALL: &str = "[Assistant tool call]: ";
const RESULTS: [(&str, bool); 2] = [(")\n[Tool result]: ", false), (")\n[Tool error]: ", true)];

/// What may follow a result.
const BEHIND: [&str; 5] = [
    "\n[Assistant tool call]: ",
    "\n[Assistant]: ",
    "\n[Assistant reasoning]: ",
    "\n\n[User]: ",
    "\n\n</conversation>",
];

/// The results of calls in a text, as far as it has them.
pub(super) fn results_in_text(text: &str, calls: &[WaitingCall]) -> Vec<WireItem> {
    if !text.contains(CALL) {
        return Vec::new();
    }
    calls.iter().filter_map(|call| result(text, call)).collect()
}

/// The newest result of a call with the same input.
fn result(text: &str, call: &WaitingCall) -> Option<WireItem> {
    let head = format!("{CALL}{}(", call.name);
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    let input = json(&call.input)?;
    text.rmatch_indices(&head).find_map(|(at, _)| {
        let rest = text.get(at + head.len()..)?;
        let split =
            |(mark, failed): &(&str, bool)| rest.split_once(mark).map(|(input, output)| (input, output, *failed));
        let (sent, output, failed) = RESULTS.iter().filter_map(split).min_by_key(|(input, ..)| input.len())?;
        let end = BEHIND.iter().filter_map(|behind| output.find(behind)).min().unwrap_or(output.len());
        let text = output.get(..end)?.trim_end_matches('\n').to_owned();
        let is_it = json(sent).as_ref() == Some(&input);
        is_it.then(|| WireItem::Result { id: call.theirs.clone(), text, failed, attachments: Vec::new() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::CallId;

    fn call(id: &str, name: &str, input: &str) -> WaitingCall {
        let (theirs, name, input) = (id.to_owned(), name.to_owned(), input.to_owned());
        WaitingCall { theirs, name, ours: CallId(id.to_owned()), input, child: None }
    }

    #[test]
    fn results_are_found_behind_their_calls() {
        let text = "<conversation>\n[User]: go\n\n[Assistant]: I look.\n[Assistant tool call]: bash({\"command\":\"ls\"})\n[Tool result]: old\n\n\
                    [Assistant tool call]: bash({\"command\":\"ls\"})\n[Tool result]: a.txt\nb.txt\n\n\n[Assistant tool call]: read({\"path\":\"x\"})\n\
                    [Tool error]: no such file\n[Assistant tool call]: bash({\"command\":\"wait\"})\n\n</conversation>\n\nSummarise it.";
        let calls = [
            call("1", "bash", r#"{ "command": "ls" }"#),
            call("2", "read", r#"{"path":"x"}"#),
            call("3", "bash", r#"{"command":"wait"}"#),
        ];
        let found = results_in_text(text, &calls);
        let of = |id: &str, text: &str, failed| WireItem::Result {
            id: id.into(),
            text: text.into(),
            failed,
            attachments: vec![],
        };
        assert_eq!(found, [of("1", "a.txt\nb.txt", false), of("2", "no such file", true)]);
        assert_eq!(results_in_text("[Tool result]: a", &calls), []);
    }
}
