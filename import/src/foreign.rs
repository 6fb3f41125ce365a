//! Foreign JSON, read field by field: values are kept as received, and fields that are not read are noted as lost.

use annals_core::Json;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::cell::{Cell, RefCell};
use std::fmt;

/// Losses, collected while one foreign record is mapped.
#[derive(Debug, Default)]
pub struct Notes(RefCell<Vec<String>>);

impl Notes {
    /// Adds a loss by name, such as `session.next.moved.subdirectory`.
    pub fn add(&self, what: impl Into<String>) {
        self.0.borrow_mut().push(what.into());
    }

    /// Returns and removes all notes.
    pub fn take(&self) -> Vec<String> {
        self.0.take()
    }
}

struct JsonField<'a> {
    name: String,
    raw: &'a RawValue,
    read: Cell<bool>,
}

/// One JSON object of a foreign record. When it is dropped, every field that was neither read nor skipped and that
/// has a value (not `null`, `false`, or an empty text, list or object) is noted as `WHAT.FIELD`.
pub struct JsonObject<'a> {
    what: String,
    fields: Vec<JsonField<'a>>,
    notes: &'a Notes,
}

struct JsonFields<'a>(Vec<JsonField<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for JsonFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = JsonFields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonFields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some((name, raw)) = map.next_entry::<String, &'de RawValue>()? {
                    fields.push(JsonField { name, raw, read: Cell::new(false) });
                }
                Ok(JsonFields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

impl<'a> JsonObject<'a> {
    /// Reads a JSON object; `what` names it in notes.
    ///
    /// # Errors
    /// When the text is not one JSON object.
    pub fn parse(text: &'a str, what: impl Into<String>, notes: &'a Notes) -> Result<Self, serde_json::Error> {
        let JsonFields(fields) = serde_json::from_str(text)?;
        Ok(Self { what: what.into(), fields, notes })
    }

    /// Changes its name in notes.
    pub fn rename(&mut self, what: impl Into<String>) {
        self.what = what.into();
    }

    /// Adds a note that is not about one of its fields.
    pub fn note(&self, what: &str) {
        self.notes.add(format!("{}: {what}", self.what));
    }

    /// The names of its fields, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| field.name.as_str())
    }

    /// A field that exists and is not `null`, without marking it as read.
    fn peek(&self, name: &str) -> Option<&JsonField<'a>> {
        // Of a repeated name the last one counts, as in JavaScript.
        self.fields.iter().rfind(|field| field.name == name && field.raw.get() != "null")
    }

    /// A field that exists and is not `null`.
    pub fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.peek(name).map(|field| {
            field.read.set(true);
            field.raw
        })
    }

    /// A field that exists and is not `null`, left unread.
    pub fn peeked(&self, name: &str) -> Option<&'a RawValue> {
        self.peek(name).map(|field| field.raw)
    }

    /// Whether a field exists and is not `null`.
    pub fn has(&self, name: &str) -> bool {
        self.peek(name).is_some()
    }

    fn typed<T>(&self, name: &str, read: impl FnOnce(&'a str) -> Option<T>) -> Option<T> {
        let field = self.peek(name)?;
        let value = read(field.raw.get())?;
        field.read.set(true);
        Some(value)
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.typed(name, string)
    }

    /// A whole number that is not negative and below 2^53.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.typed(name, |raw| {
            let value: f64 = raw.parse().ok()?;
            (0.0..9_007_199_254_740_992.0).contains(&value).then_some(value as u64)
        })
    }

    /// Dollars as nano-dollars.
    pub fn money(&self, name: &str) -> Option<u64> {
        self.typed(name, |raw| {
            let nano = raw.parse::<f64>().ok()? * 1e9;
            (0.0..9_007_199_254_740_992.0).contains(&nano).then(|| nano.round() as u64)
        })
    }

    /// Whether a field is `true`.
    pub fn flag(&self, name: &str) -> bool {
        self.typed(name, |raw| raw.parse().ok()).unwrap_or(false)
    }

    /// A time in milliseconds since 1970: RFC 3339, or a number of seconds or milliseconds.
    pub fn moment(&self, name: &str) -> Option<u64> {
        /// The year 5138 in seconds, or March 1973 in milliseconds.
        const SECONDS_MAX: u64 = 100_000_000_000;
        self.text(name).as_deref().and_then(moment).or_else(|| {
            let number = self.number(name)?;
            Some(if number < SECONDS_MAX { number * 1000 } else { number })
        })
    }

    /// JSON as received, without insignificant whitespace.
    pub fn json(&self, name: &str) -> Option<Json> {
        self.raw(name).map(|raw| Json::received(compact(raw.get())))
    }

    /// An object in a field.
    pub fn object(&self, name: &str) -> Option<JsonObject<'a>> {
        let field = self.peek(name)?;
        let inner = JsonObject::parse(field.raw.get(), format!("{}.{name}", self.what), self.notes).ok()?;
        field.read.set(true);
        Some(inner)
    }

    /// The items of a list.
    pub fn list(&self, name: &str) -> Vec<&'a RawValue> {
        self.typed(name, |raw| serde_json::from_str(raw).ok()).unwrap_or_default()
    }

    /// The objects of a list; other items are noted.
    pub fn objects(&self, name: &str) -> Vec<JsonObject<'a>> {
        let mut found = Vec::new();
        for raw in self.list(name) {
            match JsonObject::parse(raw.get(), format!("{}.{name}", self.what), self.notes) {
                Ok(object) => found.push(object),
                Err(_) => self.notes.add(format!("{}.{name}", self.what)),
            }
        }
        found
    }

    /// The texts of a list of texts.
    pub fn texts(&self, name: &str) -> Vec<String> {
        self.list(name).into_iter().filter_map(|raw| string(raw.get())).collect()
    }

    /// Marks fields as read that need no event: they repeat other fields, or do not concern the session.
    pub fn skip(&self, names: &[&str]) {
        for field in &self.fields {
            if names.contains(&field.name.as_str()) {
                field.read.set(true);
            }
        }
    }

    /// Marks every field as read.
    pub fn skip_all(&self) {
        self.fields.iter().for_each(|field| field.read.set(true));
    }
}

impl Drop for JsonObject<'_> {
    fn drop(&mut self) {
        for field in &self.fields {
            if !field.read.get() && !matches!(field.raw.get(), "null" | "\"\"" | "[]" | "{}" | "false") {
                self.notes.add(format!("{}.{}", self.what, field.name));
            }
        }
    }
}

/// A JSON string, decoded; half of a surrogate pair (JavaScript cuts there) reads as U+FFFD.
pub fn string(raw: &str) -> Option<String> {
    match serde_json::from_str::<String>(raw) {
        Ok(text) => Some(text),
        Err(_) if raw.starts_with('"') => serde_json::from_str(&whole_pairs(raw)).ok(),
        Err(_) => None,
    }
}

fn whole_pairs(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let unit = |text: &str| text.get(2..6).and_then(|hex| u16::from_str_radix(hex, 16).ok());
        let step = match escape.get(..2) {
            Some("\\u") => {
                match (unit(escape), escape.get(6..).filter(|next| next.starts_with("\\u")).and_then(unit)) {
                    (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => escape.get(..12),
                    (Some(0xD800..=0xDFFF), _) => {
                        out.push('\u{FFFD}');
                        rest = escape.get(6..).unwrap_or_default();
                        continue;
                    }
                    _ => escape.get(..6),
                }
            }
            _ => escape.get(..2),
        };
        let taken = step.unwrap_or(escape);
        out.push_str(taken);
        rest = escape.get(taken.len()..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The same JSON without the spaces between its tokens and with each string escaped in one way; numbers stay as they
/// were written. So one record read from a database and from a file of lines is one text.
pub fn compact(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('"') {
        let (before, quoted) = rest.split_at(at);
        out.extend(before.chars().filter(|c| !c.is_ascii_whitespace()));
        let end = string_end(quoted);
        let (text, after) = quoted.split_at(end);
        match text.contains('\\').then(|| serde_json::from_str::<String>(text)) {
            Some(Ok(decoded)) => out.push_str(&quote(&decoded)),
            _ => out.push_str(text),
        }
        rest = after;
    }
    out.extend(rest.chars().filter(|c| !c.is_ascii_whitespace()));
    out
}

/// A text as a JSON string.
pub fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn string_end(quoted: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in quoted.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    quoted.len()
}

/// Milliseconds since 1970 of an RFC 3339 time such as `2026-11-21T20:33:08.334Z`.
pub fn moment(text: &str) -> Option<u64> {
    let digits = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (digits(0..4)?, digits(5..7)?, digits(8..10)?);
    let (hour, minute, second) = (digits(11..13)?, digits(14..16)?, digits(17..19)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let rest = text.get(19..)?;
    let fraction: String = rest.strip_prefix('.').unwrap_or("").chars().take_while(char::is_ascii_digit).collect();
    let millis: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let zone = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let offset = match zone.chars().next() {
        Some('Z' | 'z') | None => 0,
        Some(sign @ ('+' | '-')) => {
            let minutes = zone.get(1..3)?.parse::<i64>().ok()? * 60 + zone.get(4..6)?.parse::<i64>().ok()?;
            if sign == '-' { -minutes } else { minutes }
        }
        Some(_) => return None,
    };
    // Days from civil, proleptic Gregorian calendar.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    let total = (((days * 24 + hour) * 60 + minute - offset) * 60 + second) * 1000 + millis;
    u64::try_from(total).ok()
}

#[cfg(test)]
mod tests;
