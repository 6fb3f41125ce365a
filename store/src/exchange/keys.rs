//! The keys of a session and of those that it inherits from.

use super::ExportError;
use super::line::Ancestor;
use crate::log::{EventLog, ReadError};
use annals_core::{Seq, SessionId, SessionKey};
use std::collections::BTreeMap;
use std::ops::Range;

/// The ancestors that a session reads through, oldest first, found by bisection: a session's logs are one rising chain.
pub(crate) async fn ancestors(log: &dyn EventLog, session: SessionId, end: Seq) -> Result<Vec<Ancestor>, ReadError> {
    let (mut found, mut from) = (Vec::new(), Seq::ZERO);
    while from < end {
        let Some(writer) = writer_of(log, session, from).await? else { break };
        if writer == session {
            break;
        }
        // `low` is of `writer`, `high` is not.
        let (mut low, mut high) = (from.0, end.0);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match writer_of(log, session, Seq(middle)).await? {
                Some(one) if one == writer => low = middle,
                _ => high = middle,
            }
        }
        found.push(Ancestor { session: writer, cut: Seq(high) });
        from = Seq(high);
    }
    Ok(found)
}

/// The keys of a session and of the ancestors that it reads through: each is in the first batch of that session's own log.
pub(super) async fn keys(
    log: &dyn EventLog,
    session: SessionId,
    ancestors: &[Ancestor],
    end: Seq,
) -> Result<BTreeMap<SessionId, SessionKey>, ExportError> {
    let mut keys = BTreeMap::new();
    let starts = std::iter::once(Seq::ZERO).chain(ancestors.iter().map(|ancestor| ancestor.cut));
    let ends = ancestors.iter().map(|ancestor| ancestor.cut).chain([end]);
    let writers = ancestors.iter().map(|ancestor| ancestor.session).chain([session]);
    let mut any = false;
    for ((from, until), writer) in starts.zip(ends).zip(writers) {
        let page = log.read(session, from, 1).await?;
        let key = match page.first().and_then(|slice| slice.batch.session_key()) {
            Some(key) => Some(key),
            None => key_after_erasure(log, session, writer, from..until).await?,
        };
        any |= key.is_some();
        keys.extend(key.map(|key| (writer, key)));
    }
    match any {
        true => Ok(keys),
        false => Err(ExportError::NoKey(session)),
    }
}

/// Whether the key of a session is in the store: without it, nothing can be appended to it.
///
/// # Errors
/// [`ReadError::NoSession`], or when the log cannot be read.
pub async fn has_key(log: &dyn EventLog, session: SessionId) -> Result<bool, ReadError> {
    Ok(session_key(log, session).await?.is_some())
}

/// The key that texts of a session are committed with from now on; `None` if it is not in the store.
///
/// # Errors
/// [`ReadError::NoSession`], or when the log cannot be read.
pub async fn session_key(log: &dyn EventLog, session: SessionId) -> Result<Option<SessionKey>, ReadError> {
    let end = log.head(session).await?.ok_or(ReadError::NoSession(session))?.next;
    let from = ancestors(log, session, end).await?.last().map_or(Seq::ZERO, |ancestor| ancestor.cut);
    let first = log.read(session, from, 1).await?;
    match first.first().and_then(|slice| slice.batch.session_key()) {
        Some(key) => Ok(Some(key)),
        None => key_after_erasure(log, session, session, from..end).await,
    }
}

/// The key that the last erasure of texts started, in the part of a session's log that is read.
async fn key_after_erasure(
    log: &dyn EventLog,
    session: SessionId,
    writer: SessionId,
    range: Range<Seq>,
) -> Result<Option<SessionKey>, ReadError> {
    let mut key = None;
    let mut pages = log.pages(session, range);
    while let Some(page) = pages.next_page().await? {
        for slice in page.iter().filter(|slice| slice.batch.session == writer) {
            if slice.batch.events.first().is_some_and(|event| event.stored_key().is_some()) {
                key = slice.batch.session_key();
            }
        }
    }
    Ok(key)
}

async fn writer_of(log: &dyn EventLog, session: SessionId, seq: Seq) -> Result<Option<SessionId>, ReadError> {
    Ok(log.batch_at(session, seq).await?.map(|slice| slice.batch.session))
}
