//! What is around a name in its line.

use super::name::{Class, class};
use super::{NAME, VALUE};
use crate::redaction::words::{has_word, is_word_like};

/// What may precede a name in a line in which nothing else does: commands that set variables, marks of lists and differences.
const BEGINS: &str = "export set setx ENV ARG - + > declare local readonly env -e --env -x -rx -gx let Environment= \
    config:set # // ; $ % * ** • run docker RUN ~ ++ ? {+ [- @";

/// Words that declare a variable or a field, which no label has.
const DECLARES: &str = "let var val const local public private protected internal static final def set export pub mut string String char \
    type field readonly return if case when and or not";

/// Whether a text is a name in a list of names: `'password', 'expires_in'`.
pub(super) fn is_item(text: &str) -> bool {
    let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    text.chars().all(name)
        && is_word_like(text)
        && digits < 2
        && (text.contains(['_', '.']) || text.split('-').count() < 3)
}

/// Whether a text begins with a word that ends its line.
pub(super) fn is_last_word(text: &str) -> bool {
    let length = text.bytes().take(VALUE).take_while(|byte| !byte.is_ascii_whitespace()).count();
    length > 0 && matches!(text.as_bytes().get(length), None | Some(b'\r' | b'\n'))
}

/// Whether nothing but a few words, and marks of a list, precede a name in its line: `- Admin `.
pub(super) fn is_label(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| !c.is_alphabetic());
    let words = || line.split_whitespace();
    words().count() <= 8
        && !words().any(|word| has_word(DECLARES, word))
        && line.chars().all(|c| c.is_alphabetic() || matches!(c, ' ' | '-' | '\'' | '*' | '`' | ','))
}

/// Whether sentences give values of a class: passwords and tokens.
pub(super) fn is_spoken(class: Class) -> bool {
    !matches!(class, Class::Perhaps | Class::Number)
}

/// Whether a method of this name takes a secret: `.password("...")`, `setClientSecret("...")`.
pub(super) fn is_setter(name: &str, before: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let builder = (name.starts_with('.') || before.ends_with('.'))
        && !["get", "fetch", "find", "read", "load"].iter().any(|begin| last.starts_with(begin));
    let class = class(last);
    let of_method = name.contains('.') && class == Some(Class::Password)
        || builder && matches!(class, Some(Class::Secret | Class::Token));
    of_method || ["set", "with", "Set", "With"].iter().any(|begin| last.starts_with(begin))
}

/// Whether a command that sets variables precedes a name: `ENV NAME value`, `set -gx NAME value`, `npm config set app:NAME value`.
pub(super) fn sets(before: &str) -> bool {
    const ONE: &str = "ENV #define setx setenv SetEnv proxy_set_header fastcgi_param set-header add-header";
    const TWO: [(&str, &str); 8] = [
        ("secret", "set"),
        ("secrets", "set"),
        ("configure", "set"),
        ("config", "set"),
        ("git", "config"),
        ("config", "add"),
        ("env", "set"),
        ("variable", "set"),
    ];
    let line = line_before(before);
    // What is joined to the name belongs to it.
    let line = line.trim_end_matches(|c: char| !c.is_whitespace() && !matches!(c, '=' | '"' | '\'' | '(' | ','));
    let all = line.split_whitespace().rev();
    let options = all.clone().take_while(|word| word.starts_with('-')).count();
    let mut words = all.skip(options);
    let (Some(last), prior) = (words.next(), words.next().unwrap_or_default()) else { return false };
    line.ends_with([' ', '\t']) && (has_word(ONE, last) || options > 0 && last == "set" || TWO.contains(&(prior, last)))
}

/// The line before a name, in bounded length.
pub(super) fn line_before(before: &str) -> &str {
    let start = before.len().saturating_sub(NAME);
    let start = (start..=before.len()).find(|at| before.is_char_boundary(*at)).unwrap_or_default();
    let line = before.get(start..).unwrap_or_default();
    line.rsplit(['\n', '\r']).next().unwrap_or_default()
}

/// Whether only what may precede an assignment precedes it in its line: `export`, the number of a line, the place of a match.
pub(super) fn begins_line(before: &str) -> bool {
    let line = line_before(before);
    let line = line.rsplit("\\n").next().unwrap_or_default().trim();
    // `config/prod.sh:12:`, `12-`
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let place = line
        .strip_suffix([':', '-', '+'])
        .is_some_and(|place| !place.contains(' ') && place.rsplit([':', '-']).next().is_some_and(digits));
    let number = |word: &str| word.trim_end_matches([':', '-', '+', '|', '│']).chars().all(|c| c.is_ascii_digit());
    // `Server:Certificate:Password`
    let joined = line_before(before).trim_start().strip_suffix([':', '/']);
    let path = joined.is_some_and(|path| path.split([':', '/', '.']).all(is_word));
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
pub(super) fn is_indented(before: &str) -> bool {
    line_before(before).starts_with([' ', '\t'])
}

/// Whether a name and an item behind it are two of at least three names in a list: `{'AuthToken', 'GlyphEntry', 'Header'}`.
pub(super) fn is_in_list(before: &str, item: &str, rest: Option<&str>) -> bool {
    let opens = before.strip_suffix(['"', '\'']).is_some_and(|before| before.ends_with([' ', '[', '{', '(']));
    let goes_on =
        rest.is_some_and(|rest| [", ", "\", \"", "', '", "\",\"", "','"].iter().any(|next| rest.starts_with(next)));
    opens && goes_on && item.chars().all(|c| c.is_ascii_alphabetic() || c == '_')
}
