//! A tool, one call of it, and what the call gives.

use super::InheritedDenials;
use super::{CallInput, Cancellation, ToolError};
use crate::Boxed;
use annals_core::event::{Attachment, Effect, Rule, Todo, ToolDefinition, ToolProgressed};
use annals_core::permission::authorise;
use annals_core::{AgentName, CallId, Json, Seq, SessionId, SessionKey};
use annals_store::exchange::session_key;
use annals_store::{EventLog, ReadError};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;

/// Something that the model may call.
///
/// [`FunctionTool`](super::FunctionTool) makes one from a function.
pub trait Tool: Send + Sync {
    /// Its definition, which the model reads. Called once, when the tool is registered.
    fn definition(&self) -> ToolDefinition;

    /// The permission action that its calls are judged as; several tools may share one, such as `edit`.
    fn action(&self) -> String {
        self.definition().name
    }

    /// The tool without which it is of no use: it is offered only together with that one.
    fn needs(&self) -> Option<&str> {
        None
    }

    /// What a call would touch. Each is judged; an `always` is remembered for exactly these.
    fn resources(&self, input: &CallInput) -> Vec<String> {
        let _ = input;
        vec!["*".into()]
    }

    /// What a call needs permission for, in the order in which it is judged; a path outside the project, for one, is
    /// judged as `external_directory` before it is judged as what is done to it. Every one must be allowed.
    fn demands(&self, input: &CallInput) -> Vec<Demand> {
        vec![Demand { action: self.action(), resources: self.resources(input) }]
    }

    /// Whether an interrupted call is waited for: it learns of the interruption from [`CallContext::cancellation`], ends
    /// soon by itself, and a success that it gives counts. Others are dropped.
    fn puts_away(&self) -> bool {
        false
    }

    /// Whether an input has the right shape, checked before a permission question is asked.
    ///
    /// # Errors
    /// What is wrong, for the model.
    fn validate(&self, input: &CallInput) -> Result<(), String>;

    /// Runs the call. The future is dropped when the turn is interrupted; a result that is already there is still settled.
    ///
    /// # Errors
    /// The tool's own error, for the model.
    fn execute<'a>(&'a self, input: CallInput, context: CallContext) -> Boxed<'a, Result<ToolOutput, ToolError>>;
}

/// One thing that a call needs permission for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The permission action.
    pub action: String,
    /// The resources that the action affects. None means `*`.
    pub resources: Vec<String>,
}

/// Identifies a call. The agent is that of the turn that made the call, also after a switch.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// The session.
    pub session: SessionId,
    /// The agent of the turn.
    pub agent: AgentName,
    /// The Seq at which the step with this call began.
    pub step: Seq,
    /// The call.
    pub call: CallId,
    /// The demands that were granted. A tool whose resources can change between the question and the answer must not do
    /// more.
    pub authorised: Vec<Demand>,
    /// What else it may do without asking, for a tool that finds out while it runs what it would touch.
    pub permits: Permits,
    /// Reports an interruption, for tools that have something to clean up.
    pub cancellation: Cancellation,
    /// Shows what there is so far.
    pub progress: ProgressSender,
    /// What happened in the session before.
    pub past: Past,
}

/// The log of a session, for a tool that asks what the session did before this process. The default is empty.
#[derive(Clone, Default)]
pub struct Past(Option<Arc<dyn EventLog>>);

impl Past {
    /// The past in a log.
    pub fn of(log: Arc<dyn EventLog>) -> Self {
        Self(Some(log))
    }

    /// The log; `None` where there is no past.
    pub fn log(&self) -> Option<&dyn EventLog> {
        self.0.as_deref()
    }

    /// The key of a session in this log; `None` if the log does not have it.
    ///
    /// # Errors
    /// When the log has no such session, or cannot be read.
    pub async fn session_key(&self, session: SessionId) -> Result<Option<SessionKey>, ReadError> {
        match self.log() {
            Some(log) => session_key(log, session).await,
            None => Ok(None),
        }
    }
}

impl fmt::Debug for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Past").field(&self.0.is_some()).finish()
    }
}

/// What the rules of a call allow without a question: those of its agent, of the agents above it, and what was
/// answered before the call began. The default allows nothing.
#[derive(Clone, Debug, Default)]
pub struct Permits {
    rules: Vec<Rule>,
    approved: Vec<Rule>,
    limits: InheritedDenials,
}

impl Permits {
    /// What these rules allow.
    pub fn by(rules: Vec<Rule>) -> Self {
        Self { rules, ..Self::default() }
    }

    /// The same with what was approved in the session, and within what the agents above are denied.
    pub(crate) fn within(self, approved: Vec<Rule>, limits: InheritedDenials) -> Self {
        Self { approved, limits, ..self }
    }

    /// Whether an action on one resource is allowed without a question.
    pub fn allow(&self, action: &str, resource: &str) -> bool {
        !self.limits.deny(action, &[resource])
            && authorise(&self.rules, &self.approved, action, &[resource]) == Effect::Allow
    }

    /// Whether an action on `resource`, below a directory for which it is allowed, is allowed as well. When the user was
    /// asked about the directory, the answer applies to everything below it that is not denied.
    pub fn allow_below(&self, action: &str, directory: &str, resource: &str) -> bool {
        let judged = |resource| authorise(&self.rules, &self.approved, action, &[resource]);
        let was_asked = authorise(&self.rules, &[], action, &[directory]) == Effect::Ask;
        let answered = was_asked && !self.limits.deny(action, &[resource]) && judged(resource) != Effect::Deny;
        answered || self.allow(action, resource)
    }
}

/// Where a running tool shows what it has so far.
#[derive(Clone, Debug, Default)]
pub struct ProgressSender(Option<UnboundedSender<ToolProgressed>>);

impl ProgressSender {
    /// A sender with a receiver. The default has none and discards everything.
    pub fn to(watcher: UnboundedSender<ToolProgressed>) -> Self {
        Self(Some(watcher))
    }

    /// Sends the output so far; it replaces what was sent before. Whether there is a receiver.
    pub fn show(&self, call: &CallId, output: Option<String>, structured: Option<&Value>) -> bool {
        let progressed = ToolProgressed {
            call: call.clone(),
            output: output.map(Into::into),
            structured: structured.map(Json::canonical),
        };
        self.0.as_ref().is_some_and(|watcher| watcher.send(progressed).is_ok())
    }
}

/// What a call gives. Only the text is bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// What the model reads; without it, the model reads the structured value.
    pub text: Option<String>,
    /// A value for the session's readers, never cut.
    pub structured: Option<Json>,
    /// Media.
    pub attachments: Vec<Attachment>,
    /// Output files that the tool manages itself.
    pub paths: Vec<String>,
    /// Files that the call has read: instructions lie near them, perhaps
    /// ([`discover`](crate::context::instructions::discover)).
    pub read: Vec<String>,
    /// Other files whose lines are in the output, as far as that is known: where such a file is kept for secrets
    /// (`.env`, `credentials`), each of its values is taken for one.
    pub shown: Vec<String>,
    /// The session's todo list from here on, if the call changed it: recorded with the result.
    pub todos: Option<Vec<Todo>>,
}

impl ToolOutput {
    /// An output of text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Adds a line to what the model reads.
    pub fn add_text(&mut self, more: &str) {
        let shown = self.structured.as_ref().filter(|_| self.text.is_none());
        let shown = shown.map(|value| super::indent::indented(&value.0.resolve(&annals_core::NoBlobs)));
        let text = self.text.get_or_insert_with(|| shown.unwrap_or_default());
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(more);
    }

    /// An output of a structured value alone.
    pub fn structured(value: &Value) -> Self {
        Self { structured: Some(Json::canonical(value)), ..Self::default() }
    }
}
