//! The files that the events before a place name, newest first and in pages, so that none reads the whole session.

use super::ReportFile;
use crate::SessionAt;
use annals_core::Seq;
use annals_store::ReadError;
use serde::Serialize;

/// How many events are read at a time, from the end.
const WINDOW: u64 = 1_000;
/// How many events a page looks at, about: it may have fewer files than asked for, and another page may follow.
const LOOKED_AT: u64 = 20_000;

/// A page of files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilePage {
    /// The files that events name, the newest event first.
    pub files: Vec<ReportFile>,
    /// The cut that the next page is asked for at; null if no event precedes this one.
    pub next: Option<Seq>,
}

impl SessionAt {
    /// The newest files that are named, about `limit` of them: those of one batch are not split, so that the next page can be asked for.
    pub async fn files(&self, limit: usize) -> Result<FilePage, ReadError> {
        let mut files = Vec::new();
        let mut end = self.until;
        while end > Seq::ZERO && files.len() < limit && self.until.0 - end.0 < LOOKED_AT {
            let window = self.window_before(end).await?;
            end = window.first().map_or(Seq::ZERO, |(first, _)| *first);
            for (first, found) in window.into_iter().rev() {
                files.extend(found.into_iter().rev());
                if files.len() >= limit {
                    end = first;
                    break;
                }
            }
        }
        Ok(FilePage { files, next: (end > Seq::ZERO).then_some(end) })
    }

    /// The files of some batches that end at a cut, by the first event of each batch.
    async fn window_before(&self, end: Seq) -> Result<Vec<(Seq, Vec<ReportFile>)>, ReadError> {
        let start = Seq(end.0.saturating_sub(WINDOW));
        let batch = self.log().batch_at(self.session, start).await?;
        let start = batch.map_or(start, |slice| slice.batch.first.min(start));
        let mut window = Vec::new();
        let mut pages = self.log().pages(self.session, start..end);
        while let Some(slice) = pages.next_slice().await? {
            let mut found = Vec::new();
            for record in slice.records() {
                found.extend(ReportFile::of(&record, self.blobs()));
            }
            window.push((slice.batch.first, found));
        }
        Ok(window)
    }
}
