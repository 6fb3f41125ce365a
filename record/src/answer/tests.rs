use super::*;

const STREAM: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n\
    event: content_block_start\r\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\r\n\r\n\
    event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n";
const END: &str = "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
    data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\n\
    data: {\"type\":\"message_stop\"}\n\n";

fn captured(status: Option<u16>, media: &str) -> CapturedAnswer {
    let (queue, _) = crate::capture::CaptureQueue::new();
    CapturedAnswer {
        id: 0,
        at: annals_core::Time(0),
        status,
        media: Some(media.to_owned()),
        request_id: None,
        coding: None,
        body: queue.body(),
        complete: true,
        fault: None,
        first_byte_ms: None,
        duration_ms: 0,
    }
}

fn of(protocol: Protocol, media: &str, body: &str) -> DecodedAnswer {
    answer(RecordedProtocol::Spoken(protocol), &captured(Some(200), media), body, true)
}

fn read(status: u16, media: &str, body: &str, complete: bool) -> DecodedAnswer {
    answer(RecordedProtocol::Spoken(Protocol::AnthropicMessages), &captured(Some(status), media), body, complete)
}

#[test]
fn single_bodies_of_every_protocol_are_read() {
    let chat = json!({"choices": [{"message": {"content": "Hi", "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3}});
    let said = of(Protocol::OpenAiChat, "application/json", &chat.to_string());
    assert_eq!(
        (said.items.len(), said.finish, said.usage.map(|usage| usage.input)),
        (2, Some(Finish::ToolCalls), Some(9))
    );
    let response = json!({"status": "completed", "usage": {"input_tokens": 9, "output_tokens": 3}, "output": [
        {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
        {"type": "custom_tool_call", "id": "x", "call_id": "c", "name": "apply_patch", "input": "*** Begin"}]});
    let said = of(Protocol::OpenAiResponses, "application/json", &response.to_string());
    let patch = WireItem::Call {
        id: "c".into(),
        name: "apply_patch".into(),
        input: "*** Begin".into(),
        hosted: false,
        metadata: None,
    };
    assert_eq!((said.items, said.finish), (vec![WireItem::Text("Hi".into()), patch], Some(Finish::ToolCalls)));
}

#[test]
fn a_stream_and_a_single_body_say_the_same() {
    let streamed = read(200, "text/event-stream; charset=utf-8", &format!("{STREAM}{END}"), true);
    assert_eq!(streamed.items, [WireItem::Text("Hi".into())]);
    assert_eq!(streamed.finish, Some(Finish::Stop));
    assert_eq!(streamed.usage.map(|usage| (usage.input, usage.output)), Some((9, 3)));
    let body = json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi"}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 3}});
    assert_eq!(read(200, "application/json", &body.to_string(), true), streamed);
}

#[test]
fn what_arrived_of_an_answer_that_broke_off_is_kept() {
    let aborted = read(200, "text/event-stream", STREAM, false);
    assert_eq!(aborted.items, [WireItem::Text("Hi".into())]);
    assert_eq!(aborted.error.map(|error| error.kind), Some("interrupted".to_owned()));
}

#[test]
fn a_refusal_says_why() {
    let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#;
    let refused = read(429, "application/json", body, true).error.unwrap();
    assert_eq!((refused.kind.as_str(), refused.status), ("rate-limit", Some(429)));
    let unreachable = answer(RecordedProtocol::Gemini, &captured(None, ""), "", false);
    assert_eq!(unreachable.error.map(|error| error.kind), Some("transport".to_owned()));
}
