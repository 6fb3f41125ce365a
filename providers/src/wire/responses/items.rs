//! Items of an answer of OpenAI Responses.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// An item of the output, as far as it is read. What is absent or `null` is empty.
#[derive(Deserialize)]
pub(super) struct OutputItem {
    #[serde(rename = "type", default, deserialize_with = "or_default")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) status: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) call_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) arguments: String,
    #[serde(default)]
    pub(super) encrypted_content: Option<String>,
    #[serde(default)]
    phase: Option<String>,
    #[serde(default)]
    summary: Option<Value>,
    #[serde(default)]
    content: Option<Vec<OutputPart>>,
    /// What a search did, a program's text, and the like.
    #[serde(default)]
    action: Option<Box<RawValue>>,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    queries: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct OutputPart {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    annotations: Option<Vec<Box<RawValue>>>,
}

fn or_default<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.unwrap_or_default())
}

impl OutputItem {
    /// The texts of a message.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        let parts = self.content.iter().flatten();
        parts.filter_map(|part| part.text.clone().or_else(|| part.refusal.clone()))
    }

    /// What must be known to send a message back, and what it refers to: its phase and its annotations.
    pub(super) fn text_metadata(&self) -> Option<String> {
        let annotations = self.content.iter().flatten().flat_map(|part| part.annotations.iter().flatten());
        let annotations: Vec<&str> = annotations.map(|raw| raw.get()).collect();
        let mut fields = Vec::new();
        if let Some(phase) = &self.phase {
            fields.push(format!(r#""phase":{}"#, Value::from(phase.as_str())));
        }
        if !annotations.is_empty() {
            fields.push(format!(r#""annotations":[{}]"#, annotations.join(",")));
        }
        (!fields.is_empty()).then(|| format!("{{{}}}", fields.join(",")))
    }

    /// The text of a summary, or of reasoning that is not summarised.
    pub(super) fn summary(&self) -> String {
        let parts = self.summary.iter().filter_map(Value::as_array).flatten();
        let texts: Vec<String> = parts.filter_map(|part| Some(part.get("text")?.as_str()?.to_owned())).collect();
        if texts.is_empty() { self.texts().collect::<Vec<_>>().join("\n\n") } else { texts.join("\n\n") }
    }

    /// The input of a call that the provider executed, as JSON.
    pub(super) fn input(&self) -> String {
        match (&self.action, &self.queries, &self.code) {
            (Some(action), ..) => action.get().to_owned(),
            (None, Some(queries), _) => format!(r#"{{"queries":{}}}"#, queries.get()),
            (None, None, Some(code)) => serde_json::json!({"code": code}).to_string(),
            (None, None, None) => self.arguments.clone(),
        }
    }
}
