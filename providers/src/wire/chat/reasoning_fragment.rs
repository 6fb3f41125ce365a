//! What must be known to send reasoning back where it came from: the field that it came in, and the details that a
//! router adds to it.

use crate::provider::ProviderError;
use crate::wire::decode::read;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The native side of one fragment of reasoning.
#[derive(Default)]
pub(super) struct ReasoningFragment {
    /// Whether it came in `reasoning`, and not in `reasoning_content`.
    pub(super) short: bool,
    pub(super) text: String,
    details: Vec<ReasoningDetail>,
    /// Bytes of the details as they came.
    held: usize,
}

/// One detail, put together from its pieces.
enum ReasoningDetail {
    /// As it came.
    Whole(String),
    /// A text or a summary, which comes in pieces.
    Pieces { field: &'static str, text: String, fields: Map<String, Value> },
}

#[derive(Deserialize)]
struct DetailHeader {
    #[serde(rename = "type", default)]
    kind: Option<String>,
}

impl ReasoningFragment {
    /// Takes in a detail; gives whether it says something of its own, which the text of the fragment does not.
    ///
    /// # Errors
    /// If it is not a JSON object.
    pub(super) fn take(&mut self, detail: &RawValue) -> Result<bool, ProviderError> {
        let DetailHeader { kind } = read(detail.get())?;
        let field = match kind.as_deref() {
            Some("reasoning.text") => "text",
            Some("reasoning.summary") => "summary",
            Some("reasoning.encrypted") => {
                self.held += detail.get().len();
                self.details.push(ReasoningDetail::Whole(detail.get().to_owned()));
                return Ok(true);
            }
            // What later versions add.
            _ => return Ok(false),
        };
        self.held += detail.get().len();
        let mut fields: Map<String, Value> = read(detail.get())?;
        let piece = match fields.remove(field) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        fields.retain(|_, value| !value.is_null());
        let signed = fields.contains_key("signature");
        match self.details.last_mut() {
            Some(ReasoningDetail::Pieces { field: known, text, fields: all })
                if *known == field && all.get("index") == fields.get("index") && !all.contains_key("signature") =>
            {
                text.push_str(&piece);
                all.extend(fields);
            }
            _ => self.details.push(ReasoningDetail::Pieces { field, text: piece, fields }),
        }
        Ok(signed)
    }

    /// Bytes of the details so far.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// The native metadata of the fragment; `None` when it needs none. A provider needs all details back
    /// that came with a signed or encrypted one, in their order and unaltered.
    pub(super) fn metadata(self) -> Option<String> {
        let is_proof = |detail: &ReasoningDetail| match detail {
            ReasoningDetail::Whole(_) => true,
            ReasoningDetail::Pieces { fields, .. } => fields.contains_key("signature"),
        };
        let details = if self.details.iter().any(is_proof) { self.details } else { Vec::new() };
        if !self.short && details.is_empty() {
            return None;
        }
        let field = if self.short { "reasoning" } else { "reasoning_content" };
        let alone =
            details.iter().filter(|detail| matches!(detail, ReasoningDetail::Pieces { field: "text", .. })).count()
                == 1;
        let details: Vec<String> = details
            .into_iter()
            .map(|detail| match detail {
                ReasoningDetail::Whole(raw) => raw,
                ReasoningDetail::Pieces { field, text, mut fields } => {
                    // What the fragment says itself is not said twice.
                    if !(alone && field == "text" && text == self.text) {
                        fields.insert(field.to_owned(), text.into());
                    }
                    Value::Object(fields).to_string()
                }
            })
            .collect();
        Some(format!(r#"{{"field":"{field}","reasoning_details":[{}]}}"#, details.join(",")))
    }
}

/// A detail as it goes back: with the text of its fragment, where that was left out.
pub(super) fn returned(detail: &RawValue, text: &str) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    struct StoredDetail<'a> {
        #[serde(rename = "type", default)]
        kind: Option<String>,
        #[serde(borrow, default)]
        text: Option<&'a RawValue>,
    }
    let left: StoredDetail<'_> = serde_json::from_str(detail.get()).ok()?;
    if left.kind.as_deref() != Some("reasoning.text") || left.text.is_some() {
        return None;
    }
    let fields = detail.get().trim_end().strip_suffix('}')?;
    RawValue::from_string(format!(r#"{fields},"text":{}}}"#, Value::from(text))).ok()
}
