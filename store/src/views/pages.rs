//! Paged indexes: the folded content of successive records, page by page, so that an answer reads only what it shows.
//!
//! A page ends with the first batch that fills it, so that the same log always gives the same pages. A full page never
//! changes: it is kept once under the hash of its content, and a directory names the pages of a session. Both are a
//! cache. A page that is missing is made again from its records alone, and a directory that the log does not hold (of
//! another log, or of a store that was set back) counts up to where it does: digests are chained, so that is a search.
//! The pages of a parent are those of its forks, up to the cut.

use super::Views;
use crate::cache::{FoldVersion, Saved, decode, encode};
use crate::{ReadError, Slice};
use annals_core::{BlobHash, Blobs, Digest, Record, Seq, SessionId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

/// The folded content of successive records.
pub trait Page: Default + Serialize + DeserializeOwned {
    /// The name of the index.
    const NAME: &'static str;
    /// The version of its shape: saved pages of another version are not read.
    const VERSION: u32;

    /// The empty page that follows this one: it takes over what is open.
    fn next(&self) -> Self;

    /// Takes in one record.
    fn apply(&mut self, record: &Record<'_>, blobs: &dyn Blobs);

    /// All its records are in it.
    fn close(&mut self, blobs: &dyn Blobs);
}

/// A page and its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf<P> {
    /// Its first record.
    pub from: Seq,
    /// The first record that is not in it.
    pub until: Seq,
    /// The folded content of its records.
    pub page: P,
}

/// A full page in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SealedPage {
    /// The first record that is not in it.
    until: Seq,
    /// The digest of the batch that it ends with.
    digest: Digest,
    /// The hash of its content.
    page: Digest,
}

/// The full pages of a session, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct PageDirectory {
    /// How many records fill a page.
    size: u64,
    sealed: Vec<SealedPage>,
}

/// Blobs, and whether one was missing: what was made without it is not kept.
struct Watched<'a> {
    blobs: &'a (dyn Blobs + Send + Sync),
    missed: AtomicBool,
}

impl<'a> Watched<'a> {
    fn new(blobs: &'a (dyn Blobs + Send + Sync)) -> Self {
        Self { blobs, missed: AtomicBool::new(false) }
    }

    fn missed(&self) -> bool {
        self.missed.load(Ordering::Relaxed)
    }
}

impl Blobs for Watched<'_> {
    fn text(&self, hash: &BlobHash) -> Option<String> {
        let text = self.blobs.text(hash);
        if text.is_none() {
            self.missed.store(true, Ordering::Relaxed);
        }
        text
    }
}

impl Views {
    /// Visits the pages of an index over the records of a session before `until`, in order. `size` is how many records
    /// fill a page. Full pages come from the cache; records are read for those that are not there, and for the last one.
    pub async fn pages<P: Page>(
        &self,
        session: SessionId,
        until: Seq,
        size: u64,
        mut visit: impl FnMut(Leaf<P>),
    ) -> Result<(), ReadError> {
        let (mut directory, known) = self.directory::<P>(session, until, size).await?;
        let mut page = P::default();
        let mut from = Seq::ZERO;
        for sealed in directory.sealed.iter().take(known) {
            let kept = self.cache.as_ref().and_then(|cache| cache.get_page(&sealed.page));
            let kept = kept.and_then(|bytes| decode::<P>(&bytes));
            page = match kept {
                Some(kept) => kept,
                None => self.page_again(session, from, sealed, page).await?,
            };
            let next = page.next();
            visit(Leaf { from, until: sealed.until, page });
            (page, from) = (next, sealed.until);
        }
        directory.sealed.truncate(known);
        let blobs = self.log.blobs();
        let watched = Watched::new(&*blobs);
        let (mut reading, mut end) = (self.log.pages(session, from..until), from);
        let mut sealing = self.cache.as_ref().is_some_and(|cache| cache.keeps());
        while let Some(slices) = reading.next_page().await? {
            for slice in &slices {
                slice.records().for_each(|record| page.apply(&record, &watched));
                end = slice.until.min(until);
                let whole = slice.until == slice.batch.next() && slice.until <= until;
                if whole && slice.until.0.saturating_sub(from.0) >= size {
                    page.close(&watched);
                    // What a missing blob left out may be there the next time; and a directory has no gaps.
                    sealing = sealing && !watched.missed() && self.seal(&mut directory, slice, &page);
                    let next = page.next();
                    visit(Leaf { from, until: slice.until, page });
                    (page, from) = (next, slice.until);
                }
            }
        }
        if from < end {
            page.close(&watched);
            visit(Leaf { from, until: end, page });
        }
        if directory.sealed.len() > known {
            self.keep_directory::<P>(session, &directory);
        }
        Ok(())
    }

    /// A page whose saved form is gone, from its records. `page` is the empty one there.
    async fn page_again<P: Page>(
        &self,
        session: SessionId,
        from: Seq,
        sealed: &SealedPage,
        mut page: P,
    ) -> Result<P, ReadError> {
        let blobs = self.log.blobs();
        let watched = Watched::new(&*blobs);
        let mut reading = self.log.pages(session, from..sealed.until);
        while let Some(slices) = reading.next_page().await? {
            slices.iter().flat_map(Slice::records).for_each(|record| page.apply(&record, &watched));
        }
        page.close(&watched);
        if let Some(cache) = self.cache.as_ref().filter(|cache| cache.keeps() && !watched.missed())
            && let Ok(bytes) = encode(&page)
            && let Err(error) = cache.put_page(&bytes)
        {
            tracing::warn!(%session, %from, %error, "a page of an index could not be saved");
        }
        Ok(page)
    }

    /// The saved directory of a session, or of the one that it continues, and how many of its pages the log holds before
    /// `until`.
    async fn directory<P: Page>(
        &self,
        session: SessionId,
        until: Seq,
        size: u64,
    ) -> Result<(PageDirectory, usize), ReadError> {
        let mut best = (PageDirectory { size, sealed: Vec::new() }, 0);
        if self.cache.is_none() {
            return Ok(best);
        }
        // The newest one serves earlier cuts too. In a log that was set back it may be of what is no more.
        for at_most in [Seq(u64::MAX), until] {
            let Some(saved) = self.saved_directory::<P>(session, size, at_most) else { continue };
            let all = saved.sealed.partition_point(|sealed| sealed.until <= until);
            let held = self.held(session, saved.sealed.get(..all).unwrap_or_default()).await;
            if held == all {
                return Ok((saved, all));
            }
            if held > best.1 {
                best = (saved, held);
            }
        }
        if best.1 > 0 {
            return Ok(best);
        }
        let first = self.log.batch_at(session, Seq::ZERO).await?;
        let ancestor = first.map(|slice| slice.batch.session).filter(|ancestor| *ancestor != session);
        if let Some(saved) = ancestor.and_then(|it| self.saved_directory::<P>(it, size, Seq(u64::MAX))) {
            let all = saved.sealed.partition_point(|sealed| sealed.until <= until);
            let held = self.held(session, saved.sealed.get(..all).unwrap_or_default()).await;
            return Ok((saved, held));
        }
        Ok(best)
    }

    /// How many of these pages, from the first on, the log holds. The last one proves all before it; only when the log does
    /// not hold it is there anything to search.
    async fn held(&self, session: SessionId, pages: &[SealedPage]) -> usize {
        let (mut low, mut high, mut probe) = (0, pages.len(), pages.len());
        while low < high {
            match pages.get(probe.saturating_sub(1)) {
                Some(sealed) if self.ends_there(session, sealed).await => low = probe,
                _ => high = probe.saturating_sub(1),
            }
            probe = low + (high - low).div_ceil(2);
        }
        low
    }

    fn saved_directory<P: Page>(&self, session: SessionId, size: u64, at_most: Seq) -> Option<PageDirectory> {
        let fold = FoldVersion { name: P::NAME, version: P::VERSION };
        let (directory, _): (PageDirectory, Saved) = self.saved(session, fold, at_most)?;
        Some(directory).filter(|directory| directory.size == size)
    }

    async fn ends_there(&self, session: SessionId, sealed: &SealedPage) -> bool {
        let Some(last) = sealed.until.0.checked_sub(1) else { return false };
        let Ok(found) = self.log.batch_at(session, Seq(last)).await else { return false };
        let found = found.filter(|slice| slice.until == sealed.until);
        found.is_some_and(|slice| slice.batch.next() == sealed.until && slice.batch.digest == sealed.digest)
    }

    /// Keeps a full page; whether that went well.
    fn seal<P: Page>(&self, directory: &mut PageDirectory, slice: &Slice, page: &P) -> bool {
        let Some(cache) = &self.cache else { return false };
        match encode(page).and_then(|bytes| cache.put_page(&bytes)) {
            Ok(page) => {
                directory.sealed.push(SealedPage { until: slice.until, digest: slice.batch.digest, page });
                true
            }
            Err(error) => {
                // Without it the records are read again: slower, and equally right.
                tracing::warn!(session = %slice.batch.session, seq = %slice.until, %error, "a page could not be saved");
                false
            }
        }
    }

    fn keep_directory<P: Page>(&self, session: SessionId, directory: &PageDirectory) {
        let Some(last) = directory.sealed.last() else { return };
        let fold = FoldVersion { name: P::NAME, version: P::VERSION };
        self.save(session, fold, last.until, last.digest, directory);
    }
}
