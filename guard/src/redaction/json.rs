//! Secrets in texts of JSON: strings are decoded, redacted and written again; everything else stays letter for letter,
//! so that large numbers and the order of fields are unchanged.

use super::assigned::Class;
use super::formats::ASSIGNED;
use super::manifests;
use super::placeholder::{placeholder, placeholders};
use super::{Redacted, Redactor};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How deep texts of JSON are read that are strings in texts of JSON.
pub(super) const NESTED: usize = 4;

/// A string of a JSON text, or a number that is the value of a field.
struct Token {
    /// Where it is, quotes included.
    range: Range<usize>,
    /// The object or list that it is in, by number.
    container: usize,
    /// Whether it is the name of a field.
    is_name: bool,
    /// The name of the field whose value it is, as the place of that name among the strings.
    name: Option<usize>,
}

/// The strings and containers of a text of JSON.
struct Strings {
    tokens: Vec<Token>,
    /// Of each object or list, by number, the one that it is in, and the name of the field whose value it is.
    containers: Vec<(usize, Option<usize>)>,
}

/// The strings of a text that holds nothing but JSON, one value or several; `None` of any other text. Structure is checked
/// as far as it is needed to distinguish names from values, at any depth.
fn strings(text: &str) -> Option<Strings> {
    let bytes = text.as_bytes();
    let mut tokens: Vec<Token> = Vec::new();
    // Of each open container its number, whether it is an object, and the name that waits for its value.
    let mut open: Vec<(usize, bool, Option<usize>)> = Vec::new();
    let (mut containers, mut at) = (vec![(0, None)], 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at)?;
                let next = bytes.get(end..)?.iter().find(|byte| !byte.is_ascii_whitespace());
                let (container, is_object, name) = open.last().copied().unwrap_or_default();
                let is_name = is_object && name.is_none() && next == Some(&b':');
                if is_object != (is_name || name.is_some()) || !is_object && next == Some(&b':') {
                    return None;
                }
                if let Some((.., waiting)) = open.last_mut() {
                    *waiting = is_name.then_some(tokens.len());
                }
                tokens.push(Token { range: at..end, container, is_name, name });
                at = end;
                continue;
            }
            b'{' | b'[' => {
                let (container, _, name) = open.last().copied().unwrap_or_default();
                open.push((containers.len(), *byte == b'{', None));
                containers.push((container, name));
            }
            b'}' | b']' => {
                let (_, is_object, _) = open.pop()?;
                if is_object != (*byte == b'}') {
                    return None;
                }
                if let Some((.., waiting)) = open.last_mut() {
                    *waiting = None;
                }
            }
            b'-' | b'0'..=b'9' if matches!(open.last(), Some((_, true, Some(_)))) => {
                let number = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
                let end = at + bytes.get(at..)?.iter().take_while(number).count();
                let (container, _, name) = open.last().copied()?;
                tokens.push(Token { range: at..end, container, is_name: false, name });
                at = end;
                continue;
            }
            b',' => open.last_mut()?.2 = None,
            b':' if open.is_empty() => return None,
            b' ' | b'\t' | b'\r' | b'\n' | b':' | b'+' | b'-' | b'.' | b'0'..=b'9' | b'E' => {}
            // Of `true`, `false`, `null` and exponents.
            b'a' | b'e' | b'f' | b'l' | b'n' | b'r' | b's' | b't' | b'u' => {}
            _ => return None,
        }
        at += 1;
    }
    open.is_empty().then_some(Strings { tokens, containers })
}

/// Where the string that begins at a quote ends.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            0..0x20 => return None,
            _ => at += 1,
        }
    }
}

/// The text of a string, decoded; as it is written where it cannot be decoded.
fn decoded(token: &str) -> Cow<'_, str> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    match inner.contains('\\') {
        true => serde_json::from_str(token).map_or(Cow::Borrowed(inner), Cow::Owned),
        false => Cow::Borrowed(inner),
    }
}

fn encoded(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Redactor {
    /// Redacts a text of JSON, which stays one.
    pub(super) fn redact_json<'t>(&self, text: &'t str) -> Redacted<'t> {
        let Some(walked) = self.walk(text, NESTED) else { return self.redact_flat(text) };
        // What a pattern finds beyond one string counts if the same fields are there afterwards.
        let flat = self.redact_flat(&walked.text);
        if flat.counts.is_empty() || !same_fields(&walked.text, &flat.text) {
            return walked;
        }
        let mut counts = walked.counts;
        flat.counts.into_iter().for_each(|(kind, count)| *counts.entry(kind).or_default() += count);
        Redacted { text: Cow::Owned(flat.text.into_owned()), counts }
    }

    /// Redacts every string of a text of JSON; `None` of any other text.
    pub(super) fn walk<'t>(&self, text: &'t str, depth: usize) -> Option<Redacted<'t>> {
        if depth == 0 || !text.trim_start().starts_with(['{', '[', '"']) {
            return None;
        }
        let Strings { tokens, containers } = strings(text)?;
        let raw = |token: &Token| text.get(token.range.clone()).unwrap_or_default();
        let pairs = pairs(&tokens, raw);
        let kept = kept_in_manifests(&tokens, &containers, raw);
        let mut counts = BTreeMap::new();
        // What changes, by the place of the string.
        let mut changed: BTreeMap<usize, String> = BTreeMap::new();
        for (at, token) in tokens.iter().enumerate() {
            let string = decoded(raw(token));
            let name = token.name.map(|name| pairs.get(&at).copied().unwrap_or(name));
            let name = name.and_then(|name| tokens.get(name)).map(|name| decoded(raw(name)));
            let name = name.or_else(|| {
                let of_list = containers.get(token.container)?.1.filter(|_| !token.is_name)?;
                one_of_several(&decoded(raw(tokens.get(of_list)?))).map(Cow::Owned)
            });
            let redacted = match name {
                Some(name) if !raw(token).starts_with('"') => self.redact_number(&name, raw(token)),
                Some(_) if kept.contains(&token.container) && is_replaceable(&string) => assigned_secret(),
                Some(name) => self.redact_field(&name, &string, depth - 1),
                None => self.redact_at(&string, depth - 1),
            };
            if let Cow::Owned(redacted_text) = redacted.text {
                redacted.counts.into_iter().for_each(|(kind, count)| *counts.entry(kind).or_default() += count);
                changed.insert(at, redacted_text);
            }
        }
        if changed.is_empty() {
            return Some(Redacted { text: Cow::Borrowed(text), counts });
        }
        keep_apart(&tokens, raw, &mut changed);
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for (at, new) in &changed {
            let Some(token) = tokens.get(*at) else { continue };
            out.push_str(text.get(from..token.range.start).unwrap_or_default());
            out.push_str(&encoded(new));
            from = token.range.end;
        }
        out.push_str(text.get(from..).unwrap_or_default());
        Some(Redacted { text: Cow::Owned(out), counts })
    }

    /// Redacts a number that is the value of a field: a password of digits. The placeholder is a text.
    pub(super) fn redact_number<'t>(&self, name: &str, number: &'t str) -> Redacted<'t> {
        match super::assigned::class(name) {
            Some(Class::Password) if super::assigned::is_field(name, number) => assigned_secret(),
            _ => Redacted { text: Cow::Borrowed(number), counts: BTreeMap::new() },
        }
    }

    /// Redacts the value of a field, whose name may be what gives it away.
    pub(super) fn redact_field<'t>(&self, name: &str, text: &'t str, depth: usize) -> Redacted<'t> {
        if super::assigned::is_field(name, text) && placeholders(text).is_empty() {
            return assigned_secret();
        }
        let redacted = self.redact_at(text, depth);
        // With its name it may be found that is in one line, and was not redacted before.
        let framed = !text.contains('\n') && placeholders(text).is_empty();
        if !redacted.counts.is_empty() || !framed || self.worth_trying(name).is_empty() {
            return redacted;
        }
        let (head, tail) = (format!("\"{name}\": \""), "\"");
        let framed = format!("{head}{text}{tail}");
        let found = self.redact_flat(&framed);
        let inner = found.text.strip_prefix(&head).and_then(|rest| rest.strip_suffix(tail)).map(str::to_owned);
        match inner {
            Some(inner) if inner != text => Redacted { text: Cow::Owned(inner), counts: found.counts },
            _ => redacted,
        }
    }
}

/// The name of one item of a list, if the name of the list is that of passwords or keys: `passwords`, `apiKeys`. Lists called
/// `secrets` and `tokens` hold names and words, `accountKeys` public ones.
fn one_of_several(name: &str) -> Option<String> {
    let one = name.strip_suffix(['s', 'S'])?;
    let joined = one.replace(['_', '-'], "").to_ascii_lowercase();
    let is_key = ["apikey", "secretkey", "privatekey", "accesskey"].iter().any(|key| joined.ends_with(key));
    (is_key || super::assigned::class(one) == Some(Class::Password)).then(|| one.to_owned())
}

/// A whole value that is replaced.
fn assigned_secret<'t>() -> Redacted<'t> {
    let counts = BTreeMap::from([(ASSIGNED.to_owned(), 1)]);
    Redacted { text: Cow::Owned(placeholder(ASSIGNED)), counts }
}

/// Whether a value of a manifest is more than a sign, and no placeholder.
fn is_replaceable(text: &str) -> bool {
    text.len() >= manifests::SHORTEST && placeholders(text).is_empty()
}

/// The objects with the data of manifests of the kind `Secret`.
fn kept_in_manifests<'t>(
    tokens: &[Token],
    containers: &[(usize, Option<usize>)],
    raw: impl Fn(&Token) -> &'t str,
) -> BTreeSet<usize> {
    let name = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map(|name| raw(name).trim_matches('"'));
    let is_kind = |token: &&Token| raw(token) == "\"Secret\"" && name(token.name) == Some("kind");
    let manifests: BTreeSet<usize> = tokens.iter().filter(is_kind).map(|token| token.container).collect();
    let is_data = |(_, (parent, of)): &(usize, &(usize, Option<usize>))| {
        manifests.contains(parent) && name(*of).is_some_and(|name| manifests::DATA.contains(&name))
    };
    containers.iter().enumerate().filter(is_data).map(|(number, _)| number).collect()
}

/// What pairs of a name and a value call them, in any case.
const NAMES: [&str; 7] = ["title", "label", "name", "key", "variable", "parameterkey", "field"];
const VALUES: [&str; 4] = ["value", "val", "parametervalue", "content"];

/// Of the strings called `value` in an object, the place of the string called `name` or `key` in it: together they are a
/// field, as in the variables of a container and the headers of a recorded request.
fn pairs<'t>(tokens: &[Token], raw: impl Fn(&Token) -> &'t str) -> BTreeMap<usize, usize> {
    let called = |token: &Token, names: &[&str]| {
        let name = token.name.and_then(|name| tokens.get(name)).map(|name| raw(name).trim_matches('"'));
        name.is_some_and(|name| names.iter().any(|one| name.eq_ignore_ascii_case(one)))
    };
    let mut names: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| called(token, &NAMES)) {
        names.entry(token.container).or_insert(at);
    }
    let values = tokens.iter().enumerate().filter(|(_, token)| called(token, &VALUES));
    values.filter_map(|(at, token)| names.get(&token.container).map(|name| (at, *name))).collect()
}

/// When several names of one object were replaced by the same placeholder, each gets a number, so that all remain.
fn keep_apart<'t>(tokens: &[Token], raw: impl Fn(&Token) -> &'t str, changed: &mut BTreeMap<usize, String>) {
    let is_name = |at: &usize| tokens.get(*at).is_some_and(|token| token.is_name);
    let containers: BTreeSet<usize> =
        changed.keys().filter(|at| is_name(at)).filter_map(|at| tokens.get(*at)).map(|token| token.container).collect();
    let mut taken: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.is_name && containers.contains(&token.container) && !changed.contains_key(&at) {
            taken.entry(token.container).or_default().insert(decoded(raw(token)).into_owned());
        }
    }
    let mut numbers: BTreeMap<(usize, String), u64> = BTreeMap::new();
    for (at, new) in changed.iter_mut().filter(|(at, _)| is_name(at)) {
        let Some(token) = tokens.get(*at) else { continue };
        let taken = taken.entry(token.container).or_default();
        let name = new.clone();
        while !taken.insert(new.clone()) {
            let number = numbers.entry((token.container, name.clone())).or_insert(1);
            *number += 1;
            *new = format!("{name}-{number}");
        }
    }
}

/// Whether two texts of JSON have the same names in the same containers, and as many strings.
fn same_fields(before: &str, after: &str) -> bool {
    let (Some(old), Some(new)) = (strings(before), strings(after)) else { return false };
    let (old, new) = (old.tokens, new.tokens);
    let same = |(a, b): (&Token, &Token)| {
        a.is_name == b.is_name
            && a.container == b.container
            && (!a.is_name || before.get(a.range.clone()) == after.get(b.range.clone()))
    };
    old.len() == new.len() && old.iter().zip(&new).all(same)
}
