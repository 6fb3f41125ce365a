//! A pattern as the predicate of a bisection.

use super::{CapturedViews, ViewPattern};
use annals_inspect::AskError;
use annals_inspect::bisect::{FoldPredicate, Judge};
use annals_inspect::views;
use serde_json::Value;

/// A predicate from a pattern over named views: `{"history": {"$length": 3}}`.
///
/// # Errors
/// When it is not JSON, not a pattern, or names an unknown view.
pub fn judge(text: &str) -> Result<Judge, AskError> {
    let value: Value = serde_json::from_str(text)?;
    let views = match &value {
        Value::Object(fields) if !fields.is_empty() && !fields.keys().any(|name| name.starts_with('$')) => {
            fields.keys().map(|name| views::named(name)).collect::<Result<_, _>>()?
        }
        _ => {
            let what = "a pattern names views: {\"history\": {\"$length\": 3}}".to_owned();
            return Err(AskError::Ends { what });
        }
    };
    Ok(Judge::Where { holds: predicate(&value)?, views })
}

/// A predicate over one value, such as the view that a program prints: `{"failed": 2}`, `{"$length": 3}`.
///
/// # Errors
/// When it is not JSON or not a pattern.
pub fn value_judge(text: &str) -> Result<FoldPredicate, AskError> {
    predicate(&serde_json::from_str(text)?)
}

fn predicate(value: &Value) -> Result<FoldPredicate, AskError> {
    if names_same(value) {
        let what = "`$same` compares with a capture of a scenario; a log has no captures".to_owned();
        return Err(AskError::Ends { what });
    }
    let pattern = ViewPattern::parse(value).map_err(|invalid| AskError::Pattern(invalid.to_string()))?;
    Ok(Box::new(move |value: &Value| pattern.check("", Some(value), &CapturedViews::new()).is_empty()))
}

fn names_same(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.contains_key("$same") || fields.values().any(names_same),
        Value::Array(items) => items.iter().any(names_same),
        _ => false,
    }
}
