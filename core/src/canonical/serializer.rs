//! How each shape of value is written (RFC 8785).

use super::CanonicalError;
use super::escape::JsonEscaper;
use super::writer::{Array, Object, Writer};
use crate::left_out::LEFT_OUT;
use crate::text::{ABSENT, BLOB, TEXT};
use core::fmt;
use serde::ser::{self, Impossible, Serialize};

macro_rules! whole_numbers {
    ($($method:ident $type:ty),*) => {$(
        fn $method(self, v: $type) -> Result<(), CanonicalError> {
            self.whole(v < 0, u64::from(v.unsigned_abs()))
        }
    )*};
}

impl<'a, 'w> ser::Serializer for &'a mut Writer<'w> {
    type Ok = ();
    type Error = CanonicalError;
    type SerializeSeq = Array<'a, 'w>;
    type SerializeTuple = Array<'a, 'w>;
    type SerializeTupleStruct = Array<'a, 'w>;
    type SerializeTupleVariant = Impossible<(), CanonicalError>;
    type SerializeMap = Map<'a, 'w>;
    type SerializeStruct = Object<'a, 'w>;
    type SerializeStructVariant = Impossible<(), CanonicalError>;

    whole_numbers!(serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64);

    fn serialize_u8(self, v: u8) -> Result<(), CanonicalError> {
        self.whole(false, u64::from(v))
    }

    fn serialize_u16(self, v: u16) -> Result<(), CanonicalError> {
        self.whole(false, u64::from(v))
    }

    fn serialize_u32(self, v: u32) -> Result<(), CanonicalError> {
        self.whole(false, u64::from(v))
    }

    fn serialize_u64(self, v: u64) -> Result<(), CanonicalError> {
        self.whole(false, v)
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
        match self.form.take_text() {
            true => self.text(v),
            false => {
                self.string(v);
                Ok(())
            }
        }
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

    fn serialize_unit_struct(self, name: &'static str) -> Result<(), CanonicalError> {
        if name == LEFT_OUT {
            self.absent = true;
            return Ok(());
        }
        self.object().close();
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), CanonicalError> {
        self.string(variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), CanonicalError> {
        match name {
            TEXT => self.form.next_is_text(),
            BLOB if self.form.is_marked() => return self.blob(value),
            ABSENT if self.form.is_marked() => return self.absent_in_event(value),
            _ => {}
        }
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
        self.form.begin_event();
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Array<'a, 'w>, CanonicalError> {
        self.out.push('[');
        let place = self.form.depth();
        Ok(Array { writer: self, count: 0, place })
    }

    fn serialize_tuple(self, len: usize) -> Result<Array<'a, 'w>, CanonicalError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Array<'a, 'w>, CanonicalError> {
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

    fn serialize_map(self, _: Option<usize>) -> Result<Map<'a, 'w>, CanonicalError> {
        Ok(Map(self.object()))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Object<'a, 'w>, CanonicalError> {
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
        self.out.push('"');
        // Writing to a `String` cannot fail; an error is the value's own.
        fmt::write(&mut JsonEscaper(&mut self.out), format_args!("{value}"))
            .map_err(|_| CanonicalError::Unsupported("a value could not be shown".into()))?;
        self.out.push('"');
        Ok(())
    }
}

macro_rules! array_like {
    ($($trait:ident $method:ident),*) => {$(
        impl ser::$trait for Array<'_, '_> {
            type Ok = ();
            type Error = CanonicalError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
                self.item(value)
            }

            fn end(self) -> Result<(), CanonicalError> {
                self.writer.out.push(']');
                Ok(())
            }
        }
    )*};
}

array_like!(SerializeSeq serialize_element, SerializeTuple serialize_element, SerializeTupleStruct serialize_field);

impl ser::SerializeStruct for Object<'_, '_> {
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
pub(super) struct Map<'a, 'w>(Object<'a, 'w>);

impl ser::SerializeMap for Map<'_, '_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CanonicalError> {
        self.0.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        self.0.value(value)
    }

    fn end(self) -> Result<(), CanonicalError> {
        self.0.close();
        Ok(())
    }
}
