//! Forms of answers that no agent of Annals asks for: several choices, calls of functions, output in the last event alone.

use super::Assembly;
use annals_core::event::Failure;
use annals_providers::recorded::WireItem;
use annals_providers::wire::{Protocol, decoder};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The events of a stream, each with its name and data.
pub(super) type StreamEvents = Vec<(String, String)>;

/// The events of each choice of an answer of Chat Completions; calls of functions are calls of tools.
pub(super) fn by_choice(events: StreamEvents) -> Vec<StreamEvents> {
    let is_plain = |data: &str| {
        !data.contains("\"function_call\"") && !data.contains("\"index\":1") && !data.contains("\"index\": 1")
    };
    if events.iter().all(|(_, data)| is_plain(data)) {
        return vec![events];
    }
    let mut choices: BTreeMap<u64, StreamEvents> = BTreeMap::from([(0, Vec::new())]);
    for (name, data) in events {
        let chunk: Option<Value> = serde_json::from_str(&data).ok();
        let listed =
            chunk.as_ref().and_then(|chunk| chunk.get("choices")?.as_array()).filter(|listed| !listed.is_empty());
        let (Some(chunk), Some(listed)) = (&chunk, listed) else {
            choices.values_mut().for_each(|events| events.push((name.clone(), data.clone())));
            continue;
        };
        for choice in listed {
            let number = choice.get("index").and_then(Value::as_u64).unwrap_or_default();
            let mut own = chunk.clone();
            own["choices"] = json!([with_tools(choice)]);
            choices.entry(number).or_default().push((name.clone(), own.to_string()));
        }
    }
    choices.into_values().collect()
}

/// A choice as the first, with calls of functions as calls of tools.
fn with_tools(choice: &Value) -> Value {
    let mut choice = choice.clone();
    choice["index"] = json!(0);
    if choice["finish_reason"] == "function_call" {
        choice["finish_reason"] = json!("tool_calls");
    }
    for name in ["delta", "message"] {
        let Some(message) = choice.get_mut(name).and_then(Value::as_object_mut) else { continue };
        if let Some(function) = message.remove("function_call").filter(Value::is_object) {
            // Its result has the name of the function for an id.
            let id = function.get("name").cloned().unwrap_or_default();
            let id = if id.is_string() {
                json!({"index": 0, "id": id, "type": "function", "function": function})
            } else {
                json!({"index": 0, "function": function})
            };
            message.insert("tool_calls".to_owned(), json!([id]));
        }
    }
    choice
}

/// The text of what further choices say.
pub(super) fn items(events: &StreamEvents) -> Vec<WireItem> {
    let (mut assembly, mut decoder) = (Assembly::default(), decoder(Protocol::OpenAiChat));
    for (name, data) in events {
        if assembly.take(&mut decoder, name, data).is_err() {
            break;
        }
    }
    assembly.answer().items
}

/// The response in the last event of a stream that has output.
pub(super) fn completed(events: &StreamEvents) -> Option<Value> {
    let mut last = events.iter().rev().filter_map(|(_, data)| serde_json::from_str::<Value>(data).ok());
    let response = last.find_map(|mut event| event.get_mut("response").map(Value::take))?;
    let has_output = response.get("output").and_then(Value::as_array).is_some_and(|output| !output.is_empty());
    has_output.then_some(response)
}

/// The error in a body with a status of success.
pub(super) fn error(body: &str) -> Option<Failure> {
    let value: Value = serde_json::from_str(body).ok()?;
    let value = value.as_array().and_then(|list| list.first()).unwrap_or(&value);
    let error = value.get("error").filter(|error| error.is_object() || error.is_string())?;
    if ["choices", "content", "output", "candidates"]
        .iter()
        .any(|name| value.get(*name).is_some_and(|value| !value.is_null()))
    {
        return None;
    }
    let message = error.get("message").and_then(Value::as_str).or(error.as_str());
    let message = message.map_or_else(|| error.to_string(), str::to_owned);
    Some(Failure { kind: "provider-internal".to_owned(), message: message.into(), status: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(choice: Value) -> (String, String) {
        (String::new(), json!({"choices": [choice]}).to_string())
    }

    #[test]
    fn calls_of_functions_and_further_choices_are_read() {
        let events = vec![
            chunk(json!({"index": 0, "delta": {"function_call": {"name": "f", "arguments": "{\"a\""}}})),
            chunk(json!({"index": 1, "delta": {"content": "other"}})),
            chunk(json!({"index": 0, "delta": {"function_call": {"arguments": ":1}"}}})),
            chunk(json!({"index": 0, "delta": {}, "finish_reason": "function_call"})),
        ];
        let choices = by_choice(events);
        assert_eq!(choices.len(), 2);
        let call = |item: &WireItem| matches!(item, WireItem::Call { id, name, input, .. } if (id.as_str(), name.as_str(), input.as_str()) == ("f", "f", "{\"a\":1}"));
        assert!(items(&choices[0]).iter().any(call), "{:?}", items(&choices[0]));
        assert_eq!(items(&choices[1]), [WireItem::Text("other".into())]);
        assert_eq!(error("{\"error\":{\"message\":\"no\"}}").unwrap().message.inline(), Some("no"));
        assert_eq!(error("{\"error\":null,\"content\":[]}"), None);
    }
}
