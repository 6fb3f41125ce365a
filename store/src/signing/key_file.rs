//! Files with the key that signs: an SSH key, the public part of one in an ssh-agent, or a key of notes.

use super::key::{NoteKey, NoteKeyError, NoteKeyKind};
use super::note::NoteSignature;
use super::ssh::{NAMESPACE, SshKey, SshKeyError, SshPublicKey};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The longest key file that is read, in bytes.
const KEY_MAX: u64 = 64 * 1024;

/// A key that signs checkpoints.
#[derive(Debug)]
pub enum SigningKey {
    /// A key of notes.
    Note(NoteKey),
    /// An SSH key.
    Ssh(SshKey, SshPublicKey),
    /// The public part of an SSH key whose secret part is in an agent or on a token: `ssh-keygen` signs with it.
    Agent(SshPublicKey, PathBuf),
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
    /// There is no one to ask for the passphrase.
    #[error(
        "{}: the key is protected by a passphrase, and there is no terminal to ask for it; add it to your ssh-agent \
         (`ssh-add`) and sign with --key {}.pub", path.display(), path.display()
    )]
    NobodyToAsk {
        /// The file.
        path: PathBuf,
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
    /// `ssh-keygen` did not sign.
    #[error(
        "{}: ssh-keygen could not sign with the key in your ssh-agent: {said}; add it with `ssh-add`, or name the secret key \
         with --key", path.display()
    )]
    Agent {
        /// The public key.
        path: PathBuf,
        /// What it said.
        said: String,
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
    /// Reads a key file. `passphrase` is called for a protected SSH key; it returns `None` when there is no one to ask.
    ///
    /// # Errors
    /// When it holds no key that can sign.
    pub fn load(
        path: &Path,
        passphrase: &mut dyn FnMut(&Path) -> io::Result<Option<String>>,
    ) -> Result<Self, SigningKeyError> {
        let text = read(path)?;
        let ssh = |source| SigningKeyError::Ssh { path: path.to_owned(), source };
        if NoteKey::is_in(&text) {
            return match note_key(path)? {
                key if key.public().kind() == NoteKeyKind::Note => Ok(Self::Note(key)),
                _ => Err(SigningKeyError::OfAWitness { path: path.to_owned() }),
            };
        }
        if SshKey::is_in(&text) {
            let key = match SshKey::read(&text, None) {
                Err(SshKeyError::Encrypted) => {
                    let passphrase = passphrase(path).map_err(at(path))?;
                    let passphrase =
                        passphrase.ok_or_else(|| SigningKeyError::NobodyToAsk { path: path.to_owned() })?;
                    SshKey::read(&text, Some(&passphrase))
                }
                read => read,
            };
            let key = key.map_err(ssh)?;
            let public = key.public().map_err(ssh)?;
            return Ok(Self::Ssh(key, public));
        }
        if ["ssh-", "ecdsa-", "sk-"].iter().any(|start| text.starts_with(start)) {
            return Ok(Self::Agent(SshPublicKey::read(&text).map_err(ssh)?, path.to_owned()));
        }
        Err(SigningKeyError::NotAKey { path: path.to_owned() })
    }

    /// Signs the text of a checkpoint. An SSH key takes the name of the tree, a key of notes has its own. `ssh-keygen` may ask for a
    /// passphrase.
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
        match self {
            Self::Note(key) => Ok(key.sign(text, 0)),
            Self::Ssh(key, _) => {
                key.sign(origin, text).map_err(|source| SigningKeyError::Ssh { path: PathBuf::from("the key"), source })
            }
            Self::Agent(public, path) => {
                let file = by_agent(path, text, asks)?;
                let taken = public.signature_from_file(origin, text, &file);
                taken.map_err(|source| SigningKeyError::Ssh { path: path.clone(), source })
            }
        }
    }

    /// The public key as a line of allowed signers.
    pub fn allowed_signer(&self) -> String {
        match self {
            Self::Note(key) => key.public().to_string(),
            Self::Ssh(_, public) | Self::Agent(public, _) => {
                let comment: String = public.comment().split_whitespace().collect::<Vec<_>>().join("_");
                let principal = if comment.is_empty() { "signer" } else { comment.trim_start_matches('#') };
                format!("{} {}", principal.replace(['"', ','], "_"), public.to_text())
            }
        }
    }

    /// How it is named to a person.
    pub fn shown(&self) -> String {
        match self {
            Self::Note(key) => key.public().to_string(),
            Self::Ssh(_, public) | Self::Agent(public, _) => format!("{} {}", public.comment(), public.fingerprint()),
        }
    }
}

/// Lets `ssh-keygen` sign with a key in the agent or on a token. It asks for a passphrase only if `asks`.
fn by_agent(path: &Path, text: &str, asks: bool) -> Result<String, SigningKeyError> {
    let refused = |said: String| SigningKeyError::Agent { path: path.to_owned(), said };
    let mut command = Command::new("ssh-keygen");
    if !asks {
        // It asks this program, which answers nothing, instead of the terminal.
        command.env("SSH_ASKPASS_REQUIRE", "force").env("SSH_ASKPASS", "/bin/false");
    }
    let mut child = command
        .args(["-Y", "sign", "-n", NAMESPACE, "-f"])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| refused(error.to_string()))?;
    if let Some(mut input) = child.stdin.take() {
        // One that ends early says why.
        drop(input.write_all(text.as_bytes()));
    }
    let output = child.wait_with_output().map_err(|error| refused(error.to_string()))?;
    let said = || {
        let said = String::from_utf8_lossy(&output.stderr);
        said.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
    };
    match output.status.success() {
        true => String::from_utf8(output.stdout.clone()).map_err(|_| refused("it wrote no text".to_owned())),
        false => Err(refused(said())),
    }
}

#[cfg(test)]
mod tests;
