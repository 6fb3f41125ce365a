//! One activity of a recorded session: the answers of the provider, and the actions of people during it.

use annals_core::event::{Failure, Finish, Usage};
use annals_core::{Blobs, CallId, Seq};
use serde_json::{Map, Value, json};

/// From a resumption until the session is idle.
#[derive(Default)]
pub(super) struct RecordedActivity {
    /// Actions before it.
    pub before: Vec<Value>,
    /// The answers of the provider.
    pub attempts: Vec<RecordedAttempt>,
    /// The answers of the user.
    pub replies: Vec<Value>,
    /// Actions since the last attempt ended.
    pub gap: Vec<Value>,
    /// Whether another turn follows automatically.
    pub continues: bool,
    /// Whether an input was promoted.
    pub promoted: bool,
    /// Whether the session moved during it: then no other turn follows.
    pub moved: bool,
}

/// One attempt, while it is assembled.
#[derive(Default)]
pub(super) struct RecordedAttempt {
    pub text: Option<String>,
    pub reasoning: Option<String>,
    pub calls: Vec<RecordedCall>,
    pub usage: Option<Usage>,
    pub finish: Option<Finish>,
    pub error: Option<Map<String, Value>>,
    pub during: Vec<Value>,
    /// Its message.
    pub message: Option<Seq>,
    /// Whether it has not ended.
    pub open: bool,
}

/// A call of an attempt.
pub(super) struct RecordedCall {
    pub call: CallId,
    pub tool: String,
    pub input: Value,
    /// The declaration of its tool, if there is one.
    pub declared: Option<usize>,
    pub ending: CallEnding,
    /// Actions while it ran.
    pub during: Vec<Value>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CallEnding {
    /// It had not ended at the end of the log.
    Open,
    /// Its tool did not run.
    Never,
    /// The user rejected it without feedback: the turn ended.
    Declined,
    /// It was interrupted.
    Interrupted,
    /// Its tool returned this.
    Returned(Map<String, Value>),
}

impl RecordedCall {
    /// Its entry in the `results` of its tool; `None` if the tool did not run.
    pub fn given(&self) -> Option<Value> {
        let mut during = self.during.clone();
        let mut given = match &self.ending {
            CallEnding::Never | CallEnding::Declined => return None,
            CallEnding::Open => {
                during.push(json!({ "crash": { "at": "during-tool" } }));
                Map::new()
            }
            CallEnding::Interrupted => {
                during.push(json!({ "interrupt": {} }));
                Map::new()
            }
            CallEnding::Returned(given) => given.clone(),
        };
        if !during.is_empty() {
            given.insert("during".to_owned(), json!(during));
        }
        Some(Value::Object(given))
    }

    /// Whether its tool returned.
    fn ended(&self) -> bool {
        matches!(self.ending, CallEnding::Returned(_))
    }
}

impl RecordedActivity {
    /// The attempt that has not ended.
    pub fn open(&mut self) -> Option<&mut RecordedAttempt> {
        self.attempts.last_mut().filter(|attempt| attempt.open)
    }

    /// Adds actions before the next request: while the last tool runs, or during the stream.
    pub fn meanwhile(&mut self, actions: impl IntoIterator<Item = Value>) {
        match self.attempts.last_mut() {
            Some(attempt) => match attempt.calls.iter_mut().rfind(|made| made.ended()) {
                Some(made) => made.during.extend(actions),
                None => attempt.during.extend(actions),
            },
            None => self.before.extend(actions),
        }
    }

    /// Adds an action of the user.
    pub fn external(&mut self, action: Value) {
        match self.open() {
            Some(attempt) => match attempt.calls.iter_mut().find(|made| made.ending == CallEnding::Open) {
                Some(made) => made.during.push(action),
                None => attempt.during.push(action),
            },
            None => self.gap.push(action),
        }
    }

    /// The actions that reproduce it, ended by `last`.
    pub fn actions(self, last: Value) -> Vec<Value> {
        let mut actions = self.before;
        if !self.attempts.is_empty() {
            let attempts: Vec<Value> = self.attempts.into_iter().map(RecordedAttempt::written).collect();
            actions.push(json!({ "provider": attempts }));
        }
        if !self.replies.is_empty() {
            actions.push(json!({ "replies": self.replies }));
        }
        actions.push(last);
        actions.extend(self.gap);
        actions
    }
}

impl RecordedAttempt {
    pub fn new() -> Self {
        Self { open: true, ..Self::default() }
    }

    /// Ends it as failed.
    pub fn fail(&mut self, failure: &Failure) {
        let mut error = Map::new();
        error.insert("kind".to_owned(), json!(failure.kind));
        if let Some(status) = failure.status {
            error.insert("status".to_owned(), json!(status));
        }
        self.error = Some(error);
        self.open = false;
    }

    fn written(self) -> Value {
        let mut attempt = Map::new();
        if let Some(error) = self.error {
            attempt.insert("error".to_owned(), Value::Object(error));
            attempt.extend(self.text.map(|text| ("after_text".to_owned(), json!(text))));
            attempt.extend(self.usage.map(|usage| ("usage".to_owned(), json!(usage))));
            return Value::Object(attempt);
        }
        let default = if self.calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
        let calls: Vec<Value> =
            self.calls.iter().map(|made| json!({ "id": made.call, "tool": made.tool, "input": made.input })).collect();
        let finish = self.finish.filter(|finish| *finish != default && *finish != Finish::Other);
        let fields = [
            ("text", self.text.map(|text| json!(text))),
            ("reasoning", self.reasoning.map(|text| json!(text))),
            ("calls", (!calls.is_empty()).then(|| json!(calls))),
            ("usage", self.usage.map(|usage| json!(usage))),
            ("finish", finish.map(|finish| json!(finish))),
            ("during", (!self.during.is_empty()).then(|| json!(self.during))),
        ];
        attempt.extend(fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        Value::Object(attempt)
    }
}

/// How a settled call ended.
pub(super) fn ending(settled: &annals_core::event::ToolSettled, blobs: &dyn Blobs) -> CallEnding {
    let mut given = Map::new();
    if let Some(error) = &settled.error {
        let error = error.resolve(blobs);
        if error.starts_with("Unknown tool: ") || error == "Tools are disabled after the maximum agent steps" {
            return CallEnding::Never;
        }
        if error == annals_projections::INTERRUPTED {
            return CallEnding::Interrupted;
        }
        given.insert("error".to_owned(), json!(error));
        return CallEnding::Returned(given);
    }
    given.insert("output".to_owned(), json!(settled.output.resolve(blobs)));
    if let Some(structured) = &settled.structured {
        given.insert("structured".to_owned(), structured.value(blobs));
    }
    if !settled.paths.is_empty() {
        given.insert("paths".to_owned(), json!(settled.paths));
    }
    CallEnding::Returned(given)
}
