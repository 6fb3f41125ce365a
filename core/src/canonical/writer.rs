//! The writer behind canonical JSON: one output, fields sorted in place.

use super::CanonicalError;
use super::escape::{escape, first_escaped};
use super::form::TextForm;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Ordering;
use serde::ser::Serialize;

/// Writes any value; see [`super::own`] and [`super::value`].
pub(super) struct Writer<'w> {
    pub(super) out: String,
    /// The fields of all objects that are open, the innermost last.
    fields: Vec<Field>,
    /// Where an object is put together whose fields did not come in order.
    ordered: String,
    /// The event name that the next struct takes as its field `type`.
    pub(super) tag: Option<&'static str>,
    strict: bool,
    /// Whether the value that was just written is absent: its field is removed with it.
    pub(super) absent: bool,
    /// How texts are written.
    pub(super) form: TextForm<'w>,
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

impl<'w> Writer<'w> {
    /// A writer that, if `strict`, refuses whole numbers at or above 2^53; `room` is how many bytes it may write before it
    /// asks for more memory.
    pub(super) fn new(strict: bool, form: TextForm<'w>, room: usize) -> Self {
        let out = String::with_capacity(room);
        Self { out, fields: Vec::new(), ordered: String::new(), tag: None, strict, absent: false, form }
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
        // Digits are UTF-8.
        self.out.push_str(str::from_utf8(&digits[at..]).unwrap_or_default());
        Ok(())
    }

    pub(super) fn object(&mut self) -> Object<'_, 'w> {
        self.out.push('{');
        let place = self.form.depth();
        Object { base: self.fields.len(), ordered: true, tag: self.tag.take(), place, writer: self }
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

/// The name of the field that says what an event is.
const TYPE: &str = "type";

/// An object while its fields are written one after another; [`Object::close`] puts them in order if they did not come so.
pub(super) struct Object<'a, 'w> {
    writer: &'a mut Writer<'w>,
    /// Where its fields begin among all that are open.
    base: usize,
    /// Whether each key so far sorts after the one before it.
    ordered: bool,
    /// The value of the field `type`, until it is written: before the first field that sorts after it.
    tag: Option<&'static str>,
    /// How long the place of the object itself is.
    place: usize,
}

impl Object<'_, '_> {
    /// Where the next field begins.
    fn begin(&mut self) -> usize {
        if self.writer.fields.len() > self.base {
            self.writer.out.push(',');
        }
        self.writer.out.len()
    }

    /// The key that begins at `from` is written.
    fn colon(&mut self, from: usize, plain: bool) {
        let Writer { out, fields, .. } = &mut *self.writer;
        let key_end = out.len();
        let field = Field { from, key_end, to: key_end, plain };
        if let Some(before) = fields[self.base..].last() {
            self.ordered = self.ordered && key_order(out, before, &field).is_le();
        }
        fields.push(field);
        out.push(':');
    }

    fn end(&mut self) {
        let to = self.writer.out.len();
        if let Some(field) = self.writer.fields.last_mut() {
            field.to = to;
        }
    }

    fn tag(&mut self, tag: &'static str) {
        let from = self.begin();
        self.writer.string(TYPE);
        self.colon(from, true);
        self.writer.string(tag);
        self.end();
    }

    /// A field of a struct.
    pub(super) fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), CanonicalError> {
        if let Some(tag) = self.tag.take_if(|_| key > TYPE) {
            self.tag(tag);
        }
        let before = self.writer.out.len();
        let from = self.begin();
        self.writer.string(key);
        self.colon(from, key.is_ascii() && first_escaped(key.as_bytes()).is_none());
        self.writer.form.enter(key);
        self.value(value)?;
        if core::mem::take(&mut self.writer.absent) {
            self.writer.out.truncate(before);
            self.writer.fields.pop();
        }
        Ok(())
    }

    pub(super) fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CanonicalError> {
        let from = self.begin();
        key.serialize(&mut *self.writer)?;
        let written = &self.writer.out.as_bytes()[from..];
        if !written.starts_with(b"\"") {
            return Err(CanonicalError::Unsupported("a map key must be text".to_string()));
        }
        let plain = written.iter().all(|byte| byte.is_ascii() && *byte != b'\\');
        if self.writer.form.keeps_places() {
            let key: String = serde_json::from_slice(written).unwrap_or_default();
            self.writer.form.enter(&key);
        }
        self.colon(from, plain);
        Ok(())
    }

    pub(super) fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        value.serialize(&mut *self.writer)?;
        self.writer.form.leave(self.place);
        self.end();
        Ok(())
    }

    pub(super) fn close(mut self) {
        if let Some(tag) = self.tag.take() {
            self.tag(tag);
        }
        let Writer { out, fields, ordered, .. } = self.writer;
        let own = &mut fields[self.base..];
        if let Some(first) = own.first().map(|field| field.from)
            && !self.ordered
        {
            own.sort_unstable_by(|a, b| key_order(out, a, b));
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
pub(super) struct Array<'a, 'w> {
    pub(super) writer: &'a mut Writer<'w>,
    /// How many items were written.
    pub(super) count: usize,
    /// How long the place of the array itself is.
    pub(super) place: usize,
}

impl Array<'_, '_> {
    pub(super) fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        if self.count > 0 {
            self.writer.out.push(',');
        }
        self.writer.form.enter_item(self.count);
        self.count += 1;
        value.serialize(&mut *self.writer)?;
        self.writer.form.leave(self.place);
        Ok(())
    }
}
