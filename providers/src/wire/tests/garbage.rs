//! Whatever comes over the wire: no panic, one end, and nothing complete that is not.

use super::answers::line;
use crate::provider::{ProviderErrorKind, ProviderEvent};
use crate::wire::{Protocol, decoder};
use proptest::prelude::*;

/// A text cut into pieces at any characters.
fn pieces() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[ -~äß漢\u{1F600}\\n\"\\\\]{1,6}", 1..8)
}

/// An answer of a text and a call, told in these pieces.
fn answer(protocol: Protocol, text: &[String], input: &[String]) -> Vec<String> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut out = Vec::new();
    match protocol {
        Protocol::OpenAiChat => {
            out.extend(text.iter().map(|t| format!(r#"{{"choices":[{{"delta":{{"content":{}}}}}]}}"#, quoted(t))));
            let call = |arguments: &str| {
                format!(
                    r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"c","function":{{"name":"n","arguments":{}}}}}]}}}}]}}"#,
                    quoted(arguments)
                )
            };
            out.extend(input.iter().map(|piece| call(piece)));
            out.extend([r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#.into(), "[DONE]".into()]);
        }
        Protocol::OpenAiResponses => {
            let delta = |kind: &str, at: u8, piece: &str| {
                format!(
                    r#"{{"type":"response.{kind}.delta","output_index":{at},"content_index":0,"delta":{}}}"#,
                    quoted(piece)
                )
            };
            out.extend(text.iter().map(|piece| delta("output_text", 0, piece)));
            out.push(r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message"}}"#.into());
            let item = |kind: &str, input: &str| {
                format!(
                    r#"{{"type":"response.output_item.{kind}","output_index":1,"item":{{"type":"function_call","call_id":"c","name":"n","arguments":{}}}}}"#,
                    quoted(input)
                )
            };
            out.push(item("added", ""));
            out.extend(input.iter().map(|piece| delta("function_call_arguments", 1, piece)));
            out.push(item("done", &input.concat()));
            out.push(r#"{"type":"response.completed","response":{}}"#.into());
        }
        Protocol::AnthropicMessages => {
            let delta = |at: u8, kind: &str, field: &str, piece: &str| {
                format!(
                    r#"{{"type":"content_block_delta","index":{at},"delta":{{"type":"{kind}","{field}":{}}}}}"#,
                    quoted(piece)
                )
            };
            out.push(r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#.into());
            out.extend(text.iter().map(|piece| delta(0, "text_delta", "text", piece)));
            out.push(r#"{"type":"content_block_stop","index":0}"#.into());
            out.push(r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c","name":"n","input":{}}}"#.into());
            out.extend(input.iter().map(|piece| delta(1, "input_json_delta", "partial_json", piece)));
            out.push(r#"{"type":"content_block_stop","index":1}"#.into());
            out.push(r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#.into());
            out.push(r#"{"type":"message_stop"}"#.into());
        }
    }
    out
}

fn protocols() -> impl Strategy<Value = Protocol> {
    prop::sample::select(Protocol::ALL.to_vec())
}

/// All that some events give, and how they end.
fn take(protocol: Protocol, events: &[String]) -> (Vec<ProviderEvent>, Option<ProviderErrorKind>) {
    let mut decoder = decoder(protocol);
    let mut all = Vec::new();
    for data in events {
        match decoder.event("", data) {
            Ok(events) => all.extend(events),
            Err(error) => return (all, Some(error.kind)),
        }
    }
    match decoder.end() {
        Ok(events) => all.extend(events),
        Err(error) => return (all, Some(error.kind)),
    }
    (all, None)
}

/// Whether some of the pieces are a whole object, and the next begins another one.
fn is_two_objects(pieces: &[String]) -> bool {
    (1..pieces.len()).any(|at| {
        let (before, after) = pieces.split_at(at);
        let before = before.concat();
        before.trim_start().starts_with('{')
            && serde_json::from_str::<serde::de::IgnoredAny>(&before).is_ok()
            && after.first().is_some_and(|piece| piece.trim_start().starts_with('{'))
    })
}

fn is_finished(events: &[ProviderEvent]) -> bool {
    matches!(events.last(), Some(ProviderEvent::Finished(_)))
}

proptest! {
    #[test]
    fn however_an_answer_is_split_it_says_the_same(protocol in protocols(), text in pieces(), input in pieces()) {
        // In Chat Completions a whole object and then another one, with the same id and name, are two calls.
        prop_assume!(protocol != Protocol::OpenAiChat || !is_two_objects(&input));
        let (events, error) = take(protocol, &answer(protocol, &text, &input));
        prop_assert_eq!(error, None);
        prop_assert!(is_finished(&events));
        let said: String = events.iter().filter_map(|event| match event {
            ProviderEvent::TextDelta { text, .. } => Some(text.as_str()),
            _ => None,
        }).collect();
        prop_assert_eq!(said, text.concat());
        let called = events.iter().find_map(|event| match event {
            ProviderEvent::ToolCalled { input, .. } => Some(input.clone()),
            _ => None,
        });
        prop_assert_eq!(called, Some(input.concat()));
    }

    #[test]
    fn an_answer_that_is_cut_short_is_never_complete(
        protocol in protocols(), text in pieces(), input in pieces(), cut in any::<prop::sample::Index>(),
    ) {
        let whole = answer(protocol, &text, &input);
        // Chat and Messages are complete once their reason to stop is known.
        let until = whole.len() - 2;
        let cut = cut.index(until);
        let (events, error) = take(protocol, &whole[..cut]);
        prop_assert!(!is_finished(&events), "{:?}", events.iter().map(line).collect::<Vec<_>>());
        prop_assert_eq!(error, Some(ProviderErrorKind::IncompleteStream));
    }

    #[test]
    fn what_the_protocol_does_not_allow_is_not_taken_for_an_answer_that_broke_off(
        protocol in protocols(), text in pieces(), input in pieces(), cut in any::<prop::sample::Index>(),
    ) {
        let whole = answer(protocol, &text, &input);
        let mut damaged = whole[..cut.index(whole.len() - 2)].to_vec();
        damaged.push("nonsense".into());
        let (events, error) = take(protocol, &damaged);
        prop_assert!(!is_finished(&events));
        prop_assert_eq!(error, Some(ProviderErrorKind::Violation));
    }

    #[test]
    fn a_damaged_answer_ends_once_and_without_a_panic(
        protocol in protocols(), other in protocols(), text in pieces(), input in pieces(),
        at in any::<prop::sample::Index>(), byte in any::<prop::sample::Index>(), with in any::<char>(), swap in any::<bool>(),
    ) {
        let mut events = answer(if swap { other } else { protocol }, &text, &input);
        let at = at.index(events.len());
        let mut letters: Vec<char> = events[at].chars().collect();
        let place = byte.index(letters.len());
        letters[place] = with;
        events[at] = letters.into_iter().collect();
        let (all, error) = take(protocol, &events);
        prop_assert!(error.is_some() || is_finished(&all));
        let ends = all.iter().filter(|event| matches!(event, ProviderEvent::Finished(_))).count();
        prop_assert!(ends <= 1);
        prop_assert!(ends == 0 || is_finished(&all));
    }

    #[test]
    fn any_json_under_any_name_is_taken_without_a_panic(
        protocol in protocols(), name in "[a-z_.]{0,30}", data in "[\\[\\]{}\",:a-z0-9_ .-]{0,80}",
    ) {
        let mut decoder = decoder(protocol);
        // What it gives is of no interest; that it comes back is.
        drop(decoder.event(&name, &data));
        prop_assert!(decoder.end().map_or(true, |events| events.len() < 3));
    }

    #[test]
    fn any_type_with_any_fields_is_taken_without_a_panic(
        protocol in protocols(), seed in any::<u64>(),
    ) {
        let mut decoder = decoder(protocol);
        for data in jumbled(seed) {
            if decoder.event("", &data).is_err() {
                break;
            }
        }
        drop(decoder.end());
    }
}

/// Events whose fields have the right names and any values.
fn jumbled(mut seed: u64) -> Vec<String> {
    let mut next = |list: &[&'static str]| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        list[(seed >> 33) as usize % list.len()]
    };
    let kinds = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "response.reasoning_summary_text.delta",
        "response.completed",
    ];
    let values = [
        "null",
        "1",
        "-1",
        "1e999",
        "\"x\"",
        "{}",
        "[]",
        "[null]",
        "[{}]",
        r#"{"type":"text"}"#,
        r#"{"type":"tool_use","id":"a","name":"b"}"#,
        r#"{"type":"thinking"}"#,
        r#"{"type":"text_delta","text":"x"}"#,
        r#"{"type":"input_json_delta","partial_json":"{"}"#,
        r#"{"type":"function_call","call_id":"a","name":"b","arguments":"{}"}"#,
        r#"{"type":"reasoning","summary":[{}]}"#,
        r#"[{"delta":{"content":"x","tool_calls":[{}]}}]"#,
        r#"[{"delta":null,"finish_reason":"stop"}]"#,
        r#"{"usage":{"input_tokens":-1}}"#,
        r#"{"stop_reason":"end_turn"}"#,
    ];
    let names =
        ["index", "output_index", "content_block", "delta", "item", "response", "message", "usage", "choices", "error"];
    (0..12)
        .map(|_| {
            let fields: Vec<String> = names.iter().map(|name| format!("\"{name}\":{}", next(&values))).collect();
            let first = next(&["", "1"]);
            let fields = if first.is_empty() { fields.join(",") } else { fields[..4].join(",") };
            format!("{{\"type\":\"{}\",{fields}}}", next(&kinds))
        })
        .collect()
}
