//! Signatures by SSH keys in the form SSHSIG, in a note and in a file for `ssh-keygen -Y verify`.
//!
//! In a note such a signature has type 0xff, followed by the name of the form; what it contains is what `ssh-keygen` writes between the
//! lines `BEGIN` and `END`.

use super::key::key_id;
use super::note::NoteSignature;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::VerifyingKey;
use ssh_key::{Algorithm, HashAlg, LineEnding, PrivateKey, PublicKey, SshSig};

/// The namespace of the signatures: `ssh-keygen -Y verify -n annals-checkpoint`.
pub const NAMESPACE: &str = "annals-checkpoint";

/// The type of the signatures in a note.
const TYPE: &[u8] = b"\xffannals/sshsig@v1";

/// The first line of a secret key.
const BEGIN: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";

/// The first and the last line of a `.sig` file.
const SIGNATURE_BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const SIGNATURE_END: &str = "-----END SSH SIGNATURE-----";

/// The length of the lines between them.
const LINE: usize = 70;

/// An SSH key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SshKeyError {
    /// The file is something else, or damaged.
    #[error("not an SSH key in OpenSSH's format: {0}")]
    Malformed(String),
    /// Only ed25519 is supported.
    #[error("an SSH key of type {0}: only ssh-ed25519 is supported; create one with `ssh-keygen -t ed25519`")]
    Unsupported(String),
    /// The key is encrypted and no passphrase was given.
    #[error("the SSH key is protected by a passphrase")]
    Encrypted,
    /// The passphrase does not decrypt the key.
    #[error("the passphrase is wrong")]
    WrongPassphrase,
    /// A signature is not what was expected.
    #[error("not an SSH signature of this text by this key in the namespace `annals-checkpoint`")]
    NotASignature,
}

/// A secret SSH key, decrypted.
#[derive(Debug)]
pub struct SshKey {
    secret: PrivateKey,
}

/// A public SSH key of type ed25519, with its comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshPublicKey {
    key: PublicKey,
    verifying: VerifyingKey,
}

impl SshKey {
    /// Whether a file holds such a key, going by its start.
    pub fn is_in(text: &str) -> bool {
        text.starts_with(BEGIN)
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// [`SshKeyError::Encrypted`] when it needs a passphrase and there is none.
    pub fn read(text: &str, passphrase: Option<&str>) -> Result<Self, SshKeyError> {
        let found = PrivateKey::from_openssh(text).map_err(|error| SshKeyError::Malformed(error.to_string()))?;
        SshPublicKey::of(found.public_key().clone())?;
        let secret = match (found.is_encrypted(), passphrase) {
            (false, _) => found,
            (true, None) => return Err(SshKeyError::Encrypted),
            (true, Some(passphrase)) => found.decrypt(passphrase).map_err(|_| SshKeyError::WrongPassphrase)?,
        };
        Ok(Self { secret })
    }

    /// Its public part.
    ///
    /// # Errors
    /// Not for a key that was read.
    pub fn public(&self) -> Result<SshPublicKey, SshKeyError> {
        SshPublicKey::of(self.secret.public_key().clone())
    }

    /// Signs the text of a note; `name` is the name of the key in the note.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub fn sign(&self, name: &str, text: &str) -> Result<NoteSignature, SshKeyError> {
        let failed = |error: ssh_key::Error| SshKeyError::Malformed(error.to_string());
        let signature = self.secret.sign(NAMESPACE, HashAlg::Sha512, text.as_bytes()).map_err(failed)?;
        self.public()?.in_note(name, &signature)
    }
}

impl SshPublicKey {
    fn of(key: PublicKey) -> Result<Self, SshKeyError> {
        let unsupported = || SshKeyError::Unsupported(key.algorithm().to_string());
        let public = key.key_data().ed25519().ok_or_else(unsupported)?;
        let malformed = |_| SshKeyError::Malformed("the public key is no point of the curve".to_owned());
        let verifying = VerifyingKey::from_bytes(&public.0).map_err(malformed)?;
        Ok(Self { key, verifying })
    }

    /// Reads the content of a `.pub` file: `ssh-ed25519 BASE64 COMMENT`.
    ///
    /// # Errors
    /// When it is something else, or of another type.
    pub fn read(text: &str) -> Result<Self, SshKeyError> {
        let key = PublicKey::from_openssh(text.trim()).map_err(|error| SshKeyError::Malformed(error.to_string()))?;
        Self::of(key)
    }

    /// The fingerprint that OpenSSH shows: `SHA256:...`.
    pub fn fingerprint(&self) -> String {
        self.key.fingerprint(HashAlg::Sha256).to_string()
    }

    /// The comment of the key, often `user@host`.
    pub fn comment(&self) -> &str {
        self.key.comment()
    }

    /// The type and the key in base64, as in a `.pub` file, without the comment.
    pub fn to_text(&self) -> String {
        format!("{} {}", Algorithm::Ed25519, STANDARD.encode(self.blob()))
    }

    /// The key alone, without its comment.
    pub fn is_same(&self, other: &Self) -> bool {
        self.verifying == other.verifying
    }

    /// The key in the encoding of the SSH protocol.
    fn blob(&self) -> Vec<u8> {
        // Only a key whose parts exceed 4 GiB has none.
        self.key.to_bytes().unwrap_or_default()
    }

    /// The id that the signatures of the key have in a note.
    pub fn id(&self, name: &str) -> [u8; 4] {
        key_id(name, TYPE, &self.blob())
    }

    fn in_note(&self, name: &str, signature: &SshSig) -> Result<NoteSignature, SshKeyError> {
        let file = signature.to_pem(LineEnding::LF).map_err(|_| SshKeyError::NotASignature)?;
        let signature = between_lines(&file).ok_or(SshKeyError::NotASignature)?;
        Ok(NoteSignature { name: name.to_owned(), key_id: self.id(name), signature })
    }

    /// Takes over what `ssh-keygen -Y sign -n annals-checkpoint` wrote for a text: so keys in an agent sign.
    ///
    /// # Errors
    /// When it is no such signature, or of another key.
    pub fn signature_from_file(&self, name: &str, text: &str, file: &str) -> Result<NoteSignature, SshKeyError> {
        let signature = SshSig::from_pem(file).map_err(|_| SshKeyError::NotASignature)?;
        let signature = self.in_note(name, &signature)?;
        match self.verify(text, &signature) {
            true => Ok(signature),
            false => Err(SshKeyError::NotASignature),
        }
    }

    /// Whether a signature in a note is a valid one of this key over a text.
    pub fn verify(&self, text: &str, signature: &NoteSignature) -> bool {
        let Some(parsed) = parsed(signature) else { return false };
        let is_known = signature.key_id == self.id(&signature.name)
            && parsed.public_key() == self.key.key_data()
            && parsed.namespace() == NAMESPACE
            && parsed.algorithm() == Algorithm::Ed25519;
        let signed = SshSig::signed_data(NAMESPACE, parsed.hash_alg(), text.as_bytes());
        let (Ok(signed), Ok(bytes)) = (signed, ed25519_dalek::Signature::from_slice(parsed.signature_bytes())) else {
            return false;
        };
        is_known && self.verifying.verify_strict(&signed, &bytes).is_ok()
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

/// Decodes a signature; `None` when it is none, or not written as `ssh-keygen` writes it: one form for each signature.
fn parsed(signature: &NoteSignature) -> Option<SshSig> {
    let file = file_of(&signature.signature);
    let parsed = SshSig::from_pem(&file).ok()?;
    let again = between_lines(&parsed.to_pem(LineEnding::LF).ok()?)?;
    let is_plain = again == signature.signature && parsed.version() == SshSig::VERSION && parsed.reserved().is_empty();
    is_plain.then_some(parsed)
}

/// The SSH key that a signature in a note names, if it is a signature by an SSH key. Nothing is verified.
pub fn ssh_key_of(signature: &NoteSignature) -> Option<SshPublicKey> {
    let key = SshPublicKey::of(parsed(signature)?.public_key().clone().into()).ok()?;
    (key.id(&signature.name) == signature.key_id).then_some(key)
}

/// The file `.sig` for `ssh-keygen -Y verify`; `None` for a signature of another type.
pub fn signature_file(signature: &NoteSignature) -> Option<String> {
    parsed(signature).map(|_| file_of(&signature.signature))
}

#[cfg(test)]
mod tests;
