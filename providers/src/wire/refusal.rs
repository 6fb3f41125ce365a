//! What an error means: statuses, words and bodies (`docs/reference/wire.md#errors`).

use super::Protocol;
use crate::provider::{ProviderError, ProviderErrorKind};
use serde_json::Value;

/// How much of a body is looked at, and the longest one that joins the message, in characters.
const LOOKED_AT: usize = 16_384;
const JOINED: usize = 500;

/// The longest wait that a provider may ask for, in milliseconds.
const LONGEST_WAIT_MS: u64 = 15 * 60 * 1_000;

/// What a response says about another attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryAdvice {
    /// How long to wait, in milliseconds: `retry-after-ms`, otherwise `retry-after`.
    pub after_ms: Option<u64>,
    /// Whether to try at all: `x-should-retry`.
    pub retry: Option<bool>,
}

/// What a response other than an answer means for the turn. The caller replaces secrets.
pub fn refusal(protocol: Protocol, status: u16, advice: RetryAdvice, body: &str) -> ProviderError {
    let body: String = body.chars().take(LOOKED_AT).collect();
    let kind = advised(of_status(status, advice, &body.to_lowercase()), advice);
    let headline = format!("{protocol}: {} (HTTP {status})", headline(kind));
    let message = match body_message(&body) {
        Some(detail) => format!("{headline}: {detail}"),
        None => headline,
    };
    ProviderError { kind, status: Some(status), retry_after_ms: advice.after_ms, message }
}

/// An error inside an answer, by its words.
pub(super) fn in_stream(words: &[&str], message: &str) -> ProviderError {
    let status: Option<u16> =
        words.iter().find_map(|word| word.parse().ok()).filter(|status| (400..600).contains(status));
    let all = format!("{} {message}", words.join(" ")).to_lowercase();
    let kind = of_words(&all).unwrap_or_else(|| {
        status.map_or(ProviderErrorKind::ProviderInternal, |status| of_status(status, RetryAdvice::default(), &all))
    });
    let detail = match (message.trim(), words.iter().find(|word| !word.is_empty())) {
        ("", None) => String::new(),
        ("", Some(word)) => format!(": {word}"),
        (detail, _) => format!(": {}", cut(detail)),
    };
    ProviderError { kind, status, retry_after_ms: None, message: format!("{}{detail}", headline(kind)) }
}

fn of_status(status: u16, advice: RetryAdvice, body: &str) -> ProviderErrorKind {
    use ProviderErrorKind::{
        Authentication, ContentFilter, InvalidRequest, Overflow, ProviderInternal, Quota, RateLimit,
    };
    if is_filtered(body) {
        return ContentFilter;
    }
    match status {
        402 => Quota,
        401 | 403 if is_quota(body) => Quota,
        401 | 403 => Authentication,
        429 if is_quota(body) && advice.after_ms.is_none_or(|wait| wait > LONGEST_WAIT_MS) => Quota,
        // Anthropic refuses an empty account with 400.
        400 if is_quota(body) => Quota,
        429 => RateLimit,
        400 | 413 if body.trim().is_empty() => Overflow,
        _ if is_overflow(body) => Overflow,
        400 if is_passing(body) => RateLimit,
        408 | 425 => ProviderInternal,
        500.. => ProviderInternal,
        _ => InvalidRequest,
    }
}

/// A provider that says whether to try again is believed.
fn advised(kind: ProviderErrorKind, advice: RetryAdvice) -> ProviderErrorKind {
    use ProviderErrorKind::{InvalidRequest, ProviderInternal, RateLimit};
    match (kind, advice.retry) {
        (RateLimit | ProviderInternal, Some(false)) => InvalidRequest,
        (InvalidRequest, Some(true)) => ProviderInternal,
        (kind, _) => kind,
    }
}

/// The kind of the words that the three protocols have for errors.
fn of_words(all: &str) -> Option<ProviderErrorKind> {
    use ProviderErrorKind::{
        Authentication, ContentFilter, InvalidRequest, Overflow, ProviderInternal, Quota, RateLimit,
    };
    let has = |words: &[&str]| words.iter().any(|word| all.contains(word));
    if is_filtered(all) {
        Some(ContentFilter)
    } else if is_quota(all) || has(&["billing_error"]) {
        Some(Quota)
    } else if has(&["authentication_error", "permission_error", "invalid_api_key"]) {
        Some(Authentication)
    } else if has(&["rate_limit", "rate limit", "too many requests"]) {
        Some(RateLimit)
    } else if is_overflow(all) {
        Some(Overflow)
    } else if has(&["overloaded", "api_error", "server_error", "timeout_error", "internal_error"]) {
        Some(ProviderInternal)
    } else if has(&["invalid_request", "not_found_error", "invalid_prompt", "invalid_image", "unsupported"]) {
        Some(InvalidRequest)
    } else {
        None
    }
}

fn is_filtered(text: &str) -> bool {
    [
        "content_policy",
        "content policy",
        "content_filter",
        "content filter",
        "content management policy",
        "safety_violation",
    ]
    .iter()
    .any(|word| text.contains(word))
}

fn is_quota(text: &str) -> bool {
    [
        "insufficient_quota",
        "exceeded your current quota",
        "quota exceeded",
        "quota_exceeded",
        "credit balance is too low",
        "insufficient credits",
        "usage_limit_reached",
    ]
    .iter()
    .any(|word| text.contains(word))
}

/// Whether a message says that the provider is busy (`docs/reference/wire.md#errors`).
fn is_passing(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("throttling error:")
        || text.starts_with("service unavailable:")
        || text.contains("rate limit")
        || text.contains("too many requests")
}

/// Whether words say that the request exceeds the model's context (`docs/reference/wire.md#errors`).
fn is_overflow(text: &str) -> bool {
    let words = [
        "prompt is too long",
        "request_too_large",
        "exceeds the context window",
        "maximum context length is",
        "context_length_exceeded",
        "too many tokens",
        "token limit exceeded",
        "request entity too large",
        // Anthropic, where the room for the answer counts.
        "exceed context limit",
        // vLLM, Ollama, LM Studio.
        "longer than the maximum model length",
        "model's context length is only",
        "exceeded max context length",
        "context length of only",
        // llama.cpp, and servers that lean on it.
        "exceed_context_size",
        "exceeds the available context size",
        // xAI, Groq, Moonshot, Google, Mistral and others behind OpenRouter.
        "exceeds the maximum number of tokens",
        "too large for model with",
        "maximum prompt length is",
        "reduce the length of the messages",
        "exceeded model token limit",
        "input is too long",
    ];
    !is_passing(text) && words.iter().any(|word| text.contains(word))
}

const fn headline(kind: ProviderErrorKind) -> &'static str {
    match kind {
        ProviderErrorKind::RateLimit => "too many requests",
        ProviderErrorKind::ProviderInternal => "the provider failed",
        ProviderErrorKind::Transport => "the connection failed",
        ProviderErrorKind::Overflow => "the request exceeds the model's context",
        ProviderErrorKind::InvalidRequest => "the provider refused the request",
        ProviderErrorKind::Authentication => "the key is missing or wrong, or does not allow this",
        ProviderErrorKind::Quota => "the account's quota or credit is used up",
        ProviderErrorKind::ContentFilter => "a content filter refused the request",
        ProviderErrorKind::IncompleteStream => "the answer broke off",
        ProviderErrorKind::Violation => "the answer is not what the protocol allows",
    }
}

/// What a body says, if it is short: its own message where it has one, otherwise all of it.
fn body_message(body: &str) -> Option<String> {
    let body = body.trim();
    let own = serde_json::from_str(body).ok().and_then(|value: Value| {
        let detail = own(&value)?.to_owned();
        Some(cut(&value.get("error").map_or(detail.clone(), |error| behind(detail, error))))
    });
    own.or_else(|| (!body.is_empty() && body.chars().count() <= JOINED).then(|| body.to_owned()))
}

/// The message of an error, where providers put it.
fn own(error: &Value) -> Option<&str> {
    let places = ["/error/message", "/message", "/error", "/detail", "/0/error/message"];
    places.iter().find_map(|place| error.pointer(place).and_then(Value::as_str))
}

/// A router's message with what the provider behind it said, which OpenRouter passes on in `metadata`.
pub(super) fn behind(message: String, error: &Value) -> String {
    let detail = match error.pointer("/metadata/raw") {
        None | Some(Value::Null) => return message,
        Some(Value::String(raw)) => match serde_json::from_str::<Value>(raw) {
            Ok(inner) => own(&inner).unwrap_or(raw).to_owned(),
            Err(_) => raw.clone(),
        },
        Some(inner) => own(inner).map_or_else(|| inner.to_string(), str::to_owned),
    };
    let name = error.pointer("/metadata/provider_name").and_then(Value::as_str);
    let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
    if detail.trim().is_empty() || message.contains(detail.trim()) {
        message
    } else {
        format!("{message}{name}: {detail}")
    }
}

fn cut(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(JOINED) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
