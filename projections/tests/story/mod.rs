//! A small legal writer: turns commands of any kind into events that a correct runtime could have appended.
//!
//! It is deliberately not the runtime: it keeps the least state that legality needs, so that laws over its output do
//! not repeat the code that they judge.
#![allow(dead_code, reason = "each test binary uses a part of it")]

mod command;
mod facts;
mod writing;

#[allow(unused_imports, reason = "each test binary uses a part of it")]
pub use command::{Command, commands};
#[allow(unused_imports, reason = "each test binary uses a part of it")]
pub use facts::settled;

use annals_core::event::*;
use annals_core::{Batch, CallId, Event, InputId, Key, Legality, NoBlobs, RequestId, Seq, SessionId, SessionKey, Time};
use facts::location;
use std::collections::BTreeSet;

/// The key of every session here.
pub const KEY: SessionKey = SessionKey([0x0f; 32]);

/// The log that a writer has made, and what legality needs to know of it.
pub struct Writer {
    pub session: SessionId,
    pub batches: Vec<Batch>,
    pub next: Seq,
    at: Time,
    inputs: u64,
    waiting: Vec<(InputId, bool, Seq)>,
    users: Vec<Seq>,
    messages: Vec<Seq>,
    calls: u64,
    open: Vec<(CallId, Seq)>,
    settled: Vec<(CallId, Seq)>,
    step: Option<(Seq, u32)>,
    epoch: Option<BTreeSet<Key>>,
    compactions: Vec<Seq>,
    pinned: Vec<Seq>,
    staged: Option<Seq>,
    locations: u64,
    /// Whether the present location's files were captured.
    captured: bool,
    titling: Option<RequestId>,
    restoring: bool,
    departing: bool,
    legality: Legality,
}

impl Writer {
    pub fn new() -> Self {
        let mut writer = Self {
            session: SessionId::from_parts(1_780_488_000_000, 1),
            batches: Vec::new(),
            next: Seq::ZERO,
            at: Time(1_780_488_000_000),
            inputs: 0,
            waiting: Vec::new(),
            users: Vec::new(),
            messages: Vec::new(),
            calls: 0,
            open: Vec::new(),
            settled: Vec::new(),
            step: None,
            epoch: None,
            compactions: Vec::new(),
            pinned: Vec::new(),
            staged: None,
            locations: 0,
            captured: false,
            titling: None,
            restoring: false,
            departing: false,
            legality: Legality::default(),
        };
        writer.append(vec![
            SessionCreated {
                location: location(0),
                agent: "build".into(),
                model: "test/alpha".into(),
                policy: Policy::default(),
                title: None,
                parent: None,
                origin: None,
                process: None,
                key: KEY.into(),
            }
            .into(),
        ]);
        writer
    }

    pub fn run(commands: &[Command]) -> Self {
        let mut writer = Self::new();
        commands.iter().for_each(|command| writer.command(command));
        writer
    }

    pub fn append(&mut self, events: Vec<Event>) -> Seq {
        let first = self.next;
        for event in &events {
            assert_eq!(self.legality.may_follow(event), Ok(()), "event {}: {event:?}", self.legality.next());
            self.legality.apply(event);
        }
        let prev = self.batches.last().map(|batch| batch.digest);
        self.at = self.at.plus(1_000);
        let sealed =
            Batch::seal(&KEY, &NoBlobs, self.session, first, self.at, prev, events).expect("a legal batch seals");
        self.next = sealed.batch.next();
        self.batches.push(sealed.batch);
        first
    }

    fn message(&mut self, events: Vec<Event>) -> Seq {
        let seq = self.append(events);
        self.messages.push(seq);
        seq
    }

    pub(super) fn forget(&mut self, first_removed: Seq) {
        self.users.retain(|seq| *seq < first_removed);
        self.messages.retain(|seq| *seq < first_removed);
        self.compactions.retain(|seq| *seq < first_removed);
        self.pinned.retain(|seq| *seq < first_removed);
        self.waiting.retain(|(_, _, seq)| *seq < first_removed);
        self.open.retain(|(_, seq)| *seq < first_removed);
        self.settled.retain(|(_, seq)| *seq < first_removed);
        self.epoch = None;
        // What was captured before it may be all gone: a step says so anew.
        self.captured = false;
    }
}
