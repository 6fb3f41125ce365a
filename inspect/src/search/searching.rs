//! A search: candidates of an index and of what it does not cover, put in order, verified in the log.

mod scanning;
mod verifying;

use super::lines::EventMatcher;
use super::{
    CandidateQuery, SearchCandidate, SearchIndex, SearchMatch, SearchPattern, SearchQuery, SearchTotals, TextAuthor,
    is_path,
};
use crate::reader::{FindError, Reader};
use crate::touched_files::touched_files;
use annals_core::{Record, Seq, SessionId};
use annals_projections::CatalogueEntry;
use annals_store::{ReadError, StoreCursor};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What of a session is searched, and as which session it is shown.
struct SearchedSession {
    /// Its place in the order; smaller is newer.
    rank: usize,
    shown_as: SessionId,
    range: Range<Seq>,
}

/// A text that may match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RankedCandidate {
    rank: usize,
    session: SessionId,
    seq: Seq,
    by: TextAuthor,
    verified: bool,
}

struct Searching<'a> {
    reader: &'a Reader,
    query: &'a SearchQuery,
    pattern: SearchPattern,
    index: Option<&'a dyn SearchIndex>,
    words: BTreeSet<String>,
    sessions: BTreeMap<SessionId, SearchedSession>,
    titles: BTreeMap<SessionId, String>,
}

impl Reader {
    /// Visits the matches, sessions with whole words first, then the newest, each session's in order. What a fork inherits is found
    /// in its parent, unless the fork is searched alone. The answer does not depend on `index`, but for its time.
    ///
    /// # Errors
    /// When the log cannot be read, or the error of `visit`.
    pub async fn search<E: From<FindError>>(
        &self,
        query: &SearchQuery,
        index: Option<&dyn SearchIndex>,
        mut visit: impl FnMut(&SearchMatch) -> Result<(), E>,
    ) -> Result<SearchTotals, E> {
        let mut searching = Searching {
            reader: self,
            query,
            pattern: query.pattern.clone(),
            index: None,
            words: query.pattern.whole_words(),
            sessions: BTreeMap::new(),
            titles: BTreeMap::new(),
        };
        searching.choose_sessions().await?;
        let covered = searching.covered(index).await?;
        searching.choose_files(&covered).await?;
        let mut found = searching.found(&covered).await?;
        let across = query.pattern.terms() > 1 && !searching.holds_one(&found).await?;
        if across {
            searching.pattern = query.pattern.any_term();
            searching.words.clear();
            found = searching.found(&covered).await?;
            searching.keep_sessions_with_all(&mut found).await?;
        }
        let totals = searching.give(&found, &mut visit).await?;
        Ok(SearchTotals { across: across && totals.shown > 0, ..totals })
    }
}

impl<'a> Searching<'a> {
    /// The sessions that a query is about, in their order.
    async fn choose_sessions(&mut self) -> Result<(), FindError> {
        let catalogue = self.reader.catalogue().await?.sessions;
        let own = |entry: &CatalogueEntry| entry.fork.map_or(Seq::ZERO, |fork| fork.cut);
        if let Some(session) = self.query.session {
            let mut next = Some((session, Seq(u64::MAX)));
            while let Some((one, until)) = next.take() {
                let Some(entry) = catalogue.get(&one) else { break };
                let range = own(entry)..until;
                self.sessions.insert(one, SearchedSession { rank: 0, shown_as: session, range });
                next = entry.fork.map(|fork| (fork.parent, fork.cut.min(until)));
            }
            let title = catalogue.get(&session).map(|entry| entry.title.clone());
            self.titles.insert(session, title.unwrap_or_default());
            return Ok(());
        }
        let mut taken: Vec<_> = catalogue.into_iter().filter(|(_, entry)| self.query.sessions.takes(entry)).collect();
        taken.sort_by(|(a_id, a), (b_id, b)| b.updated.cmp(&a.updated).then(a_id.cmp(b_id)));
        for (rank, (id, entry)) in taken.into_iter().enumerate() {
            let range = own(&entry)..Seq(u64::MAX);
            self.sessions.insert(id, SearchedSession { rank, shown_as: id, range });
            self.titles.insert(id, entry.title);
        }
        Ok(())
    }

    /// Takes the index if it belongs to this log. Returns where it ends.
    async fn covered(&mut self, index: Option<&'a dyn SearchIndex>) -> Result<StoreCursor, FindError> {
        let Some(index) = index else { return Ok(StoreCursor::START) };
        let upto = index.indexed_up_to();
        // One that was made of a store of another form is of another log.
        let last = match self.reader.log().last_before(&upto.cursor).await {
            Err(ReadError::ForeignCursor(_)) => None,
            last => last?,
        };
        if last.is_none_or(|last| last.batch.digest != upto.digest) {
            return Ok(StoreCursor::START);
        }
        self.index = Some(index);
        Ok(upto.cursor)
    }

    /// Leaves only the sessions that touched each file that was asked for.
    async fn choose_files(&mut self, covered: &StoreCursor) -> Result<(), FindError> {
        for asked in self.query.pattern.files() {
            self.keep_sessions_touching(asked, covered).await?;
        }
        Ok(())
    }

    /// Every text that may match, in order.
    async fn found(&mut self, covered: &StoreCursor) -> Result<Vec<RankedCandidate>, FindError> {
        let mut found = match self.indexed() {
            Some(found) => {
                let mut found: Vec<(SearchCandidate, bool)> = found.into_iter().map(|one| (one, false)).collect();
                found.extend(self.scan_tail(covered).await?.into_iter().map(|one| (one, true)));
                found
            }
            None => self.scan_sessions().await?.into_iter().map(|one| (one, true)).collect(),
        };
        found.retain(|(one, _)| self.sessions.get(&one.session).is_some_and(|it| it.range.contains(&one.seq)));
        // A session with whole words comes before one that has parts of words only.
        let whole: BTreeSet<SessionId> =
            found.iter().filter(|(one, _)| one.whole).map(|(one, _)| one.session).collect();
        let others = self.sessions.len();
        let ranked = found.into_iter().filter_map(|(one, verified)| {
            let place = self.sessions.get(&one.session)?.rank;
            let rank =
                if whole.contains(&one.session) || self.query.session.is_some() { place } else { place + others };
            let SearchCandidate { session, seq, by, .. } = one;
            Some(RankedCandidate { rank, session, seq, by, verified })
        });
        let mut ranked: Vec<RankedCandidate> = ranked.collect();
        match self.query.session {
            Some(_) => ranked.sort_by_key(|one| (one.seq, one.by)),
            None => ranked.sort_unstable(),
        }
        ranked.dedup_by_key(|one| (one.session, one.seq, one.by));
        Ok(ranked)
    }

    /// The candidates of the index; `None` when it cannot be used.
    fn indexed(&self) -> Option<Vec<SearchCandidate>> {
        let index = self.index?;
        if self.pattern.is_of_files() {
            let mut found = BTreeSet::new();
            for asked in self.pattern.files() {
                let touching = index.touching(asked)?.into_iter();
                found.extend(touching.map(|(session, seq)| SearchCandidate {
                    session,
                    seq,
                    by: TextAuthor::Model,
                    whole: true,
                }));
            }
            return Some(found.into_iter().collect());
        }
        let required = self.pattern.required();
        index.candidates(&CandidateQuery {
            required: &required,
            words: &self.words,
            authors: &self.query.authors,
            tool: self.query.tool.as_deref(),
            since: self.query.since,
        })
    }

    /// Leaves only the sessions that touched a file.
    async fn keep_sessions_touching(&mut self, asked: &str, covered: &StoreCursor) -> Result<(), FindError> {
        let mut touching = BTreeSet::new();
        let blobs = self.reader.blobs();
        let mut note = |record: &Record<'_>| {
            let mut files = touched_files(record.event, blobs).into_iter();
            if files.any(|file| is_path(&file.path, asked)) {
                touching.insert((record.session, record.seq));
            }
        };
        match self.index.map(|index| index.touching(asked)) {
            Some(Some(found)) => {
                self.each_after(covered, |slice| slice.records().for_each(|record| note(&record))).await?;
                touching.extend(found);
            }
            Some(None) | None => {
                self.index = None;
                self.each_searched(|slice| slice.records().for_each(|record| note(&record))).await?;
            }
        }
        let is_in = |session: &SessionId, range: &Range<Seq>| {
            touching.range((*session, range.start)..(*session, range.end)).next().is_some()
        };
        match self.query.session {
            // What a session inherits belongs to it.
            Some(_) if self.sessions.iter().any(|(id, one)| is_in(id, &one.range)) => {}
            Some(_) => self.sessions.clear(),
            None => self.sessions.retain(|id, one| is_in(id, &one.range)),
        }
        Ok(())
    }

    fn matcher(&self) -> EventMatcher<'_> {
        EventMatcher {
            pattern: &self.pattern,
            words: &self.words,
            authors: &self.query.authors,
            blobs: self.reader.blobs(),
        }
    }
}
