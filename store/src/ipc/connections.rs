//! The connections of a served log: how many there may be, and which one ends when there are too many.
//!
//! ```text
//! accepted ─► new ─ greets ─► idle ◄─► busy (a call, or following)
//! ```
//! When the limit is reached, the oldest that has not greeted ends, else the one that has been idle longest: its guest
//! connects again for its next call. While all are busy, new ones are refused.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::task::{AbortHandle, Id};

/// The most connections, if the process may open that many files.
const GUESTS_MAX: usize = 512;

/// One of how many of the files that a process may open may be a connection: the journal and sled need the others.
const SHARE: u64 = 3;

/// What a connection does, and since which change of any connection.
#[derive(Debug)]
pub(super) struct ConnectionState(AtomicU64, Arc<AtomicU64>);

const NEW: u64 = 0;
const IDLE: u64 = 1;
const BUSY: u64 = 2;

impl ConnectionState {
    fn set(&self, what: u64) {
        let clock = self.1.fetch_add(1, Ordering::Relaxed);
        self.0.store(clock << 2 | what, Ordering::Relaxed);
    }

    /// It waits for its guest to ask something.
    pub fn idle(&self) {
        self.set(IDLE);
    }

    /// It answers, or is followed over.
    pub fn busy(&self) {
        self.set(BUSY);
    }
}

/// The connections there are.
#[derive(Debug, Default)]
pub(super) struct Connections {
    connections: HashMap<Id, (AbortHandle, Arc<ConnectionState>)>,
    clock: Arc<AtomicU64>,
    max: usize,
}

impl Connections {
    /// As many as this process may serve.
    pub fn new() -> Self {
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
        let max = usize::try_from(files / SHARE).unwrap_or(GUESTS_MAX).clamp(1, GUESTS_MAX);
        Self { max, ..Self::default() }
    }

    /// Makes room for a new connection, by ending another one if need be. False when all are busy.
    pub fn make_room(&mut self) -> bool {
        if self.connections.len() < self.max {
            return true;
        }
        let state = |(_, state): &(AbortHandle, Arc<ConnectionState>)| state.0.load(Ordering::Relaxed);
        let idle = self.connections.iter().map(|(id, guest)| (*id, state(guest)));
        let idle = idle.filter(|(_, state)| state & 3 != BUSY).min_by_key(|(_, state)| (state & 3, state >> 2));
        let Some((task, _)) = idle.and_then(|(id, _)| self.connections.remove(&id)) else { return false };
        task.abort();
        true
    }

    /// What a new connection does.
    pub fn state(&self) -> Arc<ConnectionState> {
        let state = Arc::new(ConnectionState(AtomicU64::new(NEW), self.clock.clone()));
        state.set(NEW);
        state
    }

    /// A connection is served by this task.
    pub fn began(&mut self, task: AbortHandle, state: Arc<ConnectionState>) {
        self.connections.insert(task.id(), (task, state));
    }

    /// The task ended.
    pub fn ended(&mut self, task: Id) {
        self.connections.remove(&task);
    }
}

#[cfg(test)]
mod tests {
    use super::Connections;

    #[tokio::test]
    async fn the_one_that_did_not_greet_ends_before_idle_ones_and_busy_ones_never() {
        let mut guests = Connections { max: 3, ..Connections::default() };
        let mut tasks = tokio::task::JoinSet::new();
        let mut join = |guests: &mut Connections| {
            if !guests.make_room() {
                return None;
            }
            let state = guests.state();
            let task = tasks.spawn(std::future::pending::<()>());
            guests.began(task.clone(), state.clone());
            Some((task, state))
        };
        let (first, state_first) = join(&mut guests).unwrap();
        let (second, state_second) = join(&mut guests).unwrap();
        let (third, state_third) = join(&mut guests).unwrap();
        state_second.idle();
        state_first.idle();
        let (fourth, state_fourth) = join(&mut guests).unwrap();
        state_fourth.busy();
        let (fifth, state_fifth) = join(&mut guests).unwrap();
        state_fifth.busy();
        state_first.busy();
        assert!(join(&mut guests).is_none(), "all are busy");
        tokio::task::yield_now().await;
        let ended = [&first, &second, &third, &fourth, &fifth].map(tokio::task::AbortHandle::is_finished);
        assert_eq!(ended, [false, true, true, false, false]);
        drop(state_third);
    }
}
