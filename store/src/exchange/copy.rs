//! Copying sessions from one store to another, with the digests that they have.

use super::import::drafted;
use super::verify_session;
use crate::log::{AppendError, Appended, EventLog, ReadError, Slice};
use annals_core::{Batch, BlobHash, Digest, Seq, SessionId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many batches are appended together.
const WINDOW: usize = 128;

/// What became of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiedSession {
    /// Which.
    pub session: SessionId,
    /// Events that were appended, inherited ones included.
    pub new: u64,
    /// Where it ends in the store that it was copied from.
    pub until: Seq,
}

/// A session was not copied whole. What was appended is an unaltered beginning of it; copying again continues there.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A store cannot be read.
    #[error("session {session}: {source}")]
    Read {
        /// Which session.
        session: SessionId,
        /// The error that caused it.
        #[source]
        source: ReadError,
    },
    /// The store that is copied to refused a batch.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// Both stores have the session, and something else in it: neither is changed.
    #[error(
        "session {session} differs before event {seq}: digest {from} in the store that it is copied from, {to} in the other; \
         nothing was changed there"
    )]
    Diverged {
        /// Which session.
        session: SessionId,
        /// Before which event.
        seq: Seq,
        /// The digest in the store that is copied from.
        from: Digest,
        /// The digest in the store that is copied to.
        to: Digest,
    },
    /// The copy does not verify.
    #[error("the copy of session {session} does not verify ({damage} places); see annals verify {session}")]
    Unsound {
        /// Which session.
        session: SessionId,
        /// How many places are damaged.
        damage: usize,
    },
}

/// Copies a session, with what it inherits, and verifies the copy. What is there already is not written again. `tell` gets the number of
/// events, as they are appended.
pub async fn copy_session(
    from: &dyn EventLog,
    to: &dyn EventLog,
    session: SessionId,
    on_progress: &(dyn Fn(u64) + Sync),
) -> Result<CopiedSession, CopyError> {
    let read = |source| CopyError::Read { session, source };
    let head = from.head(session).await.map_err(read)?.ok_or_else(|| read(ReadError::NoSession(session)))?;
    let start = match to.head(session).await.map_err(read)? {
        None => Seq::ZERO,
        Some(there) => {
            // The last batch that both have is the same, so all before it are.
            let next = there.next.min(head.next);
            let last = Seq(next.0.saturating_sub(1));
            let (ours, theirs) = (from.batch_at(session, last), to.batch_at(session, last));
            let (ours, theirs) = (digest_at(ours.await.map_err(read)?), digest_at(theirs.await.map_err(read)?));
            if ours != theirs {
                return Err(CopyError::Diverged { session, seq: next, from: ours, to: theirs });
            }
            next
        }
    };
    let (mut pages, mut new) = (from.pages(session, start..head.next).at_most(WINDOW), 0);
    while let Some(page) = pages.next_page().await.map_err(read)? {
        let batches: Vec<Arc<Batch>> = page.into_iter().map(|slice| slice.batch).collect();
        bring_blobs(from, to, &batches).await?;
        let drafts = batches.iter().map(|batch| drafted(Batch::clone(batch))).collect();
        let Appended { committed, refused } = to.append_all(drafts).await;
        let appended: u64 = committed.iter().filter(|one| !one.known).map(|one| one.batch.events.len() as u64).sum();
        new += appended;
        on_progress(appended);
        if let Some(error) = refused {
            return Err(error.into());
        }
    }
    let report = verify_session(to, session, Some(head.digest), &mut |_| {}).await.map_err(read)?;
    match report.is_sound() {
        true => Ok(CopiedSession { session, new, until: head.next }),
        false => Err(CopyError::Unsound { session, damage: report.damage.len() }),
    }
}

fn digest_at(slice: Option<Slice>) -> Digest {
    slice.map_or(Digest([0; 32]), |slice| slice.batch.digest)
}

/// Stores the blobs that batches name. One that was erased is nowhere, and not needed.
async fn bring_blobs(from: &dyn EventLog, to: &dyn EventLog, batches: &[Arc<Batch>]) -> Result<(), CopyError> {
    let named: BTreeSet<BlobHash> = batches.iter().flat_map(|batch| batch.blobs()).map(|named| named.blob).collect();
    let blobs = from.blobs();
    for hash in named {
        let blobs = blobs.clone();
        let text = tokio::task::spawn_blocking(move || blobs.text(&hash)).await.ok().flatten();
        if let Some(text) = text {
            to.put_blob(text).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryLog;
    use crate::conformance::material;

    #[tokio::test]
    async fn a_copy_has_the_same_head_and_a_second_one_adds_only_what_is_new() {
        let (from, to) = (MemoryLog::new(), MemoryLog::new());
        let session = material::session(1);
        material::story(&from, session, 300).await.unwrap();
        let first = copy_session(&from, &to, session, &|_| {}).await.unwrap();
        assert_eq!(first.new, first.until.0);
        assert_eq!(to.head(session).await.unwrap(), from.head(session).await.unwrap());
        assert_eq!(copy_session(&from, &to, session, &|_| {}).await.unwrap().new, 0);
    }

    #[tokio::test]
    async fn a_copy_that_was_cut_off_continues() {
        let (from, to) = (MemoryLog::new(), MemoryLog::new());
        let session = material::session(1);
        material::story(&from, session, 100).await.unwrap();
        for slice in from.read(session, Seq::ZERO, 40).await.unwrap() {
            to.append(drafted(Batch::clone(&slice.batch))).await.unwrap();
        }
        let there = to.head(session).await.unwrap().unwrap().next;
        let copied = copy_session(&from, &to, session, &|_| {}).await.unwrap();
        assert_eq!(copied.new, copied.until.0 - there.0);
    }

    #[tokio::test]
    async fn another_session_under_the_same_id_is_not_touched() {
        let (from, to) = (MemoryLog::new(), MemoryLog::new());
        let session = material::session(1);
        material::story(&from, session, 10).await.unwrap();
        material::begin(&to, session).await.unwrap();
        to.append(material::draft(session, Seq(1), vec![material::synthetic("something else")])).await.unwrap();
        let before = to.head(session).await.unwrap();
        let error = copy_session(&from, &to, session, &|_| {}).await.unwrap_err();
        assert!(matches!(error, CopyError::Diverged { seq: Seq(2), .. }), "{error}");
        assert_eq!(to.head(session).await.unwrap(), before);
    }
}
