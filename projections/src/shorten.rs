//! Texts without their middle: what requests contain of a long output, input or summary
//! (`docs/reference/compaction.md#sizes`).

use alloc::string::String;

/// What the model reads in the place of a cleared tool output.
pub const PRUNED: &str = "[Old tool result content cleared]";

/// Characters that a shortened text keeps of each end.
pub const SHORTENED_ENDS: u64 = 2_000;

/// A text without its middle: its first and last `ends` characters with a line between them that says how many are left
/// out. `None` where that is no shorter.
///
/// ```
/// use annals_projections::without_middle;
///
/// let text = "a".repeat(5_000);
/// let short = without_middle(&text, 2_000).unwrap();
/// assert_eq!(short.chars().count(), 4_036);
/// assert!(short.contains("\n[... 1000 characters left out ...]\n"));
/// assert_eq!(without_middle("a short text", 2_000), None);
/// ```
pub fn without_middle(text: &str, ends: u64) -> Option<String> {
    let chars = text.chars().count() as u64;
    without_middle_chars(chars, ends)?;
    let at = |char: u64| {
        let char = usize::try_from(char).unwrap_or(usize::MAX);
        text.char_indices().nth(char).map_or(text.len(), |(at, _)| at)
    };
    let (first, last) = (at(ends), at(chars.saturating_sub(ends)));
    let (first, last) = (text.get(..first)?, text.get(last..)?);
    Some(alloc::format!("{first}{}{last}", line(chars.saturating_sub(ends.saturating_mul(2)))))
}

/// JSON whose string values lack their middle, see [`without_middle`]. Names, numbers and spaces stay as they are written. `None`
/// where that is no shorter.
pub(crate) fn values_without_middle(json: &str, ends: u64) -> Option<String> {
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(begin) = json.get(at..)?.find('"').map(|found| at + found) {
        let end = end_of_string(json.as_bytes(), begin)?;
        at = end;
        let names_a_field = json.get(end..)?.trim_start().starts_with(':');
        let written = json.get(begin..end)?;
        if names_a_field || written.len() as u64 <= 2 * ends {
            continue;
        }
        let value: Option<String> = serde_json::from_str(written).ok();
        let short = value.and_then(|value| without_middle(&value, ends));
        if let Some(short) = short.and_then(|short| serde_json::to_string(&short).ok()) {
            out.push_str(json.get(copied..begin)?);
            out.push_str(&short);
            copied = end;
        }
    }
    out.push_str(json.get(copied..)?);
    (copied > 0).then_some(out)
}

/// Where the string that begins at a quotation mark ends.
fn end_of_string(json: &[u8], begin: usize) -> Option<usize> {
    let mut at = begin + 1;
    loop {
        at += match json.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => 2,
            _ => 1,
        };
    }
}

/// The length of a text of `chars` characters without its middle, or `None` where that is no shorter.
pub fn without_middle_chars(chars: u64, ends: u64) -> Option<u64> {
    let kept = ends.saturating_mul(2);
    let left_out = chars.checked_sub(kept).filter(|left_out| *left_out > 0)?;
    let shorter = kept + line(left_out).len() as u64;
    (shorter < chars).then_some(shorter)
}

/// The line in the place of `left_out` characters.
fn line(left_out: u64) -> String {
    alloc::format!("\n[... {left_out} characters left out ...]\n")
}

#[cfg(test)]
mod tests {
    use super::{SHORTENED_ENDS, values_without_middle, without_middle, without_middle_chars};
    use crate::facts::long;
    use alloc::string::String;

    #[test]
    fn a_text_keeps_its_ends_where_that_is_shorter() {
        // "\n[... 34 characters left out ...]\n" has 34 characters.
        assert_eq!(without_middle(&long(4_034), SHORTENED_ENDS), None, "no shorter");
        let short = without_middle(&long(4_035), SHORTENED_ENDS).expect("a shorter text");
        assert_eq!(short.chars().count(), 4_034);
        assert_eq!(without_middle("", 0), None);
        assert_eq!(without_middle(&long(100), 0).as_deref(), Some("\n[... 100 characters left out ...]\n"));
    }

    #[test]
    fn characters_are_counted_and_none_is_cut() {
        let text: String = "äöü€😀".chars().cycle().take(50).collect();
        assert_eq!(without_middle(&text, 2).as_deref(), Some("äö\n[... 46 characters left out ...]\n€😀"));
    }

    #[test]
    fn the_string_values_of_json_lose_their_middle_and_nothing_else_changes() {
        let long = long(100);
        let json = alloc::format!(
            r#"{{"{long}": 1e400, "a" : ["b\"\\", "{long}"], "n":12345678901234567890.10, "t":"ü{long}"}}"#
        );
        let short = values_without_middle(&json, 3).expect("shorter JSON");
        let line = |n: u32| alloc::format!(r"\n[... {n} characters left out ...]\n");
        assert_eq!(
            short,
            alloc::format!(
                r#"{{"{long}": 1e400, "a" : ["b\"\\", "xxx{}xxx"], "n":12345678901234567890.10, "t":"üxx{}xxx"}}"#,
                line(94),
                line(95)
            )
        );
        for unchanged in [r#"{"a":"b"}"#, "12", "", r#"{"a":"#, r#"{"a":"\"#, "no \" JSON"] {
            assert_eq!(values_without_middle(unchanged, 3), None, "{unchanged}");
        }
    }

    #[test]
    fn the_length_is_known_without_the_text() {
        for chars in (0..200).chain(3_990..4_200) {
            for ends in [0, 1, 7, 2_000] {
                let short = without_middle(&long(chars), ends).map(|short| short.chars().count() as u64);
                assert_eq!(short, without_middle_chars(chars as u64, ends), "{chars} characters, {ends} kept");
            }
        }
    }
}
