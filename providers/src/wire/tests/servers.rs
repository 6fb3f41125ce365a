//! Habits of servers: what they send that their protocol's own documentation does not show.

use super::answers::{chat, messages, responses};

/// A chunk of Chat Completions with pieces of calls.
fn calls(pieces: &str) -> String {
    format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{pieces}]}}}}]}}"#)
}

const ENDS: &str = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;

/// The calls of an answer, without the pieces that they came in.
fn called(pieces: &[&str]) -> String {
    let mut events: Vec<String> = pieces.iter().map(|piece| calls(piece)).collect();
    events.push(ENDS.into());
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let answer = chat(&events);
    answer.lines().filter(|line| !line.starts_with("input of")).collect::<Vec<_>>().join("\n")
}

#[test]
fn whole_calls_that_share_an_index_and_an_empty_id_stay_apart() {
    // As Gemini's compatible endpoint sends parallel calls; also of the same tool.
    let shared = called(&[
        r#"{"index":0,"id":"","function":{"name":"read","arguments":"{\"p\":\"a}\"}"}}"#,
        r#"{"index":0,"id":"","function":{"name":"read","arguments":"{\"p\":\"b\"}"}}"#,
        r#"{"index":0,"id":"","function":{"name":"ls","arguments":""}}"#,
        r#"{"index":0,"id":"","function":{"name":"bash","arguments":"{}"}}"#,
    ]);
    insta::assert_snapshot!(shared, @r#"
    call call_0 read({"p":"a}"})
    call call_1 read({"p":"b"})
    call call_2 ls()
    call call_3 bash({})
    finished tool-calls
    "#);
    // A server that repeats the name with every piece means the same call, be its input an object in objects.
    let repeated = called(&[
        r#"{"index":0,"function":{"name":"read","arguments":"{\"a\":["}}"#,
        r#"{"index":0,"function":{"name":"read","arguments":"{\"b\":1},"}}"#,
        r#"{"index":0,"function":{"name":"read","arguments":"{}]}"}}"#,
        r#"{"index":0,"function":{"name":"read","arguments":""}}"#,
    ]);
    insta::assert_snapshot!(repeated, @r#"
    call call_0 read({"a":[{"b":1},{}]})
    finished tool-calls
    "#);
    // Brackets in pairs are not yet a whole value: nothing that is no JSON ends a call.
    for pieces in [["{]", "{"], ["{a}", "{"], ["{}x", "{"]] {
        let piece = |text: &str| format!(r#"{{"index":0,"id":"c","function":{{"name":"n","arguments":"{text}"}}}}"#);
        let answer = called(&[&piece(pieces[0]), &piece(pieces[1])]);
        assert_eq!(answer, format!("call c n({})\nfinished tool-calls", pieces.concat()));
    }
}

#[test]
fn a_piece_with_a_new_id_and_no_name_goes_on_with_its_call() {
    // As some versions of vLLM send them.
    let answer = called(&[
        r#"{"index":0,"id":"chatcmpl-tool-1","function":{"name":"read","arguments":""}}"#,
        r#"{"index":0,"id":"chatcmpl-tool-2","function":{"arguments":"{\"p\":"}}"#,
        r#"{"index":0,"id":"chatcmpl-tool-3","function":{"name":null,"arguments":"1}"}}"#,
        r#"{"index":1,"id":"chatcmpl-tool-4","function":{"name":"ls","arguments":"{}"}}"#,
        r#"{"index":0,"id":"chatcmpl-tool-5","function":{"name":"","arguments":" "}}"#,
    ]);
    insta::assert_snapshot!(answer, @r#"
    call chatcmpl-tool-1 read({"p":1} )
    call chatcmpl-tool-4 ls({})
    finished tool-calls
    "#);
}

#[test]
fn an_id_may_come_after_the_index_and_a_made_up_one_is_nobody_elses() {
    let late = called(&[r#"{"index":0}"#, r#"{"index":0,"id":"a","function":{"name":"ls","arguments":"{}"}}"#]);
    assert_eq!(late, "call a ls({})\nfinished tool-calls");
    let taken = called(&[
        r#"{"index":0,"id":"call_1","function":{"name":"ls","arguments":"{}"}}"#,
        r#"{"index":1,"function":{"name":"ls","arguments":"{}"}}"#,
    ]);
    assert_eq!(taken, "call call_1 ls({})\ncall call_2 ls({})\nfinished tool-calls");
}

#[test]
fn an_answer_that_its_length_cut_off_before_the_name_of_a_call_has_no_such_call() {
    let cut = chat(&[
        r#"{"choices":[{"delta":{"content":"So"}}]}"#,
        &calls(r#"{"index":0,"id":"a"}"#),
        r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#,
        "[DONE]",
    ]);
    assert_eq!(cut, "text 0 \"So\"\ntext 0 ends\nfinished length");
}

#[test]
fn a_character_that_is_cut_in_two_is_one_again() {
    let answer = chat(&[
        r#"{"choices":[{"delta":{"content":"Hi \ud83d"}}]}"#,
        r#"{"choices":[{"delta":{"content":"\ude00!"}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
    ]);
    assert_eq!(answer, "text 0 \"Hi \"\ntext 0 \"😀!\"\ntext 0 ends\nfinished stop");
}

#[test]
fn signed_reasoning_of_a_router_comes_with_all_its_details() {
    // As OpenRouter passes on Anthropic's thinking: text in pieces, the signature at its end.
    let detail = |fields: &str| format!(r#"{{"choices":[{{"delta":{{{fields}}}}}]}}"#);
    let text = |said: &str| {
        detail(&format!(
            r#""reasoning":"{said}","reasoning_details":[{{"type":"reasoning.text","text":"{said}","signature":null,"format":"anthropic-claude-v1","index":0}}]"#
        ))
    };
    let signed = detail(
        r#""reasoning":"","reasoning_details":[{"type":"reasoning.text","signature":"Eq+/=","format":"anthropic-claude-v1","index":0}]"#,
    );
    let ends = r#"{"choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}]}"#;
    insta::assert_snapshot!(chat(&[&text("Let"), &text(" me."), &signed, ends]), @r#"
    reasoning 0 ""
    reasoning 0 "Let"
    reasoning 0 " me."
    reasoning 0 ends {"field":"reasoning","reasoning_details":[{"format":"anthropic-claude-v1","index":0,"signature":"Eq+/=","type":"reasoning.text"}]}
    text 1 "Yes."
    text 1 ends
    finished stop
    "#);
    // What proves nothing is said once: in the text.
    insta::assert_snapshot!(chat(&[&text("Let"), ends]), @r#"
    reasoning 0 ""
    reasoning 0 "Let"
    reasoning 0 ends {"field":"reasoning","reasoning_details":[]}
    text 1 "Yes."
    text 1 ends
    finished stop
    "#);
    let summary = detail(
        r#""reasoning":"Hm","reasoning_details":[{"type":"reasoning.summary","summary":"Hm","index":0},{"type":"reasoning.encrypted","data":"g+","index":0}]"#,
    );
    insta::assert_snapshot!(chat(&[&summary, ends]), @r#"
    reasoning 0 ""
    reasoning 0 "Hm"
    reasoning 0 ends {"field":"reasoning","reasoning_details":[{"index":0,"summary":"Hm","type":"reasoning.summary"},{"type":"reasoning.encrypted","data":"g+","index":0}]}
    text 1 "Yes."
    text 1 ends
    finished stop
    "#);
}

#[test]
fn both_fields_of_reasoning_may_come_and_one_be_empty() {
    let answer = chat(&[
        r#"{"choices":[{"delta":{"reasoning_content":"","reasoning":"Hm."}}]}"#,
        r#"{"choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}]}"#,
    ]);
    assert!(answer.contains(r#"reasoning 0 "Hm.""#), "{answer}");
}

#[test]
fn what_the_provider_behind_a_router_said_is_told() {
    let raw = r#"{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long\"}}","provider_name":"Acme"}}}"#;
    assert_eq!(
        chat(&[raw]).lines().next(),
        Some("overflow: the request exceeds the model's context: Provider returned error (Acme): prompt is too long")
    );
}

#[test]
fn responses_whose_items_all_have_one_place_are_told_apart() {
    let item = |event: &str, item: &str| {
        format!(r#"{{"type":"response.output_item.{event}","output_index":0,"item":{item}}}"#)
    };
    let text = |id: &str, delta: &str| {
        format!(
            r#"{{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"{id}","delta":"{delta}"}}"#
        )
    };
    let message = |id: &str| format!(r#"{{"type":"message","id":"{id}"}}"#);
    let call = |arguments: &str| {
        format!(r#"{{"type":"function_call","id":"f","call_id":"c","name":"ls","arguments":"{arguments}"}}"#)
    };
    let events = [
        item("added", &message("m1")),
        text("m1", "one"),
        item("done", &message("m1")),
        item("added", &call("")),
        item("added", &message("m2")),
        text("m2", "two"),
        r#"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f","delta":"{}"}"#.into(),
        item("done", &call("{}")),
        item("done", &message("m2")),
        r#"{"type":"response.completed","response":{}}"#.into(),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    insta::assert_snapshot!(responses(&events), @r#"
    text 0.0 "one"
    text 0.0 ends
    text 2.0 "two"
    input of c (ls) "{}"
    call c ls({})
    text 2.0 ends
    finished tool-calls
    "#);
}

#[test]
fn an_incomplete_response_ends_with_its_length_also_within_a_call() {
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"ls","arguments":""}}"#;
    let piece = r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"p"}"#;
    let ends = r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#;
    assert_eq!(responses(&[added, piece, ends]), "input of c (ls) \"{\\\"p\"\nfinished length");
    let complete = r#"{"type":"response.completed","response":{}}"#;
    assert!(
        responses(&[added, piece, complete]).contains("incomplete-stream: the answer ended within a function_call")
    );
}

#[test]
fn an_error_is_one_in_whatever_form_a_proxy_puts_it() {
    for (event, message) in [
        (r#"{"type":"error","message":"Overloaded"}"#, "provider-internal: the provider failed: Overloaded"),
        (r#"{"type":"error","error":"Too many requests"}"#, "rate-limit: too many requests: Too many requests"),
        (
            r#"{"error":{"type":"invalid_request_error","message":"No such model"}}"#,
            "invalid-request: the provider refused the request: No such model",
        ),
    ] {
        assert_eq!(messages(&[event]).lines().next(), Some(message), "{event}");
        assert_eq!(responses(&[event]).lines().next(), Some(message), "{event}");
    }
}

#[test]
fn messages_whose_blocks_all_have_one_place_are_told_apart() {
    let text = |said: &str| {
        [
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#.to_owned(),
            format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{said}"}}}}"#),
            r#"{"type":"content_block_stop","index":0}"#.to_owned(),
        ]
    };
    let ends = [
        r#"{"type":"message_delta","delta":{"stop_reason":"pause_turn"}}"#.to_owned(),
        r#"{"type":"message_stop"}"#.to_owned(),
    ];
    let events: Vec<String> = text("one").into_iter().chain(text("two")).chain(ends).collect();
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    insta::assert_snapshot!(messages(&events), @r#"
    text 0 ""
    text 0 "one"
    text 0 ends
    text 1 ""
    text 1 "two"
    text 1 ends
    finished paused
    "#);
}

#[test]
fn calls_that_share_an_id_are_further_calls() {
    let answer = called(&[
        r#"{"index":0,"id":"c","function":{"name":"bash","arguments":"{\"n\":1}"}}"#,
        r#"{"index":0,"id":"c","function":{"name":"bash","arguments":"{\"n\":"}}"#,
        r#"{"index":0,"id":"c","function":{"name":"bash","arguments":"2}"}}"#,
        r#"{"index":1,"id":"c","function":{"name":"ls","arguments":"{}"}}"#,
    ]);
    insta::assert_snapshot!(answer, @r#"
    call c bash({"n":1})
    call c bash({"n":2})
    call c ls({})
    finished tool-calls
    "#);
}

#[test]
fn an_error_that_passes_cuts_an_answer_off_of_which_something_arrived() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let started = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"half"}}"#;
    let usage = r#"{"type":"message_start","message":{"usage":{"input_tokens":3}}}"#;
    let last = |answer: String| answer.lines().nth_back(0).unwrap_or_default().to_owned();
    let cut = "incomplete-stream: the answer broke off: the provider failed: Overloaded";
    assert_eq!(last(messages(&[usage, started, overloaded])), cut);
    assert_eq!(last(messages(&[usage, overloaded])), "provider-internal: the provider failed: Overloaded");

    let text = r#"{"choices":[{"delta":{"content":"half"}}]}"#;
    let limited = r#"{"error":{"code":429,"message":"Slow down"}}"#;
    let cut = "incomplete-stream: the answer broke off: too many requests: Slow down";
    assert_eq!(last(chat(&[text, limited])), cut);
    assert_eq!(last(chat(&[limited])), "rate-limit: too many requests: Slow down");

    let piece = r#"{"type":"response.output_text.delta","output_index":0,"delta":"half"}"#;
    let failed =
        |code| format!(r#"{{"type":"response.failed","response":{{"error":{{"code":"{code}","message":"Sorry"}}}}}}"#);
    let cut = "incomplete-stream: the answer broke off: the provider failed: Sorry";
    assert_eq!(last(responses(&[piece, &failed("server_error")])), cut);
    let refused = "overflow: the request exceeds the model's context: Sorry";
    assert_eq!(last(responses(&[piece, &failed("context_length_exceeded")])), refused);
}
