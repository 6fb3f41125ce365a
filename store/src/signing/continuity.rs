//! Whether a log continues what was signed.

use super::heads::{HeadList, Salt, SignedHead, batch_hash};
use super::tree::{Frontier, TreeHash};
use crate::log::{EventLog, ReadError, SessionHead, Slice};
use annals_core::{Digest, Seq, SessionId};
use std::io;

/// A session does not continue what was signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("session {session} does not continue what was signed: {reason}")]
pub struct Discontinuity {
    /// The session.
    pub session: SessionId,
    /// The event that was signed as its last one.
    pub seq: Seq,
    /// What is found instead.
    pub reason: DiscontinuityReason,
}

/// What is found instead of what was signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscontinuityReason {
    /// The log has no such session.
    #[error("it was signed up to event {}, and is not in the store", .0.0)]
    Missing(Seq),
    /// The session is shorter.
    #[error("it was signed up to event {}, and ends before event {}", signed.0, next.0)]
    Shorter {
        /// The last event that was signed.
        signed: Seq,
        /// The number that its next event would get.
        next: Seq,
    },
    /// Another digest is found at the event.
    #[error("event {} was signed with digest {signed}, the store has {found}", seq.0)]
    Digest {
        /// The last event that was signed.
        seq: Seq,
        /// What was signed.
        signed: Digest,
        /// What the log has.
        found: Digest,
    },
    /// The batches before the event are others, or divided in another way.
    #[error("the batches up to event {} are not those that were signed", .0.0)]
    Batches(Seq),
    /// A batch cannot be read.
    #[error("event {} cannot be read: {reason}", seq.0)]
    Unreadable {
        /// The event.
        seq: Seq,
        /// The reason.
        reason: String,
    },
}

/// No further head can be signed.
#[derive(Debug, thiserror::Error)]
pub enum AdvanceError {
    /// What would be signed contradicts what was signed before.
    #[error(transparent)]
    Discontinuity(#[from] Discontinuity),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The system has no random bytes.
    #[error("no random bytes: {0}")]
    Random(#[source] io::Error),
}

/// First and last event of a batch as a session sees it, and its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchRange {
    /// Its first event.
    pub first: Seq,
    /// Its last event.
    pub last: Seq,
    /// Its digest.
    pub digest: Digest,
}

impl BatchRange {
    fn of(slice: &Slice) -> Self {
        let (batch, next) = (&slice.batch, slice.until.min(slice.batch.next()));
        Self { first: batch.first.max(slice.from), last: Seq(next.0.saturating_sub(1)), digest: batch.digest }
    }

    /// Its hash in the tree of the session.
    pub fn hash(&self) -> TreeHash {
        batch_hash(self.first, self.last, self.digest)
    }
}

/// The batches of a session from `from` to before `until`, inherited ones included, each given to `take`.
///
/// # Errors
/// As [`EventLog::read`].
pub async fn each_batch(
    log: &dyn EventLog,
    session: SessionId,
    (from, until): (Seq, Seq),
    mut take: impl FnMut(BatchRange),
) -> Result<(), ReadError> {
    let mut pages = log.pages(session, from..until);
    while let Some(page) = pages.next_page().await? {
        page.iter().map(BatchRange::of).for_each(&mut take);
    }
    Ok(())
}

/// Appends a head for each of these sessions that has grown since its last one, and gives how many. Reads what is new.
///
/// # Errors
/// When a session does not continue its last head: nothing that contradicts what was signed is signed.
pub async fn advance(
    list: &mut HeadList,
    log: &dyn EventLog,
    sessions: &[SessionHead],
    random: &mut (dyn FnMut() -> io::Result<[u8; 32]> + Send),
) -> Result<usize, AdvanceError> {
    let before = list.heads().len();
    for SessionHead { session, head } in sessions {
        let (from, mut batches) = match list.latest(*session) {
            None => (Seq::ZERO, Frontier::default()),
            Some((_, former)) => {
                if let Some(reason) = broken_at(log, former, head.next).await? {
                    return Err(Discontinuity { session: *session, seq: former.seq, reason }.into());
                }
                (former.seq.plus(1), former.batches.clone())
            }
        };
        if head.next <= from {
            continue;
        }
        each_batch(log, *session, (from, head.next), |batch| batches.push(batch.hash())).await?;
        let salt = Salt(random().map_err(AdvanceError::Random)?);
        let seq = Seq(head.next.0.saturating_sub(1));
        list.push(SignedHead { session: *session, seq, digest: head.digest, batches, salt });
    }
    Ok(list.heads().len() - before)
}

/// Whether a session that ends before `next` has the batch that a head names.
async fn broken_at(log: &dyn EventLog, head: &SignedHead, next: Seq) -> Result<Option<DiscontinuityReason>, ReadError> {
    if next <= head.seq {
        return Ok(Some(DiscontinuityReason::Shorter { signed: head.seq, next }));
    }
    let found = match log.batch_at(head.session, head.seq).await {
        Ok(found) => found.as_ref().map(BatchRange::of),
        Err(ReadError::Damaged { seq, reason, .. }) => {
            return Ok(Some(DiscontinuityReason::Unreadable { seq, reason }));
        }
        Err(error) => return Err(error),
    };
    Ok(match found {
        Some(batch) if batch.last != head.seq => Some(DiscontinuityReason::Batches(head.seq)),
        Some(batch) if batch.digest != head.digest => {
            Some(DiscontinuityReason::Digest { seq: head.seq, signed: head.digest, found: batch.digest })
        }
        Some(_) => None,
        None => Some(DiscontinuityReason::Missing(head.seq)),
    })
}

/// Compares a session with all heads of it that were signed, oldest first; `None` when it continues each of them. Reads the
/// session up to the last of them. The digests themselves are not recomputed: see [`crate::exchange::verify_session`].
///
/// # Errors
/// When the store refuses. Damage is an answer.
pub async fn discontinuity_of(
    log: &dyn EventLog,
    session: SessionId,
    heads: &[&SignedHead],
) -> Result<Option<Discontinuity>, ReadError> {
    let Some(last) = heads.last() else { return Ok(None) };
    let broken = |seq, reason| Ok(Some(Discontinuity { session, seq, reason }));
    let Some(now) = log.head(session).await? else {
        return broken(last.seq, DiscontinuityReason::Missing(last.seq));
    };
    for head in heads {
        if let Some(reason) = broken_at(log, head, now.next).await? {
            return broken(head.seq, reason);
        }
    }
    let (mut batches, mut rest, mut wrong) = (Frontier::default(), heads.iter().peekable(), None);
    let read = each_batch(log, session, (Seq::ZERO, last.seq.plus(1)), |batch| {
        batches.push(batch.hash());
        while let Some(head) = rest.next_if(|head| head.seq <= batch.last) {
            if head.batches != batches || head.seq != batch.last {
                wrong.get_or_insert(head.seq);
            }
        }
    });
    match read.await {
        Err(ReadError::Damaged { seq, reason, .. }) => {
            return broken(last.seq, DiscontinuityReason::Unreadable { seq, reason });
        }
        read => read?,
    }
    let missed = rest.next().map(|head| head.seq);
    match wrong.or(missed) {
        Some(seq) => broken(seq, DiscontinuityReason::Batches(seq)),
        None => Ok(None),
    }
}
