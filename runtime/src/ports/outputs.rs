//! Managed Tool Output Files: the whole of an output too long for the history, for a while
//! (`docs/reference/turn.md#bounding`).
//!
//! They lie outside the store, in one flat folder, and in no export. The bounded output in the log is the record; a
//! file that is gone takes nothing from it.

mod folder;

pub use folder::OutputFolder;

use crate::Boxed;
use crate::ports::Clock;
use annals_core::Time;
use std::io;

/// How a Managed Tool Output File's name begins. A sweep touches nothing else.
pub const PREFIX: &str = "tool_";

/// How long a file is kept after it was written: 7 days, in milliseconds.
pub const RETENTION_MS: u64 = 7 * 24 * HOUR_MS;

pub(crate) const HOUR_MS: u64 = 60 * 60 * 1_000;

/// Keeps whole outputs. An error names its path.
pub trait OutputFiles: Send + Sync {
    /// Writes a new file and gives its absolute path. A name that is taken is an error: names are unique.
    fn keep<'a>(&'a self, name: &'a str, text: &'a str) -> Boxed<'a, io::Result<String>>;

    /// Removes the files last written before a moment, and gives how many.
    fn sweep(&self, before: Time) -> Boxed<'_, io::Result<usize>>;
}

/// Sweeps now, then every hour, until dropped. A sweep that fails is logged and tried again an hour later.
///
/// For a real clock: a scripted one would be moved on by the waiting.
pub async fn keep_swept(files: &dyn OutputFiles, clock: &dyn Clock) {
    loop {
        sweep(files, clock).await;
        clock.sleep_until(clock.now().plus(HOUR_MS)).await;
    }
}

/// Removes the files that have expired by now. A failure is logged.
pub async fn sweep(files: &dyn OutputFiles, clock: &dyn Clock) {
    let before = Time(clock.now().millis().saturating_sub(RETENTION_MS));
    match files.sweep(before).await {
        Ok(removed) => tracing::debug!(removed, "expired tool output files removed"),
        Err(error) => tracing::warn!(%error, "expired tool output files could not be removed"),
    }
}

pub(crate) fn taken(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, format!("{path}: an output file of that name exists"))
}
