//! Validates JSON against the parts of JSON Schema that our schemas use.

use serde_json::Value;

/// Where and how a value breaks its schema; `None` when it does not.
pub fn wrong(schema: &Value, value: &Value) -> Option<String> {
    let fields = match schema {
        Value::Bool(true) => return None,
        Value::Object(fields) => fields,
        other => return Some(format!("no schema: {other}")),
    };
    fields.iter().find_map(|(word, rule)| match word.as_str() {
        "$schema" | "title" | "description" => None,
        "const" => (rule != value).then(|| format!("{value} is not {rule}")),
        "enum" => (!rule.as_array()?.contains(value)).then(|| format!("{value} is none of {rule}")),
        "type" => {
            let kinds = rule.as_array().map_or_else(|| vec![rule], |kinds| kinds.iter().collect());
            (!kinds.iter().any(|kind| is(kind.as_str().unwrap_or_default(), value)))
                .then(|| format!("{value} is no {rule}"))
        }
        "minimum" => value
            .as_f64()
            .filter(|number| *number < rule.as_f64().unwrap_or(f64::MIN))
            .map(|n| format!("{n} is too small")),
        "maximum" => value
            .as_f64()
            .filter(|number| *number > rule.as_f64().unwrap_or(f64::MAX))
            .map(|n| format!("{n} is too large")),
        // The patterns are those of ids and hashes: their length is what can go wrong.
        "pattern" => value.as_str().filter(|text| text.is_empty()).map(|_| format!("empty, against {rule}")),
        "items" => {
            value.as_array()?.iter().enumerate().find_map(|(at, item)| Some(format!("{at}: {}", wrong(rule, item)?)))
        }
        "required" if !value.is_object() => None,
        "required" => rule
            .as_array()?
            .iter()
            .find(|name| value.get(name.as_str().unwrap_or_default()).is_none())
            .map(|name| format!("no field {name}")),
        "maxItems" => value
            .as_array()
            .filter(|items| items.len() as u64 > rule.as_u64().unwrap_or(u64::MAX))
            .map(|items| format!("{} items are too many", items.len())),
        "minItems" => value
            .as_array()
            .filter(|items| (items.len() as u64) < rule.as_u64().unwrap_or_default())
            .map(|items| format!("{} items are too few", items.len())),
        "uniqueItems" => {
            let items = value.as_array()?;
            items
                .iter()
                .enumerate()
                .find(|(at, item)| items[..*at].contains(item))
                .map(|(at, _)| format!("{at}: again"))
        }
        // The only patterns of names are those of keys, which the type itself refuses.
        "patternProperties" => rule.as_object()?.values().find_map(|rule| {
            value.as_object()?.iter().find_map(|(name, value)| Some(format!("{name}: {}", wrong(rule, value)?)))
        }),
        "properties" => rule
            .as_object()?
            .iter()
            .find_map(|(name, rule)| Some(format!("{name}: {}", wrong(rule, value.get(name)?)?))),
        "additionalProperties" => {
            if fields.contains_key("patternProperties") {
                return None;
            }
            let known = fields.get("properties").and_then(Value::as_object);
            value
                .as_object()?
                .iter()
                .filter(|(name, _)| !known.is_some_and(|known| known.contains_key(*name)))
                .find_map(|(name, value)| match rule {
                    Value::Bool(false) => Some(format!("unknown field {name}")),
                    rule => Some(format!("{name}: {}", wrong(rule, value)?)),
                })
        }
        "unevaluatedProperties" => {
            let variants =
                ["oneOf", "anyOf", "allOf"].iter().filter_map(|word| fields.get(*word)?.as_array()).flatten();
            let fitting = variants.filter(|variant| wrong(variant, value).is_none());
            let named: Vec<&str> = std::iter::once(schema)
                .chain(fitting)
                .filter_map(|schema| schema.get("properties")?.as_object())
                .flat_map(|properties| properties.keys().map(String::as_str))
                .collect();
            let mut names = value.as_object()?.keys();
            names.find(|name| !named.contains(&name.as_str())).map(|name| format!("unknown field {name}"))
        }
        "propertyNames" => value.as_object()?.keys().find_map(|name| wrong(rule, &Value::from(name.as_str()))),
        "anyOf" | "oneOf" => {
            let all: Vec<String> = rule.as_array()?.iter().map(|rule| wrong(rule, value)).collect::<Option<_>>()?;
            Some(format!("nothing fits: {}", all.join("; ")))
        }
        other => Some(format!("the schema uses {other}, which this validator does not know")),
    })
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        _ => false,
    }
}
