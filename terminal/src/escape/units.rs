//! The pieces of a text that a reader takes for one character each.

use super::{is_unsafe, visible};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Iterates over the pieces of a text that are drawn as one each, with the place where each begins: a letter with its marks, a family of
/// joined pictures. A character that is drawn by number is a piece of its own.
pub fn units(text: &str) -> Units<'_> {
    Units { text, at: 0 }
}

/// See [`units`].
#[derive(Clone, Debug)]
pub struct Units<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Units<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let (at, rest) = (self.at, self.text.get(self.at..)?);
        let cluster = rest.graphemes(true).next()?;
        let first_unsafe = cluster.find(is_unsafe).filter(|_| cluster.contains('\r') || visible(cluster) != cluster);
        let length = match first_unsafe {
            None => cluster.len(),
            Some(0) => cluster.chars().next().map_or(1, char::len_utf8),
            Some(before) => before,
        };
        self.at += length;
        Some((at, rest.get(..length)?))
    }
}

/// Columns of a unit as it is written in text.
pub fn unit_width(unit: &str) -> usize {
    match unit.as_bytes() {
        [b'\n'] => 0,
        [b' '..=b'~'] => 1,
        _ => visible(unit).width(),
    }
}

/// Removes what a reader takes for the last character.
pub fn remove_last_unit(text: &mut String) {
    text.truncate(units(text).last().map_or(0, |(at, _)| at));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<(&str, usize)> {
        units(text).map(|(_, unit)| (unit, unit_width(unit))).collect()
    }

    #[test]
    fn what_is_drawn_as_one_character_is_one_unit() {
        let family = "👩\u{200d}👩\u{200d}👧";
        assert_eq!(pieces(&format!("a{family}e\u{301}\n")), [("a", 1), (family, 2), ("e\u{301}", 1), ("\n", 0)]);
        for one in ["👩🏽\u{200d}🚀", "🏳\u{fe0f}\u{200d}🌈", "❤\u{fe0f}\u{200d}🔥", "🇩🇪", "👍🏽", "日", "각"]
        {
            assert_eq!(pieces(one), [(one, 2)]);
        }
    }

    #[test]
    fn what_is_drawn_by_number_is_a_unit_of_its_own() {
        assert_eq!(pieces("👩\u{200d}"), [("👩", 2), ("\u{200d}", 8)]);
        assert_eq!(pieces("👩\u{200d}\u{200d}🚀"), [("👩", 2), ("\u{200d}", 8), ("\u{200d}", 8), ("🚀", 2)]);
        assert_eq!(pieces("e\u{301}\u{200d}x"), [("e\u{301}", 1), ("\u{200d}", 8), ("x", 1)]);
        assert_eq!(pieces("\r\n\u{202e}"), [("\r", 1), ("\n", 0), ("\u{202e}", 8)]);
        let tagged = "🏴\u{e0067}\u{e007f}";
        assert_eq!(pieces(tagged), [("🏴", 2), ("\u{e0067}", 9), ("\u{e007f}", 9)]);
    }

    #[test]
    fn the_last_character_is_removed_as_it_is_drawn() {
        let mut text = "é👩\u{200d}👧👩\u{200d}".to_owned();
        let mut left = Vec::new();
        while !text.is_empty() {
            remove_last_unit(&mut text);
            left.push(text.clone());
        }
        assert_eq!(left, ["é👩\u{200d}👧👩", "é👩\u{200d}👧", "é", ""]);
        remove_last_unit(&mut text);
    }

    #[test]
    fn units_are_all_of_a_text() {
        for text in
            ["", "\u{200d}\u{200d}", "\u{301}a", "👩\u{200d}\u{301}👩\u{fe0f}\u{1b}[2J", "\u{600}\r\r\n1\u{20e3}"]
        {
            assert_eq!(units(text).map(|(_, unit)| unit).collect::<String>(), text);
            assert!(units(text).all(|(at, unit)| text[at..].starts_with(unit)), "{text:?}");
        }
    }
}
