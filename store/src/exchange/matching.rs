//! Matching an expression in texts that may hold the words in another form: escaped in JSON at any depth, in the base64 of a
//! `data:` address, or in the other form of Unicode (`docs/reference/digest.md#withheld-and-erased-texts`).

use annals_core::{Batch, Blobs, Seq, SessionId};
use annals_projections::ToJson;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use regex::Regex;
use serde_json::Value;
use std::str::from_utf8;

/// How often JSON may be in strings of JSON.
const DEPTH: usize = 16;

/// Whether an expression matches a text, or what a reader sees of it: a string of its JSON, the text without the escapes of JSON, the
/// text of a `data:` address. Composed and decomposed characters are equal.
pub(super) fn matches(regex: &Regex, text: &str) -> bool {
    matches_in_a_form(regex, text) || matches_in_json(regex, text, DEPTH) || matches_unescaped(regex, text)
}

fn matches_in_a_form(regex: &Regex, text: &str) -> bool {
    let matches_other = |other: &str| other != text && regex.is_match(other);
    regex.is_match(text)
        || (!text.is_ascii() && text_forms(text).iter().any(|form| matches_other(form)))
        || data_of(text).is_some_and(|data| matches_in_a_form(regex, &data) || matches_in_json(regex, &data, DEPTH))
}

/// A text with composed and with decomposed characters.
pub(super) fn text_forms(text: &str) -> [std::borrow::Cow<'_, str>; 2] {
    let (composing, decomposing) =
        (const { ComposingNormalizerBorrowed::new_nfc() }, const { DecomposingNormalizerBorrowed::new_nfd() });
    [composing.normalize(text), decomposing.normalize(text)]
}

/// The text of a `data:` address.
fn data_of(text: &str) -> Option<String> {
    let (_, data) = text.strip_prefix("data:")?.split_once(";base64,")?;
    String::from_utf8(STANDARD.decode(data.trim_end()).ok()?).ok()
}

/// Matches the strings, names and numbers of JSON: of the text, or of each of its lines.
fn matches_in_json(regex: &Regex, text: &str, depth: usize) -> bool {
    if depth == 0 {
        return false;
    }
    match json_of(text) {
        Some(value) => matches_value(regex, &value, depth),
        None => text.lines().filter_map(json_of).any(|value| matches_value(regex, &value, depth)),
    }
}

/// JSON, also as the data of an event of a stream.
fn json_of(text: &str) -> Option<Value> {
    let text = text.trim_start();
    let text = text.strip_prefix("data:").map_or(text, str::trim_start);
    text.starts_with(['{', '[', '"']).then(|| serde_json::from_str(text).ok()).flatten()
}

fn matches_value(regex: &Regex, value: &Value, depth: usize) -> bool {
    let text = |text: &str| matches_in_a_form(regex, text) || matches_in_json(regex, text, depth - 1);
    match value {
        Value::String(string) => text(string),
        Value::Number(number) => regex.is_match(&number.to_string()),
        Value::Array(items) => items.iter().any(|item| matches_value(regex, item, depth)),
        Value::Object(members) => {
            members.iter().any(|(name, member)| text(name) || matches_value(regex, member, depth))
        }
        Value::Null | Value::Bool(_) => false,
    }
}

/// Matches the text without the escapes of JSON: in pieces of JSON, too, and of JSON that is in strings of JSON.
fn matches_unescaped(regex: &Regex, text: &str) -> bool {
    let mut unescaped = unescape(text);
    for _ in 0..DEPTH {
        let Some(text) = unescaped else { return false };
        if matches_in_a_form(regex, &text) {
            return true;
        }
        unescaped = unescape(&text);
    }
    false
}

/// A text without the escapes of JSON; `None` if it has none.
fn unescape(text: &str) -> Option<String> {
    let mut rest = text;
    let mut unescaped = String::new();
    while let Some((before, after)) = rest.split_once('\\') {
        let (character, length) = escaped(after).unwrap_or(('\\', 0));
        unescaped.push_str(before);
        unescaped.push(character);
        rest = after.get(length..).unwrap_or_default();
    }
    unescaped.push_str(rest);
    (unescaped != text).then_some(unescaped)
}

/// The character that is escaped, and the length of the escape without its backslash.
fn escaped(after: &str) -> Option<(char, usize)> {
    let simple = |character| Some((character, 1));
    match after.as_bytes().first()? {
        quoted @ (b'"' | b'\\' | b'/') => simple(char::from(*quoted)),
        b'b' => simple('\u{8}'),
        b'f' => simple('\u{c}'),
        b'n' => simple('\n'),
        b'r' => simple('\r'),
        b't' => simple('\t'),
        b'u' => {
            let unit = |digits: Option<&[u8]>| u16::from_str_radix(from_utf8(digits?).ok()?, 16).ok();
            let first = unit(after.as_bytes().get(1..5))?;
            if let Some(character) = char::from_u32(u32::from(first)) {
                return Some((character, 5));
            }
            after.get(5..7).filter(|mark| *mark == "\\u")?;
            let second = unit(after.as_bytes().get(7..11))?;
            Some((char::decode_utf16([first, second]).next()?.ok()?, 11))
        }
        _ => None,
    }
}

/// The places of a batch, its ids and digests aside, that still match: of events before `until`.
pub(super) fn left_in(batch: &Batch, blobs: &dyn Blobs, until: Seq, regexes: &[&Regex]) -> Vec<Seq> {
    // One that matches nothing at all matches every id.
    let meant = |regex: &&&Regex| !regex.is_match("");
    let left = |value: &Value| regexes.iter().filter(meant).any(|regex| has_match(regex, value));
    let records = batch.records().take_while(|record| record.seq < until);
    records.filter(|record| left(&record.to_json(blobs))).map(|record| record.seq).collect()
}

fn has_match(regex: &Regex, value: &Value) -> bool {
    match value {
        Value::String(text) => !is_wordless(text) && matches(regex, text),
        Value::Array(items) => items.iter().any(|item| has_match(regex, item)),
        Value::Object(members) => {
            let is_absent = members.len() == 3 && members.contains_key("commitment");
            !is_absent && members.iter().any(|(name, member)| regex.is_match(name) || has_match(regex, member))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether it holds no words: an id of a session, a digest, the note of an absent text.
fn is_wordless(text: &str) -> bool {
    let is_digest = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_note = ["[withheld: ", "[erased: "].iter().any(|note| text.starts_with(note)) && text.ends_with(']');
    is_digest || is_note || text.parse::<SessionId>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::matches;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use regex::Regex;
    use serde_json::json;

    fn found(regex: &str, text: &str) -> bool {
        matches(&Regex::new(regex).unwrap(), text)
    }

    #[test]
    fn words_are_found_however_json_escapes_them() {
        let words = "Herr \"M\u{fc}ller\"\n\u{1f600}";
        let mut text = words.to_owned();
        for depth in 0..5 {
            let ascii: String = serde_json::to_string(&json!({"command": text}))
                .unwrap()
                .chars()
                .flat_map(|one| match one.is_ascii() {
                    true => vec![one],
                    false => one
                        .encode_utf16(&mut [0; 2])
                        .iter()
                        .flat_map(|unit| format!("\\u{unit:04X}").chars().collect::<Vec<_>>())
                        .collect(),
                })
                .collect();
            for regex in ["Herr \"M\u{fc}ller\"", "M\u{fc}ller\"\n", "\u{1f600}", "^Herr", "\u{1f600}$"] {
                assert!(found(regex, &ascii), "{regex} at depth {depth} of {ascii}");
                // A piece of JSON, lines of JSON, and events of a stream.
                let anchored = regex.contains(['^', '$']);
                assert!(anchored || found(regex, &ascii[..ascii.len() - 1]), "{regex} at depth {depth}");
                assert!(
                    found(regex, &format!("{{\"a\":1}}\n{ascii}\n")) && found(regex, &format!("data: {ascii}\n\n"))
                );
            }
            assert!(!found("Maier", &ascii));
            text = ascii;
        }
    }

    #[test]
    fn composed_and_decomposed_characters_are_equal() {
        let (composed, decomposed) = ("M\u{fc}ller", "Mu\u{308}ller");
        for (regex, text) in [(composed, decomposed), (decomposed, composed), (composed, composed)] {
            assert!(found(regex, text) && found(regex, &json!([text]).to_string()));
            assert!(found(regex, &format!("data:text/plain;base64,{}", STANDARD.encode(text))));
        }
        assert!(found(composed, r#"{"a":"Mu\u0308ller"}"#) && !found(composed, "Muller"));
    }

    #[test]
    fn a_backslash_that_escapes_nothing_stays() {
        assert!(found(r"C:\\work", r"C:\work\x") && found(r"\\d", r"\d+") && !found("x", r"\"));
        assert!(!found("z", r"\ud800\u12") && found("u12", r"\ud800\u12"));
    }
}
