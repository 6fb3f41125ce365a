//! The file with what a login gave.

use super::super::settings::{McpEndpoint, McpServer};
use super::StoredLogin;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file with the tokens for one address. Its name depends on the address: a token goes nowhere else.
#[derive(Clone, Debug)]
pub(super) struct TokenFile(PathBuf);

impl TokenFile {
    pub(super) fn of(server: &McpServer, endpoint: &McpEndpoint) -> Option<Self> {
        let folder = endpoint.credentials.as_ref()?;
        let hash: String = blake3::hash(endpoint.url.as_bytes()).to_hex().chars().take(16).collect();
        Some(Self(folder.join(format!("{}-{hash}.json", server.name))))
    }

    pub(super) fn is_there(&self) -> bool {
        self.0.is_file()
    }

    pub(super) fn read(&self) -> io::Result<Option<StoredLogin>> {
        match fs::read(&self.0) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn write(&self, login: &StoredLogin) -> io::Result<()> {
        // Temporary files are readable by their owner alone.
        let mut file = tempfile::Builder::new().prefix(".annals-").tempfile_in(self.folder()?)?;
        file.write_all(&serde_json::to_vec(login)?)?;
        file.as_file().sync_data()?;
        file.persist(&self.0).map_err(|error| error.error)?;
        Ok(())
    }

    /// Removes it; whether it was there.
    pub(super) fn remove(&self) -> io::Result<bool> {
        match fs::remove_file(&self.0) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits until no other process renews the token; it is free again when the result is dropped.
    pub(super) async fn locked(&self) -> io::Result<File> {
        let name = self.folder()?.join("lock");
        let locked = tokio::task::spawn_blocking(move || {
            let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(name)?;
            file.lock()?;
            Ok(file)
        });
        locked.await.map_err(io::Error::other)?
    }

    /// The folder, made if it is missing.
    fn folder(&self) -> io::Result<&Path> {
        let folder = self.0.parent().unwrap_or(Path::new("."));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(folder)
    }
}
