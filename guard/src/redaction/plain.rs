//! A text as it reads: without the colours of a terminal, with ordinary spaces, quotes and colons.

use regex::Regex;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// Sequences of terminals, also as escapes in source code; spaces, invisible characters, signs and quotes beyond ASCII.
static ODD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?:\x1b|\\x1b|\\033|\\e|\\u001[bB])(?:\[[0-9;:?]{0,40}[A-Za-z]|\]8;[^\x07\x1b\n]{0,500}(?:\x07|\x1b\\))|\\u00(?:20|a0)",
        r"|[\u{a0}\u{ad}\u{1680}\u{2000}-\u{200f}\u{2028}-\u{202f}\u{205f}-\u{2064}\u{3000}\u{feff}]",
        r"|[\u{ff08}\u{ff09}\u{ff0c}\u{ff1b}\u{3001}\u{3002}\u{ff1a}\u{ff1d}\u{2018}-\u{201f}\u{ab}\u{bb}\u{300c}\u{300d}\u{ff02}\u{2192}\u{21d2}]",
    ))
    .ok()
});

/// A text as it reads, and where its parts are in the original.
pub(super) struct PlainText<'t> {
    pub(super) text: Cow<'t, str>,
    original: &'t str,
    /// Behind each difference: the place here and in the original.
    places: Vec<(usize, usize)>,
}

impl<'t> PlainText<'t> {
    pub(super) fn of(original: &'t str) -> Self {
        let mut plain = Self { text: Cow::Borrowed(original), original, places: Vec::new() };
        let Some(odd) = ODD.as_ref().filter(|_| !original.is_ascii() || original.contains(['\x1b', '\\'])) else {
            return plain;
        };
        let (mut out, mut from) = (String::new(), 0);
        for found in odd.find_iter(original) {
            out.push_str(original.get(from..found.start()).unwrap_or_default());
            out.push_str(replacement(found.as_str()));
            from = found.end();
            plain.places.push((out.len(), from));
        }
        if !plain.places.is_empty() {
            out.push_str(original.get(from..).unwrap_or_default());
            plain.text = Cow::Owned(out);
        }
        plain
    }

    /// Where a part is in the original.
    pub(super) fn in_original(&self, span: Range<usize>) -> Range<usize> {
        let place = |at: usize, passed: usize| {
            let (here, there) =
                passed.checked_sub(1).and_then(|last| self.places.get(last)).copied().unwrap_or_default();
            at - here + there
        };
        let start = place(span.start, self.places.partition_point(|(here, _)| *here <= span.start));
        let mut end = place(span.end, self.places.partition_point(|(here, _)| *here < span.end));
        while !self.original.is_char_boundary(end) {
            end += 1;
        }
        start..end
    }
}

/// How a character or sequence reads.
fn replacement(odd: &str) -> &'static str {
    match odd {
        "\u{ff1a}" => ": ",
        "\u{ff1d}" => "=",
        "\u{ff08}" => "(",
        "\u{ff09}" => ")",
        "\u{ff0c}" | "\u{3001}" => ", ",
        "\u{3002}" => ". ",
        "\u{ff1b}" => "; ",
        "\u{2192}" | "\u{21d2}" => "=>",
        "\u{2018}" | "\u{2019}" | "\u{201a}" | "\u{201b}" => "'",
        "\u{201c}" | "\u{201d}" | "\u{201e}" | "\u{201f}" | "\u{ab}" | "\u{bb}" | "\u{300c}" | "\u{300d}"
        | "\u{ff02}" => "\"",
        "\u{ad}" | "\u{200b}" | "\u{200c}" | "\u{200d}" | "\u{200e}" | "\u{200f}" | "\u{2060}" | "\u{feff}" => "",
        odd if odd.starts_with(['\x1b', '\\']) => "",
        _ => " ",
    }
}

#[cfg(test)]
mod tests {
    use super::PlainText;

    #[test]
    fn a_part_is_found_again_in_the_original() {
        let text = "\x1b[32mname\x1b[0m\u{a0}=\u{a0}\x1b[1mvä\x1b[0mlue\x1b[0m end";
        let plain = PlainText::of(text);
        assert_eq!(plain.text, "name = välue end");
        for (part, original) in [("name", "name"), ("välue", "vä\x1b[0mlue"), (" = ", "\u{a0}=\u{a0}"), ("end", "end")]
        {
            let start = plain.text.find(part).expect("the part");
            assert_eq!(text.get(plain.in_original(start..start + part.len())), Some(original));
        }
    }
}
