//! Sessions in a few words.

use crate::recorded::{TestBatch, TestSession};
use annals_core::event::{
    Delivery, Failure, Finish, InputAdmitted, InputPromoted, Location, Policy, SessionCreated, StepEnded, StepFailed,
    StepStarted, Switch, TextEnded, ToolCalled, ToolOutcome, ToolSettled,
};
use annals_core::{Batch, BlobHash, CallId, Digest, Event, Json, Seq, SessionId, SessionKey, Text, TextStates, Time};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// When stories begin: 2026-06-03 12:00:00 UTC, a batch per second.
const START: u64 = 1_780_488_000_000;

/// A session that is built batch by batch.
#[derive(Clone, Debug)]
pub struct Story {
    batches: Vec<TestBatch>,
    blobs: BTreeMap<BlobHash, String>,
    session: SessionId,
    inputs: u64,
    calls: Vec<CallId>,
    in_step: bool,
}

/// Begins a session with its first event.
///
/// Each word is one or more batches: `story().prompt("Run the tests").call("bash", json!({"command": "make"})).result("ok")
/// .answer("They pass")`. [`Story::session`] ends it. As in a recorded session, a text above 8 KiB is a reference: [`TestSession::blobs`]
/// resolves it.
pub fn story() -> Story {
    let session = SessionId::from_parts(START, 1);
    let story =
        Story { batches: Vec::new(), blobs: BTreeMap::new(), session, inputs: 0, calls: Vec::new(), in_step: false };
    story.events([SessionCreated {
        location: Location { directory: "/project".into(), workspace: None },
        agent: "build".into(),
        model: "test/alpha".into(),
        policy: Policy { agent_switch: Switch::Keep, model_switch: Switch::Keep },
        title: None,
        parent: None,
        origin: None,
        process: None,
        key: SessionKey([7; 32]).into(),
    }
    .into()])
}

impl Story {
    /// Events of any kind that are written together.
    ///
    /// # Panics
    /// When there is none, or they are too large for one batch.
    #[must_use]
    #[track_caller]
    pub fn events(mut self, events: impl IntoIterator<Item = Event>) -> Self {
        let first = self.batches.last().map_or(Seq::ZERO, TestBatch::next);
        let at = Time(START + self.batches.len() as u64 * 1_000);
        let (session, events) = (self.session, events.into_iter().collect());
        let batch =
            Batch { session, first, at, prev: None, digest: Digest([0; 32]), events, states: TextStates::default() };
        // Folds meet references to large texts here as in a store.
        let packed = match batch.pack() {
            Ok(packed) => packed,
            Err(error) => panic!("these events cannot be one batch: {error}"),
        };
        self.blobs.extend(packed.blobs);
        self.batches.push(TestBatch { session, first, at, events: Arc::new(packed.batch.events) });
        self
    }

    /// One event.
    #[must_use]
    pub fn event(self, event: impl Into<Event>) -> Self {
        self.events([event.into()])
    }

    /// A prompt of the user: admitted, then promoted.
    #[must_use]
    pub fn prompt(mut self, text: &str) -> Self {
        self = self.end_step(Finish::Stop);
        self.inputs += 1;
        let input = annals_core::InputId(format!("input-{}", self.inputs));
        let admitted = InputAdmitted {
            input: input.clone(),
            text: Text::from(text.to_owned()),
            attachments: Vec::new(),
            delivery: Delivery::Steer,
        };
        self.event(admitted).event(InputPromoted { input })
    }

    /// A text of the model that ends its answer.
    #[must_use]
    pub fn answer(mut self, text: &str) -> Self {
        self = self.settle_open().begin_step();
        let ended = TextEnded { index: 0, text: Text::from(text.to_owned()), metadata: None };
        self.event(ended).end_step(Finish::Stop)
    }

    /// A call of a tool. Several calls before a result are made in one answer.
    #[must_use]
    pub fn call(mut self, tool: &str, input: impl Serialize) -> Self {
        self = self.begin_step();
        let input = serde_json::to_string(&input).unwrap_or_else(|error| panic!("the input of {tool}: {error}"));
        let number = self.batches.len();
        let call = CallId(format!("call-{number}"));
        self.calls.push(call.clone());
        let index = u32::try_from(self.calls.len()).unwrap_or(u32::MAX) - 1;
        let (name, input) = (tool.to_owned(), Json::received(input));
        self.event(ToolCalled { index, call, name, input, hosted: false, metadata: None })
    }

    /// The result of the oldest open call.
    ///
    /// # Panics
    /// When no call is open.
    #[must_use]
    #[track_caller]
    pub fn result(self, output: &str) -> Self {
        let output = Text::from(output.to_owned());
        self.settle(|call| ToolSettled { output, ..ToolSettled::bare(call, ToolOutcome::Completed) })
    }

    /// The failure of the oldest open call.
    ///
    /// # Panics
    /// When no call is open.
    #[must_use]
    #[track_caller]
    pub fn failure(self, error: &str) -> Self {
        let error = Some(Text::from(error.to_owned()));
        self.settle(|call| ToolSettled { error, ..ToolSettled::bare(call, ToolOutcome::Failed) })
    }

    /// An answer that fails.
    #[must_use]
    pub fn fails(mut self, message: &str) -> Self {
        self = self.begin_step();
        self.in_step = false;
        let error = Failure { kind: "other".into(), message: Text::from(message.to_owned()), status: None };
        self.event(StepFailed { error, usage: None, cost: 0 })
    }

    /// The session.
    pub fn session(self) -> TestSession {
        let Self { batches, blobs, .. } = self.settle_open().end_step(Finish::Stop);
        TestSession::built(batches, blobs)
    }

    fn begin_step(mut self) -> Self {
        if std::mem::replace(&mut self.in_step, true) {
            return self;
        }
        self.event(StepStarted { agent: "build".into(), model: "test/alpha".into(), files: None, answer: None })
    }

    fn end_step(mut self, finish: Finish) -> Self {
        if !std::mem::take(&mut self.in_step) {
            return self;
        }
        self.event(StepEnded { finish, usage: None, cost: 0, files: None, changed: Vec::new() })
    }

    #[track_caller]
    fn settle(mut self, settled: impl FnOnce(CallId) -> ToolSettled) -> Self {
        assert!(!self.calls.is_empty(), "no call is open: `call` comes before `result` and `failure`");
        let call = self.calls.remove(0);
        self = self.event(settled(call));
        match self.calls.is_empty() {
            true => self.end_step(Finish::ToolCalls),
            false => self,
        }
    }

    fn settle_open(mut self) -> Self {
        while !self.calls.is_empty() {
            self = self.settle(|call| ToolSettled::bare(call, ToolOutcome::Interrupted));
        }
        self
    }
}
