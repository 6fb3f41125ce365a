//! Reading what no index covers.

use super::Searching;
use crate::reader::FindError;
use crate::search::SearchCandidate;
use annals_core::event::ToolEvent;
use annals_core::{CallId, Event, Record, Seq, SessionId};
use annals_store::{Followed, Scope, Slice, StoreCursor};
use futures_util::StreamExt;
use std::collections::BTreeMap;

impl Searching<'_> {
    pub(super) async fn scan_tail(&self, covered: &StoreCursor) -> Result<Vec<SearchCandidate>, FindError> {
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

    pub(super) async fn scan_sessions(&self) -> Result<Vec<SearchCandidate>, FindError> {
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
    pub(super) async fn each_after(
        &self,
        covered: &StoreCursor,
        mut visit: impl FnMut(&Slice),
    ) -> Result<(), FindError> {
        let mut following = self.reader.log().follow(Scope::All { from: covered.clone() });
        while let Some(followed) = following.next().await {
            match followed? {
                Followed::Synced => break,
                Followed::Batch { slice, .. } => visit(&slice),
            }
        }
        Ok(())
    }

    /// Visits all that is searched, session by session.
    pub(super) async fn each_searched(&self, mut visit: impl FnMut(&Slice)) -> Result<(), FindError> {
        for (id, one) in &self.sessions {
            let mut pages = self.reader.pages(*id, one.range.start, one.range.end);
            while let Some(slice) = pages.next_slice().await? {
                visit(&slice);
            }
        }
        Ok(())
    }

    /// Notes what of a record matches; in `unknown`, if its tool has to be looked up first.
    pub(super) fn scan(
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
    pub(super) async fn resolve_tools(
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
    pub(super) async fn is_of_tool(&self, session: SessionId, seq: Seq) -> Result<bool, FindError> {
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
}
