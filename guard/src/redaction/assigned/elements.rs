//! Values in XML and its relatives.

use super::VALUE;
use super::cursor::{Cursor, SPACE};
use crate::redaction::words::has_word;
use std::ops::Range;

/// How the names of attributes end whose value is the name of a setting.
const NAMING: [&str; 10] = [
    "setting id=",
    "property id=",
    "entry id=",
    "param id=",
    "name=",
    "key=",
    "property=",
    "variable=",
    "field=",
    "code=",
];

/// Attributes with the value of the setting that another attribute names, in small letters.
const VALUES: [&[u8]; 6] = [b":value=", b" value=", b" content=", b" text=", b" default=", b" defaultvalue="];

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
                let text = self.at;
                self.blanks();
                // A child with the value: `<Password><Value>`.
                if !(self.takes(b"<Value>") || self.takes(b"<value>") || self.takes(b"<string>")) {
                    self.at = text;
                }
                let value = self.text();
                let mut behind = Cursor { bytes: self.bytes, at: value.end };
                let _ = behind.takes(b"]]>");
                behind.blanks();
                if behind.takes(b"</") {
                    return Some(value);
                }
            }
        }
        self.at = from;
        None
    }

    /// The text of the element behind the one that holds a name: `<key>password</key> <string>...`, `<th>password</th><td>...`.
    /// The same element again is the next item of a list, or the value in a row of two cells.
    pub(super) fn next_element(&mut self, before: &str) -> Option<(Range<usize>, bool)> {
        let from = self.at;
        // Words of a label may precede it in the element.
        let (tag, words) = before.rsplit_once('>')?;
        let own = tag.rsplit('<').next()?.split(' ').next()?;
        if !words.chars().all(|c| c.is_alphabetic() || c == ' ') {
            return None;
        }
        if self.takes(b"</") && self.takes(own.as_bytes()) && self.takes(b">") {
            self.blanks();
            let again = self.peek(0) == Some(b'<')
                && self.bytes.get(self.at + 1..).is_some_and(|rest| rest.starts_with(own.as_bytes()));
            if self.peek(0) == Some(b'<') && self.peek(1) != Some(b'/') {
                self.at = self.until(|byte| matches!(byte, b'>' | b'\n'), VALUE).end;
                if self.takes(b">") {
                    let value = self.text();
                    let mut behind = Cursor { bytes: self.bytes, at: value.end };
                    let ends = behind.takes(b"</td>") && {
                        behind.blanks();
                        behind.takes(b"</tr>")
                    };
                    if !again || ends {
                        return Some((value, again));
                    }
                }
            }
        }
        self.at = from;
        None
    }

    /// The text behind a tag with an attribute that names a setting, also within one more element:
    /// `<property name="password"><value>`.
    pub(super) fn behind_attribute(&mut self, before: &str) -> Option<Range<usize>> {
        if !names_a_setting(before) {
            return None;
        }
        let from = self.at;
        self.at = self.until(|byte| matches!(byte, b'>' | b'<' | b'\n'), VALUE).end;
        if self.bytes.get(self.at.wrapping_sub(1)) == Some(&b'/') || !self.takes(b">") {
            self.at = from;
            return None;
        }
        let text = self.at;
        self.blanks();
        if self.peek(0) != Some(b'<') || self.peek(1) == Some(b'/') || self.peek(1) == Some(b'!') {
            self.at = text;
            return Some(self.text());
        }
        self.at = self.until(|byte| matches!(byte, b'>' | b'\n'), VALUE).end;
        self.takes(b">").then(|| self.text())
    }

    /// The value of a field of a form, and of an attribute that another one names: `<input type="password" value="...">`,
    /// `<meta name="token" content="...">`.
    pub(super) fn other_attribute(&mut self, before: &str) -> Option<Range<usize>> {
        if !before.ends_with("type=\"") && !before.ends_with("type='") && !names_a_setting(before) {
            return None;
        }
        let tag = self.until(|byte| matches!(byte, b'>' | b'<' | b'\n'), VALUE);
        let tag = self.bytes.get(tag)?.to_ascii_lowercase();
        let find = |attribute: &&[u8]| {
            tag.windows(attribute.len()).position(|part| part == *attribute).map(|at| at + attribute.len())
        };
        let mut value = Cursor { bytes: self.bytes, at: self.at + VALUES.iter().find_map(find)? };
        let (quote, escapes) = value.quote()?;
        Some(value.quoted(quote, escapes))
    }

    /// Skips tags of HTML that frame a label or its value: `</b>`, `<code>`.
    pub(super) fn tags(&mut self) -> bool {
        const TAGS: &str = "b strong i em code span pre kbd tt font small u label";
        let from = self.at;
        let mut found = false;
        // `\textbf{...}` of LaTeX.
        if self.takes(b"\\text") {
            self.at = self.until(|byte| !byte.is_ascii_alphabetic(), SPACE).end;
            if self.takes(b"{") {
                return true;
            }
        }
        self.at = from;
        while self.takes(b"<") {
            let _ = self.takes(b"/");
            let name = self.until(|byte| !byte.is_ascii_alphabetic(), SPACE);
            let name = self.bytes.get(name).and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default();
            self.at = self.until(|byte| matches!(byte, b'>' | b'<' | b'\n'), VALUE).end;
            if !has_word(TAGS, name) || !self.takes(b">") {
                self.at = from;
                return false;
            }
            found = true;
            self.spaces();
        }
        found
    }

    /// A text of XML as far as the next tag, without the white space around it, also as CDATA.
    fn text(&mut self) -> Range<usize> {
        self.blanks();
        let end = if self.takes(b"<![CDATA[") { b']' } else { b'<' };
        let text = self.until(|byte| byte == end || byte == b'\n', VALUE);
        let inner = self.bytes.get(text.clone()).unwrap_or_default();
        text.start..text.start + inner.trim_ascii_end().len()
    }

    /// Skips white space, also across lines.
    fn blanks(&mut self) {
        let from = self.at;
        while matches!(self.peek(0), Some(b' ' | b'\t' | b'\n' | b'\r')) && self.at - from < SPACE {
            self.at += 1;
        }
    }
}

/// Whether a text ends with an attribute that names a setting: `<entry key="`.
fn names_a_setting(before: &str) -> bool {
    let attribute = before.strip_suffix(['"', '\'']).map(str::as_bytes).unwrap_or_default();
    let end = |name: &&str| {
        let start = attribute.len().checked_sub(name.len());
        start.and_then(|start| attribute.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(name.as_bytes()))
    };
    NAMING.iter().any(end)
}

/// Whether a text ends with the begin of a tag and the prefix of a namespace: `<db:`.
fn ends_with_prefix(text: &str) -> bool {
    let rest = text.bytes().rev().skip(1).take(32).find(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-');
    rest == Some(b'<')
}
