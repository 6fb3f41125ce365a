//! Laying out received JSON for reading, without re-writing what is in it.

/// JSON text indented by 2 spaces. Numbers and strings stay letter for letter; only white space between them changes.
pub(super) fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut chars = json.chars().peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(next) = chars.next() {
        match next {
            ' ' | '\t' | '\r' | '\n' => {}
            '"' => {
                out.push('"');
                while let Some(inner) = chars.next() {
                    out.push(inner);
                    match inner {
                        '"' => break,
                        '\\' => out.extend(chars.next()),
                        _ => {}
                    }
                }
            }
            '{' | '[' => {
                out.push(next);
                while chars.next_if(|space| space.is_ascii_whitespace()).is_some() {}
                match chars.next_if(|close| matches!(close, '}' | ']')) {
                    Some(close) => out.push(close),
                    None => {
                        depth += 1;
                        line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(next);
            }
            ',' => {
                out.push(',');
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::indented;
    use serde_json::{Value, json};

    #[test]
    fn the_layout_is_the_usual_one() -> Result<(), serde_json::Error> {
        let value = json!({"a": [], "b": {}, "c": [1, {"d": "x: {\"y\", \\"}], "e": null, "f": "é"});
        assert_eq!(indented(&value.to_string()), serde_json::to_string_pretty(&value)?);
        assert_eq!(indented(&serde_json::to_string_pretty(&value)?), serde_json::to_string_pretty(&value)?);
        assert_eq!(indented("7"), "7");
        assert_eq!(serde_json::from_str::<Value>(&indented("[1,[ ] ]"))?, json!([1, []]));
        Ok(())
    }

    #[test]
    fn large_numbers_keep_every_digit() {
        assert_eq!(indented("{\"n\":12345678901234567890123}"), "{\n  \"n\": 12345678901234567890123\n}");
    }
}
