//! Texts are cut for display: 50 MB are not read on a screen, and every step to another place would send them again.

use crate::operation::{AsJson, IntoAnswer};
use crate::problem::ApiProblem;
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;

/// An answer as JSON whose texts are cut after so many characters, if that was asked for.
pub struct Clipped<T> {
    /// The answer.
    pub answer: T,
    /// The most characters of a text.
    pub limit: Option<usize>,
}

impl<T: Serialize> IntoAnswer for Clipped<T> {
    fn into_answer(self) -> Result<Response, ApiProblem> {
        let Some(limit) = self.limit else { return AsJson(self.answer).into_answer() };
        let mut answer = serde_json::to_value(&self.answer).map_err(ApiProblem::unreadable)?;
        clip(&mut answer, limit);
        AsJson(answer).into_answer()
    }
}

/// No text is cut to fewer characters, so that names, ids and digests stay whole.
const LEAST: usize = 128;

/// Cuts every text that is longer than `limit` characters, at least 128; each then ends with how many were cut.
pub fn clip(value: &mut Value, limit: usize) {
    let limit = limit.max(LEAST);
    match value {
        Value::String(text) => {
            // A character has at least one byte.
            if text.len() > limit
                && let Some((end, _)) = text.char_indices().nth(limit)
            {
                let cut = text.get(end..).map_or(0, |rest| rest.chars().count());
                text.truncate(end);
                text.push_str(&format!("… [{cut} more characters]"));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| clip(item, limit)),
        Value::Object(members) => members.values_mut().for_each(|member| clip(member, limit)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::clip;
    use serde_json::json;

    #[test]
    fn long_texts_end_with_how_much_was_cut_and_others_stay() {
        let [long, fits] = [201, 200].map(|count| "ä".repeat(count));
        let mut value = json!({"a": [long, fits], "b": {"c": format!("{fits}123456"), "d": 7}});
        clip(&mut value, 200);
        let cut = |count: u32| format!("{fits}… [{count} more characters]");
        assert_eq!(value, json!({"a": [cut(1), fits], "b": {"c": cut(6), "d": 7}}));
    }

    #[test]
    fn names_ids_and_digests_are_never_cut() {
        let mut value = json!({"kind": "model-profile", "digest": "0".repeat(64), "text": "x".repeat(500)});
        clip(&mut value, 0);
        let text = format!("{}… [372 more characters]", "x".repeat(128));
        assert_eq!(value, json!({"kind": "model-profile", "digest": "0".repeat(64), "text": text}));
    }
}
