//! What may be between a name and its value: types, other fields, the lines of a block.

use super::VALUE;
use super::cursor::{Cursor, SPACE};
use std::ops::Range;

/// How much of a block is read, in bytes.
const BLOCK: usize = 240;

/// How far a type may reach between a name and its value: `password: Option<&str> = "..."`.
const TYPE: usize = 48;

/// Names of the field that has the value of the one before: `{"name": "...", "value": "..."}`. The longest first.
const VALUE_FIELDS: [&str; 11] = [
    "exact",
    "defaultvalue",
    "default_value",
    "parametervalue",
    "plaintext",
    "content",
    "default",
    "example",
    "initial",
    "value",
    "val",
];

impl Cursor<'_> {
    /// The content of a part of a form, which follows the name of its field and an empty line.
    pub(super) fn part_of_form(&mut self, before: &str) -> Option<Range<usize>> {
        let lines = [b"\r\n\r\n".as_slice(), b"\n\n"];
        let is_part = before.ends_with("name=\"") && lines.into_iter().any(|lines| self.takes(lines));
        is_part.then(|| self.until(|byte| byte.is_ascii_whitespace(), VALUE))
    }

    /// The next cell of a table.
    pub(super) fn cell(&mut self) -> Option<Range<usize>> {
        let _ = self.takes(b"`");
        let _ = self.takes(b"*");
        self.spaces();
        if !self.takes(b"|") {
            return None;
        }
        self.spaces();
        let _ = self.takes(b"`");
        let value = self.until(|byte| byte.is_ascii_whitespace() || matches!(byte, b'|' | b'`'), VALUE);
        let mut after = Cursor { bytes: self.bytes, at: value.end };
        let _ = after.takes(b"`");
        after.spaces();
        (after.peek(0) == Some(b'|')).then_some(value)
    }

    /// Skips the accessors of a property: `Password { get; set; } = "..."`.
    pub(super) fn accessors(&mut self) {
        let before = self.at;
        self.spaces();
        if self.takes(b"{") && matches!(self.peek(0), Some(b' ' | b'g')) {
            let inside = self.until(|byte| !byte.is_ascii_lowercase() && !matches!(byte, b' ' | b';'), TYPE);
            self.at = inside.end;
            if self.bytes.get(inside).is_some_and(|inside| inside.trim_ascii_start().starts_with(b"get;"))
                && self.takes(b"}")
            {
                return;
            }
        }
        self.at = before;
    }

    /// The value or the default of what is declared in a block behind the name, in braces or in indented lines:
    /// `{"type": "string", "default": "..."}`.
    pub(super) fn value_of_block(&mut self, closed: bool) -> bool {
        let before = self.at;
        self.spaces();
        let _ = self.takes(b":") || self.takes(b"=");
        self.spaces();
        // The other arguments of a call, too: `option('password', type: 'string', value: '...')`.
        let braces = self.takes(b"{") || closed && self.takes(b", ");
        let block = self.until(|byte| matches!(byte, b'}' | b')'), BLOCK);
        let block = if block.is_empty() { self.at..self.bytes.len().min(self.at + BLOCK) } else { block };
        let mut indent = None;
        let mut at = block.start;
        while at < block.end {
            self.at = at;
            let lines = self.takes(b"\r\n") || self.takes(b"\n");
            let spaces = self.spaces();
            if !braces && (at == block.start && !lines || lines && spaces < *indent.get_or_insert(spaces.max(1))) {
                break;
            }
            if (lines || braces) && self.value_field(false) {
                return true;
            }
            let next = Cursor { bytes: self.bytes, at: self.at };
            let field = next.until(|byte| byte == b'\n' || braces && byte == b',', BLOCK);
            at = field.end.max(self.at);
            if self.bytes.get(at) == Some(&b',') {
                at += 1;
            }
            if field.is_empty() && at <= self.at && !matches!(self.bytes.get(at), Some(b'\n')) {
                break;
            }
        }
        self.at = before;
        false
    }

    /// A type in Julia, with the `=` behind it: `password::String = "..."`.
    pub(super) fn type_after_colons(&mut self) -> bool {
        let before = self.at;
        if self.takes(b"::") {
            // A field of Jsonnet.
            self.spaces();
            if self.is_at_mark() {
                return true;
            }
            self.at = self.until(|byte| !byte.is_ascii_alphanumeric(), TYPE).end;
            self.spaces();
            if self.takes(b"=") {
                self.spaces();
                let value = self.at;
                if self.quote().is_some() {
                    self.at = value;
                    return true;
                }
            }
        }
        self.at = before;
        false
    }

    /// A type between a name and a value in quotes, as Go has it: `var password string = "..."`.
    pub(super) fn type_before_value(&mut self) -> bool {
        let before = self.at;
        let typed = [b"string".as_slice(), b"*string", b"[]byte", b"String", b"As String"]
            .into_iter()
            .any(|name| self.takes(name));
        if typed && self.spaces() > 0 && self.takes(b"=") {
            self.spaces();
            let value = self.at;
            if self.takes(b"[]byte(") || self.quote().is_some() {
                self.at = if self.bytes.get(value) == Some(&b'[') { self.at } else { value };
                return true;
            }
        }
        self.at = before;
        false
    }

    /// The name was the value of a field, and another field is its value, as in the variables of a container:
    /// `name: "PASSWORD", value: "..."`, `-Path Env:PASSWORD -Value "..."`.
    pub(super) fn pair(&mut self) -> bool {
        let before = self.at;
        let comma = self.takes(b",");
        let mut spaces = usize::from(comma);
        while matches!(self.peek(0), Some(b' ' | b'\t' | b'\r' | b'\n')) && spaces < SPACE {
            self.at += 1;
            spaces += 1;
        }
        let dashes = (0..2).take_while(|ahead| self.peek(*ahead) == Some(b'-')).count();
        self.at += dashes;
        if self.value_field(dashes > 0) {
            return true;
        }
        self.at = before;
        false
    }

    /// Skips the name of a field with a value, and the sign behind it; an option needs none.
    fn value_field(&mut self, option: bool) -> bool {
        let before = self.at;
        let quoted = self.quote().is_some();
        let is_value = |name: &&str| {
            let there = self.bytes.get(self.at..self.at + name.len());
            there.is_some_and(|there| there.eq_ignore_ascii_case(name.as_bytes()))
        };
        if let Some(name) = VALUE_FIELDS.iter().find(|name| is_value(name)) {
            self.at += name.len();
            let _ = quoted && self.quote().is_some();
            let apart = self.spaces() > 0;
            if self.takes(b"=>") || self.takes(b":") || self.takes(b"=") || option && apart {
                return true;
            }
        }
        self.at = before;
        false
    }

    /// The beginning of a text of YAML that follows in its own line, and the continuation of a line of properties.
    pub(super) fn block(&mut self) -> bool {
        let before = self.at;
        let begins = matches!(self.peek(0), Some(b'|' | b'>' | b'\\'));
        if begins {
            self.at = self.until(|byte| !b"|>\\-+0123456789".contains(&byte), 4).end;
            self.spaces();
            self.takes(b"\r");
            if self.takes(b"\n") && self.spaces() > 0 {
                return true;
            }
        }
        self.at = before;
        false
    }

    /// The next line, if it is indented, or any is wanted, and it holds nothing but a value.
    pub(super) fn next_line(&mut self, any: bool) -> Option<Range<usize>> {
        let before = self.at;
        self.takes(b"\r");
        let fence = self.takes(b"\n```");
        self.at = if fence { self.until(|byte| byte == b'\n', TYPE).end } else { self.at };
        if self.takes(b"\n") && (self.spaces() > 0 || any || fence) {
            let value = self.until(|byte| byte.is_ascii_whitespace(), VALUE);
            let inner = self.bytes.get(value.clone()).unwrap_or_default();
            if !inner.ends_with(b":") && !inner.ends_with(b",") && !inner.contains(&b'"') && self.ends_line(value.end) {
                return Some(value);
            }
        }
        self.at = before;
        None
    }

    /// Skips the tag or the anchor of a value of YAML.
    pub(super) fn tag(&mut self) {
        let before = self.at;
        if self.takes(b"!!") || self.takes(b"&") {
            self.at = self.until(|byte| !byte.is_ascii_alphanumeric() && byte != b'_', TYPE).end;
            if self.spaces() > 0
                && self.peek(0).is_some_and(|byte| byte.is_ascii_alphanumeric() || byte >= 0x80 || byte == b'"')
            {
                return;
            }
        }
        self.at = before;
    }

    /// Skips a remark in parentheses that a separator follows: `Password (production): ...`.
    pub(super) fn remark(&mut self) -> bool {
        let before = self.at;
        if self.takes(b"(") || self.takes(b"[") {
            self.at = self.until(|byte| b")(][\n\"',".contains(&byte), TYPE).end;
            if (self.takes(b")") || self.takes(b"]"))
                && self.peek(0) == Some(b':')
                && matches!(self.peek(1), Some(b' ' | b'*'))
            {
                return true;
            }
        }
        self.at = before;
        false
    }

    /// Skips an option between a name and its value: `gh secret set NAME --body "..."`.
    pub(super) fn option(&mut self) {
        let _ = self.takes(b"--body ") || self.takes(b"--body=") || self.takes(b"-b ") || self.takes(b"-b");
    }

    /// A type, and the `=` behind it, if a quoted value follows.
    pub(super) fn skip_type(&mut self) {
        if self.is_at_mark() {
            return;
        }
        // `&[u8; 16]`
        let start = self.at;
        let _ = self.takes(b"&");
        if self.takes(b"[u8; ") {
            self.at = self.until(|byte| byte == b']', TYPE).end;
        } else {
            self.at = start;
        }
        let of_type = |byte: u8| byte.is_ascii_alphanumeric() || b"_&'<>[]:?,| .".contains(&byte);
        let length = (0..TYPE).take_while(|ahead| self.peek(*ahead).is_some_and(of_type)).count();
        let mut after = Cursor { bytes: self.bytes, at: self.at + length };
        let spaced = length > 0 && matches!(self.peek(length - 1), Some(b' ' | b'>'));
        if length > 0 && (spaced || length < 20) && (after.takes(b"=") || after.takes(b"*")) {
            after.spaces();
            let value = after.at;
            after.wrapper();
            if after.is_at_mark() {
                self.at = value;
            }
        }
    }
}
