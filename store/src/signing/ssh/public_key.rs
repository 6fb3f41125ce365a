//! Public SSH keys, from a `.pub` file or from the file of a secret key.

use super::SshKeyError;
use super::wire::SshWire;
use crate::signing::key::key_id;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use ed25519_dalek::VerifyingKey;
use sha2::{Digest as _, Sha256};

pub(super) const ED25519: &str = "ssh-ed25519";

/// The types of keys that sign texts. Certificates and DSA do not.
const TYPES: [&str; 7] = [
    ED25519,
    "sk-ssh-ed25519@openssh.com",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "ssh-rsa",
];

/// The type of the signatures in a note.
const SIGNATURE_TYPE: &[u8] = b"\xffannals/sshsig@v1";

/// A secret key in OpenSSH's format.
const SECRET_BEGIN: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";
const SECRET_END: &str = "-----END OPENSSH PRIVATE KEY-----";
const SECRET_MAGIC: &[u8] = b"openssh-key-v1\0";

/// A public SSH key, with its comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshPublicKey {
    kind: &'static str,
    /// The key in the encoding of the SSH protocol.
    blob: Vec<u8>,
    ed25519: Option<VerifyingKey>,
    comment: String,
}

impl SshPublicKey {
    pub(super) fn of(blob: Vec<u8>, comment: String) -> Result<Self, SshKeyError> {
        let damaged = SshKeyError::Malformed("the key is damaged");
        let mut wire = SshWire(&blob);
        let Some(found) = wire.string() else { return Err(damaged) };
        let unsupported = || SshKeyError::Unsupported(String::from_utf8_lossy(found).into_owned());
        let kind = TYPES.into_iter().find(|kind| kind.as_bytes() == found).ok_or_else(unsupported)?;
        let ed25519 = match kind {
            ED25519 => {
                let point = wire.string().and_then(|point| point.try_into().ok()).filter(|_| wire.0.is_empty());
                Some(point.and_then(|point| VerifyingKey::from_bytes(point).ok()).ok_or(damaged)?)
            }
            // ssh-keygen checks the others.
            _ => None,
        };
        Ok(Self { kind, blob, ed25519, comment })
    }

    /// Reads the content of a `.pub` file: `TYPE BASE64 COMMENT`.
    ///
    /// # Errors
    /// When it is something else, or of a type that does not sign.
    pub fn read(text: &str) -> Result<Self, SshKeyError> {
        let mut words = text.trim().splitn(3, [' ', '\t']);
        let (Some(kind), Some(key)) = (words.next(), words.next()) else {
            return Err(SshKeyError::Malformed("expected TYPE KEY COMMENT"));
        };
        let blob = STANDARD.decode(key).map_err(|_| SshKeyError::Malformed("the key is not base64"))?;
        match Self::of(blob, words.next().unwrap_or_default().trim().to_owned())? {
            read if read.kind == kind => Ok(read),
            _ => Err(SshKeyError::Malformed("the key is of another type than its line says")),
        }
    }

    /// Reads the public part of the file of a secret key in OpenSSH's format, for which no passphrase is needed; `None` if the file
    /// has another format. The comment is known only when the key is not encrypted.
    ///
    /// # Errors
    /// When it is damaged, or of a type that does not sign.
    pub fn of_secret_key(text: &str) -> Result<Option<Self>, SshKeyError> {
        let Some(encoded) = text.trim().strip_prefix(SECRET_BEGIN) else { return Ok(None) };
        let damaged = SshKeyError::Malformed("the file is damaged");
        let encoded: String = encoded.trim_end_matches(SECRET_END).split_whitespace().collect();
        let Ok(decoded) = STANDARD.decode(encoded) else { return Err(damaged) };
        let parts = || {
            let mut wire = SshWire(decoded.strip_prefix(SECRET_MAGIC)?);
            let (cipher, _derivation, _options) = (wire.string()?, wire.string()?, wire.string()?);
            (wire.number()? == 1).then_some((cipher, wire.string()?, wire.string()?))
        };
        let (cipher, public, secret) = parts().ok_or(damaged)?;
        let key = Self::of(public.to_vec(), String::new())?;
        let comment = (cipher == b"none").then(|| comment(secret)).flatten().unwrap_or_default();
        Ok(Some(Self { comment, ..key }))
    }

    pub(super) fn blob(&self) -> &[u8] {
        &self.blob
    }

    pub(super) fn ed25519(&self) -> Option<&VerifyingKey> {
        self.ed25519.as_ref()
    }

    /// The fingerprint that OpenSSH shows: `SHA256:...`.
    pub fn fingerprint(&self) -> String {
        format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(&self.blob)))
    }

    /// The comment of the key, often `user@host`.
    pub fn comment(&self) -> &str {
        &self.comment
    }

    /// Whether the secret part is on a security key, which waits for a touch before it signs.
    pub fn is_on_security_key(&self) -> bool {
        self.kind.starts_with("sk-")
    }

    /// The type and the key in base64, as in a `.pub` file, without the comment.
    pub fn to_text(&self) -> String {
        format!("{} {}", self.kind, STANDARD.encode(&self.blob))
    }

    /// The id that the signatures of the key have in a note.
    pub fn id(&self, name: &str) -> [u8; 4] {
        key_id(name, SIGNATURE_TYPE, &self.blob)
    }
}

/// The comment of an unencrypted key: the last of its strings, which padding follows.
fn comment(secret: &[u8]) -> Option<String> {
    let mut wire = SshWire(secret.get(8..)?);
    let last = std::iter::from_fn(|| wire.string()).last()?;
    let is_padded = wire.0.iter().zip(1..).all(|(byte, expected)| *byte == expected);
    String::from_utf8(last.to_vec()).ok().filter(|_| is_padded)
}
