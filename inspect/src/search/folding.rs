//! Case folding for search: one character becomes one character, so that places in a folded text can be found in the text.

use std::borrow::Cow;

/// Characters whose simple case folding is another character although neither is the upper case of the other.
const FURTHER: [(char, char); 3] = [('\u{1FD3}', '\u{390}'), ('\u{1FE3}', '\u{3B0}'), ('\u{FB05}', '\u{FB06}')];

/// A character without its case.
pub fn folded_char(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    if let Some((_, to)) = FURTHER.iter().find(|(from, _)| *from == c) {
        return *to;
    }
    let upper = single(c.to_uppercase()).unwrap_or(c);
    single(upper.to_lowercase()).unwrap_or(c)
}

fn single(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}

/// A text without its case: as many characters as the text has.
pub fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(text.to_ascii_lowercase()),
            false => Cow::Borrowed(text),
        };
    }
    Cow::Owned(text.chars().map(folded_char).collect())
}

/// A word longer than this many bytes (a hash, base64) is not ranked.
const LONGEST: usize = 64;

/// The words of a folded text: runs of letters, digits and `_`.
pub fn words(folded: &str) -> impl Iterator<Item = &str> {
    let words = folded.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| !word.is_empty() && word.len() <= LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

    #[test]
    fn characters_that_a_regular_expression_takes_for_equal_fold_to_the_same() {
        for c in ('\0'..=char::MAX).filter(|c| !c.is_ascii()) {
            let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
            class.try_case_fold_simple().unwrap();
            for range in class.ranges() {
                for other in range.start()..=range.end() {
                    assert_eq!(folded_char(other), folded_char(c), "{other:?} and {c:?}");
                }
            }
        }
    }

    #[test]
    fn a_folded_text_has_as_many_characters() {
        for text in ["Fix IT", "İstanbul ẞ ﬅ", "ΟΔΟΣ ὈΔΥΣΣΕΎΣ", ""] {
            assert_eq!(folded(text).chars().count(), text.chars().count());
            assert_eq!(folded(&folded(text)), folded(text));
        }
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        let long = "x".repeat(65);
        let text = format!("let a_b = foo.bar(1); {long} größe");
        assert_eq!(words(&text).collect::<Vec<_>>(), ["let", "a_b", "foo", "bar", "1", "größe"]);
    }
}
