//! The keeper: a thread that writes the list of heads after a rotation, and packs what was sealed.

use super::sessions::Sessions;
use super::shared::Shared;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

/// A segment was begun.
#[derive(Debug)]
pub struct Rotated {
    /// Every Session as it stood then.
    pub sessions: Sessions,
}

/// Works until the committer is gone. Whatever fails is tried again at the next rotation or opening.
pub fn run(shared: &Arc<Shared>, rotations: &Receiver<Rotated>) {
    if shared.tuning.pack {
        // What a stopped process left.
        pack(shared);
    }
    for Rotated { sessions } in rotations {
        if let Err(error) = sessions.save(&*shared.disk, &shared.layout.heads()) {
            tracing::warn!(%error, "the list of heads could not be written");
        }
        if shared.tuning.pack {
            pack(shared);
        }
    }
}

/// Packs every segment that grows no more.
pub fn pack(shared: &Shared) {
    let segments = shared.journal.segments();
    for (segment, end) in segments.iter().filter(|(segment, end)| *end != u64::MAX && !segment.is_packed()) {
        if shared.closed.load(Ordering::Acquire) {
            return;
        }
        if let Err(error) = shared.journal.seal(segment, *end) {
            tracing::warn!(segment = %segment.path().display(), %error, "a segment could not be packed");
        }
    }
}
