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
    use super::{SHORTENED_ENDS, without_middle, without_middle_chars};
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
    fn the_length_is_known_without_the_text() {
        for chars in (0..200).chain(3_990..4_200) {
            for ends in [0, 1, 7, 2_000] {
                let short = without_middle(&long(chars), ends).map(|short| short.chars().count() as u64);
                assert_eq!(short, without_middle_chars(chars as u64, ends), "{chars} characters, {ends} kept");
            }
        }
    }
}
