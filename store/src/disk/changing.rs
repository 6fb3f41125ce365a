//! Changes of what is stored already: erasing texts, and filling in those that were withheld.

use super::erasing::PendingErasure;
use super::files::{Disk, RealDisk};
use super::filling::{FillingWriter, PendingFilling};
use super::folder::acquire::Claim;
use super::opening::Purpose;
use super::{DiskLog, OpenError, OpenMode, OpeningReport, Tuning};
use annals_core::{BlobHash, SessionId, SessionKey};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

impl DiskLog {
    /// Says that texts of these sessions are about to be erased, before a `texts.erased` of them is appended: a process that stops
    /// in between finds at its next opening what to finish. `blobs` are those that erased texts may be.
    ///
    /// # Errors
    /// When the disk refuses, or an earlier erasure or filling is unfinished.
    pub fn begin_erasure(
        &self,
        sessions: impl IntoIterator<Item = SessionId>,
        blobs: BTreeSet<BlobHash>,
    ) -> io::Result<()> {
        self.shared.check()?;
        self.check_nothing_is_pending()?;
        let keys = sessions.into_iter().filter_map(|session| Some((session, self.shared.key(session)?)));
        PendingErasure { keys: keys.collect(), blobs }.save(&*self.shared.disk, &self.shared.layout)
    }

    /// An earlier erasure's file may hold the only copy of keys, and an earlier filling's any text.
    fn check_nothing_is_pending(&self) -> io::Result<()> {
        let (disk, layout) = (&*self.shared.disk, &self.shared.layout);
        if PendingErasure::load(disk, layout)?.is_some() {
            return Err(io::Error::other(
                "an earlier erasure is unfinished; any command that writes finishes it once it can",
            ));
        }
        if PendingFilling::exists(disk, layout)? {
            let reason =
                "an earlier import of withheld texts is unfinished; any command that writes finishes it once it can";
            return Err(io::Error::other(reason));
        }
        Ok(())
    }

    /// Begins to collect batches whose withheld texts are filled in.
    ///
    /// # Errors
    /// When the disk refuses, or an earlier erasure or filling is unfinished.
    pub(crate) fn begin_filling(&self) -> io::Result<FillingWriter> {
        self.shared.check()?;
        self.check_nothing_is_pending()?;
        FillingWriter::begin(&self.shared.disk, &self.shared.layout)
    }

    /// The key that a session of the log ends with, if it is in the store.
    pub(crate) fn session_key(&self, session: SessionId) -> Option<SessionKey> {
        self.shared.key(session)
    }

    /// Fills in the texts that [`crate::filling`] collected, in every copy; the store must not be open. `progress` hears how many
    /// segments of the journal are done, of how many.
    ///
    /// # Errors
    /// See [`OpenError`]; the next opening tries again.
    pub fn finish_filling(
        dir: &Path,
        tuning: Tuning,
        progress: &dyn Fn(usize, usize),
    ) -> Result<OpeningReport, OpenError> {
        Self::finish_erasure(dir, tuning, progress)
    }

    /// Removes the texts that the log says are erased from every copy; the store must not be open. `progress` hears how many segments
    /// of the journal are done, of how many.
    ///
    /// # Errors
    /// See [`OpenError`]; the next opening tries again.
    pub fn finish_erasure(
        dir: &Path,
        tuning: Tuning,
        progress: &dyn Fn(usize, usize),
    ) -> Result<OpeningReport, OpenError> {
        let claim = Claim { dir, mode: OpenMode::Existing, id: None, purpose: Purpose::Use, progress };
        let (log, report) = Self::open_claim(claim, tuning, &(Arc::new(RealDisk) as Arc<dyn Disk>))?;
        drop(log);
        Ok(report)
    }
}
