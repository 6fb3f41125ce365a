//! The words of an expression.

use crate::position::{ExprError, ExprSpan};

/// The longest expression, in bytes.
pub(crate) const LONGEST: usize = 16 * 1024;

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RuleWord {
    /// A name or keyword.
    Name(String),
    /// A text in quotes.
    Text(String),
    /// A whole number.
    Number(i64),
    /// A duration in milliseconds: `90s`, `5m`.
    Duration(i64),
    /// An amount of money in nano-dollars: `$1.50`.
    Money(i64),
    /// An operator or a bracket.
    Sign(&'static str),
    /// The end of the expression.
    End,
}

/// A word with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleToken {
    pub(crate) word: RuleWord,
    pub(crate) span: ExprSpan,
}

/// Longer signs first.
const SIGNS: [&str; 21] =
    ["==", "!=", "<=", ">=", "&&", "||", "=", "<", ">", "!", "(", ")", "{", "}", "[", "]", ",", ".", "+", "-", ":"];

/// Splits an expression into words. `#` begins a comment that ends with the line.
pub(crate) fn words(source: &str) -> Result<Vec<RuleToken>, ExprError> {
    if source.len() > LONGEST {
        let message = format!("the expression has {} bytes; at most {LONGEST} are read", source.len());
        return Err(ExprError::at(source, ExprSpan::default(), message, ""));
    }
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or_default();
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        if first == '#' {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        let (word, length) = match first {
            '"' | '\'' => text(source, at, first)?,
            '$' => money(source, at)?,
            '0'..='9' => number(source, at)?,
            c if c.is_alphabetic() || c == '_' || c == '@' => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '@')).unwrap_or(rest.len());
                (RuleWord::Name(rest.get(..end).unwrap_or_default().to_owned()), end)
            }
            other => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => (RuleWord::Sign(sign), sign.len()),
                None => {
                    let span = ExprSpan { start: at, end: at + other.len_utf8() };
                    return Err(ExprError::at(source, span, format!("unexpected character {other:?}"), ""));
                }
            },
        };
        found.push(RuleToken { word, span: ExprSpan { start: at, end: at + length } });
        at += length;
    }
    found.push(RuleToken { word: RuleWord::End, span: ExprSpan { start: source.len(), end: source.len() } });
    Ok(found)
}

/// A text in quotes. A backslash before the quote makes it part of the text; any other backslash remains, as patterns need it.
fn text(source: &str, at: usize, quote: char) -> Result<(RuleWord, usize), ExprError> {
    let rest = source.get(at + 1..).unwrap_or_default();
    let mut value = String::new();
    let mut characters = rest.char_indices().peekable();
    while let Some((offset, c)) = characters.next() {
        match c {
            '\\' if characters.next_if(|(_, next)| *next == quote).is_some() => value.push(quote),
            c if c == quote => return Ok((RuleWord::Text(value), offset + 2)),
            c => value.push(c),
        }
    }
    let span = ExprSpan { start: at, end: source.len() };
    Err(ExprError::at(source, span, "this text has no closing quote", format!("end it with {quote}")))
}

fn digits(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}

fn number(source: &str, at: usize) -> Result<(RuleWord, usize), ExprError> {
    let rest = source.get(at..).unwrap_or_default();
    let length = digits(rest);
    let unit = rest.get(length..).unwrap_or_default();
    let unit = unit.get(..unit.find(|c: char| !c.is_alphanumeric()).unwrap_or(unit.len())).unwrap_or_default();
    let end = length + unit.len();
    let span = ExprSpan { start: at, end: at + end };
    let value: Option<i64> = rest.get(..length).and_then(|digits| digits.parse().ok());
    let Some(value) = value.filter(|value| *value < 1 << 53) else {
        return Err(ExprError::at(source, span, "this number is too large", "numbers are below 2^53"));
    };
    let factor = match unit {
        "" => return Ok((RuleWord::Number(value), end)),
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        unit => {
            let message = format!("{unit:?} is not a unit of time");
            return Err(ExprError::at(source, span, message, "the units are ms, s, m, h, d, w: 90s, 5m"));
        }
    };
    let too_long = || ExprError::at(source, span, "this duration is too long", "");
    Ok((RuleWord::Duration(value.checked_mul(factor).ok_or_else(too_long)?), end))
}

fn money(source: &str, at: usize) -> Result<(RuleWord, usize), ExprError> {
    let rest = source.get(at + 1..).unwrap_or_default();
    let whole = digits(rest);
    let part = match rest.get(whole..).and_then(|rest| rest.strip_prefix('.')) {
        Some(part) => digits(part),
        None => 0,
    };
    let end = 1 + whole + if part > 0 { part + 1 } else { 0 };
    let span = ExprSpan { start: at, end: at + end };
    let wrong = || ExprError::at(source, span, "this is not an amount of money", "write $2 or $0.25");
    if whole == 0 || part > 9 {
        return Err(wrong());
    }
    let dollars: i64 = rest.get(..whole).and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
    let text = if part > 0 { rest.get(whole + 1..whole + 1 + part).unwrap_or_default() } else { "" };
    let nanos: i64 = format!("{text:0<9}").parse().map_err(|_| wrong())?;
    let amount = dollars.checked_mul(1_000_000_000).and_then(|amount| amount.checked_add(nanos)).ok_or_else(wrong)?;
    Ok((RuleWord::Money(amount), end))
}
