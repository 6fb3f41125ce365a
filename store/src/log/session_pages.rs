//! The sessions of a store, page by page.

use super::{Boxed, ReadError, SessionHead};
use annals_core::SessionId;
use std::ops::Bound;

/// How many sessions a page has.
const PAGE: usize = 1000;

/// Where a page of sessions ended, for the next one. Opaque.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageToken {
    /// The part of the store that is being listed.
    pub(crate) shard: u32,
    /// The last session that was given of it.
    pub(crate) after: Option<SessionId>,
}

impl PageToken {
    /// In a store of one part, behind a session.
    pub const fn after(session: SessionId) -> Self {
        Self { shard: 0, after: Some(session) }
    }

    /// The session behind which the next page begins.
    pub const fn session(&self) -> Option<SessionId> {
        self.after
    }
}

/// Some sessions of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionListPage {
    /// The sessions, by id.
    pub sessions: Vec<SessionHead>,
    /// For the next page; `None` at the end.
    pub next: Option<PageToken>,
}

impl SessionListPage {
    /// A page of sessions that come by id, of which there may be one more than `limit`.
    pub(crate) fn of(mut sessions: Vec<SessionHead>, limit: usize) -> Self {
        let more = sessions.len() > limit;
        sessions.truncate(limit);
        let next = sessions.last().filter(|_| more).map(|last| PageToken::after(last.session));
        Self { sessions, next }
    }
}

/// The sessions of a page by their ids, in a store of one part.
pub(crate) fn behind(from: Option<PageToken>) -> (Bound<SessionId>, Bound<SessionId>) {
    let after = from.and_then(|from| from.after).map_or(Bound::Unbounded, Bound::Excluded);
    (after, Bound::Unbounded)
}

/// Reads a page of sessions from a token on.
type ReadListPage<'a> =
    Box<dyn Fn(Option<PageToken>, usize) -> Boxed<'a, Result<SessionListPage, ReadError>> + Send + Sync + 'a>;

/// Walks over the sessions of a store ([`crate::EventLog::sessions`]).
pub struct SessionList<'a> {
    read: ReadListPage<'a>,
    next: Option<PageToken>,
    limit: usize,
    over: bool,
}

impl<'a> SessionList<'a> {
    pub(super) fn new(read: ReadListPage<'a>) -> Self {
        Self { read, next: None, limit: PAGE, over: false }
    }

    /// With pages of this many sessions at most.
    #[must_use]
    pub fn at_most(self, limit: usize) -> Self {
        Self { limit: limit.max(1), ..self }
    }

    /// The next page; `None` at the end. A page may be empty before the end.
    pub async fn next_page(&mut self) -> Result<Option<Vec<SessionHead>>, ReadError> {
        if self.over {
            return Ok(None);
        }
        let page = (self.read)(self.next, self.limit).await?;
        self.next = page.next;
        self.over = page.next.is_none();
        Ok(Some(page.sessions))
    }

    /// All of them, by id: 56 bytes each.
    pub async fn all(mut self) -> Result<Vec<SessionHead>, ReadError> {
        let mut all = Vec::new();
        while let Some(page) = self.next_page().await? {
            all.extend(page);
        }
        all.sort_by_key(|one| one.session);
        Ok(all)
    }

    /// How many there are.
    pub async fn count(mut self) -> Result<usize, ReadError> {
        let mut count = 0;
        while let Some(page) = self.next_page().await? {
            count += page.len();
        }
        Ok(count)
    }
}
