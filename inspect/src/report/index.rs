//! The turns and files of a session, extended as its log grows: what a server shows of it at once.

use super::ReportFile;
use super::turns::{ReportTurn, TurnFold};
use crate::SessionAt;
use annals_core::{Digest, Seq};
use annals_projections::{Projection, SessionInfo};
use annals_store::ReadError;

/// The turns and files of a session up to an event. Extending it costs what was appended since.
#[derive(Clone, Debug, Default)]
pub struct SessionIndex {
    fold: TurnFold,
    files: Vec<ReportFile>,
    info: SessionInfo,
    next: Seq,
    digest: Option<Digest>,
}

impl SessionIndex {
    /// Takes in what follows, up to the end of `past`. Begins anew where the log is not the one that it was made of.
    ///
    /// # Errors
    /// When the log cannot be read. What was read before the error counts.
    pub async fn extend(&mut self, past: &SessionAt) -> Result<(), ReadError> {
        if !self.continues(past).await? {
            *self = Self::default();
        }
        let mut pages = past.log().pages(past.session, self.next..past.until);
        while let Some(slice) = pages.next_slice().await? {
            for record in slice.records() {
                self.fold.take(&record, past.blobs());
                self.info.apply(&record);
                self.files.extend(ReportFile::of(&record, past.blobs()));
            }
            self.next = slice.until;
            self.digest = Some(slice.batch.digest);
        }
        Ok(())
    }

    /// The turns, oldest first. The first has number 0 if events precede the first prompt.
    pub fn turns(&self) -> &[ReportTurn] {
        self.fold.turns()
    }

    /// The files that events name, in the order of the events.
    pub fn files(&self) -> &[ReportFile] {
        &self.files
    }

    /// What is known of the session itself.
    pub fn info(&self) -> &SessionInfo {
        &self.info
    }

    async fn continues(&self, past: &SessionAt) -> Result<bool, ReadError> {
        let Some(last) = self.next.0.checked_sub(1) else { return Ok(true) };
        if past.until < self.next {
            return Ok(false);
        }
        let slice = past.log().batch_at(past.session, Seq(last)).await?;
        Ok(slice.is_some_and(|slice| slice.until == self.next && Some(slice.batch.digest) == self.digest))
    }
}
