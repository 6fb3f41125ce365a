//! Records an answer as it arrives: deltas go to the bus, finished fragments and calls to the log
//! (`docs/reference/turn.md#answer`).

mod held;
mod repeated;
mod settlement;

use super::calls::{IssuedCall, RunningCalls, unused_call_id};
use super::files::FilesAfter;
use super::fragments::{FinishedFragment, FragmentKind, Fragments, ProtocolViolation};
use super::record_request::RecordedRequest;
use super::{RequestProfile, Runner, Stop, cost};
use crate::bus::{Delta, Fragment, Notice};
use crate::lane::Decision;
use crate::outcome::{RunError, interrupted};
use crate::ports::{AnswerStream, ProviderError, ProviderErrorKind, ProviderEvent};
use crate::tools::{Bounding, CallError, CallInput, hosted};
use crate::worktree::Tree;
use annals_core::event::{
    Failure, FilesCaptured, Finish, ReasoningEnded, StepEnded, StepFailed, StepStarted, SyntheticAdded, TextEnded,
    ToolCalled, Usage,
};
use annals_core::{CallId, Event, Json, Seq};
use annals_projections::{Repeats, SessionView};
use futures_util::StreamExt;
use held::until;
use tokio::time::Instant;

/// The synthetic message after the provider paused the turn: a request cannot end with an unfinished answer.
const PAUSED: &str = "Your turn was paused by the provider. Your work so far is above. Continue from there.";

/// How the receiving of an answer ended.
pub(super) enum AnswerEnd {
    /// It is complete.
    Complete(Finish),
    /// It failed, or is not what the protocol allows.
    Failed(ProviderError),
    /// The run was interrupted, or a call was declined.
    Interrupted,
}

/// Why an event of the stream was not recorded.
enum AnswerError {
    /// The protocol does not allow it: the attempt fails.
    Violation(ProtocolViolation),
    /// The run ends.
    Stop(Stop),
}

impl From<ProtocolViolation> for AnswerError {
    fn from(violation: ProtocolViolation) -> Self {
        Self::Violation(violation)
    }
}

impl From<Stop> for AnswerError {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

/// One attempt's answer.
pub(super) struct AnswerRecorder<'r> {
    runner: &'r Runner,
    profile: &'r RequestProfile,
    request: &'r RecordedRequest,
    /// The files before it, if they were captured.
    files: Option<Tree>,
    fragments: Fragments,
    /// Where its step began, once it did.
    step: Option<Seq>,
    /// Whether content arrived.
    begun: bool,
    /// Finished fragments that wait to be appended with what follows.
    held: Vec<Event>,
    /// When they, or the beginning of the step, are appended at the latest.
    due: Option<Instant>,
    usage: Option<Usage>,
    /// Whether a call was recorded.
    called: bool,
    /// Open hosted calls, in order: the provider's ids, which may repeat, and ours.
    hosted: Vec<(CallId, CallId)>,
    calls: RunningCalls,
    /// The call after which the run ends.
    given_up: Option<RunError>,
    bounding: Bounding,
}

impl<'r> AnswerRecorder<'r> {
    pub(super) fn new(
        runner: &'r Runner,
        profile: &'r RequestProfile,
        request: &'r RecordedRequest,
        files: Option<Tree>,
    ) -> Self {
        let ports = &runner.shared.ports;
        Self {
            runner,
            profile,
            request,
            files,
            fragments: Fragments::default(),
            step: None,
            begun: false,
            held: Vec::new(),
            due: None,
            usage: None,
            called: false,
            hosted: Vec::new(),
            calls: RunningCalls::new(runner, profile),
            given_up: None,
            bounding: Bounding {
                files: ports.outputs.clone(),
                ids: ports.ids.clone(),
                clock: ports.clock.clone(),
                limits: runner.shared.settings.output,
            },
        }
    }

    /// Whether content arrived.
    pub(super) fn has_begun(&self) -> bool {
        self.begun || self.step.is_some()
    }

    /// Whether a call of it was recorded.
    pub(super) fn has_called(&self) -> bool {
        self.called
    }

    /// What the provider reported, and what it cost.
    pub(super) fn usage(&self) -> (Option<Usage>, u64) {
        (self.usage, cost(&self.profile.model.prices, self.usage))
    }

    /// Receives the answer until it ends, while its calls already run.
    pub(super) async fn receive(&mut self, mut answer: AnswerStream) -> Result<AnswerEnd, Stop> {
        loop {
            // In this order: an interruption also ends a stream that never pauses, and the log has an answer in the order of its
            // stream. Parts that are held to be appended together are appended before an update of a call, which follows them.
            let event = tokio::select! {
                biased;
                () = self.runner.cancellation.cancelled() => return Ok(AnswerEnd::Interrupted),
                event = answer.next() => event,
                () = until(self.due) => {
                    self.append_held().await?;
                    continue;
                }
                Some(update) = self.calls.next_update(), if self.calls.is_running() => {
                    self.append_held().await?;
                    if self.apply_update(update).await? { return Ok(AnswerEnd::Interrupted) }
                    continue;
                }
            };
            // What brought the event may have brought an interruption: nothing that arrives with it counts.
            if self.runner.cancellation.is_cancelled() {
                return Ok(AnswerEnd::Interrupted);
            }
            match event {
                Some(Ok(ProviderEvent::Finished(finish))) => return Ok(AnswerEnd::Complete(finish)),
                Some(Ok(event)) => match self.take(event).await {
                    Ok(()) => {}
                    Err(AnswerError::Stop(stop)) => return Err(stop),
                    Err(AnswerError::Violation(ProtocolViolation(what))) => {
                        return Ok(AnswerEnd::Failed(broken(ProviderErrorKind::Violation, what)));
                    }
                },
                Some(Err(error)) => return Ok(AnswerEnd::Failed(error)),
                None => {
                    let kind = ProviderErrorKind::IncompleteStream;
                    return Ok(AnswerEnd::Failed(broken(kind, "the answer broke off".into())));
                }
            }
            // A stream that never pauses delays nothing.
            if self.due.is_some_and(|due| due <= Instant::now()) {
                self.append_held().await?;
            }
        }
    }

    /// The answer is complete: waits for its calls, then ends the step. Gives whether the model has more to do: it waits
    /// for results, or its provider paused the turn. A pause of nothing is an end, since it could come for ever.
    pub(super) async fn complete(mut self, finish: Finish) -> Result<bool, Stop> {
        let paused = finish == Finish::Paused && self.has_begun() && !self.calls.any() && !self.profile.last_step;
        self.flush().await?;
        self.settle_hosted(&CallError::NoHostedResult).await?;
        let undisturbed = self.settle_calls().await?;
        let (usage, cost) = self.usage();
        let FilesAfter { files, changed } = self.files_after().await?;
        let ended = StepEnded { finish, usage, cost, files, changed };
        let note: Option<Event> = (paused && undisturbed).then(|| SyntheticAdded { text: PAUSED.into() }.into());
        self.append(|_| std::iter::once(ended.clone().into()).chain(note.clone()).collect()).await?;
        match self.given_up {
            _ if !undisturbed => Err(Stop::Interrupted),
            Some(error) => Err(Stop::Failed(error)),
            None => Ok(self.calls.any() || paused),
        }
    }

    /// The answer failed after something of it arrived: what arrived stays, and its calls are still awaited.
    pub(super) async fn fail(mut self, error: Failure) -> Result<(), Stop> {
        self.end_failed(error).await?;
        self.settle_hosted(&CallError::NoHostedResult).await?;
        let undisturbed = self.settle_calls().await?;
        self.capture().await?;
        if undisturbed { Ok(()) } else { Err(Stop::Interrupted) }
    }

    /// The run was interrupted: what arrived is recorded, and its calls are settled.
    pub(super) async fn interrupt(mut self) -> Result<Stop, Stop> {
        self.runner.cancel.cancel();
        self.flush().await?;
        self.settle_hosted(&CallError::Interrupted).await?;
        self.settle_calls().await?;
        self.end_failed(interrupted()).await?;
        self.capture().await?;
        Ok(Stop::Interrupted)
    }

    async fn take(&mut self, event: ProviderEvent) -> Result<(), AnswerError> {
        use FragmentKind::{Reasoning, Text};
        match event {
            ProviderEvent::TextDelta { id, text } => self.piece(Text, &id, text).await,
            ProviderEvent::ReasoningDelta { id, text } => self.piece(Reasoning, &id, text).await,
            ProviderEvent::TextEnded { id, metadata } => self.end(Text, &id, metadata).await,
            ProviderEvent::ReasoningEnded { id, metadata } => self.end(Reasoning, &id, metadata).await,
            ProviderEvent::ToolInputDelta { call, text, .. } => {
                self.show(Fragment::ToolInput(call), text);
                Ok(())
            }
            ProviderEvent::ToolCalled { call, name, input, hosted, metadata } => {
                self.call(call, name, &input, hosted, metadata).await
            }
            ProviderEvent::HostedSettled { call, result, error, metadata } => {
                let Some(at) = self.hosted.iter().position(|(theirs, _)| *theirs == call) else {
                    return Err(ProtocolViolation(format!("a result of call {call} came, which is not open")).into());
                };
                let (_, ours) = self.hosted.remove(at);
                self.append_held().await?;
                self.settle(hosted(ours, result, error, metadata)).await?;
                Ok(())
            }
            ProviderEvent::Usage(usage) => {
                self.usage = Some(usage);
                Ok(())
            }
            // The receiving loop ends with it.
            ProviderEvent::Finished(_) => Ok(()),
        }
    }

    async fn piece(&mut self, kind: FragmentKind, id: &str, text: String) -> Result<(), AnswerError> {
        if let Some(fragment) = self.fragments.piece(kind, id, &text)? {
            if !self.has_begun() {
                self.begin().await?;
            }
            self.show(fragment, text);
        }
        Ok(())
    }

    async fn end(&mut self, kind: FragmentKind, id: &str, metadata: Option<String>) -> Result<(), AnswerError> {
        if let Some(whole) = self.fragments.end(kind, id, metadata)? {
            self.hold(vec![recorded(whole)]).await?;
        }
        Ok(())
    }

    /// A call is durable before it runs, under an id that is unique in the session.
    async fn call(
        &mut self,
        theirs: CallId,
        name: String,
        input: &str,
        hosted: bool,
        metadata: Option<String>,
    ) -> Result<(), AnswerError> {
        let input = CallInput::received(input);
        let name = if hosted { name } else { self.profile.tool_name(name) };
        let called = ToolCalled {
            index: self.fragments.place(),
            call: theirs.clone(),
            name: name.clone(),
            input: Json::received(input.text()),
            hosted,
            metadata: metadata.map(Json::received),
        };
        let (mut call, mut repeats) = (theirs.clone(), Repeats::default());
        let step = self
            .append(|view| {
                call = unused_call_id(view, &theirs);
                repeats = view.calls.repeats(&called.name, &called.input);
                vec![ToolCalled { call: call.clone(), ..called.clone() }.into()]
            })
            .await?;
        self.called = true;
        if hosted {
            self.hosted.push((theirs, call));
        } else if self.profile.last_step {
            self.settle(self.bounding.settle(call, Err(CallError::StepsExhausted)).await).await?;
        } else {
            let refused = self.refuse(&name, &input, repeats);
            self.calls.issue(IssuedCall { call, name, input, step, refused });
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Stop> {
        let flushed: Vec<Event> = self.fragments.flush().into_iter().map(recorded).collect();
        if !flushed.is_empty() {
            self.hold(flushed).await?;
        }
        Ok(())
    }

    async fn end_failed(&mut self, error: Failure) -> Result<(), Stop> {
        let (usage, cost) = self.usage();
        let mut events: Vec<Event> = self.fragments.flush().into_iter().map(recorded).collect();
        events.push(StepFailed { error, usage, cost }.into());
        self.append(|_| events.clone()).await.map(drop)
    }

    /// Captures the files after a step that failed, so that what its calls changed can be undone.
    async fn capture(&self) -> Result<(), Stop> {
        let Some(tree) = self.runner.files_after(self.files.as_ref()).await.files else { return Ok(()) };
        let captured = |view: &SessionView| match self.request.is_current(view) {
            true => Decision::append(vec![FilesCaptured { tree: tree.clone() }.into()], ()),
            false => Decision::nothing(()),
        };
        self.runner.lane.decide(|view| Ok(captured(view))).await
    }

    /// Appends facts of this step, which begins with the first of them; gives where it began.
    async fn append(&mut self, mut events: impl FnMut(&SessionView) -> Vec<Event>) -> Result<Seq, Stop> {
        let (begun, held, request, runner) = (self.step, &self.held, self.request, self.runner);
        let profiles = (&self.profile.agent.agent, &self.profile.model.model);
        let started = StepStarted {
            agent: profiles.0.clone(),
            model: profiles.1.clone(),
            files: self.files.clone().map(Into::into),
            answer: None,
        };
        let step = self
            .runner
            .lane
            .decide(|view| {
                if !request.is_current(view) || begun.is_some() && !view.calls.step_open {
                    return Err(runner.superseded(request, view));
                }
                let mut all: Vec<Event> = Vec::new();
                if begun.is_none() {
                    all.push(started.clone().into());
                }
                all.extend(held.iter().cloned());
                all.extend(events(view));
                Ok(Decision::append(all, begun.unwrap_or(view.cut().next)))
            })
            .await?;
        (self.step, self.due) = (Some(step), None);
        self.held.clear();
        Ok(step)
    }

    fn show(&self, fragment: Fragment, text: String) {
        let (session, request) = (self.runner.lane.session(), self.request.sent.request);
        self.runner.shared.bus.publish(&Notice::Delta(Delta { session, request, fragment, text }));
    }
}

fn recorded(FinishedFragment { kind, index, text, metadata }: FinishedFragment) -> Event {
    let (text, metadata) = (text.into(), metadata.map(Json::received));
    match kind {
        FragmentKind::Text => TextEnded { index, text, metadata }.into(),
        FragmentKind::Reasoning => ReasoningEnded { index, text, metadata }.into(),
    }
}

fn broken(kind: ProviderErrorKind, message: String) -> ProviderError {
    ProviderError { kind, status: None, retry_after_ms: None, message }
}
