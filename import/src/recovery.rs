//! Records in damaged lines: several on one line, one behind zero bytes or a torn piece, one with control characters in its texts.

use serde::de::IgnoredAny;
use std::borrow::Cow;

/// What is found in a line that is not one JSON object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecoveredPart {
    /// A record that can be read; the text says what was wrong with it, if anything.
    Record(String, Option<&'static str>),
    /// Text that belongs to no record.
    Lost(&'static str),
    /// The rest of the line, which cannot be read, and whether it ends within a text: the next line may belong to it.
    Rest(String, bool),
}

/// The damage of a line with several records, all of which were read.
pub const GLUED: &str = "several records on one line, all read";
/// The damage of a record with control characters in a text, which was read.
pub const CONTROL: &str = "control characters in a text, read";
/// The damage of a record with line breaks in a text, which was read.
pub const BROKEN: &str = "a text over several lines, read";
/// The damage of a line with zero bytes.
pub const ZEROS: &str = "zero bytes, left out";
/// The damage of a line with a torn record before another one.
const PIECE: &str = "a torn record before another one";

/// Whether a line is one JSON object.
pub fn is_record(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// The parts of a line that is not one JSON object, in order.
pub fn parts(line: &str) -> Vec<RecoveredPart> {
    let mut found = Vec::new();
    let text = if line.contains('\0') {
        found.push(RecoveredPart::Lost(ZEROS));
        Cow::Owned(line.replace('\0', ""))
    } else {
        Cow::Borrowed(line)
    };
    let (escaped, in_text) = escaped(&text);
    let note = matches!(escaped, Cow::Owned(_)).then_some(CONTROL);
    let mut rest = escaped.trim();
    let mut records = 0;
    while !rest.is_empty() {
        if let Some(length) = leading_record(rest) {
            let (record, behind) = rest.split_at(length);
            found.push(RecoveredPart::Record(record.to_owned(), note.or((records > 0).then_some(GLUED))));
            records += 1;
            rest = behind.trim_start();
            continue;
        }
        match behind_piece(rest) {
            Some(record) => {
                found.push(RecoveredPart::Lost(PIECE));
                rest = record;
            }
            None => {
                found.push(RecoveredPart::Rest(rest.to_owned(), in_text && rest.starts_with('{')));
                break;
            }
        }
    }
    found
}

/// The length of the record at the start of a text.
fn leading_record(text: &str) -> Option<usize> {
    if !text.starts_with('{') {
        return None;
    }
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    stream.next()?.ok()?;
    Some(stream.byte_offset())
}

/// How many places are tried where a record could start behind a torn piece.
const STARTS_MAX: usize = 4_096;

/// The part of a text from which on it is records to the end.
fn behind_piece(text: &str) -> Option<&str> {
    let starts = text.match_indices("{\"").map(|(at, _)| at).filter(|at| *at > 0).take(STARTS_MAX);
    starts.filter_map(|at| text.get(at..)).find(|rest| {
        let mut rest = *rest;
        while let Some(length) = leading_record(rest) {
            rest = rest.get(length..).unwrap_or_default().trim_start();
        }
        rest.is_empty()
    })
}

/// A line with the control characters in its texts escaped, and whether it ends within a text.
fn escaped(line: &str) -> (Cow<'_, str>, bool) {
    let (mut in_text, mut after_backslash) = (false, false);
    let mut out: Option<String> = None;
    for (at, character) in line.char_indices() {
        let is_raw = in_text && character < ' ';
        if is_raw {
            let out = out.get_or_insert_with(|| line.get(..at).unwrap_or_default().to_owned());
            // An escape that a control character interrupts would change its meaning.
            out.push_str(if after_backslash { "\\" } else { "" });
            out.push_str(&format!("\\u{:04x}", u32::from(character)));
        } else if let Some(out) = &mut out {
            out.push(character);
        }
        match character {
            _ if after_backslash => after_backslash = false,
            '\\' if in_text => after_backslash = true,
            '"' => in_text = !in_text,
            _ => {}
        }
    }
    (out.map_or(Cow::Borrowed(line), Cow::Owned), in_text)
}

#[cfg(test)]
mod tests {
    use super::RecoveredPart::{Lost, Record, Rest};
    use super::*;

    fn record(text: &str, note: Option<&'static str>) -> RecoveredPart {
        Record(text.to_owned(), note)
    }

    #[test]
    fn records_on_one_line_are_all_found() {
        assert_eq!(parts(r#"{"a":"}{"} {"b":2}"#), [record(r#"{"a":"}{"}"#, None), record(r#"{"b":2}"#, Some(GLUED))]);
        assert_eq!(parts("\0\0{\"a\":1}\0"), [Lost(ZEROS), record("{\"a\":1}", None)]);
        let torn = r#"{"type":"us{"type":"user","message":{"x":1}}"#;
        assert_eq!(parts(torn), [Lost(PIECE), record(r#"{"type":"user","message":{"x":1}}"#, None)]);
        assert_eq!(parts(r#"{"a":1}{"b":"x"#), [record(r#"{"a":1}"#, None), Rest(r#"{"b":"x"#.to_owned(), true)]);
        assert_eq!(parts("{\"a\":\"x\u{1b}[0m\ty\"}"), [record(r#"{"a":"x\u001b[0m\u0009y"}"#, Some(CONTROL))]);
        assert_eq!(parts("plain words"), [Rest("plain words".to_owned(), false)]);
    }
}
