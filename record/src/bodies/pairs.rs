//! Which answer belongs to which request: by the request that continues both, else by time.

use super::BodyFile;
use serde_json::Value;

/// The place of the answer to each request, if there is one. Both lists are in the order of their times.
pub(super) fn answers(requests: &[BodyFile], responses: &[BodyFile]) -> Vec<Option<usize>> {
    let mut of: Vec<Option<usize>> = vec![None; requests.len()];
    for (place, response) in responses.iter().enumerate() {
        let open = || (0..requests.len()).filter(|at| of.get(*at) == Some(&None));
        let before = |at: &usize| requests.get(*at).is_some_and(|request| request.at <= response.at);
        let continued = open().filter(before).find(|at| is_continued(requests, *at, response));
        // One without an answer broke off: the newest is meant.
        let earlier = |at: &usize| requests.get(*at).is_some_and(|request| request.at < response.at);
        let newest = || open().rfind(earlier).or_else(|| open().find(before));
        if let Some(at) = continued.or_else(newest)
            && let Some(answer) = of.get_mut(at)
        {
            *answer = Some(place);
        }
    }
    of
}

/// Whether another request begins with the messages of this one and the answer.
fn is_continued(requests: &[BodyFile], at: usize, response: &BodyFile) -> bool {
    let Some(own) = requests.get(at).map(messages) else { return false };
    requests.iter().skip(at + 1).map(messages).any(|longer| {
        let next = longer.get(own.len()).filter(|next| next["role"] == "assistant");
        let first = |all: &[Value]| all.first().map(message_texts);
        first(own) == first(longer) && next.is_some_and(|next| message_texts(next) == message_texts(&response.json))
    })
}

fn messages(request: &BodyFile) -> &[Value] {
    request.json.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The texts and calls of a message, as far as they identify it.
fn message_texts(message: &Value) -> Vec<String> {
    let blocks = match message.get("content") {
        Some(Value::String(text)) => return vec![text.trim().to_owned()],
        Some(Value::Array(blocks)) => blocks,
        _ => return Vec::new(),
    };
    let named = |block: &Value| {
        let text = block.get("text").or_else(|| block.get("id"))?;
        text.as_str().map(|text| text.trim().to_owned())
    };
    blocks.iter().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn file(at: u128, json: Value) -> BodyFile {
        BodyFile { name: at.to_string(), at, bytes: Vec::new(), json }
    }

    fn asks(at: u128, texts: &[&str]) -> BodyFile {
        let messages = texts.iter().enumerate().map(|(number, text)| {
            let role = if number % 2 == 0 { "user" } else { "assistant" };
            json!({"role": role, "content": [{"type": "text", "text": text}]})
        });
        file(at, json!({"messages": messages.collect::<Vec<_>>()}))
    }

    fn body_file(at: u128, text: &str) -> BodyFile {
        file(at, json!({"role": "assistant", "content": [{"type": "text", "text": text}]}))
    }

    #[test]
    fn parallel_requests_are_told_apart_by_what_continues_them() {
        let requests =
            [asks(1, &["one"]), asks(2, &["two"]), asks(5, &["one", "1", "on"]), asks(6, &["two", "2", "on"])];
        let responses = [body_file(3, "2"), body_file(4, "1"), body_file(7, "end"), body_file(8, "end")];
        assert_eq!(answers(&requests, &responses), [Some(1), Some(0), Some(3), Some(2)]);
    }

    #[test]
    fn a_request_that_broke_off_has_no_answer() {
        let requests = [asks(1, &["one"]), asks(3, &["one"]), asks(5, &["one", "1", "on"])];
        let responses = [body_file(4, "1"), body_file(6, "2")];
        // Both attempts are alike; the first one takes it.
        assert_eq!(answers(&requests, &responses), [Some(0), None, Some(1)]);
    }
}
