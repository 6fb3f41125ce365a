//! The fold over one session that an audit counts by.

use super::SafetyCounts;
use super::calls::{CallFold, EndedCall};
use annals_core::event::{MessageEvent, StepEvent, ToolEvent};
use annals_core::{Blobs, Event, Record, SessionId, kinds};
use std::path::PathBuf;

/// The session whose calls are counted, and what the fold needs besides records.
pub(super) struct SafetyScope<'a> {
    pub(super) session: SessionId,
    /// Whether what ancestors recorded counts, too.
    pub(super) inherited: bool,
    pub(super) blobs: &'a dyn Blobs,
    /// The folder of the project that a directory belongs to.
    pub(super) root: &'a dyn Fn(&str) -> PathBuf,
}

impl SafetyScope<'_> {
    fn takes(&self, session: SessionId) -> bool {
        self.inherited || session == self.session
    }
}

impl SafetyCounts {
    /// Counts a record. `calls` are those of its session.
    pub(super) fn apply(&mut self, calls: &mut CallFold, record: &Record<'_>, scope: &SafetyScope<'_>) {
        let ended = calls.apply(record, scope.blobs, scope.root);
        self.ended(ended, scope);
        if !scope.takes(record.session) {
            return;
        }
        match record.event {
            Event::Step(StepEvent::RequestSent(sent)) => {
                *self.audit.requests.entry(sent.model.clone()).or_default() += 1;
            }
            Event::Tool(ToolEvent::Called(called)) if called.hosted => self.audit.hosted += 1,
            Event::Message(MessageEvent::RedactionApplied(applied)) => {
                for (kind, count) in &applied.counts {
                    let sum = self.audit.redactions.entry(kind.clone()).or_default();
                    *sum = sum.saturating_add(*count);
                }
            }
            Event::Message(MessageEvent::ShellRan(_)) => self.audit.commands.by_user += 1,
            kinds!(
                Session, Input, Context, Profile, Step, Tool, Permission, Compaction, Message, Files, Child, Erasure
            ) => {}
        }
    }

    /// What is still open at the end of a session has no end.
    pub(super) fn session_ended(&mut self, mut calls: CallFold, scope: &SafetyScope<'_>) {
        let ended = calls.end(scope.blobs);
        self.ended(ended, scope);
        self.audit.sessions += 1;
    }

    fn ended(&mut self, ended: Vec<EndedCall>, scope: &SafetyScope<'_>) {
        for EndedCall { call, foreign } in ended {
            if scope.takes(call.session) {
                self.audit.not_recorded += u64::from(foreign);
                self.call(call);
            }
        }
    }
}
