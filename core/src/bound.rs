//! The Model Tool Output: a text that is too long for the history is replaced by a preview that keeps both ends
//! (`docs/reference/turn.md#bounding`). Pure; the runtime keeps the whole text.

use alloc::format;
use alloc::string::String;

/// What one settlement may show the model. A newline at the end begins a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Lines.
    pub lines: usize,
    /// Bytes of UTF-8.
    pub bytes: usize,
}

impl Default for Limits {
    /// 2,000 lines and 51,200 bytes.
    fn default() -> Self {
        Self { lines: 2_000, bytes: 51_200 }
    }
}

impl Limits {
    /// Whether a text is within both limits, and so is kept unchanged.
    pub fn hold(self, text: &str) -> bool {
        text.len() <= self.bytes && lines(text) <= self.lines
    }
}

/// How many lines a text has: its newlines and one.
pub fn lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count() + 1
}

/// Replaces what was cut: with the path of the file that contains everything, or without one when the text could not be
/// kept.
pub fn marker(path: Option<&str>) -> String {
    match path {
        Some(path) => format!("... output truncated; full content saved to {path} ..."),
        None => "... output truncated; the full content could not be saved and is lost ...".into(),
    }
}

/// Room for the blank lines around the marker: in lines together with the marker itself, and in bytes.
const FRAME: usize = 4;

/// A beginning and an end of `text` with `marker` between blank lines.
///
/// A text within `limits` is its own preview.
///
/// **Invariant**: the preview is within `limits` (which allow at least one line) and cuts no character.
pub fn preview(text: &str, limits: Limits, marker: &str) -> String {
    if limits.hold(text) {
        return text.into();
    }
    if limits.lines <= FRAME || limits.bytes <= marker.len() + FRAME {
        let allowed = first_lines(marker, limits.lines);
        return prefix(allowed, limits.bytes).into();
    }
    let (line_budget, byte_budget) = (limits.lines - FRAME, limits.bytes - marker.len() - FRAME);
    let (mut head, mut tail) = (text, text);
    if lines(text) > line_budget {
        (head, tail) = (first_lines(text, line_budget.div_ceil(2)), last_lines(text, line_budget / 2));
        if head.len() + tail.len() <= byte_budget {
            return framed(head, marker, tail);
        }
    }
    // Half of the bytes for each end; what a short end does not need goes to the other, never across the cut.
    let half = byte_budget / 2;
    let (first, last) = if tail.len() < half {
        (byte_budget - tail.len(), tail.len())
    } else if head.len() < byte_budget - half {
        (head.len(), byte_budget - head.len())
    } else {
        (byte_budget - half, half)
    };
    framed(prefix(head, first), marker, suffix(tail, last))
}

fn framed(head: &str, marker: &str, tail: &str) -> String {
    format!("{head}\n\n{marker}\n\n{tail}")
}

/// The first `count` lines without the newline after them.
fn first_lines(text: &str, count: usize) -> &str {
    match count.checked_sub(1) {
        None => "",
        Some(last) => match text.match_indices('\n').nth(last) {
            Some((at, _)) => text.get(..at).unwrap_or(text),
            None => text,
        },
    }
}

/// The last `count` lines without the newline before them.
fn last_lines(text: &str, count: usize) -> &str {
    match count.checked_sub(1) {
        None => "",
        Some(first) => match text.rmatch_indices('\n').nth(first) {
            Some((at, _)) => text.get(at + 1..).unwrap_or(text),
            None => text,
        },
    }
}

/// The longest beginning of at most `bytes` bytes.
fn prefix(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    end.and_then(|end| text.get(..end)).unwrap_or("")
}

/// The longest end of at most `bytes` bytes.
fn suffix(text: &str, bytes: usize) -> &str {
    let begin = (text.len().saturating_sub(bytes)..=text.len()).find(|at| text.is_char_boundary(*at));
    begin.and_then(|begin| text.get(begin..)).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn numbered(count: usize) -> String {
        (1..=count).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_text_at_the_limits_stands_as_it_is() {
        let limits = Limits::default();
        assert!(limits.hold(&numbered(2_000)) && limits.hold(&"x".repeat(51_200)));
        assert!(!limits.hold(&numbered(2_001)) && !limits.hold(&"x".repeat(51_201)));
        assert!(!limits.hold(&format!("{}\n", numbered(2_000))), "a newline at the end begins a line");
    }

    #[test]
    fn by_lines_the_first_and_last_998_are_kept() {
        let cut = preview(&numbered(3_000), Limits::default(), "<marker>");
        let kept: Vec<&str> = cut.split('\n').collect();
        assert_eq!(kept.len(), 998 + 3 + 998);
        assert!(cut.starts_with("line 1\n") && cut.contains("line 998\n\n<marker>\n\nline 2003\n"));
        assert!(cut.ends_with("\nline 3000"));
    }

    #[test]
    fn by_bytes_the_preview_fills_the_limit_exactly() {
        let cut = preview(&format!("HEAD{}TAIL", "x".repeat(60_000)), Limits::default(), &marker(Some("/outputs/a")));
        assert_eq!(cut.len(), 51_200);
        assert!(cut.starts_with("HEADxx") && cut.ends_with("xxTAIL"));
        assert!(cut.contains("x\n\n... output truncated; full content saved to /outputs/a ...\n\nx"));
    }

    #[test]
    fn long_lines_beyond_the_line_limit_are_cut_by_bytes_too() {
        let text = (1..=3_000).map(|n| format!("{n} {}", "y".repeat(100))).collect::<Vec<_>>().join("\n");
        let cut = preview(&text, Limits::default(), "<marker>");
        assert_eq!(cut.len(), 51_200);
        assert!(cut.starts_with("1 y") && cut.ends_with('y'));
    }

    #[test]
    fn where_there_is_no_room_the_marker_alone_is_cut_to_the_limits() {
        assert_eq!(preview("abcdefghijkl", Limits { lines: 100, bytes: 7 }, "<märker>"), "<märke");
        assert_eq!(preview("a\nb\nc\nd\ne", Limits { lines: 4, bytes: 100 }, "<marker>"), "<marker>");
    }

    proptest! {
        #[test]
        fn a_preview_is_within_its_limits_and_keeps_both_ends(
            pieces in prop::collection::vec(prop_oneof![Just("\n"), Just("a"), Just("é"), Just("😀"), Just("word ")], 0..400),
            line_limit in 1usize..60,
            byte_limit in 0usize..300,
        ) {
            let text = pieces.concat();
            let limits = Limits { lines: line_limit, bytes: byte_limit };
            let cut = preview(&text, limits, "<marker>");
            prop_assert!(limits.hold(&cut), "{} lines, {} bytes: {cut:?}", lines(&cut), cut.len());
            if limits.hold(&text) {
                prop_assert_eq!(cut, text);
            } else if let Some((head, tail)) = cut.split_once("\n\n<marker>\n\n") {
                prop_assert!(text.starts_with(head) && text.ends_with(tail));
                // At most three bytes of each half are given up so that no character is cut.
                if lines(&text) <= line_limit - 4 {
                    prop_assert!(cut.len() + 6 >= byte_limit);
                }
            } else {
                prop_assert!("<marker>".starts_with(&*cut));
            }
        }
    }
}
