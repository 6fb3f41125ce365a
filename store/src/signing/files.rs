//! Small files that are replaced as a whole, and locks on folders.

use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Makes a folder for the user alone, with those above it.
pub(super) fn make_folder(dir: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Opens a file for writing, which is made for the user alone; no link is followed.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).write(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

/// Waits until no other process writes in a folder, and keeps others out while what is returned lives.
pub(super) fn lock(dir: &Path) -> io::Result<File> {
    let file = private().truncate(false).open(dir.join("lock"))?;
    file.lock()?;
    Ok(file)
}

/// Writes a file durably: after a crash it has its old content or its new one.
pub(super) fn replace(dir: &Path, name: &str, content: &str) -> io::Result<()> {
    let temporary = dir.join(format!("{name}.tmp"));
    let mut file = private().truncate(true).open(&temporary)?;
    file.write_all(content.as_bytes())?;
    file.sync_data()?;
    fs::rename(&temporary, dir.join(name))?;
    File::open(dir)?.sync_all()
}

/// Reads a file; `None` when it is not there.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
