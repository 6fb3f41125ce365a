//! Whose signatures count: OpenSSH's allowed signers, and keys of notes.

use super::checkpoint::SignedCheckpoint;
use super::key::VerifierKey;
use super::note::NoteSignature;
use super::ssh::{NAMESPACE, SshPublicKey, ssh_key_of};
use super::ssh_keygen::SshKeygenError;

/// The keys of a file of allowed signers. Each line is one of OpenSSH's (`ssh-keygen`, ALLOWED SIGNERS) or the public key of a
/// note, `NAME+ID+KEY`.
#[derive(Clone, Debug, Default)]
pub struct AllowedSigners {
    ssh: Vec<(String, SshPublicKey)>,
    notes: Vec<VerifierKey>,
    /// Lines that are not used, counted from 1, each with the reason.
    pub ignored: Vec<(usize, String)>,
}

/// A valid signature of a key that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidSignature {
    /// Who signed: the principals of an SSH key, or the name of a key of notes.
    pub signer: String,
    /// Which key: the fingerprint of an SSH key, or the public key of a note.
    pub key: String,
    /// When a witness counter-signed, in seconds since 1970; `None` for the signature of the log itself.
    pub witnessed_at: Option<u64>,
}

/// A checkpoint is not signed as it should be.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// A key that counts did not make the signature that has its name.
    #[error("the signature of {signer} on checkpoint {size} of {origin} is not valid: the checkpoint was altered")]
    Invalid {
        /// The signer.
        signer: String,
        /// The log.
        origin: String,
        /// The size of its tree.
        size: u64,
    },
    /// The signature of a key that counts cannot be verified here.
    #[error("the signature of {signer} on checkpoint {size} of {origin} cannot be verified: {source}")]
    Unverified {
        /// The signer.
        signer: String,
        /// The log.
        origin: String,
        /// The size of its tree.
        size: u64,
        /// The reason.
        #[source]
        source: SshKeygenError,
    },
    /// No allowed signer signed it.
    #[error("checkpoint {size} of {origin} is not signed by a key of the allowed signers (it names {found})")]
    NotSigned {
        /// The log.
        origin: String,
        /// The size of its tree.
        size: u64,
        /// The names and keys that the checkpoint names.
        found: String,
    },
}

impl AllowedSigners {
    /// Reads a file. Lines that cannot be used do not count, and are listed in `ignored`.
    pub fn parse(text: &str) -> Self {
        let mut signers = Self::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Err(reason) = signers.add(line) {
                signers.ignored.push((number + 1, reason));
            }
        }
        signers
    }

    fn add(&mut self, line: &str) -> Result<(), String> {
        let words = words(line);
        if let [key] = &words[..] {
            self.notes.push(key.parse().map_err(|error: super::key::NoteKeyError| error.to_string())?);
            return Ok(());
        }
        let is_type = |word: &String| ["ssh-", "ecdsa-", "sk-"].iter().any(|start| word.starts_with(start));
        let (principals, options, key) = match &words[..] {
            [principals, kind, key, ..] if is_type(kind) => (principals, "", format!("{kind} {key}")),
            [principals, options, kind, key, ..] if is_type(kind) => {
                (principals, options.as_str(), format!("{kind} {key}"))
            }
            _ => return Err("not a line of allowed signers: PRINCIPALS [OPTIONS] TYPE KEY".to_owned()),
        };
        allows(options)?;
        let key = SshPublicKey::read(&key).map_err(|error| error.to_string())?;
        self.ssh.push((principals.replace('"', ""), key));
        Ok(())
    }

    /// Whether no key counts.
    pub fn is_empty(&self) -> bool {
        self.ssh.is_empty() && self.notes.is_empty()
    }

    /// Who made a signature, if the key counts and the signature is valid: an error names the signer whose signature is not, and what
    /// prevented its verification.
    fn check(
        &self,
        text: &str,
        signature: &NoteSignature,
    ) -> Result<Option<ValidSignature>, (String, Option<SshKeygenError>)> {
        if let Some(key) = self.notes.iter().find(|key| key.is_of(signature)) {
            let time = key.verify(text, signature).ok_or_else(|| (key.name().to_owned(), None))?;
            let signer = key.name().to_owned();
            return Ok(Some(ValidSignature { signer, key: key.to_string(), witnessed_at: time }));
        }
        let by_ssh = self.ssh.iter().find(|(_, key)| key.id(&signature.name) == signature.key_id);
        let Some((signer, key)) = by_ssh else { return Ok(None) };
        match key.verify(text, signature) {
            Ok(true) => Ok(Some(ValidSignature { signer: signer.clone(), key: key.fingerprint(), witnessed_at: None })),
            Ok(false) => Err((signer.clone(), None)),
            Err(source) => Err((signer.clone(), Some(source))),
        }
    }

    /// Verifies the signatures of a checkpoint. Those of unknown keys do not count.
    ///
    /// # Errors
    /// When a signature of a key that counts is not valid or cannot be verified, or none of the log itself is there.
    pub fn verify(&self, checkpoint: &SignedCheckpoint) -> Result<Vec<ValidSignature>, SignatureError> {
        let SignedCheckpoint { head, note } = checkpoint;
        let mut valid = Vec::new();
        for signature in &note.signatures {
            let (origin, size) = (head.origin.clone(), head.size);
            let invalid = |(signer, cause)| match cause {
                None => SignatureError::Invalid { signer, origin, size },
                Some(source) => SignatureError::Unverified { signer, origin, size, source },
            };
            valid.extend(self.check(&note.text, signature).map_err(invalid)?);
        }
        if valid.iter().any(|signature| signature.witnessed_at.is_none()) {
            return Ok(valid);
        }
        let found = named_keys(checkpoint).join(", ");
        Err(SignatureError::NotSigned { origin: head.origin.clone(), size: head.size, found })
    }
}

/// The keys that the signatures of a checkpoint name. Nothing is verified.
pub fn named_keys(checkpoint: &SignedCheckpoint) -> Vec<String> {
    checkpoint.note.signatures.iter().map(named).collect()
}

/// How a signature names its key.
fn named(signature: &NoteSignature) -> String {
    match ssh_key_of(signature) {
        Some(key) => format!("SSH key {}", key.fingerprint()),
        None => format!("key {} {:08x}", signature.name, u32::from_be_bytes(signature.key_id)),
    }
}

/// The words of a line; a quoted part may contain spaces.
fn words(line: &str) -> Vec<String> {
    let mut quoted = false;
    let split = line.split(|sign: char| {
        quoted ^= sign == '"';
        sign.is_whitespace() && !quoted
    });
    split.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Whether the options of a line allow signatures of checkpoints; options that restrict a key in a way that is not checked
/// here exclude it.
fn allows(options: &str) -> Result<(), String> {
    let mut quoted = false;
    let each = options.split(|sign: char| {
        quoted ^= sign == '"';
        sign == ',' && !quoted
    });
    for option in each.filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        if !name.eq_ignore_ascii_case("namespaces") {
            return Err(format!("the option {name} is not supported"));
        }
        if !value.trim_matches('"').split(',').any(|allowed| allowed == NAMESPACE || allowed == "*") {
            return Err(format!("the key is not allowed in the namespace {NAMESPACE}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
