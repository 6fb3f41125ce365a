//! Reading ahead: a thread that brings blocks of the journal into memory just before a reader of a long Session needs
//! them, so that unpacking goes on beside decoding.

use crate::disk::journal::block::View;
use crate::disk::state::Shared;
use annals_core::{Seq, SessionId};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// How many blocks are brought ahead of a reader.
pub const AHEAD: usize = 6;

/// How many wishes may wait. A reader never waits to tell one.
const WISHES: usize = 8;

/// Blocks that somebody will read, in order.
pub type Wish = (View, Vec<usize>);

/// The way to the thread, and the thread's end of it.
pub fn channel() -> (SyncSender<Wish>, Receiver<Wish>) {
    sync_channel(WISHES)
}

/// Works until nobody can wish any more.
pub fn run(shared: &Arc<Shared>, wishes: &Receiver<Wish>) {
    while let Ok((view, numbers)) = wishes.recv() {
        for number in numbers {
            // The reader meets the same error, or not: it is the one to tell it.
            if let Err(error) = shared.journal.block(&view, number) {
                tracing::debug!(%error, "a block could not be read ahead");
                break;
            }
        }
    }
}

impl Shared {
    /// Says that the blocks of a Session behind `seq`, where `view` was just read, will be read next.
    pub(in crate::disk) fn read_ahead(&self, session: SessionId, seq: Seq, view: &View) {
        let Some(part) = view.outline.sessions.get(&session) else { return };
        let spans = part.spans_from(seq).iter().skip(1).take(AHEAD);
        let near: Vec<usize> = spans.map(|span| span.block as usize).collect();
        let room = AHEAD - near.len();
        self.wish(view.clone(), near);
        if room == 0 {
            return;
        }
        if let Ok(Some(behind)) = self.journal.holding(session, part.to)
            && let Some(part) = behind.outline.sessions.get(&session)
        {
            let far = part.spans.iter().take(room).map(|span| span.block as usize).collect();
            self.wish(behind, far);
        }
    }

    /// Says that the blocks of a view behind one will be read next.
    pub(in crate::disk) fn read_blocks_ahead(&self, view: &View, number: usize) {
        let numbers = (number + 1..view.outline.blocks.len()).take(AHEAD).collect();
        self.wish(view.clone(), numbers);
    }

    fn wish(&self, view: View, mut numbers: Vec<usize>) {
        numbers.retain(|number| !self.journal.is_loaded(&view, *number));
        if numbers.is_empty() {
            return;
        }
        let ahead = self.ahead.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // When the thread has enough to do, the reader reads for itself.
        if let Some(Err(TrySendError::Disconnected(_))) = ahead.as_ref().map(|ahead| ahead.try_send((view, numbers))) {
            tracing::debug!("nobody reads ahead any more");
        }
    }
}
