//! What the headers of a request say: which session of the agent it belongs to, what must not be written, what is passed on.

use annals_core::event::CompactionReason;
use hyper::header::{self, HeaderMap, HeaderName};
use serde_json::Value;

/// Headers whose values are credentials.
const CREDENTIALS: [&str; 8] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "cookie",
    "chatgpt-account-id",
    "x-amz-security-token",
];

/// Parameters of a query whose values are credentials.
const SECRET_PARAMETERS: [&str; 8] =
    ["key", "api_key", "api-key", "apikey", "access_token", "token", "auth", "subscription-key"];

/// Headers of one connection, which are not passed on.
const CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    header::HOST,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The ids that an agent gives its own conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct AgentIds {
    /// The agent's session.
    pub(crate) session: Option<String>,
    /// The subagent in it; `None` for the main conversation.
    pub(crate) agent: Option<String>,
    /// The subagent that started this one.
    pub(crate) parent: Option<String>,
}

impl AgentIds {
    /// The ids in the headers of Claude Code, Codex and OpenCode.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let value = |names: &[&str]| {
            let found = names.iter().find_map(|name| headers.get(*name)?.to_str().ok());
            found.map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned)
        };
        let session =
            value(&["x-claude-code-session-id", "session-id", "session_id", "x-session-id", "x-session-affinity"]);
        // A conversation of Codex has an id of its own; the main one's is that of the session.
        let thread = value(&["thread-id"]).filter(|thread| Some(thread) != session.as_ref());
        let agent = value(&["x-claude-code-agent-id"]).or(thread);
        Self {
            session,
            agent,
            parent: value(&["x-claude-code-parent-agent-id", "x-codex-parent-thread-id", "x-parent-session-id"]),
        }
    }
}

/// The agent that a request is of, by what it says of itself; `None` for one that is not known.
pub(crate) fn agent(headers: &HeaderMap) -> Option<&'static str> {
    let program = text(headers, header::USER_AGENT).unwrap_or_default();
    let starts = [
        ("claude-cli/", "claude-code"),
        ("codex", "codex"),
        ("opencode/", "opencode"),
        ("GeminiCLI", "gemini"),
        ("QwenCode/", "qwen"),
    ];
    starts.into_iter().find(|(start, _)| program.starts_with(start)).map(|(_, agent)| agent)
}

/// Who asked for the summary of its conversation that a request is for, as Codex says it; `None` for other requests.
pub(crate) fn compaction(headers: &HeaderMap) -> Option<CompactionReason> {
    let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let metadata: Value = serde_json::from_str(value("x-codex-turn-metadata")).unwrap_or_default();
    let is_compaction = metadata["request_kind"] == "compaction" || value("x-openai-subagent") == "compact";
    is_compaction.then(|| match metadata["compaction"]["trigger"].as_str() {
        Some("manual") => CompactionReason::Manual,
        Some("auto") => CompactionReason::Auto,
        _ => CompactionReason::Unknown,
    })
}

/// The values that must never be written, without words such as `Bearer`.
pub(crate) fn secrets(headers: &HeaderMap, query: Option<&str>) -> Vec<String> {
    let values = CREDENTIALS.iter().flat_map(|name| headers.get_all(*name)).filter_map(|value| value.to_str().ok());
    let words = values.flat_map(|value| value.split([' ', ';', ','])).map(|word| match word.split_once('=') {
        Some((_, value)) if !value.trim_matches('=').is_empty() => value,
        _ => word,
    });
    let parameters = query.unwrap_or_default().split('&').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        is_secret_parameter(name).then_some(value)
    });
    words.chain(parameters).map(str::trim).filter(|word| word.len() >= 8).map(str::to_owned).collect()
}

/// A path and its query without credentials.
pub(crate) fn target(path: &str, query: Option<&str>) -> String {
    let Some(query) = query else { return path.to_owned() };
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_secret_parameter(name) => format!("{name}=[redacted]"),
        _ => pair.to_owned(),
    });
    format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"))
}

fn is_secret_parameter(name: &str) -> bool {
    SECRET_PARAMETERS.iter().any(|secret| name.eq_ignore_ascii_case(secret))
}

/// The headers that are passed on: all but those of the connection.
pub(crate) fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<&str> = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok()).collect();
    let named: Vec<String> =
        named.iter().flat_map(|value| value.split(',')).map(|name| name.trim().to_ascii_lowercase()).collect();
    let mut passed = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let ends_here = CONNECTION.contains(name)
            || ["keep-alive", "proxy-connection"].contains(&name.as_str())
            || named.iter().any(|other| other == name.as_str());
        if !ends_here {
            passed.append(name.clone(), value.clone());
        }
    }
    passed
}

/// Whether a request asks for a WebSocket.
pub(crate) fn asks_for_websocket(headers: &HeaderMap) -> bool {
    let upgrade = headers.get(header::UPGRADE).and_then(|value| value.to_str().ok());
    upgrade.is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
}

/// Whether a page in a browser asks. Programs send neither header.
pub(crate) fn is_of_a_page(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site")
}

/// A header as text.
pub(crate) fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn conversations_are_known_by_the_ids_of_their_agents() {
        let claude = headers(&[("x-claude-code-session-id", "s"), ("x-claude-code-agent-id", "a")]);
        assert_eq!(
            AgentIds::of(&claude),
            AgentIds { session: Some("s".into()), agent: Some("a".into()), parent: None }
        );
        let codex = headers(&[("session-id", "s"), ("thread-id", "s")]);
        assert_eq!(AgentIds::of(&codex), AgentIds { session: Some("s".into()), ..AgentIds::default() });
        assert_eq!(AgentIds::of(&headers(&[])), AgentIds::default());
    }

    #[test]
    fn codex_says_who_asked_for_a_compaction() {
        let asked = |metadata| compaction(&headers(&[("x-codex-turn-metadata", metadata)]));
        let manual = r#"{"request_kind":"compaction","compaction":{"trigger":"manual","reason":"user_requested"}}"#;
        assert_eq!(asked(manual), Some(CompactionReason::Manual));
        let auto = r#"{"request_kind":"compaction","compaction":{"trigger":"auto","reason":"context_limit"}}"#;
        assert_eq!(asked(auto), Some(CompactionReason::Auto));
        assert_eq!(asked(r#"{"request_kind":"compaction"}"#), Some(CompactionReason::Unknown));
        assert_eq!(asked(r#"{"request_kind":"turn"}"#), None);
        assert_eq!(compaction(&headers(&[("x-openai-subagent", "compact")])), Some(CompactionReason::Unknown));
    }

    #[test]
    fn credentials_are_found_and_left_out() {
        let sent = headers(&[
            ("authorization", "Bearer sk-12345678"),
            ("cookie", "a=cookie-one; b=2"),
            ("x-api-key", "key-123456"),
        ]);
        let mut found = secrets(&sent, Some("alt=sse&key=query-key-1"));
        found.sort();
        assert_eq!(found, ["cookie-one", "key-123456", "query-key-1", "sk-12345678"]);
        assert_eq!(
            target("/v1/x", Some("alt=sse&key=secret&KEY=other")),
            "/v1/x?alt=sse&key=[redacted]&KEY=[redacted]"
        );
        assert_eq!(target("/v1/x", None), "/v1/x");
    }

    #[test]
    fn headers_of_the_connection_are_not_passed_on() {
        let sent = headers(&[("host", "h"), ("connection", "close, x-own"), ("x-own", "1"), ("accept", "*/*")]);
        assert_eq!(passed_on(&sent), headers(&[("accept", "*/*")]));
    }
}
