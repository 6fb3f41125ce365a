//! A thread that goes back to an earlier state, or is continued by a fork.

use super::header::RolloutHeader;
use super::mapping::RolloutMapper;
use annals_core::event::*;
use annals_core::{Digest, Seq, SessionId, StoredKey, Time};

impl RolloutMapper {
    /// The thread that continues this one from here: `parent` is this one's session. The driver adds the digest.
    pub fn forked(&self, meta: RolloutHeader, origin: Origin, parent: SessionId, cut: Seq) -> Self {
        let mut fork = Self { origin, is_forked: true, next: cut, out: Vec::new(), step: None, ..self.clone() };
        fork.calls.clear();
        fork.shown.clear();
        fork.children.clear();
        let at = Time(meta.created);
        let forked = SessionForked {
            parent,
            cut,
            parent_digest: Digest([0; 32]),
            title: meta.title(),
            origin: Some(fork.origin.clone()),
            key: StoredKey::NONE,
        };
        fork.push(1, at, vec![forked.into()]);
        if meta.process != fork.meta.process {
            fork.push(1, at, vec![ProcessAttached { process: meta.process.clone() }.into()]);
        }
        fork.meta = RolloutHeader { instructions: fork.meta.instructions, ..meta };
        fork
    }

    /// Goes back to an earlier state of this thread, in which the next event had the number `seq`.
    pub fn rewind(&mut self, to: &Self, seq: Seq, line: u64, at: Time) {
        self.close();
        if seq < self.next {
            self.push(line, at, vec![RevertCommitted { first_removed: seq }.into()]);
        }
        self.calls.clear();
        self.shown.clear();
        self.cause = to.cause;
        self.pieces.clone_from(&to.pieces);
        self.inputs.clone_from(&to.inputs);
        self.total.clone_from(&to.total);
        self.unassigned = None;
    }

    /// The number of the next event behind the end of an answer that is complete, or ends with the next line.
    pub fn end_of_answer(&self) -> Seq {
        self.next.plus(u64::from(self.step.is_some()))
    }

    /// A name that the thread got.
    pub fn title(&mut self, line: u64, at: Time, name: &str) {
        self.close_complete();
        self.push(line, at, vec![SessionTitled::given(name).into()]);
    }
}
