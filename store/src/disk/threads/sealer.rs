//! The sealer: a thread that reserves the next segment ahead of time, writes the list of heads after a rotation, and
//! packs what was sealed when the store is quiet.

use crate::disk::sessions::SessionHeads;
use crate::disk::state::StoreState;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

/// A message to the sealer.
#[derive(Debug)]
pub enum SealerTask {
    /// The growing segment is half full.
    HalfFull,
    /// A segment was begun.
    Rotated {
        /// Every session at that time.
        sessions: SessionHeads,
    },
}

/// How many segments may wait for a quiet moment.
const WAITING: usize = 16;

/// Works until the committer ends. Failed tasks are retried at the next rotation or opening.
pub fn run(shared: &Arc<StoreState>, tasks: &Receiver<SealerTask>) {
    loop {
        match tasks.recv_timeout(shared.tuning.quiet) {
            Ok(SealerTask::HalfFull) => {
                let reserved = shared.check().and_then(|()| shared.journal.reserve(shared.tuning.segment_bytes));
                if let Err(error) = reserved {
                    tracing::debug!(%error, "the next segment could not be reserved ahead of time");
                }
            }
            Ok(SealerTask::Rotated { sessions }) => {
                shared.remark_if_moved();
                let saved = shared.check().and_then(|()| sessions.save(&*shared.disk, &shared.layout.heads()));
                if let Err(error) = saved {
                    tracing::warn!(%error, "the list of heads could not be written");
                }
                if shared.tuning.pack && unpacked(shared) > WAITING {
                    pack_later(shared);
                }
            }
            Err(RecvTimeoutError::Timeout) if shared.tuning.pack => pack_later(shared),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Packs a segment. A failure was reported, and is tried again at the next quiet moment.
fn pack_later(shared: &StoreState) {
    let _ = pack(shared, 1);
}

fn unpacked(shared: &StoreState) -> usize {
    shared.journal.segments().iter().filter(|(segment, end)| *end != u64::MAX && !segment.is_packed()).count()
}

/// Packs up to `limit` of the segments that grow no more, oldest first.
///
/// # Errors
/// The first one; the other segments are packed all the same.
pub fn pack(shared: &StoreState, limit: usize) -> io::Result<()> {
    let segments = shared.journal.segments();
    let sealed = segments.iter().filter(|(segment, end)| *end != u64::MAX && !segment.is_packed());
    let mut packed = Ok(());
    for (segment, end) in sealed.take(limit) {
        if shared.closed.load(Ordering::Acquire) {
            break;
        }
        if let Err(error) = shared.check().and_then(|()| shared.journal.seal(segment, *end)) {
            tracing::warn!(segment = %segment.path().display(), %error, "a segment could not be packed");
            packed = packed.and(Err(error));
        }
    }
    packed
}
