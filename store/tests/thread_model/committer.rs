//! The committer: writes and flushes groups, answers, and passes them on to the sled writer.

use crate::thread_model::Fault;
use crate::thread_model::store::{Group, Request, Segment, Store};
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::Arc;
use shuttle::sync::atomic::Ordering;
use shuttle::sync::mpsc::{Receiver, Sender};
use shuttle::thread;

/// The committer waits while sled lacks more than this.
const LAG: u64 = 2;

/// `threads::committer::Committer`.
pub struct Committer {
    pub store: Arc<Store>,
    pub next: u64,
    pub groups: Sender<Group>,
    /// How many flushes may still fail.
    pub failures: u32,
}

impl Committer {
    pub fn run(mut self, orders: &Receiver<Request>) {
        while let Ok(first) = orders.recv() {
            let mut group = vec![first];
            group.extend(orders.try_iter());
            self.commit(group);
        }
    }

    /// `Committer::commit`, `write` and `publish`.
    fn commit(&mut self, group: Vec<Request>) {
        let (store, fault) = (self.store.clone(), self.store.fault);
        if fault == Fault::AnswersBeforeFlush {
            for (position, request) in (self.next..).zip(&group) {
                let _ = request.reply.send(Some(position));
            }
        }
        if !self.write(&group) {
            for Request { batch: (session, _), reply } in group {
                store.heads.lock().unwrap()[session].1 = false;
                store.freed.notify_all();
                let _ = reply.send(None);
            }
            return;
        }
        let first = self.next;
        self.next += group.len() as u64;
        if fault != Fault::PublishesEndLate {
            store.end.store(self.next, Ordering::SeqCst);
        }
        for (position, request) in (first..).zip(&group) {
            store.unwritten.lock().unwrap().insert(position, request.batch);
        }
        let frees_early = fault == Fault::FreesBeforeHeadAdvances;
        for Request { batch: (session, number), .. } in &group {
            if frees_early {
                store.heads.lock().unwrap()[*session].1 = false;
                store.freed.notify_all();
            }
            let mut heads = store.heads.lock().unwrap();
            heads[*session].0 = number + 1;
            if !frees_early {
                heads[*session].1 = false;
                store.freed.notify_all();
            }
        }
        let batches = group.iter().map(|request| request.batch).collect();
        for (position, Request { reply, .. }) in (first..).zip(group) {
            // Whoever asked may have gone.
            let _ = reply.send(Some(position));
        }
        self.hand_over(Group { first, batches });
        if fault == Fault::PublishesEndLate {
            store.end.store(self.next, Ordering::SeqCst);
        }
    }

    /// Writes and flushes a group. After a failure a new segment begins at the same position: what is left of the group in
    /// the old one counts no more.
    fn write(&mut self, group: &[Request]) -> bool {
        let mut segments = self.store.segments.lock().unwrap();
        let segment = segments.last_mut().unwrap();
        segment.frames.extend((self.next..).zip(group.iter().map(|request| request.batch)));
        if self.failures > 0 && thread_rng().gen_bool(0.5) {
            self.failures -= 1;
            if self.store.fault != Fault::KeepsSegmentAfterFailure {
                segments.push(Segment { first: self.next, ..Segment::default() });
            }
            return false;
        }
        drop(segments);
        thread::yield_now();
        let mut segments = self.store.segments.lock().unwrap();
        let segment = segments.last_mut().unwrap();
        segment.flushed = segment.frames.len();
        true
    }

    fn hand_over(&self, group: Group) {
        let mut lag = self.store.lag.lock().unwrap();
        *lag += group.batches.len() as u64;
        self.groups.send(group).unwrap();
        while *lag > LAG {
            lag = self.store.lag_fell.wait(lag).unwrap();
        }
    }
}
