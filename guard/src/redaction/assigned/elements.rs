//! Values in XML and its relatives.

use super::VALUE;
use super::cursor::{Cursor, SPACE};
use std::ops::Range;

impl Cursor<'_> {
    /// The text of an element with this name: `<password>`, `<db:password type="text">`.
    pub(super) fn element(&mut self, before: &str) -> Option<Range<usize>> {
        let from = self.at;
        let opens = before.ends_with('<') || before.ends_with(':') && ends_with_prefix(before);
        if opens {
            if matches!(self.peek(0), Some(b' ')) {
                self.at = self.until(|byte| matches!(byte, b'>' | b'<' | b'\n'), VALUE).end;
            }
            if self.bytes.get(self.at.wrapping_sub(1)) != Some(&b'/') && self.takes(b">") {
                let value = self.text();
                if self.bytes.get(value.end..).is_some_and(|rest| rest.starts_with(b"</")) {
                    return Some(value);
                }
            }
        }
        self.at = from;
        None
    }

    /// The text behind a tag, also within one more element: `<property name="password"><value>`.
    pub(super) fn behind_attribute(&mut self) -> Option<Range<usize>> {
        if !self.takes(b">") {
            return None;
        }
        let text = self.at;
        while matches!(self.peek(0), Some(b' ' | b'\t' | b'\n' | b'\r')) && self.at - text < SPACE {
            self.at += 1;
        }
        if self.peek(0) != Some(b'<') || self.peek(1) == Some(b'/') {
            self.at = text;
            return Some(self.text());
        }
        self.at = self.until(|byte| matches!(byte, b'>' | b'\n'), VALUE).end;
        self.takes(b">").then(|| self.text())
    }

    /// The value of a field of a form: `<input type="password" value="...">`.
    pub(super) fn of_input(&mut self, before: &str) -> Option<Range<usize>> {
        if !before.ends_with("type=\"") && !before.ends_with("type='") {
            return None;
        }
        let attribute = b" value=";
        let tag = self.until(|byte| matches!(byte, b'>' | b'<' | b'\n'), VALUE);
        let found = self.bytes.get(tag)?.windows(attribute.len()).position(|part| part == attribute)?;
        let mut value = Cursor { bytes: self.bytes, at: self.at + found + attribute.len() };
        let (quote, escapes) = value.quote()?;
        Some(value.quoted(quote, escapes))
    }

    /// A text of XML as far as the next tag, also as CDATA.
    fn text(&mut self) -> Range<usize> {
        let end = if self.takes(b"<![CDATA[") { b']' } else { b'<' };
        self.until(|byte| byte == end || byte == b'\n', VALUE)
    }

    /// The value of an element of a property list that follows the one of its name.
    pub(super) fn of_property_list(&mut self) -> Option<Range<usize>> {
        if !self.takes(b"</key>") {
            return None;
        }
        while matches!(self.peek(0), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.takes(b"<string>").then(|| self.until(|byte| matches!(byte, b'<' | b'\n'), VALUE))
    }
}

/// Whether a text ends with the begin of a tag and the prefix of a namespace: `<db:`.
fn ends_with_prefix(text: &str) -> bool {
    let rest = text.bytes().rev().skip(1).take(32).find(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-');
    rest == Some(b'<')
}
