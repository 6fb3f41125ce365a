//! Reading of a text from a place on: separators, types, quotes and values.

use super::VALUE;
use crate::redaction::work;
use std::ops::Range;

/// The most white space around a separator, and the most backslashes before a quote.
pub(super) const SPACE: usize = 64;
const ESCAPES: usize = 7;

/// The longest value between quotes: longer than those without, since a key of several lines can be in quotes.
pub(super) const QUOTED: usize = 8_192;

/// A place in a text that is read on from.
pub(super) struct Cursor<'t> {
    pub(super) bytes: &'t [u8],
    pub(super) at: usize,
}

impl Cursor<'_> {
    pub(super) fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    pub(super) fn takes(&mut self, wanted: &[u8]) -> bool {
        let there = self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(wanted));
        self.at += if there { wanted.len() } else { 0 };
        there
    }

    /// Skips spaces and tabs, and gives how many there were.
    pub(super) fn spaces(&mut self) -> usize {
        let before = self.at;
        while self.at - before < SPACE && matches!(self.peek(0), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        self.at - before
    }

    /// A quote, with how many backslashes before it. Letters and signs of its language may precede it: `b"`, `r#"`, `@"`, `N'`.
    pub(super) fn quote(&mut self) -> Option<(u8, usize)> {
        const PREFIXES: [&str; 21] = [
            "s", "br#", "cr#", "r##", "r#", "br", "rb", "u8", "$@", "@$", "b", "r", "f", "u", "N", "@", "L", "U", "R",
            "c", "$",
        ];
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let is_quote = |byte: Option<&u8>| matches!(byte, Some(b'"' | b'\''));
        let is_prefix = |prefix: &&str| rest.starts_with(prefix.as_bytes()) && is_quote(rest.get(prefix.len()));
        let prefix = PREFIXES.iter().find(|prefix| is_prefix(prefix)).map_or(0, |prefix| prefix.len());
        let escapes = (0..=ESCAPES).take_while(|ahead| self.peek(prefix + ahead) == Some(b'\\')).count();
        let quote = self.peek(prefix + escapes).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
        self.at += prefix + escapes + 1;
        Some((quote, escapes))
    }

    /// The characters between a name and its value.
    pub(super) fn separator(&mut self) -> bool {
        if self.peek(0) == Some(b':') && self.peek(1) == Some(b':') {
            return false;
        }
        const SIGNS: &str = "||= || ??= ?? === !== == != := ?= += => <<< <- -> |-> ~> ::= = : %3D %3d";
        SIGNS.split_ascii_whitespace().any(|sign| self.takes(sign.as_bytes()))
    }

    /// Whether nothing but a remark follows in the line.
    pub(super) fn ends_line(&self, at: usize) -> bool {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let next = rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
        let Some(next) = next else { return true };
        // A remark of INI begins behind a space; without one it is the end of a statement.
        let rest = rest.get(next..).unwrap_or_default();
        rest.starts_with(b"\n")
            || rest.starts_with(b"#")
            || rest.starts_with(b"\\")
            || next > 0 && rest.starts_with(b"; ")
    }

    /// A value up to its closing quote, or up to white space when the text is cut off before one.
    pub(super) fn quoted(&self, quote: u8, escapes: usize) -> Range<usize> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let mut before = 0;
        for (length, byte) in rest.iter().enumerate().take(QUOTED) {
            let closes = if escapes == 0 { before % 2 == 0 } else { before <= escapes };
            if *byte == b'\n' {
                break;
            }
            work::count(1);
            if *byte == quote && closes {
                return self.at..self.at + length - if escapes == 0 { 0 } else { before };
            }
            before = if *byte == b'\\' { before + 1 } else { 0 };
        }
        self.until(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''), VALUE)
    }

    /// A value without quotes. Where it may have any character only white space and quotes end it.
    pub(super) fn bare(&self, line: bool) -> Range<usize> {
        let ends = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'\\');
        let value = match line {
            true => self.until(ends, VALUE),
            false => self.until(|byte| ends(byte) || b",;&|()[]{}<>".contains(&byte), VALUE),
        };
        let value = self.past_escapes(value, &ends);
        let inner = self.bytes.get(value.clone()).unwrap_or_default();
        // Of an encoded form only this field.
        let next = inner.windows(3).position(|part| part == b"%26").unwrap_or(inner.len());
        let (inner, value) = (inner.get(..next).unwrap_or_default(), value.start..value.start + next);
        let punctuation = inner.iter().rev().take_while(|byte| matches!(byte, b'.' | b',' | b';' | b':')).count();
        value.start..value.end - punctuation
    }

    /// A value of a shell continues after an escaped character that is not a letter: `S!B\*d`.
    pub(super) fn past_escapes(&self, value: Range<usize>, ends: &impl Fn(u8) -> bool) -> Range<usize> {
        let mut end = value.end;
        while end > value.start && self.bytes.get(end) == Some(&b'\\') {
            let escaped = self.bytes.get(end + 1).copied().unwrap_or_default();
            if !b"*$!&#;|()<>?~@%^=+".contains(&escaped) {
                break;
            }
            let rest = Cursor { bytes: self.bytes, at: end + 2 };
            end = rest.until(|byte| ends(byte) || b",;&|()[]{}<>".contains(&byte), VALUE).end;
        }
        value.start..end
    }

    /// As far as a byte of ASCII that ends it, but no farther than a number of bytes.
    pub(super) fn until(&self, ends: impl Fn(u8) -> bool, most: usize) -> Range<usize> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().take(most + 1).take_while(|byte| !ends(**byte)).count();
        work::count(length);
        // A longer text is not an assigned value.
        let length = if length > most { 0 } else { length };
        self.at..self.at + length
    }
}
