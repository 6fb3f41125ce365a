//! The token that every request for data carries.

use annals_core::Digest;
use std::io;
use std::path::{Path, PathBuf};

/// A token of fewer characters could be guessed.
const LEAST: usize = 16;

/// The secret that a client sends as `Authorization: Bearer`.
#[derive(Clone)]
pub struct ServerToken(String);

/// A file gives no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system reported.
        #[source]
        source: io::Error,
    },
    /// It could be guessed, or not be sent in a header.
    #[error("{}: a token is one line of at least {LEAST} letters, digits, - or _", path.display())]
    Unusable {
        /// Which file.
        path: PathBuf,
    },
    /// Other users can read it.
    #[error("{0}: other users can read this file; run: chmod 600 {0}", path.display())]
    Readable {
        /// Which file.
        path: PathBuf,
    },
}

impl ServerToken {
    /// A token made of 32 random bytes.
    pub fn of_random(bytes: &[u8; 32]) -> Self {
        let digest = Digest::of(bytes).to_string();
        Self(digest.chars().take(40).collect())
    }

    /// The token in a file that only its owner can read.
    pub fn in_file(path: &Path) -> Result<Self, TokenError> {
        use std::os::unix::fs::PermissionsExt;
        let at = |source| TokenError::File { path: path.to_owned(), source };
        let mode = std::fs::metadata(path).map_err(at)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(TokenError::Readable { path: path.to_owned() });
        }
        let text = std::fs::read_to_string(path).map_err(at)?;
        let token = text.trim();
        let usable = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if token.len() < LEAST || !token.chars().all(usable) {
            return Err(TokenError::Unusable { path: path.to_owned() });
        }
        Ok(Self(token.to_owned()))
    }

    /// The text, for the link.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `given` is this token. Digests are compared, so that the time says nothing about the token.
    pub(crate) fn is(&self, given: &str) -> bool {
        Digest::of(given.as_bytes()) == Digest::of(self.0.as_bytes())
    }
}

impl std::fmt::Debug for ServerToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerToken(…)")
    }
}
