//! Fields that are texts in JSON and plain strings or hashes in memory.

use super::TEXT;
use crate::absent::AbsentText;
use crate::digest::{BlobHash, NO_HASH};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A field that is no [`Text`] in memory and is written as one: short words of a person, a model or a tool, and content hashes.
///
/// ```ignore
/// #[serde(default, serialize_with = "as_text", deserialize_with = "from_text")]
/// title: Option<String>,
/// ```
pub(crate) trait AsText: Sized {
    fn write_text<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Reads it back. A text that was withheld or erased leaves a note in a string, and zeros in a hash.
    fn read_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

pub(crate) fn as_text<T: AsText, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.write_text(serializer)
}

pub(crate) fn from_text<'de, T: AsText, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::read_text(deserializer)
}

/// A text of a field that is no [`Text`] in memory, as JSON has it.
struct TextField(Result<String, AbsentText>);

impl<'de> Deserialize<'de> for TextField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringOrAbsent;
        impl<'de> Visitor<'de> for StringOrAbsent {
            type Value = TextField;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<TextField, E> {
                Ok(TextField(Ok(text.to_string())))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<TextField, E> {
                Ok(TextField(Ok(text)))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<TextField, A::Error> {
                AbsentText::deserialize(de::value::MapAccessDeserializer::new(map)).map(|absent| TextField(Err(absent)))
            }
        }
        deserializer.deserialize_any(StringOrAbsent)
    }
}

impl AsText for String {
    fn write_text<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(TEXT, self)
    }

    fn read_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return Self::deserialize(deserializer);
        }
        Ok(TextField::deserialize(deserializer)?.0.unwrap_or_else(|absent| absent.to_string()))
    }
}

impl AsText for BlobHash {
    fn write_text<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_newtype_struct(TEXT, self)
        } else {
            self.serialize(serializer)
        }
    }

    fn read_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return Self::deserialize(deserializer);
        }
        match TextField::deserialize(deserializer)?.0 {
            Ok(text) => text.parse().map_err(de::Error::custom),
            Err(_) => Ok(NO_HASH),
        }
    }
}

/// A value as [`from_text`] reads it.
struct FromText<T>(T);

impl<'de, T: AsText> Deserialize<'de> for FromText<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read_text(deserializer).map(Self)
    }
}

/// A value as [`as_text`] writes it.
struct AsTextRef<'a, T>(&'a T);

impl<T: AsText> Serialize for AsTextRef<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write_text(serializer)
    }
}

impl<T: AsText> AsText for Option<T> {
    fn write_text<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Some(value) => serializer.serialize_some(&AsTextRef(value)),
            None => serializer.serialize_none(),
        }
    }

    fn read_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<FromText<T>>::deserialize(deserializer)?.map(|text| text.0))
    }
}

impl<T: AsText> AsText for Vec<T> {
    fn write_text<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(AsTextRef))
    }

    fn read_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<FromText<T>>::deserialize(deserializer)?.into_iter().map(|text| text.0).collect())
    }
}
