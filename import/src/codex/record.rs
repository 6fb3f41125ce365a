//! A line of a rollout. Since September 2025 it is `{timestamp, type, payload}`; before, it was the payload alone.

use crate::foreign::{JsonObject, Notes};

/// A line.
pub struct RolloutRecord<'a> {
    /// Its type.
    pub kind: String,
    /// Its time (ms).
    pub at: Option<u64>,
    /// Its place in its thread.
    pub ordinal: Option<u64>,
    /// What it says.
    pub payload: JsonObject<'a>,
}

impl<'a> RolloutRecord<'a> {
    /// Reads a line; `None` for any other line.
    pub fn parse(text: &'a str, notes: &'a Notes) -> Option<Self> {
        let object = JsonObject::parse(text, "line", notes).ok()?;
        object.skip(&["metadata"]);
        let (at, ordinal) = (object.moment("timestamp"), object.number("ordinal"));
        let (kind, mut payload) = match (object.object("payload"), object.text("type")) {
            (Some(payload), kind) => (kind.unwrap_or_default(), payload),
            (None, kind) => {
                object.skip_all();
                let kind = match kind {
                    Some(_) => "response_item",
                    None if object.has("record_type") => "state",
                    None if object.has("id") && object.has("timestamp") => "session_meta",
                    None => return None,
                };
                (kind.to_owned(), JsonObject::parse(text, "line", notes).ok()?)
            }
        };
        payload.rename(kind.clone());
        Some(Self { kind, at, ordinal, payload })
    }
}

/// Whether a line is the first one of a rollout from before September 2025.
pub fn is_bare_header(object: &JsonObject<'_>) -> bool {
    let has = |name: &str| object.names().any(|it| it == name);
    let is_id = object.text("id").is_some_and(|id| id.len() == 36);
    !has("type") && is_id && object.moment("timestamp").is_some() && (has("instructions") || has("git"))
}
