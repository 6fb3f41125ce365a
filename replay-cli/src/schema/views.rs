//! The schemas of views (scenarios/FORMAT.md, "Views").

use serde_json::{Value, json};

/// Every view that has a schema.
pub const NAMES: &[&str] =
    &["session", "history", "transcript", "baseline", "snapshot", "pending", "epochs", "requests", "usage", "events"];

/// The schema of a view; `None` when there is no such view.
pub fn view(name: &str) -> Option<Value> {
    Some(match name {
        "session" => session(),
        "history" => list(message()),
        "transcript" => list(message()),
        "baseline" => nullable(baseline()),
        "snapshot" => json!({"type": "object", "additionalProperties": object(
            &[("value", json!(true))], &[("removed", text())],
        )}),
        "pending" => list(object(
            &[("id", text()), ("text", text()), ("delivery", words(&["steer", "queue"]))],
            &[("attachments", list(attachment()))],
        )),
        "epochs" => list(object(&[("epoch", whole()), ("seq", whole()), ("cause", cause())], &[])),
        "requests" => list(request()),
        "usage" => object(
            &["input", "output", "reasoning", "cache_read", "cache_write", "cost", "unpriced"]
                .map(|name| (name, whole())),
            &[],
        ),
        "events" => super::events(),
        _ => return None,
    })
}

fn text() -> Value {
    json!({"type": "string"})
}

fn whole() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn boolean() -> Value {
    json!({"type": "boolean"})
}

fn words(words: &[&str]) -> Value {
    json!({"enum": words})
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn nullable(schema: Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

/// An object with these fields, and perhaps with those; nothing else.
fn object(required: &[(&str, Value)], optional: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = required.iter().map(|(name, _)| *name).collect();
    let fields = required.iter().chain(optional).map(|(name, schema)| ((*name).to_owned(), schema.clone()));
    let properties: serde_json::Map<String, Value> = fields.collect();
    json!({"type": "object", "additionalProperties": false, "required": names, "properties": properties})
}

fn cause() -> Value {
    words(&["first-turn", "reverted", "moved", "compaction", "agent-switched", "model-switched", "incompatible"])
}

fn digest() -> Value {
    json!({"type": "string", "pattern": "^[0-9a-f]{64}$"})
}

fn attachment() -> Value {
    object(&[("mime", text()), ("name", nullable(text())), ("uri", text())], &[])
}

fn usage() -> Value {
    object(&["input", "output", "reasoning", "cache_read", "cache_write"].map(|name| (name, whole())), &[])
}

fn session() -> Value {
    let revert = object(
        &[("first_removed", whole()), ("files", list(json!({"type": "object"}))), ("diff", nullable(text()))],
        &[],
    );
    let any = || nullable(json!({"type": "object"}));
    object(
        &[
            ("id", nullable(text())),
            ("agent", text()),
            ("model", text()),
            ("location", nullable(text())),
            ("title", nullable(text())),
            ("status", words(&["idle", "running"])),
            ("revert", nullable(revert)),
            ("parent", any()),
            ("origin", any()),
            ("fork", any()),
            ("created", whole()),
            ("updated", whole()),
            ("next", whole()),
            ("children", list(json!({"type": "object"}))),
            ("todos", list(json!({"type": "object"}))),
        ],
        &[],
    )
}

fn baseline() -> Value {
    let part = object(&[("key", text()), ("text", text())], &[]);
    let blocked = object(&[("seq", whole()), ("cause", cause()), ("keys", list(text()))], &[]);
    object(
        &[
            ("epoch", whole()),
            ("seq", whole()),
            ("cause", cause()),
            ("agent", text()),
            ("location", text()),
            ("text", text()),
            ("parts", list(part)),
        ],
        &[("known", boolean()), ("blocked", blocked)],
    )
}

/// A message of some type, with its place and time; `pinned` and `reverted` are set where they hold.
fn typed(name: &str, fields: &[(&str, Value)], optional: &[(&str, Value)]) -> Value {
    let mut required = vec![("type", json!({"const": name})), ("seq", whole()), ("at", whole())];
    required.extend(fields.iter().cloned());
    let mut further = vec![("pinned", json!({"const": true})), ("reverted", json!({"const": true}))];
    further.extend(optional.iter().cloned());
    object(&required, &further)
}

fn message() -> Value {
    let attachments = [("attachments", list(attachment()))];
    let failure = object(&[("kind", text()), ("message", text()), ("status", nullable(whole()))], &[]);
    let finish = words(&["stop", "tool-calls", "length", "content-filter", "error", "other", "paused"]);
    json!({"oneOf": [
        typed("user", &[("id", text()), ("text", text())], &attachments),
        typed("assistant", &[
            ("agent", text()), ("model", text()), ("content", list(content())), ("finish", nullable(finish)),
            ("usage", nullable(usage())), ("cost", whole()), ("error", nullable(failure)),
        ], &[]),
        typed("system", &[("text", text()), ("keys", list(text()))], &[]),
        typed("synthetic", &[("text", text())], &[]),
        typed("shell", &[
            ("command", text()), ("output", text()), ("exit", nullable(json!({"type": "integer"}))),
        ], &[]),
        typed("compaction", &[
            ("reason", words(&["auto", "manual", "overflow"])), ("summary", text()), ("recent", text()),
        ], &[]),
        typed("agent-switched", &[("agent", text())], &[]),
        typed("model-switched", &[("model", text())], &[]),
    ]})
}

fn content() -> Value {
    let piece = |name: &str| object(&[("type", json!({"const": name})), ("text", text())], &[]);
    let set = || json!({"const": true});
    let tool = object(
        &[
            ("type", json!({"const": "tool"})),
            ("call", text()),
            ("name", text()),
            ("input", json!(true)),
            ("status", words(&["pending", "running", "completed", "error"])),
            ("output", text()),
            ("structured", json!(true)),
            ("paths", list(text())),
            ("truncated", boolean()),
            ("error", nullable(text())),
        ],
        &[("lossy", set()), ("hosted", set()), ("pruned", set()), ("attachments", list(attachment()))],
    );
    json!({"oneOf": [piece("text"), piece("reasoning"), tool]})
}

fn request() -> Value {
    let call = object(&[("id", text()), ("tool", text()), ("input", json!(true))], &[]);
    let result = object(
        &[("id", text())],
        &[("output", text()), ("error", text()), ("hosted", json!(true)), ("attachments", list(json!(true)))],
    );
    let message = object(
        &[("role", words(&["user", "assistant", "system", "tool"]))],
        &[
            ("text", text()),
            ("calls", list(call)),
            ("results", list(result)),
            ("attachments", list(json!({"type": "object"}))),
        ],
    );
    object(
        &[
            ("agent", text()),
            ("model", text()),
            ("system", list(text())),
            ("messages", list(message)),
            ("tools", list(text())),
            ("tool_choice", words(&["auto", "none"])),
            ("digest", digest()),
        ],
        &[],
    )
}
