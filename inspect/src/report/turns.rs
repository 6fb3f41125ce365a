//! The turns of a session as rows: prompt, calls, marks, what was used.

use crate::timeline::{CommandFailure, command_failure};
use annals_core::event::{ChildEvent, InputEvent, PermissionEvent, StepEvent, ToolEvent, ToolOutcome, Usage};
use annals_core::{Blobs, CallId, Event, InputId, PermissionId, Record, Seq, SessionId, Time};
use annals_projections::ToJson;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// How many characters of a prompt or of a mark are shown.
pub(super) const PROMPT: usize = 200;
/// How many characters of the input of a call are shown.
const CALL: usize = 120;

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportTurn {
    /// From 1; 0 is what precedes the first prompt.
    pub turn: u64,
    /// Its first event.
    pub first: Seq,
    /// Its last event.
    pub last: Seq,
    /// The time of the first.
    pub at: Time,
    /// The time of the last.
    pub ended_at: Time,
    /// The start of the prompt.
    pub prompt: String,
    cuts: [Seq; 0],
    /// Whether anything in it failed.
    pub error: bool,
    /// Tokens that were sent.
    pub input_tokens: u64,
    /// Tokens of the answers.
    pub output_tokens: u64,
    /// In nano-dollars, as recorded.
    pub cost: u64,
    /// The calls of tools.
    pub calls: Vec<ReportCall>,
    /// What else is worth seeing.
    pub marks: Vec<ReportMark>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportCall {
    /// Its id.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The event that recorded the call.
    pub first: Seq,
    /// The event that recorded its end.
    pub last: Option<Seq>,
    /// Milliseconds between them, without what the call waited for a person.
    pub duration_ms: Option<u64>,
    /// How it ended, or `running`.
    pub status: &'static str,
    /// The start of its input.
    pub title: String,
    /// The session that it started.
    pub child: Option<SessionId>,
    /// The start of what the model saw of its failure.
    #[serde(skip)]
    pub failure: Option<String>,
    /// How its command failed, also where the agent recorded the call as completed: `exit 1`, `signal 9` or `time limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub command_failure: Option<CommandFailure>,
    /// When it began, and later by what it waited for replies to questions.
    #[serde(skip)]
    at: Time,
    #[serde(skip)]
    asked: Option<(PermissionId, Time)>,
}

impl ReportCall {
    /// Leaves out the time since a question that has no reply yet.
    fn waited(&mut self, until: Time) {
        if let Some((_, since)) = self.asked.take() {
            self.at = Time(self.at.0.saturating_add(until.0.saturating_sub(since.0)));
        }
    }
}

/// An event that a timeline shows between calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportMark {
    /// The event.
    pub seq: Seq,
    /// `compaction`, `epoch`, `revert`, `permission`, `error` or `erasure`.
    pub kind: &'static str,
    /// What it says.
    pub text: String,
}

/// Folds records into turns.
#[derive(Clone, Debug, Default)]
pub(super) struct TurnFold {
    turns: Vec<ReportTurn>,
    waiting: BTreeMap<InputId, (Seq, String)>,
    users: u64,
    /// The times of the two events before.
    times: [Time; 2],
}

/// The start of a text.
pub(super) fn start(text: &str, chars: usize) -> String {
    text.chars().take(chars).collect()
}

impl TurnFold {
    /// A fold that begins after so many turns.
    pub(super) fn after(turns: u64) -> Self {
        Self { users: turns, ..Self::default() }
    }

    /// Takes in an input that waits.
    pub(super) fn admit(&mut self, record: &Record<'_>, blobs: &dyn Blobs) {
        if let Event::Input(InputEvent::Admitted(admitted)) = record.event {
            let prompt = start(&admitted.text.resolve(blobs), PROMPT);
            self.waiting.insert(admitted.input.clone(), (record.seq, prompt));
        }
    }

    /// Takes in a record.
    pub(super) fn take(&mut self, record: &Record<'_>, blobs: &dyn Blobs) {
        match record.event {
            Event::Input(InputEvent::Admitted(_)) => self.admit(record, blobs),
            Event::Input(InputEvent::Promoted(promoted)) => {
                let admitted = self.waiting.remove(&promoted.input);
                self.begin(record, admitted);
            }
            _ => {}
        }
        if self.turns.is_empty() {
            self.turns.push(ReportTurn::new(0, record.seq, record.at, String::new()));
        }
        let Some(turn) = self.turns.last_mut() else { return };
        (turn.last, turn.ended_at) = (record.seq, record.at);
        turn.take(record, blobs);
        self.times = [self.times[1], record.at];
    }

    /// A prompt that was sent and joined at once begins its turn with its admission.
    fn begin(&mut self, record: &Record<'_>, admitted: Option<(Seq, String)>) {
        let (admitted, prompt) = admitted.unwrap_or((record.seq, String::new()));
        let first = if admitted.plus(1) == record.seq { admitted } else { record.seq };
        if let Some(before) = self.turns.last_mut().filter(|before| before.last >= first) {
            (before.last, before.ended_at) = (Seq(first.0.saturating_sub(1)), self.times[0]);
        }
        while self.turns.last().is_some_and(|turn| turn.first >= first) {
            self.turns.pop();
        }
        self.users += 1;
        self.turns.push(ReportTurn::new(self.users, first, record.at, prompt));
    }

    /// The turns so far.
    pub(super) fn turns(&self) -> &[ReportTurn] {
        &self.turns
    }

    /// The turns with events from `from` on.
    pub(super) fn end(mut self, from: Seq) -> Vec<ReportTurn> {
        self.turns.retain(|turn| turn.last >= from);
        self.turns
    }
}

impl ReportTurn {
    fn new(turn: u64, first: Seq, at: Time, prompt: String) -> Self {
        Self {
            turn,
            first,
            last: first,
            at,
            ended_at: at,
            prompt,
            cuts: [],
            error: false,
            input_tokens: 0,
            output_tokens: 0,
            cost: 0,
            calls: Vec::new(),
            marks: Vec::new(),
        }
    }

    fn take(&mut self, record: &Record<'_>, blobs: &dyn Blobs) {
        match record.event {
            Event::Tool(ToolEvent::Called(called)) => self.calls.push(ReportCall {
                call: called.call.clone(),
                tool: called.name.clone(),
                first: record.seq,
                last: None,
                duration_ms: None,
                status: "running",
                title: start(&called.input.0.resolve(blobs), CALL),
                child: None,
                failure: None,
                command_failure: None,
                at: record.at,
                asked: None,
            }),
            Event::Permission(PermissionEvent::Asked(asked)) => {
                let call = self.calls.iter_mut().rev().find(|call| Some(&call.call) == asked.call.as_ref());
                if let Some(call) = call {
                    call.asked = Some((asked.permission.clone(), record.at));
                }
            }
            Event::Permission(PermissionEvent::Replied(replied)) => {
                let is_of =
                    |call: &&mut ReportCall| call.asked.as_ref().is_some_and(|(it, _)| *it == replied.permission);
                if let Some(call) = self.calls.iter_mut().rev().find(is_of) {
                    call.waited(record.at);
                }
            }
            Event::Tool(ToolEvent::Settled(settled)) => {
                self.error |= settled.outcome != ToolOutcome::Completed;
                if let Some(call) = self.calls.iter_mut().rev().find(|call| call.call == settled.call) {
                    call.last = Some(record.seq);
                    call.waited(record.at);
                    call.duration_ms = Some(record.at.0.saturating_sub(call.at.0));
                    call.status = settled.outcome.as_str();
                    let text = settled.error.as_ref().unwrap_or(&settled.output);
                    call.command_failure =
                        command_failure(settled.structured.as_ref(), &settled.output.resolve(blobs), blobs);
                    let failed = settled.outcome != ToolOutcome::Completed;
                    call.failure = failed.then(|| start(&text.resolve(blobs), PROMPT));
                }
            }
            Event::Child(ChildEvent::Started(started)) => {
                let call = self.calls.iter_mut().rev().find(|call| Some(&call.call) == started.call.as_ref());
                if let Some(call) = call {
                    call.child = Some(started.child);
                }
            }
            Event::Step(StepEvent::Ended(ended)) => self.used(ended.usage, ended.cost),
            Event::Step(StepEvent::Failed(failed)) => self.used(failed.usage, failed.cost),
            _ => {}
        }
        if let Some(kind) = mark(record.event.kind().name()) {
            self.error |= kind == "error";
            let text = mark_text(&record.to_json(blobs));
            self.marks.push(ReportMark { seq: record.seq, kind, text });
        }
    }

    fn used(&mut self, usage: Option<Usage>, cost: u64) {
        let usage = usage.unwrap_or_default();
        let sent = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        self.input_tokens = self.input_tokens.saturating_add(sent);
        self.output_tokens = self.output_tokens.saturating_add(usage.output);
        self.cost = self.cost.saturating_add(cost);
    }
}

/// Which kind of mark a kind of event is.
pub(super) fn mark(kind: &str) -> Option<&'static str> {
    match kind.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('.') {
        "compaction.ended" | "compaction.completed" => Some("compaction"),
        "compaction.failed" | "step.failed" => Some("error"),
        "epoch.started" => Some("epoch"),
        "revert.committed" => Some("revert"),
        "permission.asked" | "permission.replied" => Some("permission"),
        "texts.erased" => Some("erasure"),
        _ => None,
    }
}

/// What an event says in its first member that says something.
fn mark_text(json: &Value) -> String {
    let members = ["summary", "cause", "reply", "action", "error", "reason"];
    let found = members.iter().find_map(|name| json.get(name).filter(|value| !value.is_null()));
    match found {
        Some(Value::String(text)) => start(text, PROMPT),
        Some(other) => {
            let message = other.get("message").and_then(Value::as_str).map(str::to_owned);
            start(&message.unwrap_or_else(|| other.to_string()), PROMPT)
        }
        None => String::new(),
    }
}
