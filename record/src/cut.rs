//! Cuts the body of a request into pieces that later requests have again: elements of its lists, and other long values. Marks for
//! the provider's cache are left outside of the pieces, since they move from request to request.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// BodyValues shorter than this are left in the recipe.
const SHORT: usize = 64;

/// The member that marks where the provider's cache ends.
const MARK: &str = "\"cache_control\"";

/// A stretch of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stretch<'b> {
    /// What is between pieces.
    Between(&'b str),
    /// A piece, marks included.
    Piece(&'b str),
}

/// A piece without its marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unmarked {
    /// The piece without marks.
    pub(crate) text: String,
    /// Byte offsets in the text, ascending, and the marks that were there.
    pub(crate) marks: Vec<(usize, String)>,
}

struct BodyValues<'b>(Vec<&'b RawValue>);

impl<'de: 'b, 'b> Deserialize<'de> for BodyValues<'b> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BodyValuesVisitor;
        impl<'de> Visitor<'de> for BodyValuesVisitor {
            type Value = BodyValues<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BodyValues<'de>, A::Error> {
                let mut values = Vec::new();
                while map.next_key::<IgnoredAny>()?.is_some() {
                    values.push(map.next_value::<&'de RawValue>()?);
                }
                Ok(BodyValues(values))
            }
        }
        deserializer.deserialize_map(BodyValuesVisitor)
    }
}

/// The stretches of a body; together they are the body. What is not a JSON object is one piece.
pub(crate) fn stretches(body: &str) -> Vec<Stretch<'_>> {
    let json = body.strip_prefix('\u{feff}').unwrap_or(body);
    let Ok(BodyValues(values)) = serde_json::from_str::<BodyValues<'_>>(json) else {
        return vec![Stretch::Piece(body)];
    };
    let mut found: Vec<&str> = Vec::new();
    for value in values.into_iter().map(RawValue::get) {
        match serde_json::from_str::<Vec<&RawValue>>(value) {
            Ok(elements) if value.len() >= SHORT => found.extend(elements.into_iter().map(RawValue::get)),
            _ if value.len() >= SHORT => found.push(value),
            _ => {}
        }
    }
    let mut stretches = Vec::with_capacity(found.len() * 2 + 1);
    let mut from = 0;
    for piece in found {
        // A value that serde_json returns is a part of the text that it read.
        let at = (piece.as_ptr() as usize).wrapping_sub(body.as_ptr() as usize);
        let (Some(before), Some(_)) = (body.get(from..at), body.get(at..at + piece.len())) else {
            return vec![Stretch::Piece(body)];
        };
        stretches.push(Stretch::Between(before));
        stretches.push(Stretch::Piece(piece));
        from = at + piece.len();
    }
    stretches.push(Stretch::Between(body.get(from..).unwrap_or_default()));
    stretches
}

/// Takes the marks out of a piece.
pub(crate) fn unmarked(piece: &str) -> Unmarked {
    if !piece.contains(MARK) {
        return Unmarked { text: piece.to_owned(), marks: Vec::new() };
    }
    let mut unmarked = Unmarked::default();
    let mut copied = 0;
    let mut at = 0;
    while let Some(start) = next_string(piece, at) {
        let end = string_end(piece, start);
        at = end;
        if piece.get(start..end) != Some(MARK) {
            continue;
        }
        let Some((from, to)) = member(piece, start, end).filter(|(from, _)| *from >= copied) else { continue };
        unmarked.text.push_str(piece.get(copied..from).unwrap_or_default());
        unmarked.marks.push((unmarked.text.len(), piece.get(from..to).unwrap_or_default().to_owned()));
        (copied, at) = (to, to);
    }
    unmarked.text.push_str(piece.get(copied..).unwrap_or_default());
    unmarked
}

/// From where to where a member with an object as its value is removed, with one of the commas around it.
fn member(piece: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let rest = piece.get(end..)?;
    let colon = rest.trim_start().strip_prefix(':')?.trim_start();
    let value = piece.len() - colon.len();
    if !colon.starts_with('{') {
        return None;
    }
    let to = object_end(piece, value)?;
    let before = piece.get(..start)?.trim_end();
    if before.ends_with(',') {
        return Some((before.len() - 1, to));
    }
    let after = piece.get(to..)?.trim_start();
    Some(match after.strip_prefix(',') {
        Some(rest) => (start, piece.len() - rest.len()),
        None => (start, to),
    })
}

fn next_string(text: &str, from: usize) -> Option<usize> {
    Some(from + text.get(from..)?.find('"')?)
}

/// The end of the string that begins at a quotation mark.
fn string_end(text: &str, start: usize) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(start + 1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn object_end(text: &str, start: usize) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, start);
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'"' => {
                at = string_end(text, at);
                continue;
            }
            b'{' => depth += 1,
            b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn together(body: &str) -> String {
        let texts = stretches(body).into_iter().map(|stretch| match stretch {
            Stretch::Between(text) | Stretch::Piece(text) => text,
        });
        texts.collect()
    }

    fn pieces(body: &str) -> Vec<&str> {
        let pieces = stretches(body).into_iter().filter_map(|stretch| match stretch {
            Stretch::Piece(text) => Some(text),
            Stretch::Between(_) => None,
        });
        pieces.collect()
    }

    #[test]
    fn elements_of_lists_and_long_values_are_pieces() {
        let long = "x".repeat(SHORT);
        let body = format!(
            r#"{{ "model":"m", "system": "{long}","messages":[ {{"role":"user","content":"{long}"}} , {{"a":1}}]}} "#
        );
        assert_eq!(together(&body), body);
        let first = format!(r#"{{"role":"user","content":"{long}"}}"#);
        assert_eq!(pieces(&body), [format!("\"{long}\"").as_str(), first.as_str(), r#"{"a":1}"#]);
        for other in ["", "no json", "[1,2]", "{\"a\":", "{}", "{\"messages\":[]}"] {
            assert_eq!(together(other), other);
        }
    }

    #[test]
    fn marks_are_left_outside_so_that_equal_messages_are_equal_pieces() {
        let plain = r#"{"role":"user","content":[{"type":"text","text":"say \"cache_control\": {}"}]}"#;
        for marked in [
            r#"{"role":"user","content":[{"type":"text","text":"say \"cache_control\": {}","cache_control":{"type":"ephemeral"}}]}"#,
            r#"{"role":"user","content":[{"cache_control":{"type":"ephemeral","x":"}"},"type":"text","text":"say \"cache_control\": {}"}]}"#,
            r#"{"role":"user","content":[{"type":"text", "cache_control" : {},"text":"say \"cache_control\": {}"}]}"#,
        ] {
            let found = unmarked(marked);
            assert_eq!(found.text, plain);
            let mut again = String::new();
            let mut from = 0;
            for (offset, mark) in &found.marks {
                again.push_str(&found.text[from..*offset]);
                again.push_str(mark);
                from = *offset;
            }
            again.push_str(&found.text[from..]);
            assert_eq!(again, marked);
        }
        assert_eq!(unmarked(plain), Unmarked { text: plain.to_owned(), marks: vec![] });
        assert_eq!(unmarked(r#"{"cache_control":null}"#).marks, vec![]);
    }
}
