//! Secrets recognised by the name that they are assigned to: `DB_PASSWORD=...`, `"apiKey": "..."`, `client_secret: ...`.
//!
//! Every word such as `password` or `token` in a text is read as part of a name, the name is classified, the value is found by
//! what holds both, and it is a secret unless it is plainly something else (a type, a variable, a placeholder of documentation).
//! Each name and each value is looked at once and in bounded length, so the time is linear in the text.

mod cursor;
mod elements;
mod name;
mod phrase;
mod value;

pub(super) use name::{Class, class};
pub(super) use value::{ValuePlace, is_secret};

use super::placeholder::placeholders;
use super::words::has_word;
use super::work;
use aho_corasick::{AhoCorasick, MatchKind};
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
    "creds",
    "auth",
    "_pat",
    "psk",
    "kennwort",
    "contrase",
    "salt",
    "_pw",
    "rootpw",
    "adminpw",
    "userpw",
    "dbpw",
    "mdp",
    "mot de passe",
    "senha",
    "wachtwoord",
    "hasło",
    "haslo",
    "lösenord",
    "losenord",
    "parola",
    "heslo",
    "jelszó",
    "salasana",
    "şifre",
    "sifre",
    "adgangskode",
    "пароль",
    "Пароль",
    "ПАРОЛЬ",
    "пароля",
    "паролем",
    "парол",
    "Парол",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "비밀번호",
    "κωδικός",
    "Κωδικός",
    "συνθηματικό",
    "סיסמה",
    "geheimnis",
    "токен",
    "Токен",
    "令牌",
    "密钥",
    "lozinka",
    "kodeord",
    "kata sandi",
    "mật khẩu",
    "รหัสผ่าน",
    "كلمة المرور",
    "كلمة السر",
    "पासवर्ड",
];

/// What may follow a word for password and belongs to it: Italian.
const CONTINUED: [&str; 2] = [" d'ordine", " chiave"];

/// Words before `key` in sentences and labels: `API key: ...`.
const SPOKEN_KEYS: &str = "api secret private encryption signing license";

/// Words that say that a line is about an account.
const ACCOUNTS: &str = "user username login account email";

/// The longest name and value, in bytes.
const NAME: usize = 64;
const VALUE: usize = 512;

/// What may precede a name in a line in which nothing else does: commands that set variables, marks of lists and differences.
const BEGINS: &str = "export set setx ENV ARG - + > declare local readonly env -e --env -x -rx -gx let Environment= \
    config:set # // ; $ % * • run docker";

static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let builder = &mut AhoCorasick::builder();
    builder.ascii_case_insensitive(true).match_kind(MatchKind::LeftmostLongest).build(HINTS).ok()
});

/// Visits the values in a text that are secrets by their names.
pub(super) fn spans(text: &str, visit: &mut dyn FnMut(Range<usize>)) {
    let Some(words) = WORDS.as_ref() else { return };
    let placeholders = placeholders(text);
    let mut after = 0;
    for word in words.find_iter(text) {
        let behind = placeholders.partition_point(|(range, _)| range.end <= word.start());
        let in_placeholder = placeholders.get(behind).is_some_and(|(range, _)| range.start < word.end());
        if word.start() < after || in_placeholder {
            continue;
        }
        let name = spoken_name(text, name_around(text, word.range()));
        after = name.end;
        if let Some(value) = assigned(text, name) {
            after = value.end;
            visit(value);
        }
    }
}

/// Whether a whole value is a secret by the name of its field.
pub(super) fn is_field(name: &str, value: &str) -> bool {
    value.len() <= cursor::QUOTED && class(name).is_some_and(|class| is_secret(name, class, value, ValuePlace::Quoted))
}

/// The name that a word is part of: letters, digits, `_`, `-` and `.`.
fn name_around(text: &str, word: Range<usize>) -> Range<usize> {
    // Scripts without spaces between words have names that are the word alone.
    let of_name = |c: &char| c.is_alphanumeric() && *c < '\u{e00}' || matches!(c, '_' | '-' | '.');
    let length =
        |chars: &mut dyn Iterator<Item = char>| chars.take(NAME).take_while(of_name).map(char::len_utf8).sum::<usize>();
    let mut start = word.start - length(&mut text.get(..word.start).unwrap_or_default().chars().rev());
    let mut end = word.end + length(&mut text.get(word.end..).unwrap_or_default().chars());
    work::count(end - start);
    let bytes = text.as_bytes();
    // The letter of an escaped line feed or tab does not belong to it.
    if start > 0 && bytes.get(start - 1) == Some(&b'\\') && matches!(bytes.get(start), Some(b'n' | b'r' | b't')) {
        start += 1;
    }
    while end > word.end && matches!(bytes.get(end - 1), Some(b'.' | b'-')) {
        end -= 1;
    }
    start.min(word.start)..end
}

/// A name with what belongs to it across a space: `API key`, `parola d'ordine`.
fn spoken_name(text: &str, name: Range<usize>) -> Range<usize> {
    let (before, rest) = (text.get(..name.start).unwrap_or_default(), text.get(name.end..).unwrap_or_default());
    let named = text.get(name.clone()).unwrap_or_default();
    if named.eq_ignore_ascii_case("key")
        && let Some(before) = before.strip_suffix(' ')
    {
        let length = before.bytes().rev().take(NAME).take_while(u8::is_ascii_alphabetic).count();
        let start = before.len() - length;
        let word = before.get(start..).unwrap_or_default().to_ascii_lowercase();
        // An access key alone may be one of the keyboard.
        let is_secret_access = word == "access" && before.get(..start).is_some_and(|line| line.ends_with("ecret "));
        if is_secret_access || has_word(SPOKEN_KEYS, &word) {
            return start..name.end;
        }
    }
    let continued = CONTINUED.iter().find(|continued| rest.starts_with(**continued));
    match continued.filter(|_| named.to_ascii_lowercase().ends_with("parola")) {
        Some(continued) => name.start..name.end + continued.len(),
        None => name,
    }
}

/// Whether the words before a name in its line are about an account: `user: me / pass: ...`.
fn is_of_account(before: &str) -> bool {
    let mut words = line_before(before).split(|c: char| !c.is_ascii_alphabetic());
    words.any(|word| has_word(ACCOUNTS, &word.to_ascii_lowercase()))
}

/// The secret that is assigned to a name.
fn assigned(text: &str, name: Range<usize>) -> Option<Range<usize>> {
    let named = text.get(name.clone())?.trim_start_matches('-');
    // Most names are those of something else, and their values need not be read.
    let class = match class(named)? {
        Class::Perhaps if named.eq_ignore_ascii_case("pass") && is_of_account(text.get(..name.start)?) => {
            Class::Password
        }
        class => class,
    };
    let (value, place) = value_of(text, &name, named, class)?;
    is_secret(named, class, text.get(value.clone())?, place).then_some(value)
}

/// Where the value of a name is.
fn value_of(text: &str, name: &Range<usize>, named: &str, class: Class) -> Option<(Range<usize>, ValuePlace)> {
    let bytes = text.as_bytes();
    let before = text.get(..name.start)?;
    let mut at = Cursor { bytes, at: name.end };
    if let Some(value) = at.element(before).or_else(|| at.of_property_list()) {
        return Some((value, ValuePlace::Quoted));
    }
    let closed = at.quote().is_some();
    if closed
        && let Some(value) = at.behind_attribute().or_else(|| at.part_of_form(before)).or_else(|| at.of_input(before))
    {
        return Some((value, ValuePlace::Quoted));
    }
    if (before.ends_with("| ") || before.ends_with("| `"))
        && let Some(value) = (Cursor { bytes, at: at.at }).cell()
    {
        return Some((value, ValuePlace::Code { ends_line: true }));
    }
    // `std::string password{"..."}`, `$config{password} = "..."`.
    let brace = at.peek(0) == Some(b'{') && matches!(at.peek(1), Some(b'"' | b'\'')) && at.takes(b"{");
    let _ = at.takes(b"[]") || at.takes(b"]") || before.ends_with('{') && at.takes(b"}");
    // `${NAME:-value}` and `${NAME:value}`: what is taken where the variable is not set.
    if before.ends_with("${") && [b":-".as_slice(), b":=", b"-", b"=", b":"].into_iter().any(|sign| at.takes(sign)) {
        return Some((at.until(|byte| matches!(byte, b'}' | b'$' | b'"' | b'\n'), VALUE), ValuePlace::Data));
    }
    if closed {
        at.default_of_block(b'{', b"default");
    } else if !at.default_of_block(b':', b"Default") && !at.default_of_block(b':', b"default") {
        at.accessors();
    }
    let spaces = at.spaces();
    let first = at.peek(0);
    // `arn:...:secret:name`
    if first == Some(b':') && !closed && before.ends_with(':') {
        return None;
    }
    let flag = bytes.get(name.start) == Some(&b'-') && !closed || spaces > 0 && sets(before);
    let slash = first == Some(b':') && before.ends_with(" /");
    let next_is_quote = matches!(first, Some(b'\'' | b'"'));
    // `PASSWORD 'x'`, `:password "x"`, `set(PASSWORD "x")`.
    let juxtaposed = spaces > 0
        && next_is_quote
        && !closed
        && (class == Class::Password
            || ["{:", " :", ",:", "(:", "set(", "set "].iter().any(|end| before.ends_with(end)));
    let compared = matches!(bytes.get(at.at..at.at + 2), Some(b"==" | b"!="));
    let option =
        spaces > 0 && before.rsplit(char::is_whitespace).take(2).any(|word| word == "--name") && at.value_option();
    let takes_one = closed || is_setter(named, before) || before.ends_with('{');
    let asked = !closed && spaces > 0 && at.aim();
    let is_label = named.to_ascii_lowercase().ends_with(" key");
    let follows_verb = asked || !closed && at.verb(spaces) || is_label && at.separator();
    let dotted = spaces > 0 && before.ends_with('(') && at.takes(b". ");
    let found = follows_verb
        || dotted
        || option
        || brace
        || juxtaposed
        || spaces > 0 && at.type_before_value()
        || !closed && at.type_after_colons()
        || at.separator()
        || spaces > 0 && flag
        || at.pair()
        || (takes_one || first != Some(b',')) && at.argument(takes_one);
    let columns = !found
        && (spaces >= 2
            || spaces == 0 && !closed && at.peek(1).is_some_and(|next| !next.is_ascii_whitespace()) && at.takes(b",")
            || spaces > 0 && at.takes(b"|") && at.spaces() > 0
            || text.get(name.end..at.at).is_some_and(|gap| gap.contains('\t')));
    if !(found || columns && begins_line(before)) {
        return None;
    }
    at.takes(b"--body ");
    let spaces = spaces + at.spaces();
    let colon = first == Some(b':');
    let plain = matches!(first, Some(b'=' | b'%')) && spaces == 0 && !closed;
    if colon {
        at.takes(b"!!str ");
        if at.block() {
            return Some((at.until(|byte| byte.is_ascii_whitespace(), VALUE), ValuePlace::Data));
        }
        at.skip_type();
    }
    at.wrapper();
    if let Some((quote, escapes)) = at.quote() {
        return Some((at.quoted(quote, escapes), ValuePlace::Quoted));
    }
    let line = begins_line(before);
    let sign = matches!(first, Some(b'=' | b':'));
    let value = at.bare(line && sign);
    let ends_line = at.ends_line(value.end);
    let next = bytes.get(value.end).copied();
    let rest = text.get(value.end..).unwrap_or_default().trim_start_matches([' ', '\t']);
    // A call, an index, or a type that a value follows.
    if matches!(next, Some(b'(' | b'[' | b'{' | b'<' | b'`')) || colon && rest.starts_with('=') || compared {
        return None;
    }
    // A number of JSON: without quotes a placeholder would be none.
    if closed && text.get(value.clone()).is_some_and(|value| value.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    // In an address there is no code.
    if plain && class == Class::Password && before.ends_with(['?', '&']) {
        return Some((value, ValuePlace::Quoted));
    }
    if follows_verb || columns {
        return Some((
            value,
            if follows_verb && !is_spoken(class) { ValuePlace::Code { ends_line } } else { ValuePlace::Sentence },
        ));
    }
    let configured = named.contains('-')
        || named.contains('.') && !has_word("self this cls ctx cfg config", named.split('.').next()?);
    let variable = !named.chars().any(char::is_lowercase);
    let terminated = matches!(next, Some(b',' | b')' | b';' | b']' | b'}')) && !before.ends_with(';') && !variable;
    let data = flag
        || option
        || slash
        || plain && (!terminated || before.ends_with(['?', '&', ';']))
        || sign && ends_line && line && (colon || configured || variable || !is_indented(before));
    Some((value, if data { ValuePlace::Data } else { ValuePlace::Code { ends_line } }))
}

/// Whether sentences give values of a class: passwords and tokens.
fn is_spoken(class: Class) -> bool {
    !matches!(class, Class::Perhaps | Class::Number)
}

/// Whether a method of this name takes a secret: `.password("...")`, `setClientSecret("...")`.
fn is_setter(name: &str, before: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let builder = (name.starts_with('.') || before.ends_with('.'))
        && !["get", "fetch", "find", "read", "load"].iter().any(|begin| last.starts_with(begin));
    let class = class(last);
    let of_method = name.contains('.') && class == Some(Class::Password)
        || builder && matches!(class, Some(Class::Secret | Class::Token));
    of_method || ["set", "with"].iter().any(|begin| last.starts_with(begin))
}

/// Whether a command that sets variables precedes a name: `ENV NAME value`, `set -gx NAME value`.
fn sets(before: &str) -> bool {
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
        "set -g ",
        "config set ",
    ]
    .iter()
    .any(|end| before.ends_with(end))
}

/// The line before a name, in bounded length.
fn line_before(before: &str) -> &str {
    let start = before.len().saturating_sub(NAME);
    let start = (start..=before.len()).find(|at| before.is_char_boundary(*at)).unwrap_or_default();
    let line = before.get(start..).unwrap_or_default();
    line.rsplit(['\n', '\r']).next().unwrap_or_default()
}

/// Whether only what may precede an assignment precedes it in its line: `export`, the number of a line, the place of a match.
fn begins_line(before: &str) -> bool {
    let line = line_before(before);
    let line = line.rsplit("\\n").next().unwrap_or_default().trim();
    // `config/prod.sh:12:`, `12-`
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let place = line
        .strip_suffix([':', '-', '+'])
        .is_some_and(|place| !place.contains(' ') && place.rsplit([':', '-']).next().is_some_and(digits));
    let number = |word: &str| word.trim_end_matches([':', '-', '+', '|', '│']).chars().all(|c| c.is_ascii_digit());
    // `Server:Certificate:Password`
    let joined = line_before(before).trim_start().strip_suffix(':');
    let path = joined.is_some_and(|path| path.split(':').all(is_word));
    place
        || path
        || line
            .split_whitespace()
            .all(|word| number(word) || has_word(BEGINS, word) || word.contains('=') && !word.contains([';', '&', '?']))
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Whether white space precedes a name in its line, as in the body of a function.
fn is_indented(before: &str) -> bool {
    line_before(before).starts_with([' ', '\t'])
}
