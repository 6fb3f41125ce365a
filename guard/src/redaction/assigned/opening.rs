//! What opens and closes a value: quotes of many languages, calls and casts around a quoted text.

use super::VALUE;
use super::cursor::Cursor;
use crate::redaction::words::has_word;
use std::ops::Range;

/// Marks around a value other than one quote, each with the one that closes it.
const FRAMES: [(&str, &str); 14] = [
    ("\"\"\"", "\"\"\""),
    ("'''", "'''"),
    ("''", "''"),
    ("[[", "]]"),
    ("[=[", "]=]"),
    ("%q(", ")"),
    ("%q{", "}"),
    ("%q[", "]"),
    ("~s(", ")"),
    ("q(", ")"),
    ("q{", "}"),
    ("qq(", ")"),
    ("qq{", "}"),
    ("<<\"", "\""),
];

/// Calls that give the text that they are given, in small letters without `_`: constructors and conversions.
const WRAPPERS: &str = "some ok just new of from secret secretstr secretstring string str bytes byte buffer password apikey token ptr to \
    literal plain plaintext mkdefault mkforce mkoptiondefault mkoverride wrap protectedstring securestring zeroizing secretbox box \
    arc rc cow borrowed owned pure raw nosecret noecho sensitive field default value fromstring tostring \
    stringify stringval ref usestate signal pack secretvalue unsafeplaintext secretfrom passwordfrom stringvalue std::string nsstring varchar";

/// The longest path of a call.
const PATH: usize = 48;

impl Cursor<'_> {
    /// A value in quotes or in a frame, in the line.
    pub(super) fn in_marks(&mut self) -> Option<Range<usize>> {
        if let Some(value) = self.framed() {
            return Some(value);
        }
        let (quote, escapes) = self.quote()?;
        let value = self.quoted(quote, escapes);
        // French quotes have spaces inside.
        let inner = self.bytes.get(value.clone()).unwrap_or_default();
        let start = value.start + inner.len() - inner.trim_ascii_start().len();
        Some(start..(start + inner.trim_ascii().len()))
    }

    fn framed(&mut self) -> Option<Range<usize>> {
        for (opening, closing) in FRAMES {
            let mut inside = Cursor { bytes: self.bytes, at: self.at };
            if !inside.takes(opening.as_bytes()) {
                continue;
            }
            // A text of several lines may begin in the next one.
            if opening.len() == 3 && inside.takes(b"\n") {
                inside.spaces();
            }
            // Two quotes are an empty text unless a value follows at once.
            if !inside.peek(0).is_some_and(|byte| {
                (byte.is_ascii_graphic() || byte >= 0x80) && (opening != "''" || !b",):;]}".contains(&byte))
            }) {
                continue;
            }
            let line = inside.until(|byte| byte.is_ascii_whitespace(), VALUE);
            let rest = self.bytes.get(line.clone()).unwrap_or_default();
            if let Some(length) = rest.windows(closing.len()).position(|part| part == closing.as_bytes())
                && length > 0
            {
                self.at = line.start + length;
                return Some(line.start..line.start + length);
            }
        }
        None
    }

    /// Skips what wraps a quoted value: `Some("...")`, `lib.mkDefault "..."`, `Field(default="...")`, `(string)"..."`, `*"..."`.
    pub(super) fn wrapper(&mut self) {
        let before = self.at;
        if !self.wraps() {
            self.at = before;
        }
    }

    fn wraps(&mut self) -> bool {
        for calls in 0..3 {
            if calls > 0 && self.is_at_mark() {
                return true;
            }
            let cast = self.at;
            if self.takes(b"(") {
                self.at = self.until(|byte| !(byte.is_ascii_alphabetic() || byte == b' ' || byte == b'*'), PATH).end;
                if self.takes(b")") && self.spaces() < 2 && self.is_at_mark() {
                    return true;
                }
                self.at = cast;
            }
            let path = self.until(|byte| !(byte.is_ascii_alphanumeric() || b"_.:&*[]<!".contains(&byte)), PATH);
            let path = self.bytes.get(path.clone()).map(|bytes| (path, String::from_utf8_lossy(bytes)));
            let Some((range, path)) = path else { return false };
            self.at = range.end;
            let last = path.rsplit(['.', ':', '&', '*', '[', ']', '<', '!']).next().unwrap_or_default();
            let last: String = last.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect();
            if last.is_empty() && !path.is_empty() && self.is_at_mark() && !path.contains(['<', '[', ':', '.'])
                // A lifetime of Rust.
                && self.peek(0) != Some(b'\'')
            {
                return true;
            }
            let marks = !path.bytes().any(|byte| byte.is_ascii_alphanumeric());
            let calls = (marks || has_word(WRAPPERS, &last))
                && (self.takes(b"(") || self.takes(b"{") || !last.is_empty() && self.spaces() > 0);
            // The argument may be in a line of its own.
            let _ = calls && self.takes(b"\n");
            // The address of a text in a debugger.
            if last.starts_with("0x") && self.spaces() > 0 && self.is_at_mark() {
                return true;
            }
            if !calls {
                return false;
            }
            self.spaces();
            let _ = self.takes(b"default=") || self.takes(b"value=") || self.takes(b"default: ");
        }
        self.is_at_mark()
    }

    /// Whether a quote is next.
    pub(super) fn is_at_mark(&self) -> bool {
        let mut ahead = Cursor { bytes: self.bytes, at: self.at };
        ahead.quote().is_some()
    }
}
