//! Secrets recognised by the name that they are assigned to: `DB_PASSWORD=...`, `"apiKey": "..."`, `client_secret: ...`.
//!
//! Every word such as `password` or `token` in a text is read as part of a name; what is assigned to that name is a secret
//! unless it is plainly something else (a type, a variable, a placeholder of documentation). Each name and each value is
//! looked at once and in bounded length, so the time is linear in the text.

mod cursor;
mod name;
mod phrase;
mod value;

pub(super) use value::AssignmentStyle;

use aho_corasick::AhoCorasick;
use cursor::Cursor;
use std::ops::Range;
use std::sync::LazyLock;

/// Words of which every name of a secret contains one, in lower case.
pub(super) const HINTS: &[&str] = &[
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "credential",
    "auth",
    "_pat",
    "psk",
    "kennwort",
    "contrase",
    "salt",
    "_pw",
];

/// The longest name and value, in bytes.
const NAME: usize = 64;
const VALUE: usize = 512;

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
    let before_name = |text_before: &[u8]| bytes.get(..name.start).is_some_and(|before| before.ends_with(text_before));
    if closed
        && before_name(b"name=\"")
        && let Some(value) = (Cursor { bytes, at: at.at }).part_of_form()
    {
        return secret(text, named, value, &AssignmentStyle::quoted());
    }
    if (before_name(b"| ") || before_name(b"| `"))
        && let Some(value) = (Cursor { bytes, at: at.at }).cell()
    {
        let style = AssignmentStyle { quoted: false, plain: false, flag: false, ends_line: true };
        return secret(text, named, value, &style);
    }
    // `std::string password{"..."}`, `$config{password} = "..."`.
    let brace = at.peek(0) == Some(b'{') && matches!(at.peek(1), Some(b'"' | b'\'')) && at.takes(b"{");
    let _ = at.takes(b"[]") || at.takes(b"]") || before_name(b"{") && at.takes(b"}");
    // `${NAME:-value}` and `${NAME:value}`: what is taken where the variable is not set.
    let begin = name.start.checked_sub(2).and_then(|start| bytes.get(start..name.start));
    if begin == Some(b"${")
        && [b":-".as_slice(), b":=", b"-", b"=", b":"].into_iter().any(|separator| at.takes(separator))
    {
        let value = at.until(|byte| matches!(byte, b'}' | b'$' | b'"' | b'\n'), VALUE);
        let style = AssignmentStyle { quoted: false, plain: true, flag: false, ends_line: false };
        return secret(text, named, value, &style);
    }
    if closed {
        at.default_of_block(b'{', b"default");
    } else if !at.default_of_block(b':', b"Default") && !at.default_of_block(b':', b"default") {
        at.accessors();
    }
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
    let argument = |at: &mut Cursor<'_>| {
        (closed || before_name(b"{") || at.peek(0) != Some(b','))
            && at.argument(closed || is_setter(named) || before_name(b"{"))
    };
    // `:password "..."`
    let keyword =
        spaces > 0 && next_is_quote && !closed && [b"{:".as_slice(), b" :", b",:"].into_iter().any(before_name);
    let typed = spaces > 0 && at.type_before_value() || !closed && at.type_after_colons();
    let option = spaces > 0
        && text
            .get(..name.start)
            .is_some_and(|before| before.rsplit(char::is_whitespace).take(2).any(|word| word == "--name"))
        && at.value_option();
    if !typed
        && !option
        && !brace
        && !keyword
        && !at.separator()
        && !(spaces > 0 && (flag || sql))
        && !at.pair()
        && !argument(&mut at)
    {
        return None;
    }
    at.takes(b"--body ");
    let spaces = spaces + at.spaces();
    let plain = !colon && spaces == 0 && !closed;
    if colon {
        at.takes(b"!!str ");
        if at.block() {
            let value = at.until(|byte| byte.is_ascii_whitespace(), VALUE);
            return secret(
                text,
                named,
                value,
                &AssignmentStyle { quoted: false, plain: true, flag: false, ends_line: true },
            );
        }
        at.skip_type();
    }
    at.wrapper();
    let opening = at.quote();
    let style = AssignmentStyle { quoted: opening.is_some(), plain, flag: flag || option, ends_line: false };
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
    let builder =
        name.starts_with('.') && !["get", "fetch", "find", "read", "load"].iter().any(|begin| last.starts_with(begin));
    let class = name::class(last);
    let of_method =
        name.contains('.') && class == Some(name::Class::Password) || builder && class == Some(name::Class::Secret);
    of_method || ["set", "with"].iter().any(|begin| last.starts_with(begin))
}

/// Whether a command that sets variables precedes a name: `ENV NAME value`, `set -gx NAME value`.
fn sets(text: &str, start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default();
    [
        "ENV ",
        "#define ",
        "setx ",
        "setenv ",
        "SetEnv ",
        "proxy_set_header ",
        "fastcgi_param ",
        "set -gx ",
        "set -x ",
        "set -Ux ",
        "set -Ugx ",
        "secret set ",
        "configure set ",
    ]
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
