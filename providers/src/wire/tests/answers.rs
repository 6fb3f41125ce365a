//! Answers of each protocol, as the turn takes them in.

use crate::provider::{ProviderError, ProviderEvent};
use crate::wire::{Protocol, decoder};

/// What an event says, in a line.
pub(super) fn line(event: &ProviderEvent) -> String {
    let noted = |metadata: &Option<String>| metadata.as_ref().map(|text| format!(" {text}")).unwrap_or_default();
    match event {
        ProviderEvent::TextDelta { id, text } => format!("text {id} {text:?}"),
        ProviderEvent::TextEnded { id, metadata } => format!("text {id} ends{}", noted(metadata)),
        ProviderEvent::ReasoningDelta { id, text } => format!("reasoning {id} {text:?}"),
        ProviderEvent::ReasoningEnded { id, metadata } => format!("reasoning {id} ends{}", noted(metadata)),
        ProviderEvent::ToolInputDelta { call, name, text } => format!("input of {call} ({name}) {text:?}"),
        ProviderEvent::ToolCalled { call, name, input, hosted, metadata } => {
            let hosted = if *hosted { "hosted call" } else { "call" };
            format!("{hosted} {call} {name}({input}){}", noted(metadata))
        }
        ProviderEvent::HostedSettled { call, result, error, .. } => {
            let error = error.as_ref().map(|error| format!(" error {error}")).unwrap_or_default();
            format!("result of {call}{error} {result}")
        }
        ProviderEvent::Usage(usage) => format!(
            "usage {} {} {} {} {}",
            usage.input, usage.output, usage.reasoning, usage.cache_read, usage.cache_write
        ),
        ProviderEvent::Finished(finish) => format!("finished {finish}"),
    }
}

fn failed(error: &ProviderError) -> String {
    format!("{}: {error}", error.kind)
}

/// All that an answer gives, to its end.
fn read(protocol: Protocol, events: &[&str]) -> String {
    let mut decoder = decoder(protocol);
    let mut lines = Vec::new();
    let mut take = |taken: Result<Vec<ProviderEvent>, ProviderError>| match taken {
        Ok(events) => lines.extend(events.iter().map(line)),
        Err(error) => lines.push(failed(&error)),
    };
    events.iter().for_each(|data| take(decoder.event("", data)));
    take(decoder.end());
    lines.join("\n")
}

pub(super) fn chat(events: &[&str]) -> String {
    read(Protocol::OpenAiChat, events)
}

pub(super) fn responses(events: &[&str]) -> String {
    read(Protocol::OpenAiResponses, events)
}

pub(super) fn messages(events: &[&str]) -> String {
    read(Protocol::AnthropicMessages, events)
}

#[test]
fn chat_completions_give_reasoning_text_parallel_calls_and_usage() {
    let answer = chat(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
        r#"{"choices":[{"delta":{"reasoning":"Two"}}]}"#,
        r#"{"choices":[{"delta":{"reasoning":" files.","reasoning_details":[{"type":"reasoning.encrypted","data":"e+/","n":1e999}]}}]}"#,
        r#"{"choices":[{"delta":{"content":"Reading."}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"bash","arguments":"{\"n\":"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{ \"p\":1 }"}},{"index":1,"function":{"arguments":"123456789012345678901}"}}]}}]}"#,
        r#"{"choices":[{"index":1,"delta":{"content":"another answer"}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":30,"total_tokens":130,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":10}}}"#,
        "[DONE]",
        r#"{"choices":[{"delta":{"content":"too late"}}]}"#,
    ]);
    insta::assert_snapshot!(answer);
}

#[test]
fn compatible_servers_may_leave_out_what_openai_sends() {
    // No index, no ids, input as JSON, calls all at index 0, no `[DONE]`, `stop` for calls.
    let answer = chat(&[
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"read","arguments":{"n": 123456789012345678901}}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"ls","arguments":"{}"}},{"index":0,"id":"y","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"stop"}]}"#,
        r#"{"choices":null,"usage":{"prompt_tokens":7.0,"completion_tokens":-3,"prompt_cache_hit_tokens":9}}"#,
    ]);
    insta::assert_snapshot!(answer);
}

#[test]
fn responses_give_items_as_they_came() {
    let answer = responses(&[
        r#"{"type":"response.created","response":{"id":"r"}}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"rs","type":"reasoning","summary":[]}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"One."}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"Two."}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs","type":"reasoning", "summary":[],"encrypted_content":"gA=="}}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"id":"ws","type":"web_search_call","status":"in_progress"}}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"ws","type":"web_search_call","status":"completed","action":{"type":"search", "query":"q"}}}"#,
        r#"{"type":"response.output_item.added","output_index":2,"item":{"id":"m","type":"message"}}"#,
        r#"{"type":"response.output_text.delta","output_index":2,"content_index":0,"item_id":"changes","delta":"He"}"#,
        r#"{"type":"response.output_text.delta","output_index":2,"content_index":0,"item_id":"every time","delta":"llo"}"#,
        r#"{"type":"response.output_item.done","output_index":2,"item":{"id":"m","type":"message","phase":"final_answer","content":[{"type":"output_text","text":"Hello","annotations":[{"type":"url_citation","n":1e999}]}]}}"#,
        r#"{"type":"response.output_item.added","output_index":3,"item":{"id":"f","type":"function_call","call_id":"c","name":"read","arguments":""}}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":3,"delta":"{}"}"#,
        r#"{"type":"response.output_item.done","output_index":3,"item":{"id":"f","type":"function_call","call_id":"c","name":"read","arguments":"{}"}}"#,
        r#"{"type":"response.completed","response":{"usage":{"input_tokens":50,"input_tokens_details":{"cached_tokens":20},"output_tokens":12,"output_tokens_details":{"reasoning_tokens":8}}}}"#,
    ]);
    insta::assert_snapshot!(answer);
}

#[test]
fn responses_that_end_early_say_why() {
    let ended = |event: &str| responses(&[event]);
    let answers = [
        ended(r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#),
        ended(r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}"#),
        ended(
            r#"{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"Too long."}}}"#,
        ),
        ended(r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"Sorry."}}}"#),
        ended(r#"{"type":"error","code":"rate_limit_exceeded","message":"Slow down."}"#),
        ended(r#"{"type":"error","error":{"type":"insufficient_quota","message":"Pay."}}"#),
        ended(r#"{"type":"response.function_call_arguments.delta","output_index":3,"delta":"{}"}"#),
    ];
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn messages_give_blocks_as_they_came() {
    let answer = messages(&[
        r#"{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":90,"cache_creation_input_tokens":7,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQ"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"B=="}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking", "data":"x+/"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"query\": \"q\"}"}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"content_block_start","index":3,"content_block":{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"page_age": null, "n": 1e999}]}}"#,
        r#"{"type":"content_block_stop","index":3}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_start","index":4,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":"Hello"}}"#,
        r#"{"type":"content_block_delta","index":4,"delta":{"type":"citations_delta","citation":{"url":"u", "n":1e999}}}"#,
        r#"{"type":"content_block_stop","index":4}"#,
        r#"{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"t1","name":"read","input":{}}}"#,
        r#"{"type":"content_block_stop","index":5}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":33}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    insta::assert_snapshot!(answer);
}

#[test]
fn messages_that_fail_say_why() {
    let answers = [
        messages(&[r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#]),
        messages(&[
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#,
        ]),
        messages(&[r#"{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{}}"#]),
        messages(&[r#"{"type":"message_delta","delta":{"stop_reason":"pause_turn"}}"#, r#"{"type":"message_stop"}"#]),
        messages(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"web_search_tool_result","tool_use_id":"s","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}}"#,
        ]),
        messages(&[r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}"#]),
        messages(&[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"x"}}"#,
        ]),
    ];
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn what_is_not_the_protocol_is_an_answer_that_broke_off() {
    let answers = [
        chat(&["{"]),
        chat(&[r#"{"choices":[{"delta":{"content":"half"}}]}"#]),
        chat(&["[DONE]"]),
        chat(&[r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a"}]},"finish_reason":"stop"}]}"#]),
        chat(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"write"}}]}}]}"#,
        ]),
        chat(&[r#"{"error":{"code":502,"message":"Bad gateway"}}"#]),
        responses(&[]),
        responses(&[r#"[1]"#]),
        messages(&[]),
        messages(&["null"]),
    ];
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn a_finish_without_a_reason_is_none_yet_and_an_event_without_data_says_nothing() {
    let answer = chat(&[
        r#"{"choices":[{"delta":{"role":"assistant","content":"Hel"},"finish_reason":""}]}"#,
        "",
        r#"{"choices":[{"delta":{"content":"lo"},"finish_reason":""}]}"#,
        r#"{"choices":[{"delta":{"content":""},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ]);
    insta::assert_snapshot!(answer, @r#"
    text 0 "Hel"
    text 0 "lo"
    text 0 ends
    finished stop
    "#);
    // One that ends without ever giving a reason is not complete.
    assert!(chat(&[r#"{"choices":[{"delta":{"content":"x"},"finish_reason":""}]}"#]).contains("incomplete-stream"));
    // Nor is one that the server itself gave up.
    assert!(
        chat(&[r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"abort"}]}"#]).contains("incomplete-stream")
    );
}

#[test]
fn an_error_in_an_answer_is_told_however_a_server_lays_it_out() {
    let answers = [
        chat(&[r#"{"object":"error","message":"The engine died.","type":"InternalServerError","code":500}"#]),
        chat(&[
            r#"{"object":"error","message":"This model's maximum context length is 8 tokens.","type":"BadRequestError","code":400}"#,
        ]),
        chat(&[r#"{"error":{"code":"1302","message":"Too high a frequency."}}"#]),
    ];
    insta::assert_snapshot!(answers.join("\n"), @"
    provider-internal: the provider failed: The engine died.
    overflow: the request exceeds the model's context: This model's maximum context length is 8 tokens.
    provider-internal: the provider failed: Too high a frequency.
    ");
}

#[test]
fn what_is_held_for_the_end_of_a_block_is_counted_until_then() -> Result<(), crate::provider::ProviderError> {
    let mut decoder = crate::wire::decoder(crate::wire::Protocol::AnthropicMessages);
    let mut take = |data: &str| decoder.event("", data).map(|_| decoder.held());
    take(r#"{"type":"message_start","message":{}}"#)?;
    assert_eq!(take(r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}"#)?, 0);
    let piece = r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"12345"}}"#;
    assert_eq!((take(piece)?, take(piece)?), (5, 10));
    let call = r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"id","name":"read","input":{}}}"#;
    assert!(take(call)? >= 16);
    take(r#"{"type":"content_block_stop","index":1}"#)?;
    assert_eq!(take(r#"{"type":"content_block_stop","index":0}"#)?, 0);
    Ok(())
}
