//! Keys of Context Sources and of contributions.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, de};
use wincode::{SchemaRead, SchemaWrite};

/// A stable, namespaced key: `^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._/-]*$`. Ordered by code units.
///
/// ```
/// use annals_core::Key;
/// assert!("core/date".parse::<Key>().is_ok());
/// assert!("core//x".parse::<Key>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, SchemaRead, SchemaWrite)]
#[serde(transparent)]
pub struct Key(String);

/// The text is not a valid key: use lower-case letters, digits, `.`, `_`, `-` and one `/` after the namespace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid system context key {0:?}: expected namespace/name in lower case")]
pub struct InvalidKey(pub String);

impl Key {
    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it has the form of a key. Only one that came from damaged or foreign bytes may not.
    pub(crate) fn is_legal(&self) -> bool {
        Self::matches(&self.0)
    }

    fn matches(text: &str) -> bool {
        let starts = |half: &str| half.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-');
        text.split_once('/').is_some_and(|(space, name)| {
            starts(space) && starts(name) && space.bytes().all(allowed) && name.bytes().all(|b| allowed(b) || b == b'/')
        })
    }
}

impl FromStr for Key {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        if Self::matches(text) { Ok(Self(text.into())) } else { Err(InvalidKey(text.into())) }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
