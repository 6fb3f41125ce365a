//! Two requests: the first byte and part in which they differ, then how each part changed.

use super::Lines;
use crate::{AskError, IndexedRequest, Lack, SessionAt};
use annals_core::{Digest, canonical};
use annals_projections::{Block, Request, RequestMessage};
use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::BTreeSet;

/// How two requests differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestDiff {
    /// The first.
    pub a: IndexedRequest,
    /// The second.
    pub b: IndexedRequest,
    /// Where they differ first; `None` when they are equal.
    pub first: Option<First>,
    /// How many parts are equal.
    pub same: u64,
    /// Every part that differs, in order.
    pub parts: Vec<Part>,
    /// What the log lacks of either: there they cannot be compared.
    pub lacks: BTreeSet<Lack>,
}

/// The first difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct First {
    /// The part of the first request; `None` where it has ended.
    pub a: Option<String>,
    /// The part of the second request; `None` where it has ended.
    pub b: Option<String>,
    /// The byte in the part's canonical JSON, from 0.
    pub byte: u64,
    /// Bytes of equal parts before it.
    pub before: u64,
}

/// A part that is not the same in both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// Its name in the first: `system 0`, `message 3`, `tools`; `None` when it is not there.
    pub a: Option<String>,
    /// Its name in the second.
    pub b: Option<String>,
    /// What it says in the first, for reading.
    pub before: Option<String>,
    /// What it says in the second.
    pub after: Option<String>,
    /// Lines that differ.
    pub lines: Lines,
}

struct ComparedPart {
    name: String,
    /// What is sent, as JSON.
    exact: String,
    /// The same, for reading.
    text: String,
    digest: Digest,
}

/// Compares request `a` of one past with request `b` of another (or the same).
///
/// # Errors
/// When there is no such request, one cannot be rebuilt, or the log cannot be read.
pub async fn requests(past: (&SessionAt, u64), other: (&SessionAt, u64)) -> Result<RequestDiff, AskError> {
    let mut lacks = BTreeSet::new();
    let mut sides = Vec::new();
    for (past, number) in [past, other] {
        let steps = past.steps().await?;
        let count = steps.requests.len() as u64;
        let missing = AskError::NoStep { session: past.session, wanted: number, count };
        let asked = past.request(&steps.get(number).ok_or(missing)?).await?;
        lacks.extend(asked.lacks);
        sides.push((asked.step, request_parts(&asked.request)));
    }
    let (Some((b, after)), Some((a, before))) = (sides.pop(), sides.pop()) else {
        return Err(AskError::Ends { what: "two requests are compared".to_owned() });
    };
    lacks.remove(&Lack::Prices);
    let (first, same, parts) = compare_parts(&before, &after);
    Ok(RequestDiff { a, b, first, same, parts, lacks })
}

/// Where two requests differ first, and every part that differs.
pub(crate) fn compare(before: &Request, after: &Request) -> (Option<First>, Vec<Part>) {
    let (first, _, parts) = compare_parts(&request_parts(before), &request_parts(after));
    (first, parts)
}

fn compare_parts(before: &[ComparedPart], after: &[ComparedPart]) -> (Option<First>, u64, Vec<Part>) {
    let names = |parts: &[ComparedPart]| -> Vec<Digest> { parts.iter().map(|part| part.digest).collect() };
    let (mut same, mut parts) = (0, Vec::new());
    for operation in capture_diff_slices(Algorithm::Myers, &names(before), &names(after)) {
        match operation {
            DiffOp::Equal { len, .. } => same += len as u64,
            DiffOp::Delete { old_index: a, old_len: n, .. } => pair(before, a..a + n, after, 0..0, &mut parts),
            DiffOp::Insert { new_index: b, new_len: m, .. } => pair(before, 0..0, after, b..b + m, &mut parts),
            DiffOp::Replace { old_index: a, old_len: n, new_index: b, new_len: m } => {
                pair(before, a..a + n, after, b..b + m, &mut parts);
            }
        }
    }
    (first(before, after), same, parts)
}

type Range = std::ops::Range<usize>;

/// Pairs what was replaced, one by one; the rest remains single.
fn pair(before: &[ComparedPart], a: Range, after: &[ComparedPart], b: Range, out: &mut Vec<Part>) {
    let (before, after) = (before.get(a).unwrap_or_default(), after.get(b).unwrap_or_default());
    for at in 0..before.len().max(after.len()) {
        let (a, b) = (before.get(at), after.get(at));
        let text = |side: Option<&ComparedPart>| side.map(|part| part.text.clone());
        let (old, new) = (text(a), text(b));
        out.push(Part {
            a: a.map(|part| part.name.clone()),
            b: b.map(|part| part.name.clone()),
            lines: Lines::between(old.as_deref().unwrap_or_default(), new.as_deref().unwrap_or_default()),
            before: old,
            after: new,
        });
    }
}

fn first(before: &[ComparedPart], after: &[ComparedPart]) -> Option<First> {
    let same = before.iter().zip(after).take_while(|(a, b)| a.digest == b.digest).count();
    let (a, b) = (before.get(same), after.get(same));
    if a.is_none() && b.is_none() {
        return None;
    }
    let exact = |side: Option<&ComparedPart>| side.map(|part| part.exact.clone()).unwrap_or_default();
    let byte = exact(a).bytes().zip(exact(b).bytes()).take_while(|(a, b)| a == b).count() as u64;
    let equal = before.get(..same).unwrap_or_default().iter().map(|part| part.exact.len() as u64).sum();
    let name = |side: Option<&ComparedPart>| side.map(|part| part.name.clone());
    Some(First { a: name(a), b: name(b), byte, before: equal })
}

/// The parts of a request in the order in which a model reads them: what shapes it, tools, system texts, messages.
fn request_parts(request: &Request) -> Vec<ComparedPart> {
    let part = |name: String, exact: String, text: String| ComparedPart {
        name,
        digest: Digest::of(exact.as_bytes()),
        exact,
        text,
    };
    let json = |value: serde_json::Value| canonical::value(&value);
    let lines = |value: &serde_json::Value| serde_json::to_string_pretty(value).unwrap_or_default();
    let model = serde_json::json!({
        "model": request.model.model, "protocol": request.model.protocol, "encoding": request.model.encoding,
    });
    let shape = [
        ("model", model),
        ("options", serde_json::to_value(&request.options).unwrap_or_default()),
        ("tool choice", serde_json::to_value(request.tool_choice).unwrap_or_default()),
    ];
    let mut parts: Vec<ComparedPart> =
        shape.into_iter().map(|(name, value)| part(name.to_owned(), json(value.clone()), lines(&value))).collect();
    for tool in &request.tools {
        let value = serde_json::to_value(tool).unwrap_or_default();
        parts.push(part(format!("tool {}", tool.name), json(value.clone()), lines(&value)));
    }
    for (at, system) in request.system.iter().enumerate() {
        let exact = json(serde_json::Value::String(system.text.clone()));
        parts.push(part(format!("system {at}"), exact, system.text.clone()));
    }
    for (at, message) in request.messages.iter().enumerate() {
        let exact = json(serde_json::to_value(&message.message).unwrap_or_default());
        parts.push(part(format!("message {at}"), exact, text(message)));
    }
    parts
}

/// A message for reading: every block on lines of its own.
fn text(message: &RequestMessage) -> String {
    let role = serde_json::to_value(message.role).unwrap_or_default();
    let mut out = format!("{}:\n", role.as_str().unwrap_or_default());
    let mut line = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    for block in &message.blocks {
        let metadata = match block {
            Block::Text { text, metadata, .. } => {
                line(text);
                metadata
            }
            Block::Reasoning { text, metadata, .. } => {
                line(&format!("[reasoning] {text}"));
                metadata
            }
            Block::Call { id, tool, input, metadata, .. } => {
                line(&format!("[call {id}] {tool} {input}"));
                metadata
            }
            Block::Media { attachment, .. } => {
                line(&format!("[attached {} {}]", attachment.mime, attachment.name.as_deref().unwrap_or_default()));
                &None
            }
            Block::HostedResult { id, result, .. } => {
                line(&format!("[result {id}] {result}"));
                &None
            }
            Block::Result { result, .. } => {
                let (word, text) = match (&result.error, &result.output) {
                    (Some(error), _) => ("error", error.as_str()),
                    (None, output) => ("result", output.as_deref().unwrap_or_default()),
                };
                line(&format!("[{word} {}]\n{text}", result.id));
                &None
            }
        };
        if let Some(metadata) = metadata {
            line(&format!("[metadata] {metadata}"));
        }
    }
    out
}
