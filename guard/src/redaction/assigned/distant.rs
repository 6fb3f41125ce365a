//! Values that other words separate from their names: arguments, defaults of expressions, the next text in quotes.

use super::VALUE;
use super::context::is_spoken;
use super::cursor::Cursor;
use super::place::Named;
use super::value::ValuePlace;
use std::ops::Range;

/// How far a value may be from its name when other words are between them.
const NEAR: usize = 64;

/// How far an expression is read that is assigned to a name.
const FAR: usize = 120;

/// Methods that set what is named before them.
pub(super) const METHODS: [&str; 7] = [".set", ".value", ".fill", ".type", ".convention", ".sendKeys", ".send_keys"];

/// The longest number between a name and its value.
const NUMBER: usize = 20;

impl Cursor<'_> {
    /// A value behind a name in its line or statement, with other words between them: the next text in quotes, also of a function
    /// that returns it, or the last word of the line.
    pub(super) fn near(&mut self, spaces: usize) -> Option<(Range<usize>, bool)> {
        // The end of a text that holds the name: `get('[name=password]').type('...')`.
        let _ = self.takes(b"]'") || self.takes(b"]\"") || matches!(self.peek(1), Some(b')')) && self.takes(b"'");
        let ends = |byte: u8| matches!(byte, b'"' | b'\'' | b'`' | b';' | b'|' | b'&');
        let gap = self.until(|byte| ends(byte) || matches!(byte, b'{' | b'}' | b'\n'), NEAR);
        let returned = self.until(ends, NEAR);
        let returns = self.bytes.get(returned.clone()).is_some_and(|gap| gap.ends_with(b"return "));
        for (gap, counts) in [(gap, true), (returned, returns)] {
            let mut ahead = Cursor { bytes: self.bytes, at: gap.end };
            // Behind a comma another field may begin.
            let inner = self.bytes.get(gap.clone()).unwrap_or_default();
            let field = inner.iter().rposition(|byte| *byte == b',').is_some_and(|comma| {
                inner.get(comma + 1..).is_some_and(|rest| !rest.iter().all(|byte| byte.is_ascii_whitespace()))
            });
            if counts && !field && ahead.peek(0) != Some(b'`') && ahead.is_at_mark() && (spaces > 0 || !gap.is_empty())
            {
                let direct = !self
                    .bytes
                    .get(gap)
                    .is_some_and(|gap| gap.iter().any(|byte| byte.is_ascii_alphanumeric() || *byte == b'='));
                return ahead.marked_text().map(|value| (value, direct));
            }
        }
        for words in 0..3 {
            if self.spaces() == 0 && (words > 0 || spaces == 0) {
                break;
            }
            let word = self.until(|byte| byte.is_ascii_whitespace(), VALUE);
            let inner = self.bytes.get(word.clone())?;
            self.at = word.end;
            let marks = inner.iter().rev().take_while(|byte| b";,.".contains(byte)).count();
            let (word, inner) = (word.start..word.end - marks, inner.get(..inner.len() - marks)?);
            if matches!(self.peek(0), None | Some(b'\r' | b'\n')) {
                return (!inner.is_empty()).then_some((word, false));
            }
            // In the middle of a sentence the word behind the name.
            if words == 0
                && inner.len() > 8
                && inner.iter().any(|byte| !byte.is_ascii_lowercase())
                && inner.iter().all(|byte| byte.is_ascii_alphanumeric())
            {
                return Some((word, false));
            }
            if !inner.iter().all(|byte| byte.is_ascii_lowercase() || *byte >= 0x80) {
                break;
            }
        }
        None
    }

    /// A text between quotes of which the second is there, and the first opens no lifetime of Rust.
    fn marked_text(&mut self) -> Option<Range<usize>> {
        let before = self.bytes.get(self.at.wrapping_sub(1));
        if self.peek(0) == Some(b'\'') && matches!(before, Some(b'<' | b'&')) {
            return None;
        }
        let text = self.in_marks()?;
        matches!(self.bytes.get(text.end), Some(b'"' | b'\'' | b'\\' | b')' | b']' | b'}')).then_some(text)
    }

    /// The next texts in quotes of the statement, if no other field begins before them.
    pub(super) fn texts_in_quotes(&mut self) -> Vec<Range<usize>> {
        let (from, mut texts) = (self.at, Vec::new());
        let ends = |byte: u8| b"\"'`;}|&\n".contains(&byte);
        while texts.len() < 3 && self.at < from + FAR {
            let gap = self.until(ends, NEAR);
            let inner = self.bytes.get(gap.clone()).unwrap_or_default();
            let field = inner.iter().rposition(|byte| *byte == b',').is_some_and(|comma| {
                inner.get(comma + 1..).is_some_and(|rest| !rest.iter().all(|byte| byte.is_ascii_whitespace()))
            });
            self.at = gap.end;
            // Of an attribute that follows only the other ones have the same sign.
            let another = !texts.is_empty() && inner.contains(&b'=');
            if field || another || inner.is_empty() || self.peek(0) == Some(b'`') || !self.is_at_mark() {
                break;
            }
            let Some(text) = self.marked_text() else { break };
            self.at = text.end + 1;
            // Another name of a list, unless it is that of the value in braces.
            let named = matches!(self.peek(0), Some(b':' | b'='));
            if named && !inner.contains(&b'{') {
                break;
            }
            if !named {
                texts.push(text);
            }
        }
        texts
    }

    /// The text that is taken where an expression has no value: `read(x) || "..."`, `x ?? '...'`.
    pub(super) fn fallback(&mut self) -> Option<Range<usize>> {
        const SIGNS: [&[u8]; 9] =
            [b" || ", b" ?? ", b" ?: ", b" or ", b" // ", b" | default ", b".orElse(", b".getOrElse(", b".unwrap_or("];
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().take(NEAR).take_while(|byte| !matches!(byte, b'"' | b'`' | b'\n' | b';')).count();
        let gap = self.at..self.at + length;
        let expression = self.bytes.get(gap.clone()).unwrap_or_default();
        let found = SIGNS.iter().find_map(|sign| {
            let at = expression.windows(sign.len()).position(|part| part == *sign)?;
            Some(gap.start + at + sign.len())
        });
        let mut value = Cursor { bytes: self.bytes, at: found? };
        if value.is_at_mark() { value.in_marks() } else { None }
    }

    /// A text in quotes behind what other languages have between a name and it: `"password" to "..."`, `=> string(12) "..."`,
    /// `=%s\n' '...'`, `.set("...")`.
    pub(super) fn odd_sign(&mut self, closed: bool) -> bool {
        let before = self.at;
        let found = closed && self.takes(b"to ")
            || METHODS.iter().any(|method| self.takes(method.as_bytes())) && self.takes(b"(")
            || self.takes(b") = ")
            || self.takes(b"=%s") && {
                self.at = self.until(|byte| matches!(byte, b'"' | b'\'' | b'\n'), NEAR).end + 1;
                let _ = self.takes(b",");
                self.spaces() > 0
            }
            || self.takes(b"=>\n") && {
                self.spaces();
                self.takes(b"string(") && {
                    self.at = self.until(|byte| !byte.is_ascii_digit(), NUMBER).end;
                    self.takes(b") ")
                }
            };
        if found && self.is_at_mark() {
            return true;
        }
        self.at = before;
        false
    }

    /// Between two arguments, or a method and its argument, when a quoted text follows.
    pub(super) fn argument(&mut self, takes_one: bool) -> bool {
        let before = self.at;
        // `ENV.fetch("NAME") { "value" }`, `getenv("NAME") or "value"`.
        if takes_one
            && [
                b") { ".as_slice(),
                b").unwrap_or(",
                b").unwrap_or_else(|_| ",
                b").unwrap_or_else(|| ",
                b") or ",
                b") ?? ",
                b") || ",
                b") ?: ",
            ]
            .into_iter()
            .any(|end| self.takes(end))
        {
            return matches!(self.peek(0), Some(b'"' | b'\''));
        }
        if takes_one && (self.takes(b",") || self.takes(b"(")) {
            self.spaces();
            let _ = self.takes(b"<<");
            let behind = self.at;
            // Backquotes are of prose: a list of names.
            if self.quote().is_some_and(|(quote, _)| quote != b'`') {
                self.at = behind;
                return true;
            }
        }
        self.at = before;
        false
    }

    /// The value of a command that gives the name before: `--name prod/password --type x --value ...`.
    pub(super) fn value_option(&mut self) -> bool {
        let line = self.until(|byte| byte == b'\n', VALUE);
        let option = b" --value";
        let found = self.bytes.get(line).and_then(|line| line.windows(option.len()).position(|part| part == option));
        self.at += found.map_or(0, |at| at + option.len());
        found.is_some() && (self.takes(b" ") || self.takes(b"="))
    }
}

impl Named<'_> {
    /// Values in quotes farther behind the name, in an expression that is assigned to it: `password = read(x, "...")`.
    pub(super) fn further(mut self) -> Vec<(Range<usize>, ValuePlace)> {
        if !is_spoken(self.class) || ["=\"", "='", "$", "${"].iter().any(|end| self.before.ends_with(end)) {
            return Vec::new();
        }
        // `Token::Variant { name: "..." }`
        if self.at.peek(0) == Some(b':') && self.at.peek(1) == Some(b':') {
            return Vec::new();
        }
        let _ = self.at.quote();
        self.at.texts_in_quotes().into_iter().map(|value| (value, ValuePlace::Near)).collect()
    }
}
