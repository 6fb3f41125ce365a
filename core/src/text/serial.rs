//! How a [`Text`] is written and read, by codecs for people and by others.

use super::{ABSENT, BLOB, BlobRef, TEXT, Text};
use crate::absent::AbsentText;
use crate::commitment::Commitment;
use crate::digest::BlobHash;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text that is not inline, as JSON has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongText {
    blob: Option<BlobHash>,
    bytes: u64,
    chars: u64,
    commitment: Option<Commitment>,
    #[serde(default)]
    erased: bool,
}

impl LongText {
    fn text(self) -> Result<Text, &'static str> {
        let Self { blob, bytes, chars, commitment, erased } = self;
        match (blob, commitment) {
            (Some(blob), None) => Ok(Text::Blob(Box::new(BlobRef { blob, bytes, chars }))),
            (None, Some(commitment)) => Ok(Text::Absent(Box::new(AbsentText { bytes, chars, commitment, erased }))),
            (Some(_), Some(_)) => Err("both fields `blob` and `commitment`"),
            (None, None) => Err("missing field `blob`"),
        }
    }
}

/// The shape of [`Text`] for codecs that are not meant for people.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Text")]
enum Packed<'a> {
    Inline(Cow<'a, str>),
    Blob(BlobRef),
    Absent(u64, u64, Commitment, bool),
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (serializer.is_human_readable(), self) {
            (true, Self::Inline(text)) => serializer.serialize_newtype_struct(TEXT, text),
            (true, Self::Blob(blob)) => serializer.serialize_newtype_struct(BLOB, &**blob),
            (true, Self::Absent(absent)) => serializer.serialize_newtype_struct(ABSENT, &**absent),
            (false, Self::Inline(text)) => Packed::Inline(Cow::Borrowed(text)).serialize(serializer),
            (false, Self::Blob(blob)) => Packed::Blob(**blob).serialize(serializer),
            (false, Self::Absent(absent)) => {
                let AbsentText { bytes, chars, commitment, erased } = **absent;
                Packed::Absent(bytes, chars, commitment, erased).serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return Ok(match Packed::deserialize(deserializer)? {
                Packed::Inline(text) => Self::Inline(text.into_owned()),
                Packed::Blob(blob) => Self::Blob(Box::new(blob)),
                Packed::Absent(bytes, chars, commitment, erased) => {
                    Self::Absent(Box::new(AbsentText { bytes, chars, commitment, erased }))
                }
            });
        }
        struct InlineOrLong;
        impl<'de> Visitor<'de> for InlineOrLong {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or {blob, bytes, chars}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text::Inline(text.to_string()))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Text, E> {
                Ok(Text::Inline(text))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Text, A::Error> {
                LongText::deserialize(de::value::MapAccessDeserializer::new(map))?.text().map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(InlineOrLong)
    }
}
