//! An answer as it arrives: live pieces to the bus, whole fragments and calls to the log
//! (`docs/reference/turn.md#answer`).

mod settlement;

use super::announce::Durable;
use super::calls::{Calls, Issued, unused};
use super::files::After;
use super::fragments::{FragmentKind, Fragments, Violation, Whole};
use super::{Runner, Shape, Stop, cost};
use crate::bus::{Delta, Fragment, Notice};
use crate::lane::Decision;
use crate::outcome::interrupted;
use crate::ports::{Answer, ProviderError, ProviderErrorKind, ProviderEvent};
use crate::tools::{Bounding, CallError, CallInput, hosted};
use crate::worktree::Tree;
use annals_core::event::{
    Failure, FilesCaptured, Finish, ReasoningEnded, StepEnded, StepFailed, StepStarted, SyntheticAdded, TextEnded,
    ToolCalled, Usage,
};
use annals_core::{CallId, Event, Json, Seq};
use annals_projections::SessionView;
use futures_util::StreamExt;

/// What the model is told after its provider paused the turn: an answer cannot be begun for it.
const GO_ON: &str = "Your turn was paused by the provider. What you have done stands above. Go on from there.";

/// How the receiving of an answer ended.
pub(super) enum Received {
    /// It is complete.
    Complete(Finish),
    /// It failed, or is not what the protocol allows.
    Failed(ProviderError),
    /// The run was interrupted, or a call was declined.
    Interrupted,
}

/// One attempt's answer.
pub(super) struct Reply<'r> {
    runner: &'r Runner,
    shape: &'r Shape,
    request: &'r Durable,
    /// The files before it, if they were captured.
    files: Option<Tree>,
    fragments: Fragments,
    /// Where its step began, once it did.
    step: Option<Seq>,
    usage: Option<Usage>,
    /// Whether a call was recorded.
    called: bool,
    /// Open hosted calls, in order: the provider's ids, which may repeat, and ours.
    hosted: Vec<(CallId, CallId)>,
    calls: Calls,
    bounding: Bounding,
}

impl<'r> Reply<'r> {
    pub(super) fn new(runner: &'r Runner, shape: &'r Shape, request: &'r Durable, files: Option<Tree>) -> Self {
        let ports = &runner.shared.ports;
        Self {
            runner,
            shape,
            request,
            files,
            fragments: Fragments::default(),
            step: None,
            usage: None,
            called: false,
            hosted: Vec::new(),
            calls: Calls::new(runner, shape),
            bounding: Bounding {
                files: ports.outputs.clone(),
                ids: ports.ids.clone(),
                clock: ports.clock.clone(),
                limits: runner.shared.settings.output,
            },
        }
    }

    /// Whether something of it arrived.
    pub(super) fn has_begun(&self) -> bool {
        self.step.is_some()
    }

    /// Whether a call of it was recorded.
    pub(super) fn has_called(&self) -> bool {
        self.called
    }

    /// What the provider reported, and what it cost.
    pub(super) fn usage(&self) -> (Option<Usage>, u64) {
        (self.usage, cost(&self.shape.model.prices, self.usage))
    }

    /// Takes the answer in until it ends, while its calls run already.
    pub(super) async fn receive(&mut self, mut answer: Answer) -> Result<Received, Stop> {
        loop {
            let event = tokio::select! {
                biased;
                () = self.runner.cancellation.cancelled() => return Ok(Received::Interrupted),
                event = answer.next() => event,
                Some(news) = self.calls.news(), if self.calls.is_running() => {
                    if self.hear(news).await? { return Ok(Received::Interrupted) }
                    continue;
                }
            };
            // What brought the event may have brought an interruption: nothing that arrives with it counts.
            if self.runner.cancellation.is_cancelled() {
                return Ok(Received::Interrupted);
            }
            match event {
                Some(Ok(ProviderEvent::Finished(finish))) => return Ok(Received::Complete(finish)),
                Some(Ok(event)) => {
                    if let Err(Violation(what)) = self.take(event).await? {
                        return Ok(Received::Failed(broken(ProviderErrorKind::Violation, what)));
                    }
                }
                Some(Err(error)) => return Ok(Received::Failed(error)),
                None => {
                    let kind = ProviderErrorKind::IncompleteStream;
                    return Ok(Received::Failed(broken(kind, "the answer broke off".into())));
                }
            }
        }
    }

    /// The answer is complete: waits for its calls, then ends the step. Gives whether the model has more to do: it waits
    /// for results, or its provider paused the turn. A pause of nothing is an end, since it could come for ever.
    pub(super) async fn complete(mut self, finish: Finish) -> Result<bool, Stop> {
        let paused = finish == Finish::Paused && self.has_begun() && !self.calls.any() && !self.shape.last_step;
        self.flush().await?;
        self.settle_hosted(&CallError::NoHostedResult).await?;
        let undisturbed = self.settle_calls().await?;
        let (usage, cost) = self.usage();
        let After { files, changed } = self.runner.files_after(self.files.as_ref()).await;
        let ended = StepEnded { finish, usage, cost, files, changed };
        let told: Option<Event> = (paused && undisturbed).then(|| SyntheticAdded { text: GO_ON.into() }.into());
        self.append(|_| std::iter::once(ended.clone().into()).chain(told.clone()).collect()).await?;
        if undisturbed { Ok(self.calls.any() || paused) } else { Err(Stop::Interrupted) }
    }

    /// The answer failed after something of it arrived: what arrived stays, and its calls are still awaited.
    pub(super) async fn fail(mut self, error: Failure) -> Result<(), Stop> {
        self.end_failed(error).await?;
        self.settle_hosted(&CallError::NoHostedResult).await?;
        let undisturbed = self.settle_calls().await?;
        self.capture().await?;
        if undisturbed { Ok(()) } else { Err(Stop::Interrupted) }
    }

    /// The run was interrupted: what arrived stays, and its calls are put away.
    pub(super) async fn interrupt(mut self) -> Result<Stop, Stop> {
        self.runner.cancel.cancel();
        self.flush().await?;
        self.settle_hosted(&CallError::Interrupted).await?;
        self.settle_calls().await?;
        self.end_failed(interrupted()).await?;
        self.capture().await?;
        Ok(Stop::Interrupted)
    }

    async fn take(&mut self, event: ProviderEvent) -> Result<Result<(), Violation>, Stop> {
        use FragmentKind::{Reasoning, Text};
        match event {
            ProviderEvent::TextDelta { id, text } => self.piece(Text, &id, text).await,
            ProviderEvent::ReasoningDelta { id, text } => self.piece(Reasoning, &id, text).await,
            ProviderEvent::TextEnded { id, metadata } => self.end(Text, &id, metadata).await,
            ProviderEvent::ReasoningEnded { id, metadata } => self.end(Reasoning, &id, metadata).await,
            ProviderEvent::ToolInputDelta { call, text, .. } => {
                self.show(Fragment::ToolInput(call), text);
                Ok(Ok(()))
            }
            ProviderEvent::ToolCalled { call, name, input, hosted, metadata } => {
                self.call(call, name, &input, hosted, metadata).await
            }
            ProviderEvent::HostedSettled { call, result, error, metadata } => {
                let Some(at) = self.hosted.iter().position(|(theirs, _)| *theirs == call) else {
                    return Ok(Err(Violation(format!("a result of call {call} came, which is not open"))));
                };
                let (_, ours) = self.hosted.remove(at);
                self.settle(hosted(ours, result, error, metadata)).await?;
                Ok(Ok(()))
            }
            ProviderEvent::Usage(usage) => {
                self.usage = Some(usage);
                Ok(Ok(()))
            }
            // The receiving loop ends with it.
            ProviderEvent::Finished(_) => Ok(Ok(())),
        }
    }

    async fn piece(&mut self, kind: FragmentKind, id: &str, text: String) -> Result<Result<(), Violation>, Stop> {
        let fragment = match self.fragments.piece(kind, id, &text) {
            Ok(fragment) => fragment,
            Err(violation) => return Ok(Err(violation)),
        };
        if let Some(fragment) = fragment {
            if self.step.is_none() {
                self.append(|_| Vec::new()).await?;
            }
            self.show(fragment, text);
        }
        Ok(Ok(()))
    }

    async fn end(
        &mut self,
        kind: FragmentKind,
        id: &str,
        metadata: Option<String>,
    ) -> Result<Result<(), Violation>, Stop> {
        match self.fragments.end(kind, id, metadata) {
            Ok(whole) => {
                if let Some(whole) = whole {
                    let event = recorded(whole);
                    self.append(|_| vec![event.clone()]).await?;
                }
                Ok(Ok(()))
            }
            Err(violation) => Ok(Err(violation)),
        }
    }

    /// A call is durable before it runs, under an id that is unique in the Session.
    async fn call(
        &mut self,
        theirs: CallId,
        name: String,
        input: &str,
        hosted: bool,
        metadata: Option<String>,
    ) -> Result<Result<(), Violation>, Stop> {
        let input = CallInput::received(input);
        let name = if hosted { name } else { self.shape.meant(name) };
        let called = ToolCalled {
            index: self.fragments.place(),
            call: theirs.clone(),
            name: name.clone(),
            input: Json::received(input.text()),
            hosted,
            metadata: metadata.map(Json::received),
        };
        let (mut call, mut failures) = (theirs.clone(), 0);
        let step = self
            .append(|view| {
                call = unused(view, &theirs);
                failures = view.calls.failures(&called.name, &called.input);
                vec![ToolCalled { call: call.clone(), ..called.clone() }.into()]
            })
            .await?;
        self.called = true;
        if hosted {
            self.hosted.push((theirs, call));
        } else if self.shape.last_step {
            self.settle(self.bounding.settle(call, Err(CallError::StepsExhausted)).await).await?;
        } else {
            let repeated = self.gives_up_after(failures).then_some(failures);
            self.calls.issue(Issued { call, name, input, step, repeated });
        }
        Ok(Ok(()))
    }

    /// Whether a call that failed so often in a row is not made again.
    fn gives_up_after(&self, failures: u64) -> bool {
        let limit = self.runner.shared.settings.repeat_limit;
        limit > 0 && failures >= limit
    }

    async fn flush(&mut self) -> Result<(), Stop> {
        let flushed: Vec<Event> = self.fragments.flush().into_iter().map(recorded).collect();
        if !flushed.is_empty() {
            self.append(|_| flushed.clone()).await?;
        }
        Ok(())
    }

    async fn end_failed(&mut self, error: Failure) -> Result<(), Stop> {
        let (usage, cost) = self.usage();
        let mut events: Vec<Event> = self.fragments.flush().into_iter().map(recorded).collect();
        events.push(StepFailed { error, usage, cost }.into());
        self.append(|_| events.clone()).await.map(drop)
    }

    /// The files after a step that did not end well: what its calls changed can be undone all the same.
    async fn capture(&self) -> Result<(), Stop> {
        let Some(tree) = self.runner.files_after(self.files.as_ref()).await.files else { return Ok(()) };
        let captured = |view: &SessionView| match self.request.holds(view) {
            true => Decision::append(vec![FilesCaptured { tree: tree.clone() }.into()], ()),
            false => Decision::nothing(()),
        };
        self.runner.lane.decide(|view| Ok(captured(view))).await
    }

    /// Appends facts of this step, which begins with the first of them; gives where it began.
    async fn append(&mut self, mut events: impl FnMut(&SessionView) -> Vec<Event>) -> Result<Seq, Stop> {
        let (begun, request, runner) = (self.step, self.request, self.runner);
        let profiles = (&self.shape.agent.agent, &self.shape.model.model);
        let started = StepStarted {
            agent: profiles.0.clone(),
            model: profiles.1.clone(),
            files: self.files.clone().map(Into::into),
        };
        let step = self
            .runner
            .lane
            .decide(|view| {
                if !request.holds(view) || begun.is_some() && !view.calls.step_open {
                    return Err(runner.lost(request, view));
                }
                let mut all: Vec<Event> = Vec::new();
                if begun.is_none() {
                    all.push(started.clone().into());
                }
                all.extend(events(view));
                Ok(Decision::append(all, begun.unwrap_or(view.cut().next)))
            })
            .await?;
        self.step = Some(step);
        Ok(step)
    }

    fn show(&self, fragment: Fragment, text: String) {
        let (session, request) = (self.runner.lane.session(), self.request.sent.request);
        self.runner.shared.bus.tell(&Notice::Delta(Delta { session, request, fragment, text }));
    }
}

fn recorded(Whole { kind, index, text, metadata }: Whole) -> Event {
    let (text, metadata) = (text.into(), metadata.map(Json::received));
    match kind {
        FragmentKind::Text => TextEnded { index, text, metadata }.into(),
        FragmentKind::Reasoning => ReasoningEnded { index, text, metadata }.into(),
    }
}

fn broken(kind: ProviderErrorKind, message: String) -> ProviderError {
    ProviderError { kind, status: None, retry_after_ms: None, message }
}
