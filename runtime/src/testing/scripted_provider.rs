//! A provider that answers what a script says.

use annals_core::CallId;
use annals_core::event::{Finish, Usage};
use annals_providers::provider::{AnswerStream, Provider, ProviderError, ProviderEvent, ProviderRequest};
use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Something to do while an attempt streams: its text and reasoning have arrived, its calls have not.
pub type During = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// What the model answers to one request.
#[derive(Clone, Default)]
pub struct ScriptedAttempt {
    /// Reasoning, before the text.
    pub reasoning: Option<String>,
    /// Text.
    pub text: Option<String>,
    /// Calls, in order.
    pub calls: Vec<ScriptedCall>,
    /// Reported usage.
    pub usage: Option<Usage>,
    /// How it ends.
    pub outcome: ScriptedEnd,
    /// What happens meanwhile.
    pub during: Option<During>,
}

/// A call of a scripted answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedCall {
    /// Its id.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// The input as the model writes it.
    pub input: String,
}

/// How a scripted answer ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ScriptedEnd {
    /// `tool-calls` with calls, otherwise `stop`.
    #[default]
    Usual,
    /// With a given finish.
    Finish(Finish),
    /// With an error, after what the attempt holds.
    Error(ProviderError),
}

impl fmt::Debug for ScriptedAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("reasoning", &self.reasoning)
            .field("text", &self.text)
            .field("calls", &self.calls)
            .field("usage", &self.usage)
            .field("outcome", &self.outcome)
            .field("during", &self.during.is_some())
            .finish()
    }
}

impl ScriptedAttempt {
    /// An answer of text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// An answer that calls one tool.
    pub fn call(call: impl Into<CallId>, tool: impl Into<String>, input: impl Into<String>) -> Self {
        let call = ScriptedCall { call: call.into(), tool: tool.into(), input: input.into() };
        Self { calls: vec![call], ..Self::default() }
    }

    /// A failure before any output.
    pub fn error(error: ProviderError) -> Self {
        Self { outcome: ScriptedEnd::Error(error), ..Self::default() }
    }

    /// What the stream gives, in order.
    fn play(self) -> VecDeque<Play> {
        use ProviderEvent::{Finished, ReasoningDelta, ReasoningEnded, TextDelta, TextEnded, ToolCalled, Usage};
        let mut plays = VecDeque::new();
        let (reasoning, text) = ("reasoning".to_string(), "text".to_string());
        let reasoned = self.reasoning.is_some();
        let has_text = self.text.is_some();
        if let Some(piece) = self.reasoning {
            plays.push_back(Play::Event(ReasoningDelta { id: reasoning.clone(), text: piece }));
        }
        if reasoned {
            plays.push_back(Play::Event(ReasoningEnded { id: reasoning, metadata: None }));
        }
        if let Some(piece) = self.text {
            plays.push_back(Play::Event(TextDelta { id: text.clone(), text: piece }));
        }
        if let Some(during) = self.during {
            plays.push_back(Play::During(during));
        }
        let failed = matches!(self.outcome, ScriptedEnd::Error(_));
        if has_text && !failed {
            plays.push_back(Play::Event(TextEnded { id: text, metadata: None }));
        }
        let finish = match self.outcome {
            ScriptedEnd::Usual if self.calls.is_empty() => Ok(Finish::Stop),
            ScriptedEnd::Usual => Ok(Finish::ToolCalls),
            ScriptedEnd::Finish(finish) => Ok(finish),
            ScriptedEnd::Error(error) => Err(error),
        };
        plays.extend(self.calls.into_iter().map(|ScriptedCall { call, tool, input }| {
            Play::Event(ToolCalled { call, name: tool, input, hosted: false, metadata: None })
        }));
        plays.extend(self.usage.map(|usage| Play::Event(Usage(usage))));
        plays.push_back(match finish {
            Ok(finish) => Play::Event(Finished(finish)),
            Err(error) => Play::Error(error),
        });
        plays
    }
}

enum Play {
    Event(ProviderEvent),
    During(During),
    Error(ProviderError),
}

/// Answers from a queue of attempts, and with the text `ok` when it is empty. Keeps every request it got.
///
/// ```
/// use annals_runtime::testing::{ScriptedAttempt, ScriptedProvider};
/// let provider = ScriptedProvider::new([
///     ScriptedAttempt::call("c1", "read", r#"{"path":"a.txt"}"#),
///     ScriptedAttempt::text("The file is empty."),
/// ]);
/// assert!(provider.received().is_empty());
/// ```
#[derive(Default)]
pub struct ScriptedProvider(Mutex<ScriptState>);

#[derive(Default)]
struct ScriptState {
    queue: VecDeque<ScriptedAttempt>,
    received: Vec<ProviderRequest>,
}

impl ScriptedProvider {
    fn script(&self) -> MutexGuard<'_, ScriptState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A provider that answers these attempts first.
    pub fn new(attempts: impl IntoIterator<Item = ScriptedAttempt>) -> Self {
        let provider = Self::default();
        provider.push(attempts);
        provider
    }

    /// Appends attempts to the queue.
    pub fn push(&self, attempts: impl IntoIterator<Item = ScriptedAttempt>) {
        self.script().queue.extend(attempts);
    }

    /// Every attempt that reached this provider, in order.
    pub fn received(&self) -> Vec<ProviderRequest> {
        self.script().received.clone()
    }
}

impl Provider for ScriptedProvider {
    fn send(&self, request: ProviderRequest) -> AnswerStream {
        let attempt = {
            let mut script = self.script();
            script.received.push(request);
            script.queue.pop_front().unwrap_or_else(|| ScriptedAttempt::text("ok"))
        };
        stream::unfold(attempt.play(), |mut plays| async move {
            loop {
                match plays.pop_front()? {
                    Play::Event(event) => return Some((Ok(event), plays)),
                    Play::During(during) => during().await,
                    Play::Error(error) => return Some((Err(error), VecDeque::new())),
                }
            }
        })
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::bare_model;
    use annals_core::event::{Purpose, RequestOptions};
    use annals_core::{RequestId, SessionId};
    use annals_projections::{Request, ToolChoice};
    use annals_providers::provider::ProviderErrorKind;

    fn request() -> ProviderRequest {
        let model = bare_model(&"test/alpha".into(), 200_000, 32_000);
        let request = Request {
            purpose: Purpose::Turn,
            agent: "build".into(),
            model,
            system: Vec::new(),
            messages: annals_projections::RequestMessages::new(),
            tools: Vec::new(),
            tool_choice: ToolChoice::None,
            options: RequestOptions::default(),
        };
        ProviderRequest {
            session: SessionId::from_parts(0, 1),
            parent: None,
            id: RequestId::from_parts(0, 2),
            attempt: 1,
            request: Arc::new(request),
            body: None,
        }
    }

    async fn answer(provider: &ScriptedProvider) -> Vec<String> {
        let name = |event: ProviderEvent| match event {
            ProviderEvent::TextDelta { text, .. } | ProviderEvent::ReasoningDelta { text, .. } => text,
            ProviderEvent::ToolCalled { name, input, .. } => format!("{name}({input})"),
            ProviderEvent::Finished(finish) => format!("finish {finish}"),
            _ => "ended".into(),
        };
        provider
            .send(request())
            .map(|event| event.map_or_else(|error| format!("{}: {error}", error.kind), name))
            .collect()
            .await
    }

    #[tokio::test]
    async fn attempts_answer_in_order_and_then_ok() {
        let failed = ProviderError {
            kind: ProviderErrorKind::Transport,
            status: None,
            retry_after_ms: None,
            message: "no".into(),
        };
        let mut broken = ScriptedAttempt::text("half");
        broken.outcome = ScriptedEnd::Error(failed.clone());
        let provider =
            ScriptedProvider::new([ScriptedAttempt::call("c1", "read", "{}"), ScriptedAttempt::error(failed), broken]);
        assert_eq!(answer(&provider).await, ["read({})", "finish tool-calls"]);
        assert_eq!(answer(&provider).await, ["transport: no"]);
        assert_eq!(answer(&provider).await, ["half", "transport: no"]);
        assert_eq!(answer(&provider).await, ["ok", "ended", "finish stop"]);
        assert_eq!(provider.received().len(), 4);
    }

    #[tokio::test]
    async fn what_happens_meanwhile_comes_after_the_text_and_before_the_calls() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let note = seen.clone();
        let mut attempt = ScriptedAttempt::call("c1", "read", "{}");
        attempt.text = Some("reading".into());
        attempt.during = Some(Arc::new(move || {
            let note = note.clone();
            Box::pin(async move { note.lock().unwrap_or_else(PoisonError::into_inner).push("during".to_string()) })
        }));
        let provider = ScriptedProvider::new([attempt]);
        let mut answer = provider.send(request());
        while let Some(event) = answer.next().await {
            let word = match event {
                Ok(ProviderEvent::TextDelta { text, .. }) => text,
                Ok(ProviderEvent::ToolCalled { name, .. }) => name,
                _ => continue,
            };
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(word);
        }
        assert_eq!(*seen.lock().unwrap_or_else(PoisonError::into_inner), ["reading", "during", "read"]);
    }
}
