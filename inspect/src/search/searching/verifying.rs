//! Reading candidates in the log: their lines, and how many there are.

use super::{RankedCandidate, Searching};
use crate::reader::FindError;
use crate::search::{SearchMatch, SearchTotals};
use annals_core::{Record, SessionId};
use annals_store::Slice;
use std::collections::BTreeMap;

/// How many candidates are verified after the last match that is shown, to count them. More are estimated.
const COUNTED: usize = 2_000;
/// How many candidates are read at a time.
const GROUP: usize = 64;

impl Searching<'_> {
    /// Whether one of the candidates matches.
    pub(super) async fn holds_one(&self, found: &[RankedCandidate]) -> Result<bool, FindError> {
        let mut read = 0;
        while let Some(group) = next_group(found, read) {
            for (one, slice) in self.events_of(group).await? {
                let mut records = slice.records().filter(|record| record.seq == one.seq);
                if records.any(|record| !self.matcher().lines(record.event, one.by, 0).is_empty()) {
                    return Ok(true);
                }
            }
            read += group.len();
        }
        Ok(false)
    }

    /// Leaves only what is in sessions in which every term occurs.
    pub(super) async fn keep_sessions_with_all(&self, found: &mut Vec<RankedCandidate>) -> Result<(), FindError> {
        let mut occurring: BTreeMap<SessionId, Vec<bool>> = BTreeMap::new();
        let shown_as = |session: SessionId| self.sessions.get(&session).map_or(session, |it| it.shown_as);
        let mut read = 0;
        while let Some(group) = next_group(found, read) {
            for (one, slice) in self.events_of(group).await? {
                let terms = occurring.entry(shown_as(one.session)).or_insert_with(|| vec![false; self.pattern.terms()]);
                for record in slice.records().filter(|record| record.seq == one.seq) {
                    let here = self.matcher().occurring(record.event, one.by);
                    terms.iter_mut().zip(here).for_each(|(term, here)| *term |= here);
                }
            }
            read += group.len();
        }
        found.retain(|one| occurring.get(&shown_as(one.session)).is_some_and(|terms| terms.iter().all(|term| *term)));
        Ok(())
    }

    /// Reads candidates in order, gives their lines, and counts the rest.
    pub(super) async fn give<E: From<FindError>>(
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

    pub(super) fn give_event<E: From<FindError>>(
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
    pub(super) async fn events_of<'c>(
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
