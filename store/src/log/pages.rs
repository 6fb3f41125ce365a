//! A range of a session's log, read in pages that end where the range does.

use super::{Boxed, ReadError, Slice};
use annals_core::Seq;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;

/// The most batches that are read at a time.
const MOST: usize = 512;
/// The most batches that are read backwards at a time.
const BACK: usize = 64;
/// How many events a batch is assumed to have before any is read.
const USUAL: u64 = 8;

/// Reads up to that many batches from an event on.
type PageReader<'a> = dyn Fn(Seq, usize) -> Boxed<'a, Result<Vec<Slice>, ReadError>> + Send + Sync + 'a;

/// The batches of a session that hold something of a range, oldest first, each cut to the range: see
/// [`EventLog::pages`](super::EventLog::pages).
pub struct Pages<'a> {
    read: Box<PageReader<'a>>,
    from: Seq,
    until: Seq,
    /// The event after what was read.
    next: Seq,
    batches: u64,
    most: usize,
    /// Read and not yet given.
    ready: VecDeque<Slice>,
}

impl fmt::Debug for Pages<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, until, next, .. } = self;
        f.debug_struct("Pages").field("from", from).field("until", until).field("next", next).finish_non_exhaustive()
    }
}

impl<'a> Pages<'a> {
    pub(super) fn new(range: Range<Seq>, read: Box<PageReader<'a>>) -> Self {
        let Range { start: from, end: until } = range;
        Self { read, from, until, next: from, batches: 0, most: MOST, ready: VecDeque::new() }
    }

    /// Limits the size of a page, for readers that usually stop early.
    #[must_use]
    pub fn at_most(self, batches: usize) -> Self {
        Self { most: batches.max(1), ..self }
    }

    /// The event after the last batch that was given.
    pub fn position(&self) -> Seq {
        self.ready.front().map_or(self.next, |slice| slice.from)
    }

    /// The next page; `None` at the end of the range, or of the log. Its length follows from how many events the batches
    /// before it had, so that little is read beyond the range.
    pub async fn next_page(&mut self) -> Result<Option<Vec<Slice>>, ReadError> {
        if !self.ready.is_empty() {
            return Ok(Some(self.ready.drain(..).collect()));
        }
        if self.next >= self.until {
            return Ok(None);
        }
        let (left, done) = (self.until.0 - self.next.0, self.next.0 - self.from.0);
        let wanted = match self.batches {
            0 => left.div_ceil(USUAL),
            batches => left.saturating_mul(batches).div_ceil(done.max(1)),
        };
        let limit = usize::try_from(wanted).unwrap_or(self.most).clamp(1, self.most);
        let mut slices = (self.read)(self.next, limit).await?;
        let Some(end) = slices.last().map(|slice| slice.until) else { return Ok(None) };
        self.batches += slices.len() as u64;
        self.next = end.min(self.until).max(self.next.plus(1));
        slices.retain(|slice| slice.from < self.until);
        for slice in &mut slices {
            (slice.from, slice.until) = (slice.from.max(self.from), slice.until.min(self.until));
        }
        Ok(Some(slices))
    }

    /// The next batch, or the part of it that is in the range; `None` at the end of the range, or of the log.
    pub async fn next_slice(&mut self) -> Result<Option<Slice>, ReadError> {
        while self.ready.is_empty() {
            match self.next_page().await? {
                Some(page) => self.ready = page.into(),
                None => return Ok(None),
            }
        }
        Ok(self.ready.pop_front())
    }
}

/// The batches of a session before an event, newest first, each cut to what is before it: see
/// [`EventLog::pages_back`](super::EventLog::pages_back).
pub struct PagesBack<'a> {
    read: Box<PageReader<'a>>,
    before: Seq,
}

impl fmt::Debug for PagesBack<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PagesBack").field("before", &self.before).finish_non_exhaustive()
    }
}

impl<'a> PagesBack<'a> {
    pub(super) fn new(before: Seq, read: Box<PageReader<'a>>) -> Self {
        Self { read, before }
    }

    /// The next page, at most 64 batches; `None` at the beginning of the log.
    pub async fn next_page(&mut self) -> Result<Option<Vec<Slice>>, ReadError> {
        if self.before == Seq::ZERO {
            return Ok(None);
        }
        let mut slices = (self.read)(self.before, BACK).await?;
        let Some(oldest) = slices.last().map(|slice| slice.from) else { return Ok(None) };
        slices.iter_mut().for_each(|slice| slice.until = slice.until.min(self.before));
        self.before = oldest.min(Seq(self.before.0.saturating_sub(1)));
        Ok(Some(slices))
    }
}

#[cfg(test)]
mod tests {
    use crate::conformance::material;
    use crate::{EventLog, MemoryLog};
    use annals_core::Seq;

    #[tokio::test]
    async fn a_range_is_read_once_whatever_the_length_of_its_pages() {
        let log = MemoryLog::new();
        let session = material::session(1);
        // One event, then pairs: 1, 3, 5 ... begin a batch.
        material::story(&log, session, 40).await.unwrap();
        for (from, until) in [(0, 81), (0, 200), (2, 3), (4, 10), (80, 81), (7, 7), (90, 95)] {
            for most in [1, 3, 512] {
                let mut pages = log.pages(session, Seq(from)..Seq(until)).at_most(most);
                let mut found = Vec::new();
                while let Some(page) = pages.next_page().await.unwrap() {
                    assert!(page.len() <= most);
                    found.extend(page.iter().flat_map(|slice| slice.records().map(|record| record.seq.0)));
                }
                let expected: Vec<u64> = (from..until.min(81)).collect();
                assert_eq!(found, expected, "{from}..{until} in pages of {most}");
                let (mut pages, mut found) = (log.pages(session, Seq(from)..Seq(until)).at_most(most), Vec::new());
                while let Some(slice) = pages.next_slice().await.unwrap() {
                    found.extend(slice.records().map(|record| record.seq.0));
                    assert_eq!(pages.position().0, slice.until.0, "the next event is known after each batch");
                }
                assert_eq!(found, expected, "{from}..{until} one by one");
            }
        }
        assert!(log.pages(material::session(2), Seq(0)..Seq(9)).next_page().await.is_err(), "no such session");
    }

    #[tokio::test]
    async fn reading_back_gives_every_event_before_the_place_once() {
        let log = MemoryLog::new();
        let session = material::session(1);
        material::story(&log, session, 100).await.unwrap();
        for before in [0, 1, 2, 3, 150, 201] {
            let (mut pages, mut found) = (log.pages_back(session, Seq(before)), Vec::new());
            while let Some(page) = pages.next_page().await.unwrap() {
                found.extend(page.iter().flat_map(|slice| slice.records().rev().map(|record| record.seq.0)));
            }
            assert_eq!(found, (0..before).rev().collect::<Vec<_>>(), "before {before}");
        }
    }
}
