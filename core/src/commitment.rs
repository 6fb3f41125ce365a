//! Commitments: what a digest holds in the place of a text (`docs/reference/digest.md`).
//!
//! ```text
//! text key   = keyed BLAKE3 (session key) of seq (8 bytes, big-endian) ++ place
//! commitment = keyed BLAKE3 (text key) of the text in UTF-8
//! ```
//! So a text can be left out of an export, or removed, and the digests still prove everything else; it cannot be
//! guessed without the key. Whether a text is stored inline or as a blob makes no difference.

use crate::digest::{Digest, NotADigest};
use crate::seq::Seq;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wincode::{SchemaRead, SchemaWrite};

/// A commitment to a text: 32 bytes, 64 lower-case hex digits in JSON.
pub type Commitment = Digest;

/// The key of a session: 32 random bytes, or those derived from an import secret. It allows to test guesses of texts.
///
/// It is shown nowhere but in the header of an export.
#[derive(Clone, Copy, PartialEq, Eq, SchemaRead, SchemaWrite)]
pub struct SessionKey(pub [u8; 32]);

/// The key of one text of a session.
#[derive(Clone, Copy, PartialEq, Eq, SchemaRead, SchemaWrite)]
pub struct TextKey(pub [u8; 32]);

impl SessionKey {
    /// The hash that the first event of a session holds.
    pub fn hash(&self) -> Digest {
        Digest::of(&self.0)
    }

    /// The key of the text at `place` (RFC 6901, in the event's export form) of the event at `seq`.
    pub fn text_key(&self, seq: Seq, place: &str) -> TextKey {
        let mut room = [0; 128];
        let seq = seq.0.to_be_bytes();
        let length = seq.len() + place.len();
        if let Some(input) = room.get_mut(..length) {
            let (first, rest) = input.split_at_mut(seq.len());
            first.copy_from_slice(&seq);
            rest.copy_from_slice(place.as_bytes());
            return TextKey(*blake3::keyed_hash(&self.0, input).as_bytes());
        }
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&seq).update(place.as_bytes());
        TextKey(*hasher.finalize().as_bytes())
    }

    /// The keyed hash of the hash of a file: what results of tools have in its place. With the key of the session it shows whether
    /// the file is still the same; without the key no guess of its content can be tested.
    pub fn file_hash(&self, content: &Digest) -> Digest {
        // No key of a text is derived from this: its first 8 bytes do not encode a Seq below 2^53.
        let mut input = *b"annals file content\0................................";
        if let Some(rest) = input.get_mut(20..) {
            rest.copy_from_slice(&content.0);
        }
        Digest(*blake3::keyed_hash(&self.0, &input).as_bytes())
    }
}

impl TextKey {
    /// The commitment to a text.
    pub fn commit(&self, text: &str) -> Commitment {
        Digest(*blake3::keyed_hash(&self.0, text.as_bytes()).as_bytes())
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionKey(hash {})", self.hash().short())
    }
}

impl fmt::Debug for TextKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TextKey(..)")
    }
}

impl FromStr for SessionKey {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        text.parse::<Digest>().map(|bytes| Self(bytes.0))
    }
}

impl FromStr for TextKey {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        text.parse::<Digest>().map(|bytes| Self(bytes.0))
    }
}

/// 64 hex digits: for the header of an export alone.
impl Serialize for SessionKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Digest(self.0).serialize(serializer)
    }
}

/// 64 hex digits: for a text that is disclosed in an export.
impl Serialize for TextKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Digest(self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SessionKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Digest::deserialize(deserializer).map(|bytes| Self(bytes.0))
    }
}

/// The key of a session as its first event holds it. In JSON it is its hash alone: the key is in the codec form, and so becomes
/// durable together with the event.
#[derive(Clone, Copy, Debug, SchemaRead, SchemaWrite)]
pub struct StoredKey {
    /// The hash of the key: what the digest holds.
    pub hash: Digest,
    /// The key; `None` where only the hash is known.
    pub key: Option<SessionKey>,
}

impl StoredKey {
    /// No key yet: the append of the event sets one ([`crate::Event::set_key`]).
    pub const NONE: Self = Self { hash: Digest([0; 32]), key: None };
}

impl From<SessionKey> for StoredKey {
    fn from(key: SessionKey) -> Self {
        Self { hash: key.hash(), key: Some(key) }
    }
}

/// The hash says which key it is, whether that is known or not.
impl PartialEq for StoredKey {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl Eq for StoredKey {}

impl Serialize for StoredKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => self.hash.serialize(serializer),
            false => (self.hash, self.key).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for StoredKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.is_human_readable() {
            true => Digest::deserialize(deserializer).map(|hash| Self { hash, key: None }),
            false => <(Digest, Option<SessionKey>)>::deserialize(deserializer).map(|(hash, key)| Self { hash, key }),
        }
    }
}

/// What importers derive the keys of sessions from: 32 bytes that all stores of a user share, so that importing a source again,
/// into any of them, gives the same digests.
///
/// The default is all zero: for a source that is looked at and not imported.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportSecret(pub [u8; 32]);

impl ImportSecret {
    /// The key of an imported session: keyed BLAKE3 (the secret) of the foreign id, a zero byte, and the first record.
    pub fn session_key(&self, foreign: &str, first: &[u8]) -> SessionKey {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(foreign.as_bytes()).update(&[0]).update(first);
        SessionKey(*hasher.finalize().as_bytes())
    }

    /// Its 64 hex digits: for the file that keeps it.
    pub fn hex(&self) -> String {
        alloc::format!("{}", Digest(self.0))
    }
}

impl fmt::Debug for ImportSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ImportSecret(..)")
    }
}

impl FromStr for ImportSecret {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        text.parse::<Digest>().map(|bytes| Self(bytes.0))
    }
}

#[cfg(test)]
mod tests;
