//! Reading ahead: a thread that brings blocks of the journal into memory just before a reader of a long session needs
//! them, so that unpacking runs in parallel to decoding.

use crate::disk::journal::block::SegmentView;
use crate::disk::state::StoreState;
use annals_core::{Seq, SessionId};
use std::sync::Weak;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// How many blocks are brought ahead of a reader.
pub const AHEAD: usize = 6;

/// How many requests may wait. A reader never waits for a free place.
const QUEUED: usize = 8;

/// Blocks that will probably be read, in order.
pub type ReadAheadRequest = (SegmentView, Vec<usize>);

/// The way to the thread, and the thread's end of it.
pub fn channel() -> (SyncSender<ReadAheadRequest>, Receiver<ReadAheadRequest>) {
    sync_channel(QUEUED)
}

/// Works until the store is closed, or no reader has it open any more.
pub fn run(shared: &Weak<StoreState>, requests: &Receiver<ReadAheadRequest>) {
    while let Ok((view, numbers)) = requests.recv() {
        let Some(shared) = shared.upgrade() else { return };
        for number in numbers {
            // The reader meets the same error, or not, and reports it.
            if let Err(error) = shared.journal.block(&view, number) {
                tracing::debug!(%error, "a block could not be read ahead");
                break;
            }
        }
    }
}

impl StoreState {
    /// Says that the blocks of a session behind `seq`, where `view` was just read, will be read next.
    pub(in crate::disk) fn read_ahead(&self, session: SessionId, seq: Seq, view: &SegmentView) {
        let Some(part) = view.index.sessions.get(&session) else { return };
        let spans = part.spans_from(seq).iter().skip(1).take(AHEAD);
        let near: Vec<usize> = spans.map(|span| span.block as usize).collect();
        let room = AHEAD - near.len();
        self.request(view.clone(), near);
        if room == 0 {
            return;
        }
        if let Ok(Some(behind)) = self.journal.holding(session, part.to)
            && let Some(part) = behind.index.sessions.get(&session)
        {
            let far = part.spans.iter().take(room).map(|span| span.block as usize).collect();
            self.request(behind, far);
        }
    }

    /// Says that the blocks of a view behind one will be read next.
    pub(in crate::disk) fn read_blocks_ahead(&self, view: &SegmentView, number: usize) {
        let numbers = (number + 1..view.index.blocks.len()).take(AHEAD).collect();
        self.request(view.clone(), numbers);
    }

    fn request(&self, view: SegmentView, mut numbers: Vec<usize>) {
        numbers.retain(|number| !self.journal.is_loaded(&view, *number));
        if numbers.is_empty() {
            return;
        }
        let read_ahead = self.read_ahead.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // When the thread has enough to do, the reader reads for itself.
        if let Some(Err(TrySendError::Disconnected(_))) =
            read_ahead.as_ref().map(|read_ahead| read_ahead.try_send((view, numbers)))
        {
            tracing::debug!("the thread that reads ahead has ended");
        }
    }
}
