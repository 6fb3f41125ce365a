//! The life of a child session: created, run, settled, independently of the call that created it.

use super::result::ChildEnd;
use super::{Subagent, Subagents, Task};
use crate::background::{Work, scheduled};
use crate::coordinator::{JobRunner, PendingRun, RunJob, end_of};
use crate::lane::{Decision, Lane};
use crate::outcome::{LogError, RunError};
use crate::process::ProcessRecorder;
use crate::state::RuntimeState;
use crate::tools::{CallContext, Cancellation, ToolError};
use annals_core::event::{ChildOutcome, ChildStarted, Delivery, InputAdmitted, Parent, SessionCreated};
use annals_core::{AgentName, Event, ModelName, Seq, SessionId};
use annals_projections::{Body, SessionView};
use annals_store::Draft;
use std::collections::BTreeSet;
use std::sync::{Arc, MutexGuard, PoisonError};
use tokio::task::JoinHandle;

/// A child that is on the log, with its prompt, and does not run yet.
pub(super) struct StartedChild {
    pub(super) child: SessionId,
    shared: Arc<RuntimeState>,
    parent: Arc<Lane>,
    background: bool,
    cancellation: Cancellation,
    serving: Serving,
}

/// Begins a child or resumes one.
///
/// # Errors
/// The error that the model reads: too deep, an unknown id, another agent's task, one that still runs, or the log's refusal.
pub(super) async fn begin(
    shared: &Arc<RuntimeState>,
    subagents: &Subagents,
    subagent: &Subagent,
    task: &Task,
    context: &CallContext,
) -> Result<StartedChild, ToolError> {
    let parent = shared.lane(context.session);
    let view = parent.view().await.map_err(tool_error)?;
    let depth = depth(shared, &view).await.map_err(tool_error)?;
    if depth >= subagents.depth {
        let limit = subagents.depth;
        return Err(ToolError(format!(
            "Subagent depth limit reached ({limit}). Do the task yourself instead of giving it to a subagent."
        )));
    }
    let child = match &task.task_id {
        Some(id) => known(id, &view, &subagent.agent)?,
        None => shared.ports.ids.session(shared.ports.clock.now()),
    };
    let serving =
        Serving::of(shared, child).ok_or_else(|| ToolError(format!("Task {child} still runs; wait for its result")))?;
    if task.task_id.is_none() {
        create(shared, child, &view, subagent, task, context).await.map_err(tool_error)?;
    }
    let started = ChildStarted {
        child,
        call: Some(context.call.clone()),
        agent: subagent.agent.clone(),
        background: task.background,
    };
    parent.record(&[started.into()]).await.map_err(tool_error)?;
    let (shared, background) = (shared.clone(), task.background);
    let begun = StartedChild { child, shared, parent, background, cancellation: context.cancellation.clone(), serving };
    if let Err(error) = begun.prompt(&task.prompt).await {
        let ended = ChildEnd { outcome: ChildOutcome::Failed, text: error.to_string() };
        begun.settle(&ended, true).await.map_err(tool_error)?;
        return ended.output(child).map(|_| begun);
    }
    Ok(begun)
}

fn tool_error(error: LogError) -> ToolError {
    ToolError(error.to_string())
}

/// The child that an id names: one of this session's own, with this agent.
fn known(id: &str, view: &SessionView, agent: &AgentName) -> Result<SessionId, ToolError> {
    let child = id.parse::<SessionId>().ok();
    let found = view.session.children.iter().rfind(|one| Some(one.child) == child);
    let found = found.ok_or_else(|| ToolError(format!("Unknown task: {id}. Leave task_id out to begin a new one.")))?;
    if found.agent != *agent {
        return Err(ToolError(format!("Task {id} is done by {}, not by {agent}", found.agent)));
    }
    Ok(found.child)
}

/// How many ancestors a session has.
async fn depth(shared: &Arc<RuntimeState>, view: &SessionView) -> Result<usize, LogError> {
    let mut seen: BTreeSet<SessionId> = view.session.id.into_iter().collect();
    let mut parent = view.session.parent.clone();
    while let Some(above) = parent.take().filter(|above| seen.insert(above.session)) {
        if shared.ports.log.head(above.session).await?.is_some() {
            parent = shared.lane(above.session).view().await?.session.parent.clone();
        }
    }
    Ok(seen.len().saturating_sub(1))
}

async fn create(
    shared: &Arc<RuntimeState>,
    child: SessionId,
    parent: &SessionView,
    subagent: &Subagent,
    task: &Task,
    context: &CallContext,
) -> Result<(), LogError> {
    let calling = |body: &Body| match body {
        Body::Assistant(answer) => Some(answer.model.clone()),
        _ => None,
    };
    let calling: Option<ModelName> = parent.history.message(context.step).and_then(|message| calling(&message.body));
    let location = parent.session.location.clone();
    let location = location.unwrap_or(annals_core::event::Location { directory: String::new(), workspace: None });
    let recorder = shared.settings.process.as_deref();
    let created = SessionCreated {
        process: ProcessRecorder::creating(recorder, &location).await,
        location,
        agent: subagent.agent.clone(),
        model: subagent.model.clone().or(calling).unwrap_or_else(|| parent.session.model.clone()),
        policy: parent.session.policy,
        title: Some(format!("{} (@{} subagent)", task.description, subagent.agent)),
        parent: Some(Parent { session: context.session, call: Some(context.call.clone()) }),
        origin: None,
        key: shared.ports.ids.session_key().into(),
    };
    let at = shared.ports.clock.now();
    let draft = Draft {
        session: child,
        expected: Seq::ZERO,
        at,
        events: vec![created.into()],
        digest: None,
        states: Vec::new(),
    };
    shared.ports.log.append(draft).await?;
    ProcessRecorder::recorded(recorder, child);
    Ok(())
}

impl StartedChild {
    /// Runs the child on a task of its own: a call that is dropped leaves no child without its end.
    pub(super) fn serve(self) -> JoinHandle<Result<ChildEnd, ToolError>> {
        let (parent, child) = (self.parent.session(), self.child);
        if !self.background {
            return tokio::spawn(async move { self.run(None).await.map(|(ended, _)| ended) });
        }
        let start = scheduled(self.shared.settings.scheduler.as_ref(), Work::Task { parent, child });
        let running = self.shared.background.begin(parent, child);
        tokio::spawn(async move {
            let guard = start.await;
            let (ended, woken) = self.run(Some(running.cancellation())).await?;
            drop(guard);
            if let Some(woken) = woken {
                running.led_to(end_of(woken).await);
            }
            Ok(ended)
        })
    }

    /// Runs the child to its end and settles it. A task in the background is also cancelled by `cancelled`; it gives the
    /// busy period of the parent that its result is answered in.
    async fn run(self, cancelled: Option<Cancellation>) -> Result<(ChildEnd, Option<PendingRun>), ToolError> {
        let (work, child): (Arc<dyn JobRunner>, _) = (self.shared.clone(), self.child);
        let coordinator = &self.shared.coordinator;
        let run = coordinator.run(&work, child, RunJob::Drain { forced: true });
        tokio::pin!(run);
        let ended = tokio::select! {
            biased;
            ended = &mut run => ended,
            () = self.cancellation.cancelled() => {
                coordinator.interrupt(child);
                run.await
            }
            () = if_cancelled(cancelled.as_ref()) => {
                coordinator.interrupt(child);
                run.await
            }
        };
        if let Err(RunError::Halted) = ended {
            // As when the process dies: nothing more is written.
            return Err(ToolError(RunError::Halted.to_string()));
        }
        let lane = self.shared.lane(child);
        let view = lane.view().await.map_err(tool_error)?;
        let ended = ChildEnd::of(ended, &view, &*lane.blobs());
        let unwanted = cancelled.is_some_and(|cancelled| cancelled.is_cancelled());
        let woken = self.settle(&ended, !unwanted).await.map_err(tool_error)?;
        Ok((ended, woken))
    }

    async fn prompt(&self, prompt: &str) -> Result<(), LogError> {
        let admitted = input(&self.shared, prompt.into());
        self.shared.lane(self.child).record(&[admitted.into()]).await
    }

    /// Records the end in the parent. The result of a background task is an input, with which the parent continues if it is
    /// `wanted`, unless the user is about to undo something.
    async fn settle(&self, ended: &ChildEnd, wanted: bool) -> Result<Option<PendingRun>, LogError> {
        let mut events: Vec<Event> = vec![ended.settled(self.child).into()];
        if self.background {
            events.push(input(&self.shared, ended.clone().text(self.child)).into());
        }
        let goes_on = |view: &SessionView| view.session.revert.is_none();
        let wake =
            self.parent.decide(|view| Ok::<_, LogError>(Decision::append(events.clone(), goes_on(view)))).await?;
        self.serving.end();
        if !(self.background && wanted && wake) || self.cancellation.is_cancelled() {
            return Ok(None);
        }
        let work: Arc<dyn JobRunner> = self.shared.clone();
        Ok(Some(self.shared.coordinator.wake(&work, self.parent.session())))
    }
}

/// An input that the runtime creates.
pub(super) fn input(shared: &RuntimeState, text: String) -> InputAdmitted {
    let ports = &shared.ports;
    let input = ports.ids.input(ports.clock.now());
    InputAdmitted { input, text: text.into(), attachments: Vec::new(), delivery: Delivery::Steer }
}

async fn if_cancelled(cancelled: Option<&Cancellation>) {
    match cancelled {
        Some(cancelled) => cancelled.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Marks a child as served by this process, until dropped.
struct Serving {
    shared: Arc<RuntimeState>,
    child: SessionId,
}

impl Serving {
    /// `None` when it is served, or runs, already.
    fn of(shared: &Arc<RuntimeState>, child: SessionId) -> Option<Self> {
        let free = !shared.coordinator.is_busy(child) && served(shared).insert(child);
        free.then(|| Self { shared: shared.clone(), child })
    }

    fn end(&self) {
        served(&self.shared).remove(&self.child);
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.end();
    }
}

pub(super) fn served(shared: &RuntimeState) -> MutexGuard<'_, BTreeSet<SessionId>> {
    shared.serving.lock().unwrap_or_else(PoisonError::into_inner)
}
