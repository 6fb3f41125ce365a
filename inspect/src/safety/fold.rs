//! The fold over one session that an audit counts by.

use super::SafetyCounts;
use super::calls::{CallFold, EndedCall};
use annals_core::event::{MessageEvent, StepEvent, ToolEvent};
use annals_core::{Blobs, Event, Record, SessionId};
use std::path::PathBuf;

pub(super) struct SafetyFold<'a> {
    session: SessionId,
    inherited: bool,
    blobs: &'a dyn Blobs,
    root: &'a dyn Fn(&str) -> PathBuf,
    counts: &'a mut SafetyCounts,
    calls: CallFold,
}

impl<'a> SafetyFold<'a> {
    pub(super) fn new(
        session: SessionId,
        inherited: bool,
        blobs: &'a dyn Blobs,
        root: &'a dyn Fn(&str) -> PathBuf,
        counts: &'a mut SafetyCounts,
    ) -> Self {
        Self { session, inherited, blobs, root, counts, calls: CallFold::default() }
    }

    fn counts(&self, session: SessionId) -> bool {
        self.inherited || session == self.session
    }

    pub(super) fn apply(&mut self, record: &Record<'_>) {
        let ended = self.calls.apply(record, self.blobs, self.root);
        self.ended(ended);
        if !self.counts(record.session) {
            return;
        }
        match record.event {
            Event::Step(StepEvent::RequestSent(sent)) => {
                *self.counts.audit.requests.entry(sent.model.clone()).or_default() += 1;
            }
            Event::Tool(ToolEvent::Called(called)) if called.hosted => self.counts.audit.hosted += 1,
            Event::Message(MessageEvent::RedactionApplied(applied)) => {
                for (kind, count) in &applied.counts {
                    let sum = self.counts.audit.redactions.entry(kind.clone()).or_default();
                    *sum = sum.saturating_add(*count);
                }
            }
            Event::Message(MessageEvent::ShellRan(_)) => self.counts.audit.commands.by_user += 1,
            Event::Session(_)
            | Event::Input(_)
            | Event::Context(_)
            | Event::Profile(_)
            | Event::Step(_)
            | Event::Tool(_)
            | Event::Permission(_)
            | Event::Compaction(_)
            | Event::Message(_)
            | Event::Files(_)
            | Event::Child(_)
            | Event::Erasure(_) => {}
        }
    }

    /// What is still open has no end.
    pub(super) fn end(&mut self) {
        let ended = self.calls.end(self.blobs);
        self.ended(ended);
    }

    fn ended(&mut self, ended: Vec<EndedCall>) {
        for EndedCall { call, foreign } in ended {
            if self.counts(call.session) {
                self.counts.audit.not_recorded += u64::from(foreign);
                self.counts.call(call);
            }
        }
    }
}
