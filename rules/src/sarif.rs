//! Findings in SARIF 2.1.0, for code scanning.

use crate::answer::{FoundByRule, RuleAudit};
use crate::monitor::RelatedFact;
use annals_core::Digest;
use serde_json::{Value, json};
use std::fmt::Write;

/// The published schema.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The findings as one run of a tool of this name and version.
///
/// A result is located in the file that its fact names, if that is in the project; else in `annals/SESSION.jsonl`, the name of an export, at
/// the line after as many lines as there are earlier events. The session, the event and the call are logical locations.
pub fn sarif(audit: &RuleAudit, tool: &str, version: &str) -> Value {
    let rules: Vec<Value> = audit
        .rules
        .iter()
        .map(|rule| {
            let help = if rule.help.is_empty() { &rule.title } else { &rule.help };
            json!({
                "id": rule.id,
                "name": rule.id,
                "shortDescription": {"text": rule.title},
                "fullDescription": {"text": help},
                "help": {"text": format!("{help}\n\n{}", rule.expression)},
                "defaultConfiguration": {"level": rule.level.name()},
                "properties": {"tags": ["agent-behaviour"]},
            })
        })
        .collect();
    let number = |id: &str| audit.rules.iter().position(|rule| rule.id == id);
    let results: Vec<Value> = audit.findings.iter().map(|found| result(found, number(&found.rule))).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": tool, "semanticVersion": version, "rules": rules}},
            "automationDetails": {"id": "annals-audit/"},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(found: &FoundByRule, rule: Option<usize>) -> Value {
    let mut text = format!("{}: {}", found.title, message(&found.fact));
    for (number, fact) in found.related.iter().enumerate() {
        let _ = write!(text, "; {} [{}]({number})", fact.name, message(fact));
    }
    if found.open {
        text.push_str("; the session has no later event that says otherwise");
    }
    let related: Vec<Value> = found
        .related
        .iter()
        .enumerate()
        .map(|(number, fact)| {
            let mut place = location(fact);
            if let Some(fields) = place.as_object_mut() {
                fields.insert("id".to_owned(), json!(number));
                fields.insert("message".to_owned(), json!({"text": message(fact)}));
            }
            place
        })
        .collect();
    // The same finding has the same print when the session has grown.
    let print = format!("{} {} {}", found.rule, found.fact.session, found.fact.seq);
    let mut result = json!({
        "ruleId": found.rule,
        "level": found.level.name(),
        "message": {"text": text},
        "locations": [location(&found.fact)],
        "partialFingerprints": {"annalsFinding/v1": Digest::of(print.as_bytes()).to_string()},
        "properties": {
            "session": found.session,
            "seq": found.fact.seq,
            "turn": found.fact.turn,
            "call": found.fact.call,
            "open": found.open,
        },
    });
    if let (Some(fields), Some(rule)) = (result.as_object_mut(), rule) {
        fields.insert("ruleIndex".to_owned(), json!(rule));
        if !related.is_empty() {
            fields.insert("relatedLocations".to_owned(), Value::Array(related));
        }
    }
    result
}

fn message(fact: &RelatedFact) -> String {
    // Brackets would be links in a message.
    let excerpt = fact.excerpt.replace(['[', ']'], "|").replace(char::is_control, " ");
    format!("event {} (turn {}) {excerpt}", fact.seq, fact.turn)
}

fn location(fact: &RelatedFact) -> Value {
    let inside = fact.path.as_deref().filter(|path| !path.starts_with(['/', '~']) && !path.contains(['\\', ':']));
    let physical = match inside {
        Some(path) => json!({
            "artifactLocation": {"uri": encoded(path), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": 1},
        }),
        None => json!({
            "artifactLocation": {"uri": format!("annals/{}.jsonl", fact.session), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": fact.seq.0 + 1},
        }),
    };
    let name = format!("{}@{}", fact.session, fact.seq);
    json!({
        "physicalLocation": physical,
        "logicalLocations": [{"name": fact.kind.name(), "fullyQualifiedName": name, "kind": "event"}],
    })
}

/// A path as a relative reference.
fn encoded(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' | b'+' | b'@' | b',' => {
                out.push(char::from(byte));
            }
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}
