//! What comparing the body of a request with the digest that was recorded gives.

use annals_core::canonical;
use annals_projections::MISSING_MESSAGE;
use annals_providers::wire::RequestBody;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The result for the body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wire {
    /// None is recorded: nothing was encoded for its model.
    NotRecorded,
    /// The same bytes again.
    Proved(RequestBody),
    /// A recorded body, put together from its pieces: the bytes that were sent.
    Recorded(RequestBody),
    /// A recorded body whose secrets were replaced: it is unchanged since it was recorded. No hash of the sent body is kept,
    /// since guesses of the secrets could be tested with it.
    Redacted(RequestBody),
    /// A body from the session file of an agent, and what the hashes that the agent recorded prove of it.
    Agent(RequestBody, AgentProof),
    /// This build does not know how it was encoded; another may.
    OfAnotherBuild(String),
    /// Other bytes, or none: the reason in words, and the bytes if there are any.
    Differs(String, Option<RequestBody>),
}

/// What the hashes that an agent recorded prove of a body from its session file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentProof {
    /// The whole body has the hash that was recorded.
    Whole,
    /// System prompt, tools and each message have the hashes that were recorded. Whether the hash of the whole is another one.
    Parts {
        /// A hash of the whole was recorded, and the body has another one.
        whole_differs: bool,
    },
    /// The session file does not have these parts: `message 3`, `system prompt and tools`.
    Lacks(Vec<String>),
    /// A part has another hash: the reason in words.
    Differs(String),
}

impl AgentProof {
    /// Compares a body, and the same without marks for the provider's cache, with hashes in the form `parts:HEX whole:HEX`. Those of the parts
    /// are hashed together, a line each: system prompt with tools, then the messages.
    pub(crate) fn of(body: &[u8], unmarked: &str, hashes: &str) -> Self {
        let recorded = |name: &str| hashes.split(' ').find_map(|hash| hash.strip_prefix(name)?.strip_prefix(':'));
        let whole = hex(body);
        if recorded("whole") == Some(whole.as_str()) {
            return Self::Whole;
        }
        let Ok(Value::Object(mut fields)) = serde_json::from_str::<Value>(unmarked) else {
            return Self::Differs("the body is not a JSON object".to_owned());
        };
        let messages = fields.remove("messages").unwrap_or_default();
        fields.retain(|name, _| matches!(name.as_str(), "system" | "tools"));
        let mut lacks = Vec::new();
        let shape = match fields.get("system").and_then(|system| missing(system.get(0)?)) {
            Some(hash) => {
                lacks.push("system prompt and tools".to_owned());
                hash.to_owned()
            }
            None => hex(canonical::value(&Value::Object(fields)).as_bytes()),
        };
        let mut lines = vec![shape];
        for (at, message) in messages.as_array().into_iter().flatten().enumerate() {
            match missing(message) {
                Some(hash) => {
                    lacks.push(format!("message {at}"));
                    lines.push(hash.to_owned());
                }
                None => lines.push(hex(canonical::value(message).as_bytes())),
            }
        }
        let found = hex(lines.join("\n").as_bytes());
        match recorded("parts") {
            Some(parts) if parts != found => {
                Self::Differs(format!("the agent recorded {}, rebuilt {}", short(parts), short(&found)))
            }
            _ if !lacks.is_empty() => Self::Lacks(lacks),
            Some(_) => Self::Parts { whole_differs: recorded("whole").is_some() },
            None => Self::Differs("the agent recorded no hash of it".to_owned()),
        }
    }

    /// Its name in JSON and in headers.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Whole | Self::Parts { .. } => "agent",
            Self::Lacks(_) => "agent-lacks",
            Self::Differs(_) => "differs",
        }
    }
}

/// The hash of a part that the session file does not have.
fn missing(part: &Value) -> Option<&str> {
    part.get(MISSING_MESSAGE)?.as_str()
}

fn hex(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_of_an_agent_is_proved_whole_or_by_its_parts() {
        let (shape, message) = (r#"{"system":[]}"#, r#"{"role":"user"}"#);
        let body = format!(r#"{{"messages":[{message}],"system":[]}}"#);
        let parts = |lines: [&str; 2]| hex(lines.join("\n").as_bytes());
        let of_parts = parts([&hex(shape.as_bytes()), &hex(message.as_bytes())]);
        let proof = |body: &str, hashes: &str| AgentProof::of(body.as_bytes(), body, hashes);
        let whole = hex(body.as_bytes());
        assert_eq!(proof(&body, &format!("parts:x whole:{whole}")), AgentProof::Whole);
        assert_eq!(proof(&body, &format!("parts:{of_parts}")), AgentProof::Parts { whole_differs: false });
        let differs = proof(&body, &format!("parts:{of_parts} whole:ab"));
        assert_eq!(differs, AgentProof::Parts { whole_differs: true });
        let other = proof(&body.replace("user", "system"), &format!("parts:{of_parts} whole:{whole}"));
        assert!(matches!(other, AgentProof::Differs(_)), "{other:?}");
        let lacking = body.replace(message, r#"{"annals_missing":"ab"}"#);
        let hashes = format!("parts:{}", parts([&hex(shape.as_bytes()), "ab"]));
        assert_eq!(proof(&lacking, &hashes), AgentProof::Lacks(vec!["message 0".to_owned()]));
    }
}
