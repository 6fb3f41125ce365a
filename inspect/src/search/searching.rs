//! A search: candidates of an index and of what it does not cover, put in order, verified in the log.

use super::lines::EventMatcher;
use super::{
    CandidateQuery, SearchCandidate, SearchIndex, SearchMatch, SearchQuery, SearchTotals, TextAuthor, is_path,
};
use crate::reader::{FindError, Reader};
use crate::touched_files::touched_files;
use annals_core::event::ToolEvent;
use annals_core::{CallId, Event, Record, Seq, SessionId};
use annals_projections::CatalogueEntry;
use annals_store::{Followed, Position, Scope, Slice};
use futures_util::StreamExt;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How many candidates are verified after the last match that is shown, to count them. More are estimated.
const COUNTED: usize = 2_000;
/// How many candidates are read at a time.
const GROUP: usize = 64;

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
            index: None,
            words: query.pattern.whole_words(),
            sessions: BTreeMap::new(),
            titles: BTreeMap::new(),
        };
        searching.choose_sessions().await?;
        let covered = searching.covered(index).await?;
        let found = searching.found(covered).await?;
        searching.give(&found, &mut visit).await
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

    /// Takes the index if it belongs to this log. Returns the first position that it does not cover.
    async fn covered(&mut self, index: Option<&'a dyn SearchIndex>) -> Result<Position, FindError> {
        let Some(index) = index else { return Ok(Position(0)) };
        let upto = index.indexed_up_to();
        let Some(before) = upto.position.0.checked_sub(1) else { return Ok(Position(0)) };
        let mut following = self.reader.log().follow(Scope::All { from: Position(before) });
        let holds = match following.next().await.transpose()? {
            Some(Followed::Batch { slice, position }) => {
                position == Some(Position(before)) && slice.batch.digest == upto.digest
            }
            Some(Followed::Synced) | None => false,
        };
        if !holds {
            return Ok(Position(0));
        }
        self.index = Some(index);
        Ok(upto.position)
    }

    /// Every text that may match, in order.
    async fn found(&mut self, covered: Position) -> Result<Vec<RankedCandidate>, FindError> {
        let files = self.query.pattern.files().to_vec();
        for asked in files {
            self.keep_sessions_touching(&asked, covered).await?;
        }
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
        if self.query.pattern.is_of_files() {
            let mut found = BTreeSet::new();
            for asked in self.query.pattern.files() {
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
        let required = self.query.pattern.required();
        index.candidates(&CandidateQuery {
            required: &required,
            words: &self.words,
            authors: &self.query.authors,
            tool: self.query.tool.as_deref(),
            since: self.query.since,
        })
    }

    /// Leaves only the sessions that touched a file.
    async fn keep_sessions_touching(&mut self, asked: &str, covered: Position) -> Result<(), FindError> {
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

    async fn scan_tail(&self, covered: Position) -> Result<Vec<SearchCandidate>, FindError> {
        let (mut found, mut calls) = (Vec::new(), BTreeMap::new());
        let mut unknown = Vec::new();
        self.each_after(covered, |slice| {
            for record in slice.records() {
                self.scan(&record, &mut calls, &mut found, &mut unknown);
            }
        })
        .await?;
        self.resolve_tools(unknown, &mut found).await?;
        Ok(found)
    }

    async fn scan_sessions(&self) -> Result<Vec<SearchCandidate>, FindError> {
        let (mut found, mut calls) = (Vec::new(), BTreeMap::new());
        let mut unknown = Vec::new();
        self.each_searched(|slice| {
            for record in slice.records() {
                self.scan(&record, &mut calls, &mut found, &mut unknown);
            }
        })
        .await?;
        self.resolve_tools(unknown, &mut found).await?;
        Ok(found)
    }

    /// Visits what the index does not cover, in the order of the store.
    async fn each_after(&self, covered: Position, mut visit: impl FnMut(&Slice)) -> Result<(), FindError> {
        let mut following = self.reader.log().follow(Scope::All { from: covered });
        while let Some(followed) = following.next().await {
            match followed? {
                Followed::Synced => break,
                Followed::Batch { slice, .. } => visit(&slice),
            }
        }
        Ok(())
    }

    /// Visits all that is searched, session by session.
    async fn each_searched(&self, mut visit: impl FnMut(&Slice)) -> Result<(), FindError> {
        for (id, one) in &self.sessions {
            let mut pages = self.reader.pages(*id, one.range.start, one.range.end);
            while let Some(slice) = pages.next_slice().await? {
                visit(&slice);
            }
        }
        Ok(())
    }

    /// Notes what of a record matches; in `unknown`, if its tool has to be looked up first.
    fn scan(
        &self,
        record: &Record<'_>,
        calls: &mut BTreeMap<(SessionId, CallId), String>,
        found: &mut Vec<SearchCandidate>,
        unknown: &mut Vec<SearchCandidate>,
    ) {
        let Some(searched) = self.sessions.get(&record.session) else { return };
        let wanted = searched.range.contains(&record.seq) && self.query.since.is_none_or(|since| record.at >= since);
        let mut is_of_tool = Some(true);
        if let Some(tool) = &self.query.tool {
            is_of_tool = match record.event {
                Event::Tool(ToolEvent::Called(called)) => {
                    calls.insert((record.session, called.call.clone()), called.name.clone());
                    Some(called.name.eq_ignore_ascii_case(tool))
                }
                Event::Tool(ToolEvent::Settled(settled)) => {
                    let name = calls.get(&(record.session, settled.call.clone()));
                    name.map(|name| name.eq_ignore_ascii_case(tool))
                }
                _ => Some(false),
            };
        }
        if !wanted || is_of_tool == Some(false) {
            return;
        }
        let list = if is_of_tool.is_some() { found } else { unknown };
        let (session, seq) = (record.session, record.seq);
        let matched = self.matcher().authors_of(record.event).into_iter();
        list.extend(matched.map(|(by, whole)| SearchCandidate { session, seq, by, whole }));
    }

    /// Looks up the tools of results whose call was not scanned.
    async fn resolve_tools(
        &self,
        unknown: Vec<SearchCandidate>,
        found: &mut Vec<SearchCandidate>,
    ) -> Result<(), FindError> {
        for one in unknown {
            if self.is_of_tool(one.session, one.seq).await? {
                found.push(one);
            }
        }
        Ok(())
    }

    /// Whether a result is of the tool that was asked for: its call is looked for backwards.
    async fn is_of_tool(&self, session: SessionId, seq: Seq) -> Result<bool, FindError> {
        let Some(tool) = &self.query.tool else { return Ok(true) };
        let mut wanted = None;
        let mut pages = self.reader.log().pages_back(session, seq.plus(1));
        while let Some(slices) = pages.next_page().await? {
            for record in slices.iter().flat_map(|slice| slice.records().rev()) {
                match record.event {
                    Event::Tool(ToolEvent::Settled(settled)) if record.seq == seq => {
                        wanted = Some(settled.call.clone());
                    }
                    Event::Tool(ToolEvent::Called(called)) if wanted.as_ref() == Some(&called.call) => {
                        return Ok(called.name.eq_ignore_ascii_case(tool));
                    }
                    _ => {}
                }
            }
        }
        Ok(false)
    }

    fn matcher(&self) -> EventMatcher<'_> {
        EventMatcher {
            pattern: &self.query.pattern,
            words: &self.words,
            authors: &self.query.authors,
            blobs: self.reader.blobs(),
        }
    }

    /// Reads candidates in order, gives their lines, and counts the rest.
    async fn give<E: From<FindError>>(
        &self,
        found: &[RankedCandidate],
        visit: &mut impl FnMut(&SearchMatch) -> Result<(), E>,
    ) -> Result<SearchTotals, E> {
        let limit = self.query.limit.unwrap_or(u64::MAX);
        let mut totals = SearchTotals::default();
        let (mut read, mut counted) = (0, 0);
        while let Some(group) = next_group(found, read) {
            if totals.shown == limit {
                counted += group.len();
            }
            // Without an index every candidate was verified: a line of each is read only to be counted.
            if counted > COUNTED {
                break;
            }
            for (one, slice) in self.events_of(group).await? {
                let Some(record) = slice.records().find(|record| record.seq == one.seq) else { continue };
                self.give_event(&record, one, &mut totals, limit, visit)?;
            }
            read += group.len();
        }
        let left = (found.len() - read.min(found.len())) as u64;
        if left > 0 {
            let lines = (totals.shown + totals.more).max(1);
            totals.more += left.saturating_mul(lines).div_ceil(read.max(1) as u64).max(1);
            totals.estimated = true;
        }
        Ok(totals)
    }

    fn give_event<E: From<FindError>>(
        &self,
        record: &Record<'_>,
        one: &RankedCandidate,
        totals: &mut SearchTotals,
        limit: u64,
        visit: &mut impl FnMut(&SearchMatch) -> Result<(), E>,
    ) -> Result<(), E> {
        let lines = self.matcher().lines(record.event, one.by, self.query.context);
        let shown_as = self.sessions.get(&one.session).map_or(one.session, |it| it.shown_as);
        let per_event = self.query.per_event.unwrap_or(usize::MAX);
        for (at, matched) in lines.into_iter().enumerate() {
            if totals.shown == limit || at >= per_event {
                totals.more += 1;
                continue;
            }
            totals.shown += 1;
            visit(&SearchMatch {
                session: shown_as,
                title: self.titles.get(&shown_as).cloned().unwrap_or_default(),
                seq: record.seq,
                at: record.at,
                kind: record.event.kind().name(),
                by: one.by,
                line: matched.line,
                before: matched.before,
                after: matched.after,
                range: matched.range,
            })?;
        }
        Ok(())
    }

    /// The batches of a group of candidates of one session: read as one range where they are near each other.
    async fn events_of<'c>(
        &self,
        group: &'c [RankedCandidate],
    ) -> Result<Vec<(&'c RankedCandidate, Slice)>, FindError> {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { return Ok(Vec::new()) };
        let mut events = Vec::with_capacity(group.len());
        if last.seq.0 - first.seq.0 <= 8 * group.len() as u64 {
            let mut pages = self.reader.pages(first.session, first.seq, last.seq.plus(1));
            let mut wanted = group.iter().peekable();
            while let Some(slice) = pages.next_slice().await? {
                while let Some(one) = wanted.next_if(|one| one.seq < slice.until) {
                    events.push((one, slice.clone()));
                }
            }
            return Ok(events);
        }
        for one in group {
            if let Some(slice) = self.reader.log().batch_at(one.session, one.seq).await? {
                events.push((one, slice));
            }
        }
        Ok(events)
    }
}

/// The next candidates of one session.
fn next_group(found: &[RankedCandidate], from: usize) -> Option<&[RankedCandidate]> {
    let rest = found.get(from..)?;
    let session = rest.first()?.session;
    let same = rest.iter().take(GROUP).take_while(|one| one.session == session).count();
    rest.get(..same)
}
