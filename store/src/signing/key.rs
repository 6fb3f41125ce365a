//! Keys of notes: Ed25519, in the text forms of <https://c2sp.org/signed-note>.

use super::note::{NoteSignature, is_key_name};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

/// What the text of a secret key begins with.
const SECRET: &str = "PRIVATE+KEY+";

/// What a key of a note is for. The number is part of the key's id, so that a key never counts for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoteKeyKind {
    /// Signs the text of a note: type 1.
    Note,
    /// Counter-signs checkpoints of others, with the time: type 4 (<https://c2sp.org/tlog-cosignature>).
    Cosignature,
}

impl NoteKeyKind {
    fn number(self) -> u8 {
        match self {
            Self::Note => 1,
            Self::Cosignature => 4,
        }
    }

    fn of(number: u8) -> Option<Self> {
        [Self::Note, Self::Cosignature].into_iter().find(|kind| kind.number() == number)
    }
}

/// The first four bytes of the hash over a key's name, its type and the public key.
pub(super) fn key_id(name: &str, kind: &[u8], public: &[u8]) -> [u8; 4] {
    let hash = Sha256::new_with_prefix(name).chain_update("\n").chain_update(kind).chain_update(public).finalize();
    [hash[0], hash[1], hash[2], hash[3]]
}

/// A text is not a key of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteKeyError {
    /// The form is another one.
    #[error("not a key of a note: expected NAME+ID+KEY")]
    Malformed,
    /// The id does not fit name and key.
    #[error("the id in the key does not belong to its name and key: it was altered or mistyped")]
    OtherId,
    /// Keys of other types are not supported.
    #[error("a key of type {0}: only ed25519 keys for notes (1) and cosignatures (4) are supported")]
    Unsupported(u8),
}

/// A public key: `NAME+ID+KEY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    kind: NoteKeyKind,
    public: VerifyingKey,
}

impl VerifierKey {
    /// The name that the signatures of the key have.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the key is for.
    pub fn kind(&self) -> NoteKeyKind {
        self.kind
    }

    /// The id that the signatures of the key have.
    pub fn id(&self) -> [u8; 4] {
        key_id(&self.name, &[self.kind.number()], self.public.as_bytes())
    }

    /// Whether name and id of the signature match this key.
    pub fn is_of(&self, signature: &NoteSignature) -> bool {
        signature.name == self.name && signature.key_id == self.id()
    }

    /// Verifies a signature of this key over a text. Returns the time in seconds since 1970 of a cosignature; `None` when the
    /// signature is not valid.
    pub fn verify(&self, text: &str, signature: &NoteSignature) -> Option<Option<u64>> {
        if !self.is_of(signature) {
            return None;
        }
        let (time, message, signed) = match self.kind {
            NoteKeyKind::Note => (None, text.to_owned(), &signature.signature[..]),
            NoteKeyKind::Cosignature => {
                let (time, signed) = signature.signature.split_first_chunk()?;
                let time = u64::from_be_bytes(*time);
                (Some(time), cosigned(text, time), signed)
            }
        };
        let signed = Signature::from_slice(signed).ok()?;
        self.public.verify_strict(message.as_bytes(), &signed).ok()?;
        Some(time)
    }
}

/// What a cosignature signs.
fn cosigned(text: &str, time: u64) -> String {
    format!("cosignature/v1\ntime {time}\n{text}")
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_key(f, &self.name, self.id(), self.kind, self.public.as_bytes())
    }
}

impl FromStr for VerifierKey {
    type Err = NoteKeyError;

    fn from_str(text: &str) -> Result<Self, NoteKeyError> {
        let (name, id, kind, public) = read_key(text)?;
        let public = VerifyingKey::from_bytes(&public).map_err(|_| NoteKeyError::Malformed)?;
        let key = Self { name, kind, public };
        if key.id() == id { Ok(key) } else { Err(NoteKeyError::OtherId) }
    }
}

/// A secret key: `PRIVATE+KEY+NAME+ID+KEY`.
pub struct NoteKey {
    secret: SigningKey,
    public: VerifierKey,
}

impl NoteKey {
    /// A key from 32 random bytes; `None` when no key may have the name.
    pub fn new(name: &str, kind: NoteKeyKind, random: [u8; 32]) -> Option<Self> {
        let secret = SigningKey::from_bytes(&random);
        let public = VerifierKey { name: name.to_owned(), kind, public: secret.verifying_key() };
        is_key_name(name).then_some(Self { secret, public })
    }

    /// Whether a file holds such a key, going by its start.
    pub fn is_in(text: &str) -> bool {
        text.starts_with(SECRET)
    }

    /// Its public part.
    pub fn public(&self) -> &VerifierKey {
        &self.public
    }

    /// The text to keep in a file that only its owner can read.
    pub fn to_secret_text(&self) -> String {
        struct Secret<'a>(&'a NoteKey);
        impl fmt::Display for Secret<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let NoteKey { secret, public } = self.0;
                f.write_str(SECRET)?;
                write_key(f, &public.name, public.id(), public.kind, secret.as_bytes())
            }
        }
        Secret(self).to_string()
    }

    /// Signs the text of a note. `time` in seconds since 1970 is part of a cosignature, and of nothing else.
    pub fn sign(&self, text: &str, time: u64) -> NoteSignature {
        let signature = match self.public.kind {
            NoteKeyKind::Note => self.secret.sign(text.as_bytes()).to_vec(),
            NoteKeyKind::Cosignature => {
                [&time.to_be_bytes()[..], &self.secret.sign(cosigned(text, time).as_bytes()).to_bytes()].concat()
            }
        };
        NoteSignature { name: self.public.name.clone(), key_id: self.public.id(), signature }
    }
}

impl fmt::Debug for NoteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NoteKey").field(&self.public.name).finish()
    }
}

impl FromStr for NoteKey {
    type Err = NoteKeyError;

    fn from_str(text: &str) -> Result<Self, NoteKeyError> {
        let (name, id, kind, secret) = read_key(text.strip_prefix(SECRET).ok_or(NoteKeyError::Malformed)?)?;
        let key = Self::new(&name, kind, secret).ok_or(NoteKeyError::Malformed)?;
        if key.public.id() == id { Ok(key) } else { Err(NoteKeyError::OtherId) }
    }
}

fn write_key(f: &mut fmt::Formatter<'_>, name: &str, id: [u8; 4], kind: NoteKeyKind, key: &[u8; 32]) -> fmt::Result {
    let encoded = STANDARD.encode([&[kind.number()], &key[..]].concat());
    write!(f, "{name}+{:08x}+{encoded}", u32::from_be_bytes(id))
}

type KeyParts = (String, [u8; 4], NoteKeyKind, [u8; 32]);

/// Reads `NAME+ID+KEY`.
fn read_key(text: &str) -> Result<KeyParts, NoteKeyError> {
    let mut parts = text.splitn(3, '+');
    let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(NoteKeyError::Malformed);
    };
    let number = u32::from_str_radix(id, 16).map_err(|_| NoteKeyError::Malformed)?;
    let key = STANDARD.decode(key).map_err(|_| NoteKeyError::Malformed)?;
    let (kind, key) = key.split_first().ok_or(NoteKeyError::Malformed)?;
    let kind = NoteKeyKind::of(*kind).ok_or(NoteKeyError::Unsupported(*kind))?;
    let key = key.try_into().map_err(|_| NoteKeyError::Malformed)?;
    if !is_key_name(name) || format!("{number:08x}") != id {
        return Err(NoteKeyError::Malformed);
    }
    Ok((name.to_owned(), number.to_be_bytes(), kind, key))
}

#[cfg(test)]
mod tests;
