//! The connections of a served log: how many there may be, and which one ends when there are too many.
//!
//! ```text
//! accepted ─► new ─ greets ─► idle ◄─► busy (a call, or following)
//! ```
//! When the limit is reached, the oldest that has not greeted ends, else the one that has been idle longest: its guest
//! connects again when it has something to ask. While all are busy, nobody else is let in.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::task::{AbortHandle, Id};

/// The most connections, if the process may open that many files.
const GUESTS_MAX: usize = 512;

/// One of how many of the files that a process may open may be a connection: the journal and sled need the others.
const PART: u64 = 3;

/// What a connection does, and since which change of any connection.
#[derive(Debug)]
pub(super) struct Doing(AtomicU64, Arc<AtomicU64>);

const NEW: u64 = 0;
const IDLE: u64 = 1;
const BUSY: u64 = 2;

impl Doing {
    fn now(&self, what: u64) {
        let clock = self.1.fetch_add(1, Ordering::Relaxed);
        self.0.store(clock << 2 | what, Ordering::Relaxed);
    }

    /// It waits for its guest to ask something.
    pub fn idle(&self) {
        self.now(IDLE);
    }

    /// It answers, or is followed over.
    pub fn busy(&self) {
        self.now(BUSY);
    }
}

/// The connections there are.
#[derive(Debug, Default)]
pub(super) struct Guests {
    connections: HashMap<Id, (AbortHandle, Arc<Doing>)>,
    clock: Arc<AtomicU64>,
    max: usize,
}

impl Guests {
    /// As many as this process may serve.
    pub fn new() -> Self {
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
        let max = usize::try_from(files / PART).unwrap_or(GUESTS_MAX).clamp(1, GUESTS_MAX);
        Self { max, ..Self::default() }
    }

    /// Makes room for a new connection, by ending another one if need be. False when all are busy.
    pub fn make_room(&mut self) -> bool {
        if self.connections.len() < self.max {
            return true;
        }
        let doing = |(_, doing): &(AbortHandle, Arc<Doing>)| doing.0.load(Ordering::Relaxed);
        let idle = self.connections.iter().map(|(id, guest)| (*id, doing(guest)));
        let idle = idle.filter(|(_, doing)| doing & 3 != BUSY).min_by_key(|(_, doing)| (doing & 3, doing >> 2));
        let Some((task, _)) = idle.and_then(|(id, _)| self.connections.remove(&id)) else { return false };
        task.abort();
        true
    }

    /// What a new connection does.
    pub fn doing(&self) -> Arc<Doing> {
        let doing = Arc::new(Doing(AtomicU64::new(NEW), self.clock.clone()));
        doing.now(NEW);
        doing
    }

    /// A connection is served by this task.
    pub fn began(&mut self, task: AbortHandle, doing: Arc<Doing>) {
        self.connections.insert(task.id(), (task, doing));
    }

    /// The task ended.
    pub fn ended(&mut self, task: Id) {
        self.connections.remove(&task);
    }
}

#[cfg(test)]
mod tests {
    use super::Guests;

    #[tokio::test]
    async fn the_one_that_did_not_greet_ends_before_idle_ones_and_busy_ones_never() {
        let mut guests = Guests { max: 3, ..Guests::default() };
        let mut tasks = tokio::task::JoinSet::new();
        let mut join = |guests: &mut Guests| {
            if !guests.make_room() {
                return None;
            }
            let doing = guests.doing();
            let task = tasks.spawn(std::future::pending::<()>());
            guests.began(task.clone(), doing.clone());
            Some((task, doing))
        };
        let (first, doing_first) = join(&mut guests).unwrap();
        let (second, doing_second) = join(&mut guests).unwrap();
        let (third, doing_third) = join(&mut guests).unwrap();
        doing_second.idle();
        doing_first.idle();
        let (fourth, doing_fourth) = join(&mut guests).unwrap();
        doing_fourth.busy();
        let (fifth, doing_fifth) = join(&mut guests).unwrap();
        doing_fifth.busy();
        doing_first.busy();
        assert!(join(&mut guests).is_none(), "all are busy");
        tokio::task::yield_now().await;
        let ended = [&first, &second, &third, &fourth, &fifth].map(tokio::task::AbortHandle::is_finished);
        assert_eq!(ended, [false, true, true, false, false]);
        drop(doing_third);
    }
}
