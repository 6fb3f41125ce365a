//! Reading of a text from a place on: separators, types, quotes and values.

use super::VALUE;
use crate::redaction::work;
use std::ops::Range;

/// The most white space around a separator, and the most backslashes before a quote.
pub(super) const SPACE: usize = 64;
const ESCAPES: usize = 7;

/// The longest value between quotes: longer than those without, since a key of several lines can be in quotes.
pub(super) const QUOTED: usize = 8_192;

/// What may wrap a value in code.
const WRAPPERS: &str = "Some Ok Just SecretStr SecretString::from SecretString::new Secret::new String::from std::string Password::new \
    ApiKey::new Token::new Optional.of Buffer.from aws.String pulumi.String ptr.To";

/// How many lines of a block are read.
const BLOCK_LINES: usize = 6;

/// How far a type may reach between a name and its value: `password: Option<&str> = "..."`.
const TYPE: usize = 48;

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

    /// A quote, with how many backslashes before it.
    pub(super) fn quote(&mut self) -> Option<(u8, usize)> {
        let marks = b"brfuN@";
        let marked = self.peek(0).is_some_and(|byte| marks.contains(&byte));
        let prefix = usize::from(marked && matches!(self.peek(1), Some(b'"' | b'\'')));
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

    /// The verb between a name and its value in a sentence.
    pub(super) fn verb(&mut self, spaces: usize) -> bool {
        const VERBS: &str = "is: is was lautet: lautet ist: ist est: est es: es é è jest este är er je là adalah to";
        const JOINED: &str = "是 为 為 は";
        if JOINED.split_ascii_whitespace().any(|verb| self.takes(verb.as_bytes())) {
            return true;
        }
        let before = self.at;
        let found = spaces > 0
            && VERBS.split_ascii_whitespace().any(|verb| {
                self.at = before;
                self.takes(verb.as_bytes()) && self.spaces() > 0
            });
        self.at = if found { self.at } else { before };
        found
    }

    /// Whose secret is asked for, behind the name and its space: `password for 'https://me@host': `.
    pub(super) fn aim(&mut self) -> bool {
        let before = self.at;
        if self.takes(b"for ") {
            self.at = self.until(|byte| byte.is_ascii_whitespace(), 100).end;
            if self.bytes.get(self.at.wrapping_sub(1)) == Some(&b':') && self.spaces() > 0 {
                return true;
            }
        }
        self.at = before;
        false
    }

    /// Whether nothing but a remark follows in the line.
    pub(super) fn ends_line(&self, at: usize) -> bool {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let rest = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
        matches!(rest, None | Some(b'\n' | b'#' | b'\\'))
    }

    /// Skips what wraps a quoted value: `Some("...")`, `SecretString::from("...")`.
    pub(super) fn wrapper(&mut self) {
        let before = self.at;
        if WRAPPERS.split_ascii_whitespace().any(|name| self.takes(name.as_bytes())) && self.takes(b"(") {
            let value = self.at;
            if self.quote().is_some() {
                self.at = value;
                return;
            }
        }
        self.at = before;
    }

    /// The content of a part of a form, which follows the name of its field and an empty line.
    pub(super) fn part_of_form(&mut self, before: &str) -> Option<Range<usize>> {
        let lines = [b"\r\n\r\n".as_slice(), b"\n\n"];
        let is_part = before.ends_with("name=\"") && lines.into_iter().any(|lines| self.takes(lines));
        is_part.then(|| self.until(|byte| byte.is_ascii_whitespace(), VALUE))
    }

    /// The next cell of a table.
    pub(super) fn cell(&mut self) -> Option<Range<usize>> {
        let _ = self.takes(b"`");
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

    /// The default of what is declared in a block of Terraform or of YAML, behind the line with its name.
    pub(super) fn default_of_block(&mut self, opening: u8, default: &[u8]) -> bool {
        let before = self.at;
        self.spaces();
        if self.peek(0) == Some(opening) {
            self.at += 1;
            let opens = self.until(|byte| byte == b'\n', 1);
            self.at = opens.end;
            for _ in 0..BLOCK_LINES {
                if !self.takes(b"\n") || self.spaces() == 0 {
                    break;
                }
                if self.takes(default) {
                    self.spaces();
                    return matches!(self.peek(0), Some(b'=' | b':'));
                }
                self.at = self.until(|byte| matches!(byte, b'\n' | b'}'), VALUE).end;
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

    /// A type in Julia, with the `=` behind it: `password::String = "..."`.
    pub(super) fn type_after_colons(&mut self) -> bool {
        let before = self.at;
        if self.takes(b"::") {
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

    /// Between two arguments, or a method and its argument, when a quoted text follows.
    pub(super) fn argument(&mut self, takes_one: bool) -> bool {
        let before = self.at;
        // `ENV.fetch("NAME") { "value" }`, `getenv("NAME") or "value"`.
        if takes_one
            && [b") { ".as_slice(), b") or ", b") ?? ", b") || ", b") ?: "].into_iter().any(|end| self.takes(end))
        {
            return matches!(self.peek(0), Some(b'"' | b'\''));
        }
        if takes_one && (self.takes(b",") || self.takes(b"(")) {
            self.spaces();
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

    /// The name was the value of a field, and the next field is its value, as in the variables of a container.
    pub(super) fn pair(&mut self) -> bool {
        let before = self.at;
        if self.takes(b",") {
            self.spaces();
            self.quote();
            if self.value() {
                self.quote();
                self.spaces();
                if self.takes(b":") || self.takes(b"=") {
                    return true;
                }
            }
            self.at = before;
        }
        if self.value() && self.takes(b"=") {
            return true;
        }
        self.at = before;
        self.takes(b"\r");
        if self.takes(b"\n") {
            self.spaces();
            self.quote();
            if self.value() {
                self.quote();
                if self.takes(b":") {
                    return true;
                }
            }
        }
        self.at = before;
        false
    }

    fn value(&mut self) -> bool {
        [b"value".as_slice(), b"Value", b"default", b"content"].into_iter().any(|name| self.takes(name))
    }

    /// The beginning of a text of YAML that follows in its own line.
    pub(super) fn block(&mut self) -> bool {
        let before = self.at;
        let begins = [b">-".as_slice(), b"|-", b">", b"|"].into_iter().any(|mark| self.takes(mark));
        self.takes(b"\r");
        if begins && self.takes(b"\n") && self.spaces() > 0 {
            return true;
        }
        self.at = before;
        false
    }

    /// A type, and the `=` behind it, if a quoted value follows.
    pub(super) fn skip_type(&mut self) {
        let of_type = |byte: u8| byte.is_ascii_alphanumeric() || b"_&'<>[]:?,| .".contains(&byte);
        let length = (0..TYPE).take_while(|ahead| self.peek(*ahead).is_some_and(of_type)).count();
        let mut after = Cursor { bytes: self.bytes, at: self.at + length };
        if length > 0 && after.takes(b"=") {
            after.spaces();
            if matches!(after.peek(0), Some(b'"' | b'\'')) {
                self.at = after.at;
            }
        }
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

    /// A value without quotes. In a line of its own only white space ends it.
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
