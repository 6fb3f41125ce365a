//! Secrets recognised by the name that they are assigned to: `DB_PASSWORD=...`, `"apiKey": "..."`, `client_secret: ...`.
//!
//! Every word such as `password` or `token` in a text is read as part of a name, the name is classified, the value is found by
//! what holds both, and it is a secret unless it is plainly something else (a type, a variable, a placeholder of documentation).
//! Each name and each value is looked at once and in bounded length, so the time is linear in the text.

mod context;
mod cursor;
mod distant;
mod elements;
mod fields;
mod languages;
mod name;
mod opening;
mod phrase;
mod place;
mod sentence;
mod value;

pub(super) use languages::HINTS;
pub(super) use name::{Class, class};
pub(super) use value::{ValuePlace, is_secret};

use super::placeholder::placeholders;
use super::words::{has_word, is_word_like};
use super::work;
use aho_corasick::{AhoCorasick, MatchKind};
use context::line_before;
use place::Named;
use sentence::{spoken_name, value_before};
use std::ops::Range;
use std::sync::LazyLock;

/// Words that say that a line is about an account.
const ACCOUNTS: &str = "user username login account email";

/// The longest name and value, in bytes.
const NAME: usize = 64;
const VALUE: usize = 512;

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
        after = assigned(text, name, visit).unwrap_or(after);
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
    // The method that sets it: `password.set("...")`.
    let named = text.get(word.end..end).unwrap_or_default();
    if bytes.get(end) == Some(&b'(')
        && let Some(method) = distant::METHODS.iter().find(|method| named.ends_with(**method))
    {
        end -= method.len();
    }
    start.min(word.start)..end
}

/// Whether the words before a name in its line are about an account: `user: me / pass: ...`.
fn is_of_account(before: &str) -> bool {
    let mut words = line_before(before).split(|c: char| !c.is_ascii_alphabetic());
    words.any(|word| has_word(ACCOUNTS, &word.to_ascii_lowercase()))
}

/// Visits the secrets that are assigned to a name, and gives where they end.
fn assigned(text: &str, name: Range<usize>, visit: &mut dyn FnMut(Range<usize>)) -> Option<usize> {
    let (before, rest) = (text.get(..name.start)?, text.get(name.end..)?);
    let flag = text.get(name.clone())?;
    let named = flag.trim_start_matches('-');
    // `-PapiKey=...`
    let define = flag.strip_prefix("-P").or_else(|| flag.strip_prefix("-D"));
    let named = define.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase())).unwrap_or(named);
    // Most names are those of something else, and their values need not be read.
    let class = match class(named)? {
        Class::Perhaps if named.eq_ignore_ascii_case("pass") && is_of_account(before) => Class::Password,
        class => class,
    };
    let secret =
        |value: &Range<usize>, place| is_secret(named, class, text.get(value.clone()).unwrap_or_default(), place);
    let mut end = None;
    let first = Named::of(text, &name, named, class)?.value();
    let further = std::iter::once_with(|| Named::of(text, &name, named, class)).flatten().flat_map(Named::further);
    for (mut value, place) in first.into_iter().chain(further) {
        if end.is_some() {
            break;
        }
        loop {
            if secret(&value, place) {
                visit(value.clone());
                end = Some(value.end);
            }
            match changed(text, &value) {
                Some(next) => value = next,
                None => break,
            }
        }
    }
    if let Some(value) = value_above(before).filter(|value| end.is_none() && secret(value, ValuePlace::Data)) {
        visit(value);
    }
    let earlier = value_before(before, rest).filter(|value| end.is_none() && secret(value, ValuePlace::Sentence));
    if let Some(value) = earlier.filter(|value| text.get(value.clone()).is_some_and(is_mixed)) {
        visit(value);
    }
    end
}

/// The value in the line before the one with its name, as lists of variables have it: `- value: x`, `  name: PASSWORD`.
fn value_above(before: &str) -> Option<Range<usize>> {
    let start = (before.len().saturating_sub(VALUE)..before.len()).find(|at| before.is_char_boundary(*at))?;
    let (lines, last) = before.get(start..)?.rsplit_once('\n')?;
    let field = |line: &str, name: &str| line.trim_start_matches([' ', '-', '\t']).strip_prefix(name).map(str::len);
    field(last, "name: ").or_else(|| field(last, "key: "))?;
    let line = lines.rsplit('\n').next()?;
    let length = field(line, "value: ")?;
    let end = start + lines.len();
    let value = before.get(end - length..end)?.trim_end();
    let inner = value.trim_matches(['"', '\'']);
    let open = value.len() - value.trim_start_matches(['"', '\'']).len();
    Some(end - length + open..end - length + open + inner.len())
}

/// Whether a value differs from words with a number behind them, such as names of algorithms.
fn is_mixed(value: &str) -> bool {
    value.len() >= 8
        && (!is_word_like(value)
            || value.bytes().all(|byte| byte.is_ascii_digit())
            || value.matches('-').count() > 2
            || value.bytes().any(|byte| byte.is_ascii_digit()) && value.bytes().any(|byte| byte.is_ascii_uppercase())
            || value.contains(['!', '@', '#', '*', '^', '~', '%', '&', '+', '=']))
}

/// The value that follows another one in the description of a change: `"..." -> "..."`.
fn changed(text: &str, value: &Range<usize>) -> Option<Range<usize>> {
    const CHANGES: [&str; 4] = ["\" -> \"", "' to '", "\" to \"", "' -> '"];
    let rest = text.get(value.end..)?;
    let start = value.end + CHANGES.iter().find(|change| rest.starts_with(**change))?.len();
    let length =
        text.get(start..)?.bytes().take(VALUE).take_while(|byte| !matches!(byte, b'"' | b'\'' | b'\n')).count();
    Some(start..start + length)
}
