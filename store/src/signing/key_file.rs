//! Files with the key that signs: an SSH key, the public part of one in an ssh-agent or on a security key, or a key of notes.

use super::key::{NoteKey, NoteKeyError, NoteKeyKind};
use super::note::NoteSignature;
use super::ssh::{SshKeyError, SshPublicKey};
use super::ssh_keygen::{self, SshKeygenError};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The longest key file that is read, in bytes.
const KEY_MAX: u64 = 64 * 1024;

/// What the file of a secret SSH key begins with, in any of its formats.
const SECRET_BEGIN: &str = "-----BEGIN ";

/// A key that signs checkpoints.
#[derive(Debug)]
pub enum SigningKey {
    /// A key of notes.
    Note(NoteKey),
    /// An SSH key, with which `ssh-keygen` signs.
    Ssh {
        /// Its public part.
        public: SshPublicKey,
        /// The file of the secret key, or the `.pub` file of a key in an agent or on a security key.
        path: PathBuf,
    },
}

/// A key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SigningKeyError {
    /// The file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system reported.
        #[source]
        source: io::Error,
    },
    /// The file holds no key.
    #[error("{}: not a key: expected an SSH key, its .pub file, or a key of notes", path.display())]
    NotAKey {
        /// The file.
        path: PathBuf,
    },
    /// The key of notes is of another kind.
    #[error("{}: this key counter-signs checkpoints of others (annals witness); it does not sign your own", path.display())]
    OfAWitness {
        /// The file.
        path: PathBuf,
    },
    /// An SSH key cannot be used.
    #[error("{}: {source}", path.display())]
    Ssh {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: SshKeyError,
    },
    /// The secret key has a format that does not name its public part, and there is no `.pub` file.
    #[error("{0}: there is no {0}.pub; create it with `ssh-keygen -y -f {0} > {0}.pub`", path.display())]
    NoPublicKey {
        /// The file.
        path: PathBuf,
    },
    /// A passphrase is needed.
    #[error(
        "{0}: the key is protected by a passphrase, which was not given or is wrong; enter it on the terminal, or add the key to \
         your ssh-agent (`ssh-add {0}`)", path.display()
    )]
    Passphrase {
        /// The file.
        path: PathBuf,
    },
    /// `ssh-keygen` did not sign.
    #[error("{}: {source}", path.display())]
    Keygen {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: SshKeygenError,
    },
    /// A key of notes cannot be read.
    #[error("{}: {source}", path.display())]
    Note {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: NoteKeyError,
    },
    /// A key cannot have the name.
    #[error("{name:?} is not a name of a key: no spaces, no `+`, not empty")]
    BadName {
        /// The name as it was given.
        name: String,
    },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> SigningKeyError {
    let path = path.to_owned();
    move |source| SigningKeyError::File { path, source }
}

fn read(path: &Path) -> Result<String, SigningKeyError> {
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(KEY_MAX).read_to_string(&mut text)).map_err(at(path))?;
    Ok(text)
}

/// Reads a key of notes.
///
/// # Errors
/// When the file holds none.
pub fn note_key(path: &Path) -> Result<NoteKey, SigningKeyError> {
    let text = read(path)?;
    if !NoteKey::is_in(&text) {
        return Err(SigningKeyError::NotAKey { path: path.to_owned() });
    }
    text.trim_end().parse().map_err(|source| SigningKeyError::Note { path: path.to_owned(), source })
}

/// 32 random bytes.
///
/// # Errors
/// When the system has none.
pub fn random() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        filled += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// Creates a key of notes in a new file that only its owner can read, and gives its public part.
///
/// # Errors
/// When the file exists, or the name cannot be one of a key.
pub fn create(path: &Path, name: &str, kind: NoteKeyKind) -> Result<String, SigningKeyError> {
    let random = random().map_err(at(path))?;
    let key = NoteKey::new(name, kind, random).ok_or_else(|| SigningKeyError::BadName { name: name.to_owned() })?;
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path).map_err(at(path))?;
    let written = writeln!(file, "{}", key.to_secret_text()).and_then(|()| file.sync_all());
    written.map_err(at(path))?;
    Ok(key.public().to_string())
}

impl SigningKey {
    /// Reads a key file. No passphrase is needed.
    ///
    /// # Errors
    /// When it holds no key that can sign.
    pub fn load(path: &Path) -> Result<Self, SigningKeyError> {
        let text = read(path)?;
        let path = path.to_owned();
        if NoteKey::is_in(&text) {
            return match note_key(&path)? {
                key if key.public().kind() == NoteKeyKind::Note => Ok(Self::Note(key)),
                _ => Err(SigningKeyError::OfAWitness { path }),
            };
        }
        let public = if text.starts_with(SECRET_BEGIN) {
            public_part(&path, &text)
        } else if ["ssh-", "ecdsa-", "sk-"].iter().any(|start| text.starts_with(start)) {
            SshPublicKey::read(&text).map(Some)
        } else {
            return Err(SigningKeyError::NotAKey { path });
        };
        match public {
            Ok(Some(public)) => Ok(Self::Ssh { public, path }),
            Ok(None) => Err(SigningKeyError::NoPublicKey { path }),
            Err(source) => Err(SigningKeyError::Ssh { path, source }),
        }
    }

    /// Signs the text of a checkpoint. An SSH key takes the name of the tree, a key of notes has its own. `ssh-keygen` may ask for a
    /// passphrase, or for a touch of a security key.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub fn sign(&self, origin: &str, text: &str) -> Result<NoteSignature, SigningKeyError> {
        self.sign_asking(origin, text, true)
    }

    /// As [`SigningKey::sign`], without a question to the user.
    ///
    /// # Errors
    /// When the key cannot sign without a question.
    pub fn sign_unattended(&self, origin: &str, text: &str) -> Result<NoteSignature, SigningKeyError> {
        self.sign_asking(origin, text, false)
    }

    fn sign_asking(&self, origin: &str, text: &str, asks: bool) -> Result<NoteSignature, SigningKeyError> {
        let (public, path) = match self {
            Self::Note(key) => return Ok(key.sign(text, 0)),
            Self::Ssh { public, path } => (public, path.clone()),
        };
        match ssh_keygen::sign(&path, public, text, asks) {
            Ok(file) => {
                public.signature_from_file(origin, text, &file).map_err(|source| SigningKeyError::Ssh { path, source })
            }
            Err(SshKeygenError::Passphrase) => Err(SigningKeyError::Passphrase { path }),
            Err(source) => Err(SigningKeyError::Keygen { path, source }),
        }
    }

    /// The public key as a line of allowed signers.
    pub fn allowed_signer(&self) -> String {
        match self {
            Self::Note(key) => key.public().to_string(),
            Self::Ssh { public, .. } => {
                let comment: String = public.comment().split_whitespace().collect::<Vec<_>>().join("_");
                let principal = comment.trim_start_matches('#').replace(['"', ','], "_");
                let principal = if principal.is_empty() { "signer" } else { &principal };
                format!("{principal} {}", public.to_text())
            }
        }
    }

    /// How it is named to a person.
    pub fn shown(&self) -> String {
        match self {
            Self::Note(key) => key.public().to_string(),
            Self::Ssh { public, .. } => {
                format!("{} {}", public.comment(), public.fingerprint()).trim_start().to_owned()
            }
        }
    }
}

/// The public part of a secret SSH key, as `ssh-keygen` finds it: in the `.pub` file of the same name, else in the file itself.
fn public_part(path: &Path, secret: &str) -> Result<Option<SshPublicKey>, SshKeyError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".pub");
    match read(Path::new(&beside)) {
        Ok(text) => SshPublicKey::read(&text).map(Some),
        Err(_) => SshPublicKey::of_secret_key(secret),
    }
}

#[cfg(test)]
mod tests;
