//! Canonical JSON: the RFC 8785 form that digests are made over, and the text of values that our codecs make.
//!
//! One departure is impossible to reach in our own fields and deliberate elsewhere: a whole number at or above 2^53 is
//! an error in [`own`] and is written digit for digit by [`value`], since RFC 8785 would change it.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde::ser::{self, Impossible, Serialize};

/// What our own fields must not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// A whole number at or above 2^53 in a field of ours: the caller made a wrong value.
    #[error("the number {0} is not below 2^53")]
    NumberTooLarge(String),
    /// A number that JSON cannot hold.
    #[error("{0} is no JSON number")]
    NotANumber(&'static str),
    /// A map key that is no text, or a message of a `Serialize` implementation.
    #[error("{0}")]
    Unsupported(String),
}

impl ser::Error for CanonicalError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Unsupported(message.to_string())
    }
}

/// The RFC 8785 form of one of our own structures. A newtype variant is written as `{type: VARIANT, ...fields}`: the
/// JSON form of an event.
///
/// # Errors
/// When a number is not below 2^53 or a map key is not text.
pub fn own<T: Serialize + ?Sized>(value: &T) -> Result<String, CanonicalError> {
    let mut writer = Writer { out: String::new(), tag: None, strict: true };
    value.serialize(&mut writer)?;
    Ok(writer.out)
}

/// The canonical text of a JSON value: keys sorted by UTF-16 code units, no spaces, numbers as ECMAScript writes them,
/// whole numbers digit for digit.
pub fn value(value: &serde_json::Value) -> String {
    let mut writer = Writer { out: String::new(), tag: None, strict: false };
    match value.serialize(&mut writer) {
        Ok(()) => writer.out,
        // A `Value` holds only text keys and finite numbers, so writing one cannot fail.
        Err(_) => String::new(),
    }
}

/// Whether two JSON values are equal as typed values: numbers by value, records without regard to key order.
pub fn equal(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Number, Object};
    match (a, b) {
        (Number(x), Number(y)) => x == y || numbers_equal(x, y),
        (Array(x), Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| equal(x, y)),
        (Object(x), Object(y)) => {
            x.len() == y.len() && x.iter().all(|(key, x)| y.get(key).is_some_and(|y| equal(x, y)))
        }
        _ => a == b,
    }
}

fn numbers_equal(x: &serde_json::Number, y: &serde_json::Number) -> bool {
    if (x.is_u64() || x.is_i64()) && (y.is_u64() || y.is_i64()) {
        return false; // two whole numbers that differ as whole numbers
    }
    x.as_f64() == y.as_f64()
}

struct Writer {
    out: String,
    /// The event name that the next struct takes as its field `type`.
    tag: Option<&'static str>,
    strict: bool,
}

impl Writer {
    fn string(&mut self, text: &str) {
        self.out.push('"');
        let mut plain = 0;
        for (at, byte) in text.bytes().enumerate() {
            let escape: &str = match byte {
                b'"' => "\\\"",
                b'\\' => "\\\\",
                0x08 => "\\b",
                0x09 => "\\t",
                0x0a => "\\n",
                0x0c => "\\f",
                0x0d => "\\r",
                0x00..=0x1f => "",
                _ => continue,
            };
            self.out.push_str(&text[plain..at]);
            plain = at + 1;
            if escape.is_empty() {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                self.out.push_str("\\u00");
                self.out.push(char::from(HEX[usize::from(byte >> 4)]));
                self.out.push(char::from(HEX[usize::from(byte & 15)]));
            } else {
                self.out.push_str(escape);
            }
        }
        self.out.push_str(&text[plain..]);
        self.out.push('"');
    }

    fn whole(&mut self, magnitude: u64, text: impl fmt::Display) -> Result<(), CanonicalError> {
        if self.strict && magnitude >= 1 << 53 {
            return Err(CanonicalError::NumberTooLarge(text.to_string()));
        }
        // Writing to a `String` cannot fail.
        let _ = fmt::Write::write_fmt(&mut self.out, format_args!("{text}"));
        Ok(())
    }

    fn object(&mut self) -> Object<'_> {
        let start = self.out.len();
        let mut object = Object { writer: self, start, fields: Vec::new() };
        if let Some(tag) = object.writer.tag.take() {
            object.begin("type");
            object.writer.string(tag);
            object.end();
        }
        object
    }
}

/// An object while its fields are written one after another; [`Object::close`] puts them in order.
struct Object<'a> {
    writer: &'a mut Writer,
    start: usize,
    /// Key, where its `"key":value` begins, where it ends.
    fields: Vec<(String, usize, usize)>,
}

impl Object<'_> {
    fn begin(&mut self, key: &str) {
        let from = self.writer.out.len();
        self.fields.push((key.to_owned(), from, from));
        self.writer.string(key);
        self.writer.out.push(':');
    }

    fn end(&mut self) {
        if let Some(field) = self.fields.last_mut() {
            field.2 = self.writer.out.len();
        }
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), CanonicalError> {
        self.begin(key);
        value.serialize(&mut *self.writer)?;
        self.end();
        Ok(())
    }

    fn close(mut self) {
        let written = self.writer.out.split_off(self.start);
        self.fields.sort_by(|(a, ..), (b, ..)| a.encode_utf16().cmp(b.encode_utf16()));
        let out = &mut self.writer.out;
        out.reserve(written.len() + self.fields.len() + 2);
        out.push('{');
        for (at, (_, from, to)) in self.fields.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(&written[from - self.start..to - self.start]);
        }
        out.push('}');
    }
}

/// An array while its items are written.
struct Array<'a> {
    writer: &'a mut Writer,
    first: bool,
    /// What closes it.
    close: &'static str,
}

impl Array<'_> {
    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        if !core::mem::take(&mut self.first) {
            self.writer.out.push(',');
        }
        value.serialize(&mut *self.writer)
    }
}

macro_rules! whole_numbers {
    ($($method:ident $type:ty),*) => {$(
        fn $method(self, v: $type) -> Result<(), CanonicalError> {
            self.whole(u64::from(v.unsigned_abs()), v)
        }
    )*};
}

impl<'a> ser::Serializer for &'a mut Writer {
    type Ok = ();
    type Error = CanonicalError;
    type SerializeSeq = Array<'a>;
    type SerializeTuple = Array<'a>;
    type SerializeTupleStruct = Array<'a>;
    type SerializeTupleVariant = Impossible<(), CanonicalError>;
    type SerializeMap = Map<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Impossible<(), CanonicalError>;

    whole_numbers!(serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64);

    fn serialize_u8(self, v: u8) -> Result<(), CanonicalError> {
        self.whole(u64::from(v), v)
    }

    fn serialize_u16(self, v: u16) -> Result<(), CanonicalError> {
        self.whole(u64::from(v), v)
    }

    fn serialize_u32(self, v: u32) -> Result<(), CanonicalError> {
        self.whole(u64::from(v), v)
    }

    fn serialize_u64(self, v: u64) -> Result<(), CanonicalError> {
        self.whole(v, v)
    }

    fn serialize_bool(self, v: bool) -> Result<(), CanonicalError> {
        self.out.push_str(if v { "true" } else { "false" });
        Ok(())
    }

    fn serialize_f32(self, v: f32) -> Result<(), CanonicalError> {
        self.serialize_f64(f64::from(v))
    }

    fn serialize_f64(self, v: f64) -> Result<(), CanonicalError> {
        if !v.is_finite() {
            return Err(CanonicalError::NotANumber("an infinite or undefined number"));
        }
        self.out.push_str(ryu_js::Buffer::new().format_finite(v));
        Ok(())
    }

    fn serialize_char(self, v: char) -> Result<(), CanonicalError> {
        self.string(v.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, v: &str) -> Result<(), CanonicalError> {
        self.string(v);
        Ok(())
    }

    fn serialize_bytes(self, v: &[u8]) -> Result<(), CanonicalError> {
        self.collect_seq(v)
    }

    fn serialize_none(self) -> Result<(), CanonicalError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), CanonicalError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), CanonicalError> {
        self.out.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), CanonicalError> {
        self.object().close();
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), CanonicalError> {
        self.string(variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), CanonicalError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), CanonicalError> {
        self.tag = Some(variant);
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Array<'a>, CanonicalError> {
        self.out.push('[');
        Ok(Array { writer: self, first: true, close: "]" })
    }

    fn serialize_tuple(self, len: usize) -> Result<Array<'a>, CanonicalError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Array<'a>, CanonicalError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, CanonicalError> {
        Err(CanonicalError::Unsupported(alloc::format!("the tuple variant {variant} has no canonical form")))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Map<'a>, CanonicalError> {
        Ok(Map { object: self.object(), key: None })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Object<'a>, CanonicalError> {
        Ok(self.object())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, CanonicalError> {
        Err(CanonicalError::Unsupported(alloc::format!("the struct variant {variant} has no canonical form")))
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<(), CanonicalError> {
        self.string(&value.to_string());
        Ok(())
    }
}

macro_rules! array_like {
    ($($trait:ident $method:ident),*) => {$(
        impl ser::$trait for Array<'_> {
            type Ok = ();
            type Error = CanonicalError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
                self.item(value)
            }

            fn end(self) -> Result<(), CanonicalError> {
                self.writer.out.push_str(self.close);
                Ok(())
            }
        }
    )*};
}

array_like!(SerializeSeq serialize_element, SerializeTuple serialize_element, SerializeTupleStruct serialize_field);

impl ser::SerializeStruct for Object<'_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), CanonicalError> {
        self.field(key, value)
    }

    fn end(self) -> Result<(), CanonicalError> {
        self.close();
        Ok(())
    }
}

/// A map: like an [`Object`] whose keys come as values.
struct Map<'a> {
    object: Object<'a>,
    key: Option<String>,
}

impl ser::SerializeMap for Map<'_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CanonicalError> {
        match serde_json::to_value(key) {
            Ok(serde_json::Value::String(key)) => {
                self.key = Some(key);
                Ok(())
            }
            _ => Err(CanonicalError::Unsupported("a map key must be text".to_owned())),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        let key = self.key.take().unwrap_or_default();
        self.object.field(&key, value)
    }

    fn end(self) -> Result<(), CanonicalError> {
        self.object.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
