//! What statuses and bodies mean (`docs/reference/wire.md#errors`).

use crate::provider::ProviderErrorKind;
use crate::wire::{Protocol, RetryAdvice, refusal};

fn line(status: u16, advice: RetryAdvice, body: &str) -> String {
    let error = refusal(Protocol::OpenAiChat, status, advice, body);
    let wait = error.retry_after_ms.map(|wait| format!(" after {wait}")).unwrap_or_default();
    format!("{}{wait} | {error}", error.kind)
}

#[test]
fn a_status_and_a_body_say_what_went_wrong() {
    let none = RetryAdvice::default();
    let wait = |after_ms| RetryAdvice { after_ms: Some(after_ms), retry: None };
    let retry = |retry| RetryAdvice { after_ms: None, retry: Some(retry) };
    let shown = [
        line(400, none, r#"{"error":{"message":"Unknown field: foo","type":"invalid_request_error"}}"#),
        line(400, none, ""),
        line(413, none, " \n"),
        line(404, none, "model not found"),
        line(422, none, r#"{"detail":"no"}"#),
        line(400, none, r#"{"error":{"message":"This model's maximum context length is 8192 tokens."}}"#),
        line(400, none, r#"{"error":{"code":"context_length_exceeded","message":"Your input is long."}}"#),
        line(
            400,
            none,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
        ),
        line(413, none, r#"{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#),
        line(500, none, "the request exceeds the available context size"),
        line(400, none, "Throttling error: too many tokens, wait"),
        line(400, none, r#"{"error":{"code":"content_policy_violation","message":"No."}}"#),
        line(401, none, r#"{"error":{"message":"Incorrect API key provided"}}"#),
        line(402, none, "pay"),
        line(403, none, ""),
        line(408, none, ""),
        line(409, none, "conflict"),
        line(409, retry(true), "conflict"),
        line(429, wait(1_500), r#"{"error":{"message":"Rate limit reached"}}"#),
        line(429, none, r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#),
        line(429, wait(60_000), r#"{"error":{"code":"insufficient_quota"}}"#),
        line(429, wait(3_600_000), r#"{"error":{"code":"insufficient_quota"}}"#),
        line(429, retry(false), "slow"),
        line(500, none, "oops"),
        line(503, none, ""),
        line(529, none, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
        line(529, retry(false), "no"),
        line(302, none, "moved"),
        line(500, none, &"<html>".repeat(100)),
        line(500, none, &format!(r#"{{"error":{{"message":"{}"}}}}"#, "long ".repeat(200))),
    ];
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_body_of_any_length_is_looked_at_only_so_far() {
    let mut body = "x".repeat(20_000);
    body.push_str("prompt is too long");
    let error = refusal(Protocol::AnthropicMessages, 400, RetryAdvice::default(), &body);
    assert_eq!(error.kind, ProviderErrorKind::InvalidRequest);
    assert!(error.message.len() < 600, "{}", error.message);
}

#[test]
fn the_words_that_servers_have_for_a_full_context_are_understood() {
    let shown = [
        "input length and `max_tokens` exceed context limit: 184915 + 20000 > 200000, decrease input length or \
         `max_tokens` and try again",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        "You passed 33000 input tokens and requested 100 output tokens. However, the model's context length is only \
         32768 tokens",
        "prompt too long; exceeded max context length by 12 tokens",
        "the model is loaded with context length of only 4096 tokens, which is not enough",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    ];
    for words in shown {
        let body = serde_json::json!({"error": {"type": "invalid_request_error", "message": words}}).to_string();
        let error = refusal(Protocol::OpenAiChat, 400, RetryAdvice::default(), &body);
        assert_eq!(error.kind, ProviderErrorKind::Overflow, "{words}");
    }
}
