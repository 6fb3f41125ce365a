//! Whether what is assigned to the name of a secret is one.

use super::name::{Class, class};
use super::phrase::is_phrase;
use crate::redaction::SHORTEST;
use crate::redaction::environment::{is_number, is_path, words};
use std::collections::BTreeSet;

/// How a value is assigned to its name.
#[derive(Clone, Copy, Debug)]
pub(in crate::redaction) struct AssignmentStyle {
    /// Between quotes.
    pub(super) quoted: bool,
    /// Right behind an `=`, without quotes: `NAME=value`.
    pub(super) plain: bool,
    /// Behind an option of a command: `--password value`.
    pub(super) flag: bool,
    /// Nothing follows it in its line.
    pub(super) ends_line: bool,
}

impl AssignmentStyle {
    /// Between quotes.
    pub(super) fn quoted() -> Self {
        Self { quoted: true, plain: false, flag: false, ends_line: true }
    }
}

/// The shortest value of letters and digits that may be a password, in bytes.
const SHORT: usize = 6;

/// Parts of placeholders that documentation uses for a secret.
const STANDS_FOR: [&str; 25] = [
    "...",
    "…",
    "xxxx",
    "****",
    "your",
    "example",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "dummy",
    "insert",
    "replace",
    "redacted",
    "-here",
    "_here",
    "<",
    "todo",
    "foobar",
    "lorem",
    "fixme",
    "not-set",
    "secrets.",
    "process.env",
    ".environ",
];

/// How references to a secret kept elsewhere begin.
const REFERENCES: [&str; 12] = ["${", "$(", "{", "%(", "[", "(", "arn:", "vault:", "env:", "!", "%{", "ref+"];

/// Words that describe a secret or how to make one, but are not secrets.
const ABOUT: [&str; 94] = [
    "access",
    "auth",
    "authorization",
    "refresh",
    "token",
    "tokens",
    "password",
    "passwords",
    "passwd",
    "pass",
    "secret",
    "secrets",
    "key",
    "keys",
    "api",
    "user",
    "username",
    "client",
    "session",
    "id",
    "jwt",
    "csrf",
    "header",
    "cookie",
    "basic",
    "bearer",
    "string",
    "boolean",
    "number",
    "bytes",
    "value",
    "name",
    "field",
    "input",
    "type",
    "text",
    "none",
    "null",
    "undefined",
    "required",
    "optional",
    "invalid",
    "missing",
    "wrong",
    "incorrect",
    "forgot",
    "reset",
    "change",
    "update",
    "confirm",
    "show",
    "hide",
    "enter",
    "get",
    "set",
    "new",
    "old",
    "current",
    "default",
    "admin",
    "login",
    "sign",
    "private",
    "public",
    "data",
    "argon",
    "bcrypt",
    "scrypt",
    "pbkdf",
    "sha",
    "md",
    "hmac",
    "aes",
    "gcm",
    "cbc",
    "rsa",
    "ed",
    "x",
    "oauth",
    "base",
    "utf",
    "http",
    "v",
    "b",
    "hash",
    "encrypted",
    "repeat",
    "verification",
    "expired",
    "credentials",
    "credential",
    "env",
    "var",
    "phrase",
];

/// Whether a value is a secret by the name that it is assigned to.
pub(super) fn is_secret(name: &str, value: &str, style: &AssignmentStyle) -> bool {
    let Some(class) = class(name) else { return false };
    let variable = name.chars().all(|c| !c.is_lowercase());
    let spaced = value.contains(' ');
    let digits = value.bytes().any(|byte| byte.is_ascii_digit());
    if style.quoted && spaced && (class == Class::Password || class == Class::Secret && variable && digits) {
        return !stands_for_one(value) && is_phrase(value, variable);
    }
    let shape = ValueShape::of(value);
    // Some people choose short passwords; what is neither mixed nor special is a word then.
    let telling = shape.is_mixed() || shape.special && shape.letters > 0;
    let short = class == Class::Password || class == Class::Secret && (style.quoted || variable);
    let shortest = if telling && short { SHORT } else { SHORTEST };
    let fits = value.len() >= shortest && !value.chars().any(|c| c.is_whitespace() || c.is_control());
    if !fits || stands_for_one(value) || is_elsewhere(value) || is_validation(value) || shape.different < 4 {
        return false;
    }
    if is_number(value) {
        return class == Class::Password && !value.contains('.');
    }
    if class == Class::Number {
        return value.len() >= 16 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    // Long, and of digits and letters: nothing else looks so.
    let cased = shape.is_mixed() && !shape.capitals && value.bytes().any(|byte| byte.is_ascii_uppercase());
    let mail = name == "pass"
        && (style.quoted && shape.is_mixed() || cased && style.ends_line && !value.contains(['.', '/', '_']));
    if class == Class::Perhaps && !(value.len() >= 16 && shape.is_mixed() || variable && name.ends_with("PASS") || mail)
    {
        return false;
    }
    let chosen = class == Class::Password && shape.digits >= 2;
    if !chosen && says_what_it_is(name, value) {
        return false;
    }
    let class = if mail { Class::Password } else { class };
    match style.quoted {
        true => between_quotes(class, variable, value, &shape),
        false => bare(name, class, value, style, &shape),
    }
}

fn between_quotes(class: Class, variable: bool, value: &str, shape: &ValueShape) -> bool {
    if value.contains(['{', '}', '<', '>', '(', ')']) && !shape.is_mixed() {
        return false;
    }
    // The name of a variable, which a function is to look up.
    if shape.capitals && value.contains('_') {
        return false;
    }
    let parts = value.split(['-', '_', '.']).count();
    let words = value.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '-' | '_' | '.'));
    shape.is_mixed()
        || shape.special && !words && !value.contains(['/', ':', '%', '='])
        || is_one_long_word(value)
        || words && parts > 1 && (variable || class == Class::Password && (parts >= 3 || shape.is_cased(value)))
        || words && shape.turns >= 4
        || value.len() >= 20
            && shape.turns >= 4
            && value.bytes().all(|byte| byte.is_ascii_alphabetic() || b"+/=".contains(&byte))
        || words && variable && class == Class::Password
}

fn bare(name: &str, class: Class, value: &str, style: &AssignmentStyle, shape: &ValueShape) -> bool {
    let variable = name.chars().all(|c| !c.is_lowercase());
    let name_is_header = name.starts_with(|c: char| c.is_ascii_uppercase()) && name.contains('-');
    let identifier = value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let constant = identifier && shape.capitals && value.contains('_') && !style.plain;
    // What a shell assigns is a text, with dots and digits, too.
    let of_shell = variable && style.plain && shape.digits > 0 && !value.contains(['(', '[', '{', '<']);
    if is_expression(value) && !of_shell || constant || value.starts_with("0x") && value.len() <= 10 {
        return false;
    }
    if variable && (style.plain || style.ends_line && value.contains('-')) {
        return true;
    }
    // A header is followed by no code: `X-Auth-Token: ...`.
    if name_is_header && style.ends_line && shape.is_mixed() {
        return true;
    }
    if !variable && value.contains(['(', ')', '[', ']', '{', '}', '<', '>', '`']) {
        return false;
    }
    if is_one_long_word(value) {
        return style.plain || style.ends_line;
    }
    if !shape.is_mixed() {
        let marked = shape.special && value.contains(['!', '@', '#', '*', '^', '~']);
        let ends = style.ends_line || style.plain || style.flag;
        return class == Class::Password && ends && (marked || is_drawn_of_words(value));
    }
    if style.plain || style.flag || variable && style.ends_line {
        return true;
    }
    // Names with a dash are of configurations, not of code, where it could be a variable or a type.
    if name.contains('-') && value.len() >= 16 && style.ends_line {
        return true;
    }
    let begins_as_one = value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    match shape.digits {
        _ if !(identifier && begins_as_one) => true,
        // No name of a type has so many letters and two digits.
        2.. if class == Class::Password && style.ends_line && value.len() >= 9 && !value.contains('_') => true,
        _ if (class == Class::Password || value.len() >= 16) && style.ends_line && has_digit_for_letter(value) => true,
        0 | 1 => class == Class::Password && style.ends_line && !value.contains('_'),
        2 => !value.contains('_') && !value.starts_with(|c: char| c.is_ascii_uppercase()),
        _ => true,
    }
}

/// Whether a value is made of three words or more, none of which says what secrets are: `copper-lantern-meadow`.
fn is_drawn_of_words(value: &str) -> bool {
    let word =
        |word: &str| word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_lowercase()) && !ABOUT.contains(&word);
    value.split('-').count() >= 3 && value.split('-').all(word)
}

/// Whether a digit has the place of a letter: `Pr0mpt`. Names of types have theirs before a capital letter or at the end.
fn has_digit_for_letter(value: &str) -> bool {
    value.as_bytes().windows(3).any(|part| {
        matches!(part, [before, digit, after] if before.is_ascii_alphabetic() && digit.is_ascii_digit() && after.is_ascii_lowercase())
    })
}

/// What a value is made of.
struct ValueShape {
    letters: usize,
    digits: usize,
    /// How many different bytes.
    different: usize,
    /// Whether it has characters other than letters, digits, `_`, `-` and `.`.
    special: bool,
    /// Whether all its letters are capitals.
    capitals: bool,
    /// How often a small letter is followed by a capital one.
    turns: usize,
}

impl ValueShape {
    fn of(value: &str) -> Self {
        let count = |is: fn(&u8) -> bool| value.bytes().filter(is).count();
        let pairs = value.bytes().zip(value.bytes().skip(1));
        Self {
            letters: count(u8::is_ascii_alphabetic),
            digits: count(u8::is_ascii_digit),
            different: value.bytes().collect::<BTreeSet<u8>>().len(),
            special: value.bytes().any(|byte| !byte.is_ascii_alphanumeric() && !b"_-.".contains(&byte)),
            capitals: !value.bytes().any(|byte| byte.is_ascii_lowercase()),
            turns: pairs.filter(|(a, b)| a.is_ascii_lowercase() && b.is_ascii_uppercase()).count(),
        }
    }

    /// Letters and digits, as drawn keys have.
    fn is_mixed(&self) -> bool {
        self.letters > 0 && self.digits > 0 && self.different >= 4
    }

    /// Small and capital letters.
    fn is_cased(&self, value: &str) -> bool {
        !self.capitals && value.bytes().any(|byte| byte.is_ascii_uppercase())
    }
}

/// Whether a text is a placeholder for a secret, as in documentation or templates.
fn stands_for_one(value: &str) -> bool {
    let small = value.to_ascii_lowercase();
    let variable = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let of_shell = value.strip_prefix(['$', '%', '@', '&', '*']).is_some_and(|rest| {
        variable(rest.trim_end_matches('%'))
            && !rest.starts_with(|c: char| c.is_ascii_digit())
            && !(rest.bytes().any(|byte| byte.is_ascii_digit()) && value.starts_with(['@', '&', '*', '%']))
    });
    // In a long drawn key a short word turns up by accident.
    let is_long_key = value.len() >= 40 && !value.contains(['-', '_', '.', '<', '*', ' ']);
    of_shell || !is_long_key && STANDS_FOR.iter().any(|part| small.contains(part))
}

/// Whether a text only says where a secret is.
fn is_elsewhere(value: &str) -> bool {
    let words = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte))
            && part.bytes().filter(u8::is_ascii_digit).count() < 3
    };
    value.contains("://")
        || is_path(value)
        || REFERENCES.iter().any(|begin| value.starts_with(begin))
        || value.contains('/') && value.split('/').all(words)
}

/// Whether a text has the rules of a form: `required|string|min:8`.
fn is_validation(value: &str) -> bool {
    let rule = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_:,".contains(&byte))
    };
    value.contains('|') && value.split('|').all(rule)
}

/// Whether every word in a value is one of its name, or one that says what secrets are: `token = access_token_v2`.
fn says_what_it_is(name: &str, value: &str) -> bool {
    let of_name = name.split(|c: char| !c.is_ascii_alphabetic()).flat_map(words);
    let of_name: Vec<String> = of_name.map(|word| word.to_ascii_lowercase()).collect();
    let mut of_value = value.split(|c: char| !c.is_ascii_alphabetic()).flat_map(words).peekable();
    of_value.peek().is_some()
        && of_value.all(|word| {
            let word = word.to_ascii_lowercase();
            ABOUT.contains(&word.as_str()) || of_name.contains(&word)
        })
}

/// Sixteen small letters or more without a gap: no word of a language or of a program.
fn is_one_long_word(value: &str) -> bool {
    value.len() >= 16 && value.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Whether a value without quotes is a name, a path of names or a call: `config.token`, `Secret::new`, `read(x)`.
fn is_expression(value: &str) -> bool {
    let head = value.split(['(', '[', '{', '<']).next().unwrap_or_default();
    let name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let few_digits = head.bytes().filter(u8::is_ascii_digit).count() < 3;
    let names = |separator: &str| head.contains(separator) && head.split(separator).all(name);
    names(".") && few_digits
        || names("::")
        || names("->")
        || head.len() < value.len() && name(head) && few_digits
        || value.contains("=>")
}
