//! Opening the file of an index.

use super::IndexPlace;
use crate::IndexError;
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// How long a writer waits for another one.
const PATIENCE: Duration = Duration::from_secs(2);

impl IndexPlace {
    /// Opens the index to write, creating it for the user alone.
    pub(crate) fn open_to_write(&self) -> Result<Connection, IndexError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| IndexError::Io { path, source }
        };
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.map_err(at(&self.folder))?,
        }
        let file = self.file();
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => drop(made.map_err(at(&file))?),
        }
        let flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let open = || {
            let connection = Connection::open_with_flags(&file, flags)?;
            connection.busy_timeout(PATIENCE)?;
            connection.set_prepared_statement_cache_capacity(64);
            Ok(connection)
        };
        open().map_err(|source| IndexError::of(file.clone(), source))
    }

    /// Opens the index to read, without a lock and without writing anything; `None` when there is none.
    pub(crate) fn open_immutable(&self) -> Result<Option<Connection>, IndexError> {
        let file = self.file();
        match fs::symlink_metadata(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(IndexError::Io { path: file, source }),
            // Opening anything but a regular file could block or lead elsewhere.
            Ok(metadata) if !metadata.is_file() => return Ok(None),
            Ok(_) => {}
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(immutable(&file), flags);
        connection.map(Some).map_err(|source| IndexError::of(file, source))
    }
}

/// The URI of a file that SQLite is to open without a lock.
fn immutable(file: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in file.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri + "?immutable=1"
}
