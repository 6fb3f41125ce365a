//! The file of a store that keeps what was reported.

use annals_core::Time;
use annals_store::disk::Folder;
use jiff::Timestamp;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file, in the folder of the store.
pub const NAME: &str = "annals.log";

/// The file before it: one is kept.
const OLD: &str = "annals.log.1";

/// The size at which the file is rotated, in bytes.
const LARGEST: u64 = 1 << 20;

/// Keeps lines in `STORE/annals.log`, readable by its owner alone: 1 MiB, and as much of what came before. It is made with
/// its first line, in a folder that is there.
#[derive(Debug)]
pub struct LogFile {
    /// Held open: the file stays in the folder of the store after a move, and is never in that of another store.
    folder: io::Result<Folder>,
    store: PathBuf,
    written: bool,
    largest: u64,
}

impl LogFile {
    /// That of a store.
    pub fn in_store(store: &Path) -> Self {
        Self { folder: Folder::open(store), store: store.to_owned(), written: false, largest: LARGEST }
    }

    /// The same of another size, in bytes.
    #[cfg(test)]
    #[must_use]
    pub fn limited(self, largest: u64) -> Self {
        Self { largest, ..self }
    }

    /// Where it is now.
    pub fn path(&self) -> PathBuf {
        let moved = self.folder.as_ref().ok().and_then(Folder::moved);
        moved.and_then(|(_, to)| to).unwrap_or_else(|| self.store.clone()).join(NAME)
    }

    /// Whether this process wrote to it.
    pub fn was_written(&self) -> bool {
        self.written
    }

    /// Appends a line with the time. Where that is impossible (a full disk, a folder that cannot be written) nothing is
    /// kept: the line was shown.
    pub fn append(&mut self, line: &str) {
        self.written |= self.write(line).is_ok();
    }

    fn write(&self, line: &str) -> io::Result<()> {
        let now = Timestamp::now().as_millisecond();
        let line = format!("{} {line}\n", Time(u64::try_from(now).unwrap_or_default()));
        let folder = self.folder.as_ref().map_err(io::Error::kind)?.reach()?;
        let path = folder.join(NAME);
        let mut file = open(&path)?;
        if file.metadata()?.len().saturating_add(line.len() as u64) > self.largest {
            // Another process may have rotated a moment ago: then its few lines are the old ones.
            fs::rename(&path, folder.join(OLD))?;
            file = open(&path)?;
        }
        // In one piece: other processes append too.
        file.write_all(line.as_bytes())
    }
}

/// Follows no link, and does not wait for the reader of a pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}
