//! Digests: what proves that nothing was altered (`docs/reference/store.md#batches`).

use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use wincode::{SchemaRead, SchemaWrite};

/// A BLAKE3 hash of 32 bytes; 64 lower-case hex digits in JSON.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SchemaRead, SchemaWrite)]
pub struct Digest(pub [u8; 32]);

/// The content hash that names a blob.
pub type BlobHash = Digest;

/// A text is not 64 lower-case hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a digest: expected 64 lower-case hex digits")]
pub struct NotADigest;

/// The value of a field that holds a hash, when the hash is withheld.
pub(crate) const NO_HASH: Digest = Digest([0; 32]);

impl Digest {
    /// Hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Whether this is what a field holds whose hash was withheld or erased: 32 zero bytes, which no text has as its hash.
    pub fn is_withheld(&self) -> bool {
        *self == NO_HASH
    }

    /// Hash over a list of digests, in order: what a request digest is made of.
    pub fn of_all<'a>(parts: impl IntoIterator<Item = &'a Digest>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&part.0);
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// The first 12 hex digits, for people; `withheld` where only a commitment to it is known.
    pub fn short(&self) -> String {
        if self.is_withheld() {
            return "withheld".into();
        }
        alloc::format!("{self}").chars().take(12).collect()
    }

    /// Its 64 hex digits.
    fn hex(&self) -> [u8; 64] {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        text
    }
}

/// Hashes bytes that come piece by piece: the digest is that of all of them together.
#[derive(Clone, Debug, Default)]
pub struct Digester(blake3::Hasher);

impl Digester {
    /// Adds bytes. Large pieces are faster than many small ones.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes so far.
    pub fn digest(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(str::from_utf8(&self.hex()).unwrap_or_default())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        fn nibble(byte: u8) -> Result<u8, NotADigest> {
            match byte {
                b'0'..=b'9' => Ok(byte - b'0'),
                b'a'..=b'f' => Ok(byte - b'a' + 10),
                _ => Err(NotADigest),
            }
        }
        let bytes = text.as_bytes();
        if bytes.len() != 64 {
            return Err(NotADigest);
        }
        let mut out = [0; 32];
        for (slot, pair) in out.iter_mut().zip(bytes.chunks_exact(2)) {
            *slot = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Ok(Self(out))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return self.0.serialize(serializer);
        }
        serializer.serialize_str(str::from_utf8(&self.hex()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            text.parse().map_err(de::Error::custom)
        } else {
            <[u8; 32]>::deserialize(deserializer).map(Self)
        }
    }
}
