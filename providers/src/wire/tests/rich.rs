//! A request with everything in it.

use crate::wire::{BodyError, Protocol, encode};
use annals_core::event::{Attachment, ModelProfile, Prices, Purpose, RequestOptions, SystemMessages, ToolDefinition};
use annals_core::{CallId, Json, SessionId};
use annals_projections::{Block, Request, RequestMessage, Role, SystemText, ToolChoice, ToolResult};

pub(super) const PNG: &str = "data:image/png;base64,iVBORw0KGgo=";

pub(super) fn session() -> SessionId {
    SessionId::from_parts(1, 2)
}

pub(super) fn model(protocol: Protocol) -> ModelProfile {
    ModelProfile {
        model: "test/alpha".into(),
        id: "alpha-1".into(),
        context: 200_000,
        output: 32_000,
        system_messages: SystemMessages::Native,
        media: vec!["image/*".into(), "application/pdf".into()],
        prices: Prices::default(),
        protocol: protocol.as_str().into(),
        encoding: protocol.encoding(),
    }
}

pub(super) fn text(text: &str) -> Block {
    Block::Text { text: text.into(), metadata: None, seq: None }
}

fn noted(text: &str, metadata: &str) -> Block {
    Block::Text { text: text.into(), metadata: Some(metadata.into()), seq: None }
}

pub(super) fn attachment(mime: &str, name: Option<&str>, uri: &str) -> Attachment {
    Attachment { mime: mime.into(), name: name.map(Into::into), uri: uri.into() }
}

fn media(mime: &str, name: Option<&str>, uri: &str) -> Block {
    Block::Media { attachment: attachment(mime, name, uri), seq: None }
}

pub(super) fn call(id: &str, tool: &str, input: &str) -> Block {
    Block::Call {
        id: CallId(id.into()),
        tool: tool.into(),
        input: input.into(),
        hosted: false,
        metadata: None,
        seq: None,
    }
}

pub(super) fn hosted(id: &str, tool: &str, input: &str, metadata: Option<&str>) -> Block {
    let metadata = metadata.map(Into::into);
    Block::Call { id: CallId(id.into()), tool: tool.into(), input: input.into(), hosted: true, metadata, seq: None }
}

pub(super) fn hosted_result(id: &str, result: &str) -> Block {
    Block::HostedResult { id: CallId(id.into()), result: result.into(), seq: None }
}

pub(super) fn result(id: &str, outcome: Result<&str, &str>, attachments: Vec<Attachment>) -> Block {
    let (output, error) = match outcome {
        Ok(output) => (Some(output.into()), None),
        Err(error) => (None, Some(error.into())),
    };
    Block::Result { result: ToolResult { id: CallId(id.into()), output, error, attachments }, seq: None }
}

pub(super) fn message(role: Role, blocks: Vec<Block>) -> RequestMessage {
    RequestMessage { role, blocks }
}

/// A request of a few messages and nothing else.
pub(super) fn plain(protocol: Protocol, messages: Vec<RequestMessage>) -> Request {
    Request {
        purpose: Purpose::Turn,
        agent: "build".into(),
        model: model(protocol),
        system: Vec::new(),
        messages: messages.into_iter().collect(),
        tools: Vec::new(),
        tool_choice: ToolChoice::None,
        options: RequestOptions::default(),
    }
}

/// What an answer of each protocol leaves behind: metadata of reasoning and text, a hosted call and its result.
struct Native {
    reasoning: &'static str,
    text: &'static str,
    call: &'static str,
    result: &'static str,
}

fn native(protocol: Protocol) -> Native {
    match protocol {
        Protocol::OpenAiChat => Native {
            reasoning: r#"{"field":"reasoning","reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}"#,
            text: "{}",
            call: "{}",
            result: r#"{"hits": 2}"#,
        },
        Protocol::OpenAiResponses => Native {
            reasoning: r#"{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text", "text":"Think."}],"encrypted_content":"gAAA=="}"#,
            text: r#"{"phase":"commentary"}"#,
            call: r#"{"type":"web_search_call"}"#,
            result: r#"{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"bolts"}}"#,
        },
        Protocol::AnthropicMessages => Native {
            reasoning: r#"{"signature":"EqQB+/=="}"#,
            text: r#"{"citations":[{"type":"web_search_result_location","url":"https://example.org", "encrypted_index":"Eo8="}]}"#,
            call: r#"{"type":"server_tool_use"}"#,
            result: r#"{"type":"web_search_tool_result","tool_use_id":"ws_1","content":[{"type":"web_search_result", "page_age":null}]}"#,
        },
    }
}

/// Everything that a request can hold.
pub(super) fn rich(protocol: Protocol) -> Request {
    let native = native(protocol);
    let messages = vec![
        message(
            Role::User,
            vec![
                text("Look at these \"parts\" – ä 漢\u{1F600}\n"),
                media("image/png", Some("bolt.png"), PNG),
                media("application/pdf", Some("plan.pdf"), "data:application/pdf;base64,JVBERg=="),
                media("text/csv", Some("parts.csv"), "data:text/csv;base64,aXRlbSxuCg=="),
                media("video/mp4", Some("film.mp4"), "data:video/mp4;base64,AAAA"),
                media("image/jpeg", None, "file:///srv/photo.jpg"),
                text("\n<system-update>\nThe date is now 2026-03-19.\n</system-update>"),
            ],
        ),
        message(
            Role::Assistant,
            vec![
                Block::Reasoning { text: "Think.".into(), metadata: Some(native.reasoning.into()), seq: None },
                text("I will read both."),
                call("call_1", "read", "{ \"path\": \"a.csv\", \"offset\": 123456789012345678901234567890 }"),
                call("functions.read:1", "read", "{\"path\":\"b.csv\"}"),
            ],
        ),
        message(
            Role::Tool,
            vec![
                result("call_1", Ok("item,n\n"), vec![attachment("image/png", Some("shot.png"), PNG)]),
                result("functions.read:1", Err("no such file: b.csv"), Vec::new()),
            ],
        ),
        message(
            Role::Assistant,
            vec![
                hosted("ws_1", "web_search", r#"{"query":"bolts"}"#, Some(native.call)),
                hosted_result("ws_1", native.result),
                noted("Bolts are on shelf A1.", native.text),
                hosted("ws_9", "web_search", r#"{"query":"nuts"}"#, None),
            ],
        ),
        message(Role::Tool, vec![result("ws_9", Err("Provider did not return a tool result"), Vec::new())]),
        message(Role::User, vec![text("And now?")]),
        message(Role::System, vec![text("Answer in <one> sentence.")]),
        message(Role::Assistant, vec![call("call_3", "list files", "[1,2]")]),
        message(Role::User, vec![text("Go on.")]),
    ];
    let tool = |name: &str, schema: &str| ToolDefinition {
        name: name.into(),
        description: format!("Does {name}.").into(),
        schema: Json::received(schema),
    };

    let owned = |name: &str, value: &str| (name.to_owned(), Json::received(value));
    let mut options = RequestOptions::default();
    options.controls.extend([owned("max_tokens", "1024"), owned("temperature", "0.2"), owned("top_p", "0.95")]);
    options.options.extend([
        owned("anthropic.thinking", r#"{"budgetTokens":2048,"type":"enabled"}"#),
        owned("anthropic.cacheTtl", "3600"),
        owned("openai.reasoningEffort", "\"high\""),
        owned("openai.serviceTier", "\"flex\""),
    ]);
    options.body.extend([
        owned("seed_of_ours", "9007199254740993"),
        owned("temperature", "0.3"),
        owned("apiKey", "\"x\""),
    ]);
    let system = |text: &str| SystemText { text: text.into(), spans: Vec::new() };
    Request {
        system: vec![system("You keep the inventory."), system("Today's date: Wed Mar 18 2026")],
        tools: vec![
            tool(
                "read",
                "{\"type\": \"object\",\n \"properties\":{\"path\":{\"type\":\"string\"}},\"required\":[\"path\"]}",
            ),
            tool("bash", r#"{"type":"object","properties":{"timeout":{"maximum":1e400}}}"#),
        ],
        tool_choice: ToolChoice::Auto,
        options,
        ..plain(protocol, messages)
    }
}

/// The body of a request as text.
pub(super) fn body(request: &Request) -> Result<String, BodyError> {
    let body = encode(request, session())?;
    Ok(body.map(|body| String::from_utf8_lossy(&body.bytes).into_owned()).unwrap_or_default())
}

/// A body with a line for each field, and for each element of a list in one: no other letter differs.
pub(super) fn drawn(body: &str) -> String {
    let (mut out, mut depth, mut quoted, mut escaped) = (String::new(), 0usize, false, false);
    for letter in body.chars() {
        let inside = quoted;
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '}' | ']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if !inside && depth == 1 && letter == ']' {
            out.push('\n');
        }
        out.push(letter);
        match letter {
            '{' | '[' if !inside => {
                depth += 1;
                if depth == 1 || depth == 2 && letter == '[' {
                    out.push_str(if depth == 1 { "\n" } else { "\n  " });
                }
            }
            ',' if !inside && depth == 1 => out.push('\n'),
            ',' if !inside && depth == 2 => out.push_str("\n  "),
            _ => {}
        }
    }
    out
}
