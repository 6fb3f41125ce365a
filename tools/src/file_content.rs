//! The content of a file as one call holds it: whole, unless it is very long.

use super::stop_signal::StopSignal;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::time::SystemTime;

/// The longest content that is held whole, in bytes.
pub(super) const WHOLE: u64 = 16 * 1024 * 1024;

/// What a file holds.
pub(super) enum FileContent {
    /// All of it.
    Whole(Vec<u8>),
    /// More than is held: its length in bytes, and when it was changed.
    Large {
        /// In bytes.
        length: u64,
        /// When it was last changed, where the system knows.
        changed: Option<SystemTime>,
    },
}

impl FileContent {
    /// Reads an open file, and rewinds it afterwards. Its length is that of the content, not that of its metadata:
    /// files of `/proc` have a length of 0 there.
    pub(super) fn of(file: &mut File, found: &Metadata, stop: &StopSignal) -> io::Result<Self> {
        let mut bytes = Vec::new();
        if found.len() <= WHOLE {
            stop.watch(&mut *file).take(WHOLE + 1).read_to_end(&mut bytes)?;
            file.rewind()?;
        }
        if found.len() > WHOLE || bytes.len() as u64 > WHOLE {
            return Ok(Self::Large { length: found.len(), changed: found.modified().ok() });
        }
        Ok(Self::Whole(bytes))
    }
}
