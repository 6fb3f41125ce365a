//! The local calls of one answer: issued, run, ended (`docs/reference/turn.md#a-call`).

use super::{RequestProfile, Runner};
use crate::hooks::HookedCall;
use crate::lane::Lane;
use crate::outcome::LogError;
use crate::settings::CallOrder;
use crate::state::RuntimeState;
use crate::tools::InheritedDenials;
use crate::tools::{
    CallContext, CallError, CallInput, Cancellation, Offered, Past, Permits, ProgressSender, ToolOutput, ToolRegistry,
};
use annals_core::event::{Rule, ToolProgressed};
use annals_core::{AgentName, CallId, Seq};
use annals_projections::SessionView;
use annals_store::crash_point::{self, CrashPlace, ReachedPoint};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinSet};

/// A call that is recorded and may run.
#[derive(Clone, Debug)]
pub(super) struct IssuedCall {
    pub(super) call: CallId,
    pub(super) name: String,
    pub(super) input: CallInput,
    /// Where the step with this call began.
    pub(super) step: Seq,
    /// Why it is not made, if it is not.
    pub(super) refused: Option<CallError>,
}

/// News of running calls.
pub(super) enum CallUpdate {
    /// One showed what it has so far.
    Progressed(ToolProgressed),
    /// One ended.
    Ended(CallId, Result<ToolOutput, CallEnd>),
}

/// Why a call gave no result.
pub(super) enum CallEnd {
    /// With an error that the model sees.
    Error(CallError),
    /// The user declined it: the turn ends.
    Declined,
    /// The log refused a question or an answer about it.
    Log(LogError),
}

/// What the calls of one answer have in common.
pub(super) struct CallRunner {
    pub(super) shared: Arc<RuntimeState>,
    pub(super) lane: Arc<Lane>,
    pub(super) registry: ToolRegistry,
    pub(super) offered: Offered,
    /// The agent of the turn that made the calls, also after a switch, and its rules.
    pub(super) agent: AgentName,
    pub(super) rules: Vec<Rule>,
    /// What the agents above a child are denied.
    pub(super) limits: InheritedDenials,
    pub(super) cancellation: Cancellation,
    pub(super) directory: String,
    /// Changes when a reply added rules: a question that waits may be answered by them.
    pub(super) approvals: watch::Sender<u64>,
}

/// The local calls of one answer. Dropping them drops what runs.
pub(super) struct RunningCalls {
    issuer: Arc<CallRunner>,
    order: CallOrder,
    waiting: VecDeque<IssuedCall>,
    running: JoinSet<Result<ToolOutput, CallEnd>>,
    names: BTreeMap<Id, CallId>,
    progress: (mpsc::UnboundedSender<ToolProgressed>, mpsc::UnboundedReceiver<ToolProgressed>),
    /// The newest progress of each call that is not recorded yet: a fast tool does not flood the log.
    shown: BTreeMap<CallId, ToolProgressed>,
    issued: usize,
}

impl RunningCalls {
    pub(super) fn new(runner: &Runner, profile: &RequestProfile) -> Self {
        let issuer = CallRunner {
            shared: runner.shared.clone(),
            lane: runner.lane.clone(),
            registry: runner.services.tools.clone(),
            offered: profile.offered.clone(),
            agent: profile.agent.agent.clone(),
            rules: profile.agent.permissions.clone(),
            limits: runner.limits.clone(),
            cancellation: runner.cancellation.clone(),
            directory: runner.location.directory.clone(),
            approvals: watch::Sender::new(0),
        };
        Self {
            issuer: Arc::new(issuer),
            order: runner.shared.settings.calls,
            waiting: VecDeque::new(),
            running: JoinSet::new(),
            names: BTreeMap::new(),
            progress: mpsc::unbounded_channel(),
            shown: BTreeMap::new(),
            issued: 0,
        }
    }

    /// Takes a call on; runs it at once, unless calls run in order.
    pub(super) fn issue(&mut self, issued: IssuedCall) {
        self.issued += 1;
        match self.order {
            CallOrder::Eager => self.spawn(issued),
            CallOrder::InOrder => self.waiting.push_back(issued),
        }
    }

    /// Whether any call was taken on.
    pub(super) fn any(&self) -> bool {
        self.issued > 0
    }

    /// Whether a call runs.
    pub(super) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Runs the next call that waits for its turn, if none runs.
    pub(super) fn proceed(&mut self) {
        if self.running.is_empty()
            && let Some(issued) = self.waiting.pop_front()
        {
            self.spawn(issued);
        }
    }

    /// Calls that never ran, and will not.
    pub(super) fn take_waiting(&mut self) -> Vec<CallId> {
        self.waiting.drain(..).map(|issued| issued.call).collect()
    }

    /// The next news; `None` when nothing runs. May be dropped and asked again.
    pub(super) async fn next_update(&mut self) -> Option<CallUpdate> {
        let (_, progress) = &mut self.progress;
        while let Ok(progressed) = progress.try_recv() {
            self.shown.insert(progressed.call.clone(), progressed);
        }
        if let Some((_, progressed)) = self.shown.pop_first() {
            return Some(CallUpdate::Progressed(progressed));
        }
        tokio::select! {
            biased;
            Some(progressed) = progress.recv() => Some(CallUpdate::Progressed(progressed)),
            ended = self.running.join_next_with_id() => match ended? {
                Ok((task, result)) => self.names.remove(&task).map(|call| CallUpdate::Ended(call, result)),
                Err(error) => {
                    let call = self.names.remove(&error.id())?;
                    // A tool's own panic is its error already: this is a port's.
                    let defect = CallError::Defect(error.to_string());
                    Some(CallUpdate::Ended(call, Err(CallEnd::Error(defect))))
                }
            },
        }
    }

    fn spawn(&mut self, issued: IssuedCall) {
        let call = issued.call.clone();
        let progress = ProgressSender::to(self.progress.0.clone());
        let task = self.running.spawn(self.issuer.clone().perform(issued, progress));
        self.names.insert(task.id(), call);
    }
}

impl CallRunner {
    /// Resolves, checks, authorises and runs one call.
    async fn perform(self: Arc<Self>, issued: IssuedCall, progress: ProgressSender) -> Result<ToolOutput, CallEnd> {
        if let Some(refused) = issued.refused {
            return Err(refused.into());
        }
        let tool = self.offered.resolve(&self.registry, &issued.name).map_err(|error| self.with_names(error))?;
        tool.validate(&issued.input)?;
        let authorised = self.authorise(&issued, &tool).await?;
        let approved = self.lane.view().await?.permissions.rules.clone();
        let permits = Permits::by(self.rules.clone()).within(approved, self.limits.clone());
        let context = CallContext {
            session: self.lane.session(),
            agent: self.agent.clone(),
            step: issued.step,
            call: issued.call,
            authorised,
            permits,
            cancellation: self.cancellation.clone(),
            progress,
            past: Past::of(self.shared.ports.log.clone()),
        };
        let call = context.call.clone();
        let Some(hooks) = self.shared.settings.hooks.clone() else {
            return self.limited(&issued.name, &call, tool.run(issued.input, context)).await;
        };
        let hooked = HookedCall {
            session: self.lane.session(),
            directory: self.directory.clone(),
            agent: self.agent.clone(),
            call: context.call.clone(),
            tool: issued.name.clone(),
            input: issued.input.clone(),
        };
        let cancellation = self.cancellation.clone();
        let interrupted = || CallEnd::from(CallError::Interrupted);
        tokio::select! {
            () = cancellation.cancelled() => return Err(interrupted()),
            judged = hooks.before_tool(&hooked) => judged.map_err(CallError::Hooked)?,
        }
        let ended = self.limited(&issued.name, &call, tool.run(issued.input, context)).await;
        let error = match &ended {
            Ok(_) | Err(CallEnd::Declined | CallEnd::Log(_)) => String::new(),
            Err(CallEnd::Error(error)) => error.to_string(),
        };
        let outcome = match &ended {
            Ok(output) => Ok(output),
            Err(_) => Err(error.as_str()),
        };
        // What an interrupted call gave counts; nothing is added to it.
        let remark = tokio::select! {
            () = cancellation.cancelled() => None,
            remark = hooks.after_tool(&hooked, outcome) => remark,
        };
        Ok(match (ended, remark) {
            (ended, None) => ended?,
            (Ok(mut output), Some(remark)) => {
                output.add_text(&remark);
                output
            }
            (Err(CallEnd::Error(error)), Some(remark)) => {
                return Err(CallError::Declared(format!("{error}\n{remark}")).into());
            }
            (Err(end), Some(_)) => return Err(end),
        })
    }

    /// An error that names the tools that there are, if the settings say so.
    fn with_names(&self, error: CallError) -> CallError {
        match error {
            CallError::Unknown(name) if self.shared.settings.names_tools && !self.offered.is_empty() => {
                CallError::Unknown(format!("{name}. Available: {}", self.offered.names()))
            }
            error => error,
        }
    }

    /// The end of a call within the time limit of its tool.
    async fn limited(
        &self,
        name: &str,
        call: &CallId,
        running: impl Future<Output = Result<ToolOutput, CallError>>,
    ) -> Result<ToolOutput, CallEnd> {
        self.crash_point(CrashPlace::BeforeTool, name, call);
        let ended = self.within_limit(name, running).await;
        self.crash_point(CrashPlace::AfterTool, name, call);
        ended
    }

    fn crash_point(&self, place: CrashPlace, tool: &str, call: &CallId) {
        crash_point::reached(|| ReachedPoint {
            session: Some(self.lane.session()),
            call: Some(call.to_string()),
            tool: Some(tool.to_owned()),
            ..ReachedPoint::at(place)
        });
    }

    async fn within_limit(
        &self,
        name: &str,
        running: impl Future<Output = Result<ToolOutput, CallError>>,
    ) -> Result<ToolOutput, CallEnd> {
        match self.shared.settings.tool_limits.get(name) {
            None => Ok(running.await?),
            Some(limit) => match tokio::time::timeout(*limit, running).await {
                Ok(ended) => Ok(ended?),
                Err(_) => {
                    let ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                    Err(CallError::Late { name: name.to_owned(), ms }.into())
                }
            },
        }
    }
}

impl From<CallError> for CallEnd {
    fn from(error: CallError) -> Self {
        Self::Error(error)
    }
}

impl From<LogError> for CallEnd {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

/// The provider's id of a call, or, where the session used it before, the first free one that begins with it.
pub(super) fn unused_call_id(view: &SessionView, theirs: &CallId) -> CallId {
    if !view.calls.is_used(theirs) {
        return theirs.clone();
    }
    let mut numbered = (2u64..).map(|n| CallId(format!("{theirs}-{n}")));
    numbered.find(|call| !view.calls.is_used(call)).unwrap_or_else(|| theirs.clone())
}
