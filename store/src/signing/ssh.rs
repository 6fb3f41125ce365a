//! Signatures by SSH keys in the form SSHSIG, in a note and in a file for `ssh-keygen -Y verify`.
//!
//! In a note such a signature has type 0xff, followed by the name of the form; what it contains is what `ssh-keygen` writes between the
//! lines `BEGIN` and `END`. `ssh-keygen` makes all signatures. Those of ed25519 keys are verified here, those of other types by
//! `ssh-keygen`.

mod public_key;
mod wire;

use super::note::NoteSignature;
use super::ssh_keygen::{self, SshKeygenError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};
pub use public_key::SshPublicKey;
use sha2::{Digest as _, Sha256, Sha512};
use wire::{SshWire, string};

/// The namespace of the signatures: `ssh-keygen -Y verify -n annals-checkpoint`.
pub const NAMESPACE: &str = "annals-checkpoint";

/// What a signature begins with, and the bytes that are signed.
const MAGIC: &[u8] = b"SSHSIG";

/// The first and the last line of a `.sig` file.
const SIGNATURE_BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const SIGNATURE_END: &str = "-----END SSH SIGNATURE-----";

/// The length of the lines between them.
const LINE: usize = 70;

/// An SSH key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SshKeyError {
    /// The file is something else, or damaged.
    #[error("not an SSH key: {0}")]
    Malformed(&'static str),
    /// Not a type with which OpenSSH makes signatures of texts.
    #[error("an SSH key of type {0} does not sign; create one with `ssh-keygen -t ed25519`")]
    Unsupported(String),
    /// A signature is not what was expected.
    #[error("not an SSH signature of this text by this key in the namespace `annals-checkpoint`")]
    NotASignature,
    /// The signature cannot be verified.
    #[error(transparent)]
    Keygen(#[from] SshKeygenError),
}

/// The parts of a signature.
struct SshSignature<'a> {
    public_key: &'a [u8],
    namespace: &'a [u8],
    hash: &'a [u8],
    algorithm: &'a [u8],
    bytes: &'a [u8],
    /// What a security key adds.
    more: &'a [u8],
}

impl<'a> SshSignature<'a> {
    /// Decodes a signature, which has one form only; `None` when it is something else.
    fn parse(signature: &'a [u8]) -> Option<Self> {
        let mut wire = SshWire(signature.strip_prefix(MAGIC)?);
        let version = wire.number()?;
        let (public_key, namespace, reserved, hash) = (wire.string()?, wire.string()?, wire.string()?, wire.string()?);
        let mut signed = SshWire(wire.string()?);
        let (algorithm, bytes) = (signed.string()?, signed.string()?);
        let is_plain = version == 1 && reserved.is_empty() && wire.0.is_empty();
        is_plain.then_some(Self { public_key, namespace, hash, algorithm, bytes, more: signed.0 })
    }

    /// Whether this is a signature over a text by an ed25519 key.
    fn is_by(&self, key: &VerifyingKey, text: &str) -> bool {
        let hashed = match self.hash {
            b"sha512" => Sha512::digest(text).to_vec(),
            b"sha256" => Sha256::digest(text).to_vec(),
            _ => return false,
        };
        let signed = [MAGIC, &string(self.namespace), &string(b""), &string(self.hash), &string(&hashed)].concat();
        let is_plain = self.algorithm == public_key::ED25519.as_bytes() && self.more.is_empty();
        let Ok(signature) = Signature::from_slice(self.bytes) else { return false };
        is_plain && key.verify_strict(&signed, &signature).is_ok()
    }
}

impl SshPublicKey {
    /// Takes over what `ssh-keygen -Y sign -n annals-checkpoint` wrote for a text; `name` is the name of the key in the note.
    ///
    /// # Errors
    /// When it is no such signature, or of another key.
    pub fn signature_from_file(&self, name: &str, text: &str, file: &str) -> Result<NoteSignature, SshKeyError> {
        let signature = between_lines(file).ok_or(SshKeyError::NotASignature)?;
        let signature = NoteSignature { name: name.to_owned(), key_id: self.id(name), signature };
        match self.verify(text, &signature)? {
            true => Ok(signature),
            false => Err(SshKeyError::NotASignature),
        }
    }

    /// Whether a signature in a note is a valid one of this key over a text.
    ///
    /// # Errors
    /// When `ssh-keygen` is needed for this type of key and gives no answer.
    pub fn verify(&self, text: &str, signature: &NoteSignature) -> Result<bool, SshKeygenError> {
        let Some(parsed) = SshSignature::parse(&signature.signature) else { return Ok(false) };
        let is_of_this_key = signature.key_id == self.id(&signature.name) && parsed.public_key == self.blob();
        if !is_of_this_key || parsed.namespace != NAMESPACE.as_bytes() {
            return Ok(false);
        }
        match self.ed25519() {
            Some(key) => Ok(parsed.is_by(key, text)),
            None => ssh_keygen::verify(self, text, &file_of(&signature.signature)),
        }
    }
}

/// The text between the first and the last line of a `.sig` file.
fn between_lines(file: &str) -> Option<Vec<u8>> {
    let encoded = file.trim_end().strip_prefix(SIGNATURE_BEGIN)?.strip_suffix(SIGNATURE_END)?;
    STANDARD.decode(encoded.replace('\n', "")).ok()
}

/// The `.sig` file of a signature, as `ssh-keygen` breaks its lines.
fn file_of(signature: &[u8]) -> String {
    let encoded = STANDARD.encode(signature);
    let lines = encoded.as_bytes().chunks(LINE).map(String::from_utf8_lossy);
    let lines: String = lines.flat_map(|line| [line, "\n".into()]).collect();
    format!("{SIGNATURE_BEGIN}\n{lines}{SIGNATURE_END}\n")
}

/// The SSH key that a signature in a note names, if it is a signature by an SSH key. Nothing is verified.
pub fn ssh_key_of(signature: &NoteSignature) -> Option<SshPublicKey> {
    let key = SshPublicKey::of(SshSignature::parse(&signature.signature)?.public_key.to_vec(), String::new()).ok()?;
    (key.id(&signature.name) == signature.key_id).then_some(key)
}

/// The file `.sig` for `ssh-keygen -Y verify`; `None` for a signature of another type.
pub fn signature_file(signature: &NoteSignature) -> Option<String> {
    SshSignature::parse(&signature.signature).map(|_| file_of(&signature.signature))
}

#[cfg(test)]
pub(in crate::signing) mod tests;
