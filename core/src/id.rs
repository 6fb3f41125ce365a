//! Identifiers and names. Session and request ids are ULIDs chosen by the id port; everything else is text.
//!
//! None of these orders anything (`docs/reference/inbox.md#ids`): a [`crate::Seq`] does.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use ulid::Ulid;
use wincode::{SchemaRead, SchemaWrite};

/// A text is not a ULID (26 characters of Crockford's base 32).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id: expected 26 characters of Crockford's base 32")]
pub struct NotAnId;

macro_rules! ulid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SchemaRead, SchemaWrite)]
        pub struct $name(pub [u8; 16]);

        impl $name {
            /// An id from its time part (milliseconds, 48 bits) and its other 80 bits.
            pub fn from_parts(millis: u64, random: u128) -> Self {
                Self(Ulid::from_parts(millis, random).to_bytes())
            }

            /// The time part, in milliseconds. It orders nothing.
            pub fn millis(self) -> u64 {
                Ulid::from_bytes(self.0).timestamp_ms()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut buffer = [0; ulid::ULID_LEN];
                f.pad(Ulid::from_bytes(self.0).array_to_str(&mut buffer))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            fn from_str(text: &str) -> Result<Self, NotAnId> {
                // 26 characters hold 130 bits: a first one above 7 would lose two of them and name another id.
                if !matches!(text.bytes().next(), Some(b'0'..=b'7')) {
                    return Err(NotAnId);
                }
                Ulid::from_string(text).map(|ulid| Self(ulid.to_bytes())).map_err(|_| NotAnId)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if !serializer.is_human_readable() {
                    return self.0.serialize(serializer);
                }
                let mut buffer = [0; ulid::ULID_LEN];
                serializer.serialize_str(Ulid::from_bytes(self.0).array_to_str(&mut buffer))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
                } else {
                    <[u8; 16]>::deserialize(deserializer).map(Self)
                }
            }
        }
    };
}

ulid_id!(
    /// A Session. Its first 48 bits are its creation time.
    SessionId
);
ulid_id!(
    /// One provider request, retried attempts included.
    RequestId
);

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, SchemaRead, SchemaWrite,
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }
    };
}

text_id!(
    /// A user's input, unique within its session; used up by its first admission.
    InputId
);
text_id!(
    /// A tool call, unique within its session.
    CallId
);
text_id!(
    /// A permission question, unique within its session.
    PermissionId
);
text_id!(
    /// An agent: system text, step allowance and permission rules under one name.
    AgentName
);
text_id!(
    /// A model as `provider/id`.
    ModelName
);

#[cfg(test)]
mod tests;
