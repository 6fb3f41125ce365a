//! Secrets recognised by the name that they are assigned to: `DB_PASSWORD=...`, `"apiKey": "..."`, `client_secret: ...`.
//!
//! Every word such as `password` or `token` in a text is read as part of a name; what is assigned to that name is a secret
//! unless it is plainly something else (a type, a variable, a placeholder of documentation). Each name and each value is
//! looked at once and in bounded length, so the time is linear in the text.

mod name;
mod value;

pub(super) use value::AssignmentStyle;

use aho_corasick::AhoCorasick;
use std::ops::Range;
use std::sync::LazyLock;

/// Words of which every name of a secret contains one, in lower case.
pub(super) const HINTS: &[&str] = &["pass", "pwd", "secret", "token", "key", "credential", "auth", "_pat", "psk"];

/// The longest name and value, in bytes.
const NAME: usize = 64;
const VALUE: usize = 512;

/// The most white space around a separator, and the most backslashes before a quote.
const SPACE: usize = 20;
const ESCAPES: usize = 7;

/// How far a type may reach between a name and its value: `password: Option<&str> = "..."`.
const TYPE: usize = 48;

static WORDS: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(HINTS).ok());

/// Visits the values in a text that are secrets by their names.
pub(super) fn spans(text: &str, visit: &mut dyn FnMut(Range<usize>)) {
    let Some(words) = WORDS.as_ref() else { return };
    let mut after = 0;
    for word in words.find_iter(text) {
        if word.start() < after {
            continue;
        }
        let name = name_around(text, word.range());
        after = name.end;
        if let Some(value) = assigned(text, name) {
            after = value.end;
            visit(value);
        }
    }
}

/// Whether a whole value is a secret by the name of its field.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    value.len() <= VALUE && value::is_secret(name, value, &AssignmentStyle::quoted())
}

/// The name that a word is part of.
fn name_around(text: &str, word: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let before = bytes.get(word.start.saturating_sub(NAME)..word.start).unwrap_or_default();
    let mut start = word.start - before.iter().rev().take_while(|byte| of_name(byte)).count();
    let behind = bytes.get(word.end..).unwrap_or_default();
    let mut end = word.end + behind.iter().take(NAME).take_while(|byte| of_name(byte)).count();
    // The letter of an escaped line feed or tab is no part of it.
    if start > 0 && bytes.get(start - 1) == Some(&b'\\') && matches!(bytes.get(start), Some(b'n' | b'r' | b't')) {
        start += 1;
    }
    while end > word.end && matches!(bytes.get(end - 1), Some(b'.' | b'-')) {
        end -= 1;
    }
    start..end
}

/// The secret that is assigned to a name.
fn assigned(text: &str, name: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let named = text.get(name.clone())?;
    // Most names are those of something else, and their values need not be read.
    name::class(named.trim_start_matches('-'))?;
    let mut at = Cursor { bytes, at: name.end };
    if name.start > 0 && bytes.get(name.start - 1) == Some(&b'<') && at.takes(b">") {
        let value = at.until(|byte| matches!(byte, b'<' | b'\n'), VALUE);
        let closes = bytes.get(value.end..).is_some_and(|rest| rest.starts_with(b"</"));
        return if closes { secret(text, named, value, &AssignmentStyle::quoted()) } else { None };
    }
    if let Some(value) = at.element() {
        return secret(text, named, value, &AssignmentStyle::quoted());
    }
    let closed = at.quote().is_some();
    if closed && at.takes(b">") {
        let value = at.until(|byte| matches!(byte, b'<' | b'\n'), VALUE);
        return secret(text, named, value, &AssignmentStyle::quoted());
    }
    let _ = at.takes(b"[]") || at.takes(b"]");
    let spaces = at.spaces();
    let flag = named.starts_with('-') && !closed || spaces > 0 && sets(text, name.start);
    let colon = bytes.get(at.at) == Some(&b':');
    // `arn:...:secret:name`
    if colon && !closed && name.start > 0 && bytes.get(name.start - 1) == Some(&b':') {
        return None;
    }
    let next_is_quote = matches!(bytes.get(at.at), Some(b'\'' | b'"'));
    let sql = spaces > 0 && next_is_quote && !closed && name::class(named) == Some(name::Class::Password);
    let compared = matches!(bytes.get(at.at..at.at + 2), Some(b"==" | b"!="));
    let argument =
        |at: &mut Cursor<'_>| (closed || at.peek(0) != Some(b',')) && at.argument(closed || is_setter(named));
    if !at.separator() && !(spaces > 0 && (flag || sql)) && !at.pair() && !argument(&mut at) {
        return None;
    }
    at.takes(b"--body ");
    let spaces = spaces + at.spaces();
    let plain = !colon && spaces == 0 && !closed;
    if colon {
        at.takes(b"!!str ");
        at.skip_type();
    }
    let opening = at.quote();
    let style = AssignmentStyle { quoted: opening.is_some(), plain, flag, ends_line: false };
    let value = match opening {
        Some((quote, escapes)) => at.quoted(quote, escapes),
        None => at.bare(plain && begins_line(text, name.start)),
    };
    let after = bytes.get(value.end..).unwrap_or_default();
    let rest = after.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    let ends_line = matches!(rest, None | Some(b'\n' | b'#' | b'\\'));
    // A call, an index, or a type that a value follows.
    let continued = matches!(after.first(), Some(b'(' | b'[' | b'{' | b'<' | b'`')) || colon && rest == Some(&b'=');
    if !style.quoted && (continued || compared) {
        return None;
    }
    secret(text, named, value, &AssignmentStyle { ends_line, ..style })
}

fn secret(text: &str, name: &str, value: Range<usize>, style: &AssignmentStyle) -> Option<Range<usize>> {
    value::is_secret(name.trim_start_matches('-'), text.get(value.clone())?, style).then_some(value)
}

/// Whether a method of this name takes a secret: `.password("...")`, `setClientSecret("...")`.
fn is_setter(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let of_method = name.contains('.') && name::class(last) == Some(name::Class::Password);
    of_method || ["set", "with"].iter().any(|begin| last.starts_with(begin))
}

/// Whether a command that sets variables precedes a name: `ENV NAME value`, `set -gx NAME value`.
fn sets(text: &str, start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default();
    ["ENV ", "setx ", "set -gx ", "set -x ", "set -Ux ", "set -Ugx ", "secret set ", "configure set "]
        .iter()
        .any(|end| before.ends_with(end))
}

/// Whether only what may precede an assignment precedes it in its line: `export`, the number of a line.
fn begins_line(text: &str, start: usize) -> bool {
    let from = start.saturating_sub(NAME);
    let before = text.as_bytes().get(from..start).unwrap_or_default();
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let line = line.trim_end_matches("\\n").trim();
    let number = line.trim_end_matches([':', '-', '+']).chars().all(|c| c.is_ascii_digit());
    number || ["export", "set", "setx", "ENV", "ARG", "-", "+", "declare -x"].contains(&line)
}

/// A place in a text that is read on from.
struct Cursor<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn takes(&mut self, wanted: &[u8]) -> bool {
        let there = self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(wanted));
        self.at += if there { wanted.len() } else { 0 };
        there
    }

    /// Skips spaces and tabs, and gives how many there were.
    fn spaces(&mut self) -> usize {
        let before = self.at;
        while self.at - before < SPACE && matches!(self.peek(0), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        self.at - before
    }

    /// A quote, with how many backslashes before it.
    fn quote(&mut self) -> Option<(u8, usize)> {
        let marks = b"brfuN@";
        let marked = self.peek(0).is_some_and(|byte| marks.contains(&byte));
        let prefix = usize::from(marked && matches!(self.peek(1), Some(b'"' | b'\'')));
        let escapes = (0..=ESCAPES).take_while(|ahead| self.peek(prefix + ahead) == Some(b'\\')).count();
        let quote = self.peek(prefix + escapes).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
        self.at += prefix + escapes + 1;
        Some((quote, escapes))
    }

    /// The characters between a name and its value.
    fn separator(&mut self) -> bool {
        if self.peek(0) == Some(b':') && self.peek(1) == Some(b':') {
            return false;
        }
        [b"||=".as_slice(), b"||", b"??=", b"??", b"===", b"!==", b"==", b"!=", b":=", b"?=", b"+=", b"=>", b"=", b":"]
            .into_iter()
            .any(|separator| self.takes(separator))
    }

    /// The value of an element of a property list that follows the one of its name.
    fn element(&mut self) -> Option<Range<usize>> {
        if !self.takes(b"</key>") {
            return None;
        }
        while matches!(self.peek(0), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.takes(b"<string>").then(|| self.until(|byte| matches!(byte, b'<' | b'\n'), VALUE))
    }

    /// Between two arguments, or a method and its argument, when a quoted text follows.
    fn argument(&mut self, takes_one: bool) -> bool {
        let before = self.at;
        if takes_one && (self.takes(b",") || self.takes(b"(")) {
            self.spaces();
            let behind = self.at;
            if self.quote().is_some() {
                self.at = behind;
                return true;
            }
        }
        self.at = before;
        false
    }

    /// The name was the value of a field, and the next field is its value, as in the variables of a container.
    fn pair(&mut self) -> bool {
        let before = self.at;
        if self.takes(b"value=") {
            return true;
        }
        self.takes(b"\r");
        if self.takes(b"\n") {
            self.spaces();
            self.quote();
            if self.takes(b"value") {
                self.quote();
                if self.takes(b":") {
                    return true;
                }
            }
        }
        self.at = before;
        false
    }

    /// A type, and the `=` behind it, if a quoted value follows.
    fn skip_type(&mut self) {
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
    fn quoted(&self, quote: u8, escapes: usize) -> Range<usize> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        for (length, byte) in rest.iter().enumerate().take(VALUE) {
            if *byte == b'\n' {
                break;
            }
            let inner = rest.get(..length).unwrap_or_default();
            let before = inner.iter().rev().take_while(|byte| **byte == b'\\').count();
            let closes = if escapes == 0 { before % 2 == 0 } else { before <= escapes };
            if *byte == quote && closes {
                return self.at..self.at + length - if escapes == 0 { 0 } else { before };
            }
        }
        self.until(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''), VALUE)
    }

    /// A value without quotes. In a line of its own only white space ends it.
    fn bare(&self, line: bool) -> Range<usize> {
        let ends = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'\\');
        let value = match line {
            true => self.until(ends, VALUE),
            false => self.until(|byte| ends(byte) || b",;&|()[]{}<>".contains(&byte), VALUE),
        };
        let inner = self.bytes.get(value.clone()).unwrap_or_default();
        let punctuation = inner.iter().rev().take_while(|byte| matches!(byte, b'.' | b',' | b';' | b':')).count();
        value.start..value.end - punctuation
    }

    /// As far as a byte of ASCII that ends it, but no farther than a number of bytes.
    fn until(&self, ends: impl Fn(u8) -> bool, most: usize) -> Range<usize> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().take(most + 1).take_while(|byte| !ends(**byte)).count();
        // One that is longer is no value of a name.
        let length = if length > most { 0 } else { length };
        self.at..self.at + length
    }
}
