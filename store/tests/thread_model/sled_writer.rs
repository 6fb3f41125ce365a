//! The sled writer: fills sled from memory, and from the journal where memory was freed.

use crate::thread_model::Fault;
use crate::thread_model::store::{Batch, Group, Store};
use shuttle::sync::Arc;
use shuttle::sync::atomic::Ordering;
use shuttle::sync::mpsc::{Receiver, RecvTimeoutError};
use shuttle::thread;
use std::collections::VecDeque;
use std::time::Duration;

/// Batches beyond this are evicted from memory.
const MEMORY: usize = 1;

/// `index::sled_writer::SledWriter`.
pub struct SledWriter {
    store: Arc<Store>,
    written_until: u64,
    evicted_until: u64,
    queue: VecDeque<Group>,
}

impl SledWriter {
    pub fn new(store: Arc<Store>) -> Self {
        Self { store, written_until: 0, evicted_until: 0, queue: VecDeque::new() }
    }

    pub fn run(mut self, groups: &Receiver<Group>) {
        loop {
            match groups.recv_timeout(Duration::ZERO) {
                Ok(group) => self.enqueue(group),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            groups.try_iter().for_each(|group| self.enqueue(group));
            self.write_some();
            thread::yield_now();
        }
        while self.write_some() {}
    }

    fn evict(&self, group: &Group) {
        let mut unwritten = self.store.unwritten.lock().unwrap();
        unwritten.retain(|position, _| !(group.first..group.next()).contains(position));
    }

    fn enqueue(&mut self, group: Group) {
        self.queue.push_back(group);
        while self.queue.iter().map(|group| group.batches.len()).sum::<usize>() > MEMORY
            && let Some(oldest) = self.queue.pop_front()
        {
            if self.store.fault != Fault::ForgetsEvicted {
                self.evicted_until = oldest.next();
            }
            for position in oldest.first..oldest.next() {
                assert!(
                    self.store.in_journal(position).is_some(),
                    "{position} is evicted and not readable in the journal"
                );
            }
            self.evict(&oldest);
        }
    }

    fn write_some(&mut self) -> bool {
        let (from, fault) = (self.written_until, self.store.fault);
        let to = if from < self.evicted_until {
            // A block of the journal may reach beyond what was evicted.
            let block = (from + 2).min(self.store.end.load(Ordering::SeqCst));
            let to = if fault == Fault::TakesTooMuchBack { block } else { block.min(self.evicted_until) };
            let found: Vec<_> = (from..to).filter_map(|at| Some((at, self.store.in_journal(at)?))).collect();
            self.insert_all(found.into_iter(), to);
            to
        } else if let Some(group) = self.queue.pop_front() {
            let to = group.next();
            if fault == Fault::EvictsBeforeInsert {
                self.evict(&group);
                self.store.filled.store(to, Ordering::SeqCst);
            }
            self.insert_all((group.first..).zip(group.batches.iter().copied()), to);
            self.evict(&group);
            to
        } else {
            return false;
        };
        let mut lag = self.store.lag.lock().unwrap();
        *lag = lag.saturating_sub(to - from);
        drop(lag);
        if fault != Fault::WakesNobody {
            self.store.lag_fell.notify_all();
        }
        true
    }

    fn insert_all(&mut self, frames: impl Iterator<Item = (u64, Batch)>, to: u64) {
        if self.store.fault == Fault::FilledBeforeInsert {
            self.store.filled.store(to, Ordering::SeqCst);
        }
        for frame in frames {
            self.store.sled.lock().unwrap().push(frame);
        }
        self.written_until = to;
        self.store.filled.store(to, Ordering::SeqCst);
    }
}
