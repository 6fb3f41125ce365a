//! The writer behind canonical JSON: one output, fields put in order where they stand.

use super::CanonicalError;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use serde::ser::Serialize;

/// Writes any value; see [`super::own`] and [`super::value`].
pub(super) struct Writer {
    pub(super) out: String,
    /// The fields of all objects that are open, the innermost last.
    fields: Vec<Field>,
    /// Where an object is put together whose fields did not come in order.
    ordered: String,
    /// The event name that the next struct takes as its field `type`.
    pub(super) tag: Option<&'static str>,
    strict: bool,
}

/// A written `"key":value`, as places in the output.
#[derive(Clone, Copy)]
struct Field {
    from: usize,
    key_end: usize,
    to: usize,
    /// Whether the key is ASCII without escapes.
    plain: bool,
}

impl Writer {
    /// A writer that, if `strict`, refuses whole numbers at or above 2^53.
    pub(super) const fn new(strict: bool) -> Self {
        Self { out: String::new(), fields: Vec::new(), ordered: String::new(), tag: None, strict }
    }

    /// What was written.
    pub(super) fn finish(self) -> String {
        self.out
    }

    pub(super) fn string(&mut self, text: &str) {
        self.out.push('"');
        escape(&mut self.out, text);
        self.out.push('"');
    }

    pub(super) fn whole(&mut self, negative: bool, magnitude: u64) -> Result<(), CanonicalError> {
        let sign = if negative { "-" } else { "" };
        if self.strict && magnitude >= 1 << 53 {
            return Err(CanonicalError::NumberTooLarge(alloc::format!("{sign}{magnitude}")));
        }
        self.out.push_str(sign);
        let (mut digits, mut at, mut rest) = ([0; 20], 20, magnitude);
        while at == 20 || rest > 0 {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.out.extend(digits[at..].iter().copied().map(char::from));
        Ok(())
    }

    pub(super) fn object(&mut self) -> Object<'_> {
        self.out.push('{');
        let tag = self.tag.take();
        let mut object = Object { base: self.fields.len(), writer: self };
        if let Some(tag) = tag {
            object.begin();
            object.writer.out.push_str("\"type\"");
            object.colon();
            object.writer.string(tag);
            object.end();
        }
        object
    }
}

/// Writes `text` with the escapes of RFC 8785: the short ones where there are any, lower-case `\\u00xx` otherwise.
fn escape(out: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        out.push_str(&rest[..at]);
        let byte = rest.as_bytes()[at];
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            0x08 => "\\b",
            0x09 => "\\t",
            0x0a => "\\n",
            0x0c => "\\f",
            0x0d => "\\r",
            _ => "",
        };
        out.push_str(short);
        if short.is_empty() {
            out.push_str("\\u00");
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// Escapes what is shown through it.
pub(super) struct Escaping<'a>(pub(super) &'a mut String);

impl fmt::Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        escape(self.0, text);
        Ok(())
    }
}

/// The order of two fields: by the UTF-16 code units of their keys. For plain keys that is the order of their bytes.
fn key_order(out: &str, a: &Field, b: &Field) -> Ordering {
    if a.plain && b.plain {
        // Without the closing quote, which some characters sort before.
        return out.as_bytes()[a.from..a.key_end - 1].cmp(&out.as_bytes()[b.from..b.key_end - 1]);
    }
    let meant = |field: &Field| serde_json::from_str::<String>(&out[field.from..field.key_end]).unwrap_or_default();
    meant(a).encode_utf16().cmp(meant(b).encode_utf16())
}

/// An object while its fields are written one after another; [`Object::close`] puts them in order.
pub(super) struct Object<'a> {
    writer: &'a mut Writer,
    /// Where its fields begin among all that are open.
    base: usize,
}

impl Object<'_> {
    fn begin(&mut self) {
        if self.writer.fields.len() > self.base {
            self.writer.out.push(',');
        }
        let from = self.writer.out.len();
        self.writer.fields.push(Field { from, key_end: from, to: from, plain: false });
    }

    fn colon(&mut self) {
        let key_end = self.writer.out.len();
        if let Some(field) = self.writer.fields.last_mut() {
            field.key_end = key_end;
            field.plain = self.writer.out.as_bytes()[field.from..].iter().all(|b| b.is_ascii() && *b != b'\\');
        }
        self.writer.out.push(':');
    }

    fn end(&mut self) {
        let to = self.writer.out.len();
        if let Some(field) = self.writer.fields.last_mut() {
            field.to = to;
        }
    }

    pub(super) fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CanonicalError> {
        self.begin();
        let from = self.writer.out.len();
        key.serialize(&mut *self.writer)?;
        if !self.writer.out[from..].starts_with('"') {
            return Err(CanonicalError::Unsupported("a map key must be text".to_string()));
        }
        self.colon();
        Ok(())
    }

    pub(super) fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        value.serialize(&mut *self.writer)?;
        self.end();
        Ok(())
    }

    pub(super) fn close(self) {
        let Writer { out, fields, ordered, .. } = self.writer;
        let own = &mut fields[self.base..];
        let by_key = |a: &Field, b: &Field| key_order(out, a, b);
        if let Some(first) = own.first().map(|field| field.from)
            && !own.is_sorted_by(|a, b| by_key(a, b).is_le())
        {
            own.sort_unstable_by(by_key);
            ordered.clear();
            for (at, field) in own.iter().enumerate() {
                if at > 0 {
                    ordered.push(',');
                }
                ordered.push_str(&out[field.from..field.to]);
            }
            out.truncate(first);
            out.push_str(ordered);
        }
        fields.truncate(self.base);
        out.push('}');
    }
}

/// An array while its items are written.
pub(super) struct Array<'a> {
    pub(super) writer: &'a mut Writer,
    pub(super) first: bool,
}

impl Array<'_> {
    pub(super) fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        if !core::mem::take(&mut self.first) {
            self.writer.out.push(',');
        }
        value.serialize(&mut *self.writer)
    }
}
