//! Whether what is assigned to the name of a secret is one.

use super::name::{Class, class as name_class, is_password_word};
use super::phrase::{is_joined_phrase, is_phrase};
use crate::redaction::environment::{is_number, is_path};
use crate::redaction::words::{has_word, is_word_like, words};
use std::collections::BTreeSet;

/// Where a value is, which says what else it could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::redaction) enum ValuePlace {
    /// Between quotes, in an element of XML, in a cell: a text, never code.
    Quoted,
    /// Without quotes where no code is: `NAME=value`, `--password value`, a line of a configuration.
    Data,
    /// Without quotes where it could be a type or a variable; whether nothing follows in its line.
    Code { ends_line: bool },
    /// In a sentence: `the password is ...`.
    Sentence,
    /// Behind a name in its line, with other words between them.
    Near,
    /// Behind a label that words precede, at the end of the line: `Refresh token: ...`.
    Label,
}

/// The shortest password and the shortest word that a program made, in bytes.
const SHORT: usize = 6;
const LONG: usize = 8;

/// Words that describe a secret, how to make one, or that there is none.
const ABOUT: &str = "access auth authorization refresh token tokens password passwords passwd pass secret secrets key keys api user \
    username client session id jwt csrf header headers cookie basic bearer string str boolean bool number bytes byte value values name \
    names field input type text none null nil undefined required optional invalid missing wrong incorrect forgot forgotten reset change \
    update confirm show hide enter get set new old current default admin login sign private public data argon bcrypt scrypt pbkdf sha \
    md hmac aes gcm cbc rsa ed x oauth oidc saml ldap base utf http https v b hash hashed hasher encrypted repeat verification expired \
    credentials credential env var phrase my the a an of for in is to and or not no yes true false provider manager service store ref \
    schema config options info error empty unknown any self this inherit include omit same origin enabled disabled generated random \
    passphrase passwort kennwort vergessen benutzer passe mot contrasena senha code test char varchar int integer float object array \
    option form label placeholder hint prompt file path url handler kind source list map state controller callback result response \
    request context helper factory builder unauthorized forbidden denied encoded sensitive case";

/// Parts of placeholders that documentation uses for a secret.
const STANDS_FOR: &str = ":%s =%s ... … xxxx **** your example changeme change-me change_me placeholder dummy insert replace redacted -here _here \
    todo foobar lorem fixme not-set secrets. process.env .environ";

/// How references to a secret that is kept elsewhere begin.
const REFERENCES: &str = "${ $( {{ {% %( %{ #{ arn: vault: env: ssm: ref+ <%";

/// Whether a value is a secret by the name that it is assigned to and by its place.
pub(in crate::redaction) fn is_secret(name: &str, class: Class, value: &str, place: ValuePlace) -> bool {
    let variable = !name.chars().any(char::is_lowercase);
    let shape = Shape::of(value);
    if place == ValuePlace::Quoted && value.contains(' ') {
        let people = class == Class::Password || variable && shape.digits > 0;
        return people && !is_placeholder(value) && is_phrase(value, variable);
    }
    let certain = matches!(place, ValuePlace::Quoted | ValuePlace::Data);
    let shortest = if class == Class::Password || certain && shape.is_irregular() { SHORT } else { LONG };
    if value.len() < shortest
        || value.chars().any(|c| c.is_whitespace() || c.is_control())
        || shape.different < 3
        || is_placeholder(value)
        || is_elsewhere(value)
        || is_validation(value)
    {
        return false;
    }
    if is_number(value) {
        let counts = value.len() >= LONG && shape.digits == value.len();
        return match class {
            Class::Password if place == ValuePlace::Near => counts,
            _ if matches!(place, ValuePlace::Sentence | ValuePlace::Label) => counts,
            Class::Password => !value.contains('.'),
            Class::Secret | Class::Token => counts && matches!(place, ValuePlace::Quoted | ValuePlace::Data),
            Class::Perhaps | Class::Number => false,
        };
    }
    match class {
        Class::Number => return value.len() >= 16 && value.bytes().all(|byte| byte.is_ascii_hexdigit()),
        Class::Perhaps if !gives_itself_away(name, variable, value, place, &shape) => return false,
        _ => {}
    }
    let drawn_digits = if class == Class::Password && certain { 2 } else { 5 };
    // `private_key: "_DSAPrivateKey"`, a type.
    let (of_value, of_name) = (words(value), words(name));
    let is_type = class != Class::Password
        && shape.digits == 0
        && !shape.special
        && of_value.len() > of_name.len()
        && of_value.ends_with(&of_name);
    if is_type {
        return false;
    }
    // `generate_private_key: x25519_generate_private_key`
    let is_code = matches!(place, ValuePlace::Code { .. });
    let longer = is_code && name.len() >= LONG && value.len() > name.len() && value.ends_with(name);
    if longer || shape.digits < drawn_digits && repeats_its_name(name, value) {
        return false;
    }
    match place {
        ValuePlace::Quoted => is_text(class, value, &shape),
        ValuePlace::Data => is_data(name, class, value, &shape),
        ValuePlace::Code { ends_line } => is_no_code(class, value, ends_line, &shape),
        ValuePlace::Near => looks_drawn(value, &shape),
        ValuePlace::Label => is_stated(value, &shape) || is_no_code(class, value, true, &shape),
        ValuePlace::Sentence => is_stated(value, &shape),
    }
}

/// A value in a sentence is a secret if it is neither a word nor an expression.
fn is_stated(value: &str, shape: &Shape) -> bool {
    let irregular = shape.letters > 0 && (shape.digits >= 2 || shape.special);
    let constant = !shape.small && !shape.special && value.contains('_');
    let name = constant || is_expression(value) && shape.digits < 3 && !shape.is_drawn();
    !name && (irregular || shape.is_drawn() || is_one_long_word(value) || is_joined_phrase(value))
}

/// Whether a value can be nothing but drawn: its letters do not follow each other as in words, also those between digits, or it has
/// letters, digits and signs of passwords, or is of many words.
fn looks_drawn(value: &str, shape: &Shape) -> bool {
    let number = value.trim_end_matches(|c: char| c.is_ascii_digit());
    // `HMACSHA256`
    let term = !shape.small && !has_digits(number) && number.len() < value.len();
    let signs = value.contains(['!', '@', '#', '%', '^', '&', '*', '~', '?', '+', '=']);
    let drawn = shape.drawn && shape.letters >= 4 && !term && (shape.digits > 0 || shape.letters >= LONG);
    // The hash of a commit.
    let hash = value.len() == 40 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    let constant = !shape.small && value.contains('_');
    let code =
        hash || constant || is_expression(value) || value.contains(['(', '[', '{', '<', '/', ':', '\\', '`', '$']);
    drawn && !code
        || signs && shape.letters > 0 && shape.digits > 1 && !code
        || !hash
            && value.len() >= 32
            && shape.cased
            && shape.digits >= 3
            && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
        || !code
            && value.len() >= 24
            && shape.digits >= 4
            && shape.letters >= 4
            && !value.contains(['-', '_', '.', ':'])
        || is_joined_phrase(value)
}

/// Whether a value behind a name such as `auth` or `APP_KEY` is none but a secret.
fn gives_itself_away(name: &str, variable: bool, value: &str, place: ValuePlace, shape: &Shape) -> bool {
    // `NAME_PAT = "[a-z]+"`
    if name.ends_with("PAT") && value.contains(['[', '(', '\\', '*']) {
        return false;
    }
    let mixed = shape.letters > 0 && shape.digits > 0;
    let ends =
        place == ValuePlace::Quoted || place == ValuePlace::Code { ends_line: true } || place == ValuePlace::Data;
    let mail = name.eq_ignore_ascii_case("pass")
        && mixed
        && (place == ValuePlace::Quoted || shape.cased && ends && !value.contains(['.', '/', '_']));
    let long = value.len() >= 16 && (mixed || shape.is_drawn());
    mail || long
        || variable
            && (name.ends_with("PASS") || name.starts_with("PASS") || name.starts_with("TOKEN") && shape.is_drawn())
}

/// A text is a secret unless it is a word of a parser or the name of a constant.
fn is_text(class: Class, value: &str, shape: &Shape) -> bool {
    let constant = !shape.small
        && !shape.special
        && (value.contains('_') || value.contains('-') && shape.digits < 2)
        && !shape.is_drawn();
    let words = class == Class::Token
        && !(shape.is_drawn() || is_one_long_word(value))
        && shape.digits < 2
        && value.split('-').count() < 3
        && !value.contains(['!', '@', '#', '*', '^', '~', '&', '?', ';', '%', '|']);
    !constant && !words
}

/// Data is a secret unless it is an expression of the language that the data is for.
fn is_data(name: &str, class: Class, value: &str, shape: &Shape) -> bool {
    // `--secret CLIENT_SECRET`
    if shape.digits == 0 && is_name_of_words(value) && name_class(value).is_some() {
        return false;
    }
    // Such names are of configurations, rarely of code.
    let variable = !name.chars().any(char::is_lowercase);
    let configured = variable || name.contains(['-', '.']);
    let code = is_expression(value)
        && (!configured || value.contains(['(', '[', '{', '<']) || names_a_secret(name, value))
        || is_name_of_words(value) && !configured && !shape.is_drawn() && shape.digits < 3
        || !variable
            && class != Class::Password
            && shape.digits == 0
            && shape.small
            && !shape.cased
            && names_a_secret(name, value);
    !code && is_text(class, value, shape)
}

/// Where code could be, a value must look unlike a name, a type and a call.
fn is_no_code(class: Class, value: &str, ends_line: bool, shape: &Shape) -> bool {
    if is_expression(value) || is_name_of_words(value) && !shape.is_drawn() {
        return false;
    }
    if value.contains(['(', ')', '[', ']', '{', '}', '<', '>', '`']) && !(shape.is_drawn() && ends_line) {
        return false;
    }
    let identifier = value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let constant = identifier && value.contains('_') && !value.contains(|c: char| c.is_ascii_lowercase());
    let people = class == Class::Password && ends_line;
    match shape.digits {
        // Abbreviations in capitals do not read like words.
        _ if constant => false,
        _ if class != Class::Token && is_joined_phrase(value) => true,
        _ if shape.is_drawn() || ends_line && is_one_long_word(value) => true,
        _ if !identifier && shape.digits == 0 => {
            people && (value.contains(['!', '@', '#', '*', '^', '~']) || value.split('-').count() >= 3)
        }
        _ if !identifier => true,
        0 => false,
        // No name of a type has so many letters and two digits.
        2.. if people && value.len() >= 9 && !value.contains('_') => true,
        _ if (people || value.len() >= 16 && ends_line) && has_digit_for_letter(value) => true,
        1 => people && !value.contains('_'),
        2 => !value.contains('_') && !value.starts_with(|c: char| c.is_ascii_uppercase()),
        _ => true,
    }
}

/// Whether a digit has the place of a letter: `Pr0mpt`. Names of types have theirs before a capital letter or at the end.
fn has_digit_for_letter(value: &str) -> bool {
    value.as_bytes().windows(3).any(|part| {
        matches!(part, [before, digit, after] if before.is_ascii_alphabetic() && digit.is_ascii_digit() && after.is_ascii_lowercase())
    })
}

/// What a value is made of.
struct Shape {
    letters: usize,
    digits: usize,
    /// How many different bytes.
    different: usize,
    /// Whether it has characters other than letters, digits, `_`, `-` and `.`.
    special: bool,
    /// Whether it has small letters, and whether capitals, too.
    small: bool,
    cased: bool,
    /// Whether its letters do not follow each other as in words.
    drawn: bool,
}

impl Shape {
    fn of(value: &str) -> Self {
        let count = |is: fn(&u8) -> bool| value.bytes().filter(is).count();
        let small = value.bytes().any(|byte| byte.is_ascii_lowercase());
        Self {
            letters: count(u8::is_ascii_alphabetic),
            digits: count(u8::is_ascii_digit),
            different: value.bytes().collect::<BTreeSet<u8>>().len(),
            special: value.bytes().any(|byte| !byte.is_ascii_alphanumeric() && !b"_-.".contains(&byte)),
            small,
            cased: small && value.bytes().any(|byte| byte.is_ascii_uppercase()),
            drawn: !is_word_like(value),
        }
    }

    /// Whether letters were drawn: there are enough of them to decide, and they do not form words.
    fn is_drawn(&self) -> bool {
        self.drawn && self.letters >= LONG
    }

    /// Letters with digits or with special characters: no word.
    fn is_irregular(&self) -> bool {
        self.letters > 0 && (self.digits > 0 && self.different >= 4 || self.special)
    }
}

/// Whether a text is a placeholder for a secret, as in documentation or templates.
fn is_placeholder(value: &str) -> bool {
    let small = value.to_ascii_lowercase();
    let name = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let of_shell = value.strip_prefix('$').is_some_and(|rest| name(rest.trim_end_matches(['?', '!'])))
        || value.strip_prefix('%').is_some_and(|rest| rest.strip_suffix('%').is_some_and(name) || rest.len() == 1)
        || value
            .strip_prefix(['@', '&', '*', '!', ':'])
            .is_some_and(|rest| name(rest) && is_word_like(rest) && !has_digits(rest));
    let framed = [('<', '>'), ('[', ']'), ('{', '}'), ('(', ')')].into_iter().any(|(open, close)| {
        let inner = value.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        inner.is_some_and(|inner| is_word_like(inner) || inner.contains(['{', '$', ' ']))
    });
    let part = |part: &str| {
        [('{', '}'), ('<', '>')].into_iter().any(|(open, close)| {
            part.split_once(open).and_then(|(_, rest)| rest.split_once(close)).is_some_and(|(inner, _)| {
                inner.is_empty() || inner.len() > 2 && name(inner.trim_matches(['{', '.', ' '])) && is_word_like(inner)
            })
        })
    };
    // In a long drawn key a short word turns up by accident.
    let is_long_key = value.len() >= 40 && !value.contains(['-', '_', '.', '<', '*', ' ']);
    of_shell
        || small.contains("abcdefghijklmnopqrstuvwxyz")
        || framed
        || part(value)
        || !is_long_key && STANDS_FOR.split_ascii_whitespace().any(|part| small.contains(part))
}

fn has_digits(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a text only says where a secret is, or is a number or a colour in hexadecimal.
fn is_elsewhere(value: &str) -> bool {
    let words = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte))
            && part.bytes().filter(u8::is_ascii_digit).count() < 3
    };
    let number = value.strip_prefix("0x").or_else(|| value.strip_prefix('#'));
    let path = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    value.contains("://")
        || value.contains("::") && value.trim_start_matches('$').split("::").all(path)
        || number.is_some_and(|number| number.len() <= 8 && number.bytes().all(|byte| byte.is_ascii_hexdigit()))
        || is_path(value)
        || REFERENCES.split_ascii_whitespace().any(|begin| value.starts_with(begin))
        || value.contains('/') && value.split('/').all(words)
}

/// Whether a text has the rules of a form: `required|string|min:8`.
fn is_validation(value: &str) -> bool {
    let rule = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_:,".contains(&byte))
    };
    // A repetition in a grammar.
    let repeated = value.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('*');
    repeated.is_some_and(|rest| rest.len() < value.len() && rest.bytes().all(|byte| byte.is_ascii_lowercase()))
        || value.contains('|') && value.split('|').all(rule)
}

/// Whether a word in a value is one of its name, or one that says what secrets are: `settings.api_key`, `app-db-credentials`.
fn names_a_secret(name: &str, value: &str) -> bool {
    let of_name: Vec<String> = words(name);
    let mut of_value = value.split(|c: char| !c.is_alphabetic()).flat_map(words);
    of_value.any(|word| word.len() > 2 && has_word(ABOUT, &word.to_lowercase()) || of_name.contains(&word))
}

/// Sixteen small letters or more without a gap: several words.
fn is_one_long_word(value: &str) -> bool {
    value.len() >= 16 && value.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Whether every word in a value is one of its name, or one that says what secrets are: `token = access_token_v2`.
fn repeats_its_name(name: &str, value: &str) -> bool {
    let of_name: Vec<String> = name.split(|c: char| !c.is_alphabetic()).flat_map(words).collect();
    let mut of_value = value.split(|c: char| !c.is_alphabetic()).flat_map(words).peekable();
    of_value.peek().is_some()
        && of_value
            .all(|word| has_word(ABOUT, &word.to_lowercase()) || of_name.contains(&word) || is_password_word(&word))
}

/// Whether a value without quotes is a name, a path of names or a call: `config.token`, `Secret::new`, `read(x)`.
fn is_expression(value: &str) -> bool {
    let value = value.trim_start_matches(['&', '*', '!', '-']);
    let head = value.split(['(', '[', '{', '<']).next().unwrap_or_default();
    let name = |part: &str| {
        let part = part.trim_end_matches(['?', '!']);
        part.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$'))
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'))
    };
    let few_digits = head.bytes().filter(u8::is_ascii_digit).count() < 3;
    let names = |separator: &str| head.contains(separator) && head.split(separator).all(name);
    let path = |head: &str| head.split(['.', ':', '!']).all(|part| part.is_empty() || name(part));
    names(".") && few_digits
        || value.starts_with('$') && value.contains("->")
        || head.contains("::") && path(head)
        || names("->")
        || value.ends_with([')', ']', '}', '>', '(', '[', '{', '<', '?']) && head.len() < value.len() && path(head)
        || value.contains("=>")
}

/// `userInput`, `raw_value`, `SecretString`: a name of several words.
fn is_name_of_words(value: &str) -> bool {
    let identifier = value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    identifier
        && !value.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
        && words(value).len() > 1
        && !has_digits(value)
}
