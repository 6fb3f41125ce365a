//! A model of ownership (`ipc::SharedLog`), run under every schedule that shuttle chooses: an owner that closes the store while
//! others call it, and guests that compete to follow it, one of them with two calls at a time.
//!
//! Invariants:
//! - every call of a process that has not closed the store is answered (a call that waits for ever is a deadlock, and one that is
//!   repeated for ever exceeds the number of steps);
//! - only the process that holds the lock writes;
//! - each appended value is in the log once, although calls are repeated when their answer was lost;
//! - a process that owns the store keeps it until it closes it.

use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;
use std::collections::VecDeque;

/// A line of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The protocol as it is.
    None,
    /// `SharedState::renew` does not ask whether another call found the next owner meanwhile.
    RenewsTwice,
    /// Two calls of a process look for the next owner at the same time.
    RenewsAtOnce,
    /// An append that is repeated is not recognised.
    AppendsAgain,
    /// The next owner opens the store before the former one has left it.
    IgnoresTheLock,
    /// A server that stops leaves queued calls without an answer.
    StopsWithoutAnswers,
}

/// The store's folder: the lock, the socket, and what is on the disk.
struct Folder {
    fault: Fault,
    /// The number of the owner that holds the lock.
    lock: Mutex<Option<u64>>,
    socket: Mutex<Option<Arc<Server>>>,
    owners: Mutex<u64>,
    log: Mutex<Vec<u64>>,
}

/// A call on its way, and its answer: `false` when the connection broke.
struct Call {
    value: u64,
    answer: Arc<(Mutex<Option<bool>>, Condvar)>,
}

/// `ipc::server::Server`: connections to an owner.
struct Server {
    /// The queued calls; `None` once it stopped.
    queue: Mutex<Option<VecDeque<Call>>>,
    changed: Condvar,
}

/// An opened store: `DiskLog`, its lock and its server.
struct Owner {
    folder: Arc<Folder>,
    number: u64,
    server: Arc<Server>,
    /// Whether the store was closed.
    closed: Mutex<bool>,
}

#[derive(Clone)]
enum Role {
    Owner(Arc<Owner>),
    Guest(Arc<Server>),
    Closed,
}

/// `ipc::SharedLog` of one process.
struct Process {
    folder: Arc<Folder>,
    /// The role and its number, which grows with each change.
    role: Mutex<(u64, Role)>,
    renewing: Mutex<()>,
}

impl Server {
    /// A call over a connection: gives whether it was answered.
    fn ask(&self, value: u64) -> bool {
        let answer = Arc::new((Mutex::new(None), Condvar::new()));
        {
            let mut queue = self.queue.lock().unwrap();
            let Some(queue) = queue.as_mut() else { return false };
            queue.push_back(Call { value, answer: answer.clone() });
        }
        self.changed.notify_all();
        let mut answered = answer.0.lock().unwrap();
        loop {
            match *answered {
                Some(answered) => return answered,
                None => answered = answer.1.wait(answered).unwrap(),
            }
        }
    }

    fn is_running(&self) -> bool {
        self.queue.lock().unwrap().is_some()
    }

    fn run(&self, owner: &Owner) {
        loop {
            let call = {
                let mut queue = self.queue.lock().unwrap();
                loop {
                    match queue.as_mut().map(VecDeque::pop_front) {
                        None => return,
                        Some(Some(call)) => break call,
                        Some(None) => queue = self.changed.wait(queue).unwrap(),
                    }
                }
            };
            let done = owner.append(call.value);
            // The connection may break after the call was done.
            reply(&call, done && (self.is_running() || thread_rng().gen_bool(0.5)));
        }
    }

    fn stop(&self, fault: Fault) {
        let queued = self.queue.lock().unwrap().take().unwrap_or_default();
        self.changed.notify_all();
        if fault != Fault::StopsWithoutAnswers {
            queued.iter().for_each(|call| reply(call, false));
        }
    }
}

fn reply(call: &Call, answer: bool) {
    *call.answer.0.lock().unwrap() = Some(answer);
    call.answer.1.notify_all();
}

impl Owner {
    /// `DiskLog::append`: false when the store is closed.
    fn append(&self, value: u64) -> bool {
        let closed = self.closed.lock().unwrap();
        if *closed {
            return false;
        }
        assert_eq!(*self.folder.lock.lock().unwrap(), Some(self.number), "who does not hold the lock writes");
        let mut log = self.folder.log.lock().unwrap();
        if !log.contains(&value) || self.folder.fault == Fault::AppendsAgain {
            log.push(value);
        }
        true
    }

    /// `SharedLog::close`: the server stops, then the store is closed, then the lock is released.
    fn close(&self) {
        self.server.stop(self.folder.fault);
        *self.closed.lock().unwrap() = true;
        *self.folder.lock.lock().unwrap() = None;
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(*self.closed.lock().unwrap(), "a process lost the store that it owned");
        }
    }
}

impl Folder {
    /// `join_or_own`: connects to the owner, or becomes it.
    fn join_or_own(self: &Arc<Self>) -> Role {
        loop {
            let server = self.socket.lock().unwrap().clone();
            if let Some(server) = server.filter(|server| server.is_running()) {
                return Role::Guest(server);
            }
            thread::yield_now();
            let mut lock = self.lock.lock().unwrap();
            if lock.is_none() || self.fault == Fault::IgnoresTheLock {
                let number = {
                    let mut owners = self.owners.lock().unwrap();
                    *owners += 1;
                    *owners
                };
                *lock = Some(number);
                drop(lock);
                let server = Arc::new(Server { queue: Mutex::new(Some(VecDeque::new())), changed: Condvar::new() });
                let (folder, closed) = (self.clone(), Mutex::new(false));
                let owner = Arc::new(Owner { folder, number, server: server.clone(), closed });
                *self.socket.lock().unwrap() = Some(server.clone());
                let served = owner.clone();
                thread::spawn(move || server.run(&served));
                return Role::Owner(owner);
            }
            drop(lock);
            thread::yield_now();
        }
    }
}

impl Process {
    fn open(folder: &Arc<Folder>) -> Arc<Self> {
        let role = folder.join_or_own();
        Arc::new(Self { folder: folder.clone(), role: Mutex::new((0, role)), renewing: Mutex::new(()) })
    }

    /// `SharedLog::append`, the macro `through!`: gives whether it was answered.
    fn append(&self, value: u64) -> bool {
        for _ in 0..32 {
            let (number, role) = self.role.lock().unwrap().clone();
            let done = match role {
                Role::Closed => return false,
                Role::Owner(owner) => return owner.append(value),
                Role::Guest(server) => server.ask(value),
            };
            if done {
                return true;
            }
            self.renew(number);
        }
        panic!("a call outlives every owner");
    }

    /// `SharedState::renew`.
    fn renew(&self, seen: u64) {
        let _renewing = (self.folder.fault != Fault::RenewsAtOnce).then(|| self.renewing.lock().unwrap());
        let number = match &*self.role.lock().unwrap() {
            (_, Role::Closed) => return,
            (number, _) => *number,
        };
        if number != seen && self.folder.fault != Fault::RenewsTwice {
            return;
        }
        let role = self.folder.join_or_own();
        let mut held = self.role.lock().unwrap();
        let number = held.0 + 1;
        let before = std::mem::replace(&mut *held, (number, role));
        drop(held);
        if let (_, Role::Owner(owner)) = before {
            assert!(*owner.closed.lock().unwrap(), "a process lost the store that it owned");
        }
    }

    fn close(&self) {
        let _renewing = self.renewing.lock().unwrap();
        let mut held = self.role.lock().unwrap();
        let number = held.0 + 1;
        let (_, before) = std::mem::replace(&mut *held, (number, Role::Closed));
        drop(held);
        if let Role::Owner(owner) = before {
            owner.close();
        }
    }
}

fn run(fault: Fault) {
    let (lock, socket, owners, log) = Default::default();
    let folder = Arc::new(Folder { fault, lock, socket, owners, log });
    let first = Process::open(&folder);
    let others = [Process::open(&folder), Process::open(&folder)];
    // Of the second process two calls at a time, of the third one.
    let calls = [(0, 0), (0, 1), (1, 2)];
    let callers: Vec<_> = calls
        .into_iter()
        .map(|(process, caller)| {
            let process = others[process].clone();
            thread::spawn(move || {
                for n in 0..2 {
                    assert!(process.append(10 * caller + n), "a call of an open store was not answered");
                }
            })
        })
        .collect();
    let closing = thread::spawn(move || {
        first.append(100);
        first.close();
    });
    closing.join().unwrap();
    callers.into_iter().for_each(|caller| caller.join().unwrap());
    others.iter().for_each(|process| process.close());
    let mut log = folder.log.lock().unwrap().clone();
    log.sort_unstable();
    assert_eq!(log, [0, 1, 10, 11, 20, 21, 100], "each value is in the log once");
}

/// How many schedules are tried: `ANNALS_SCHEDULES` for a longer exploration.
fn schedules() -> usize {
    std::env::var("ANNALS_SCHEDULES").ok().and_then(|number| number.parse().ok()).unwrap_or(500)
}

#[test]
fn every_call_is_answered_whoever_owns_the_store() {
    shuttle::check_random(|| run(Fault::None), schedules());
    shuttle::check_pct(|| run(Fault::None), schedules(), 3);
}

#[test]
fn a_broken_protocol_is_found() {
    use Fault::{AppendsAgain, IgnoresTheLock, RenewsAtOnce, RenewsTwice, StopsWithoutAnswers};
    let faults = [RenewsTwice, RenewsAtOnce, AppendsAgain, IgnoresTheLock, StopsWithoutAnswers];
    // A thread each: after a failed run, shuttle can leave its thread panicking.
    let is_missed = |fault: &Fault| {
        let fault = *fault;
        std::thread::spawn(move || shuttle::check_random(move || run(fault), 5_000)).join().is_ok()
    };
    let missed: Vec<Fault> = faults.into_iter().filter(is_missed).collect();
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}
