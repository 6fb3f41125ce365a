//! One conversation of an agent: its session in the log, and what the next request is compared with.

mod answered;
mod children;
mod compacted;
mod conversing;
mod known;
mod profile;
mod results_in_text;
mod resumed;
#[cfg(test)]
mod tests;

use crate::body::{CutBody, KnownPieces};
use crate::facts::Transcriber;
use crate::files::RecordedFiles;
use annals_core::event::{
    ChildOutcome, CompactionReason, Failure, Location, Prices, Purpose, RequestRecorded, RequestSent, RetryScheduled,
    SessionCreated, Usage,
};
use annals_core::{AgentName, Digest, Event, Json, ModelName, RequestId, Seq, SessionId, Time};
use annals_projections::{BuildError, Projection, RequestBuilder, SessionView, UsageTotals};
use annals_providers::recorded::WireConversation;
use annals_runtime::worktree::Tree;
use annals_store::{AppendError, Draft, EventLog};
use compacted::PendingSummary;
use known::PartsOfMessages;
use profile::RecordedShape;
use std::sync::Arc;

/// How many events are appended together at most: a batch has a limit of bytes.
const BATCH_MAX: usize = 32;

/// Something cannot be recorded. The thread is not continued.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ThreadError {
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Canonical(#[from] annals_core::canonical::CanonicalError),
}

/// A request that waits for its answer.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    /// The number that the proxy gave it.
    pub(crate) id: u64,
    request: RequestId,
    attempt: u32,
    purpose: Purpose,
    model: ModelName,
    prices: Prices,
    /// The hash of the body.
    pub(crate) wire: Digest,
}

impl InFlight {
    /// Whether the conversation waits for the answer.
    pub(crate) fn is_turn(&self) -> bool {
        matches!(self.purpose, Purpose::Turn | Purpose::Summary)
    }
}

/// An attempt that failed, until it is known whether another follows.
#[derive(Clone, Debug)]
struct FailedAttempt {
    flight: InFlight,
    /// When its answer ended.
    at: Time,
    error: Failure,
    usage: Option<Usage>,
}

/// What a request is recorded with.
pub(crate) struct RequestFacts {
    pub(crate) id: u64,
    pub(crate) at: Time,
    pub(crate) request: RequestId,
    pub(crate) purpose: Purpose,
    /// The files at that moment, if they are captured.
    pub(crate) files: Option<RecordedFiles>,
    pub(crate) target: String,
    /// The hash of the body as it was sent.
    pub(crate) wire: Digest,
    /// Why the body is not decoded, if it is not.
    pub(crate) undecoded: Option<String>,
    /// Who asked for the summary that it is for, if it is for one.
    pub(crate) compaction: CompactionReason,
    /// About how many tokens its body has.
    pub(crate) estimate: u64,
    pub(crate) conversation: WireConversation,
    pub(crate) model: ModelName,
    pub(crate) protocol: &'static str,
}

/// One conversation.
pub(crate) struct Thread {
    log: Arc<dyn EventLog>,
    pub(crate) session: SessionId,
    next: Seq,
    /// The time of the newest event.
    newest: Time,
    view: SessionView,
    builder: RequestBuilder,
    pub(crate) usage: UsageTotals,
    pub(crate) requests: u64,
    agent: AgentName,
    location: Location,
    model: ModelName,
    pieces: KnownPieces,
    transcriber: Transcriber,
    /// The parts of its messages.
    parts: PartsOfMessages,
    /// What the provider calls its answers and their items, which later requests may name in the place of what came before.
    answers: Vec<(String, Seq)>,
    /// The texts of the system prompt in force.
    system: Option<Vec<String>>,
    pub(crate) in_flight: Vec<InFlight>,
    failed: Option<FailedAttempt>,
    /// A summary that was asked for, until a request shows what became of it.
    summary: Option<PendingSummary>,
    /// About how many tokens the newest request of a turn has; 0 before the first.
    estimate: u64,
    /// How many parts the bodies that were recorded and the events do not have in common.
    pub(crate) differing: u64,
    /// Requests and usage of earlier recordings.
    pub(crate) before: (u64, UsageTotals),
    /// The files at the newest request.
    pub(crate) files: Option<Tree>,
    /// The same, if no event has them yet.
    unrecorded_files: Option<Tree>,
    /// The newest answer: how it ended, and its text.
    pub(crate) last: Option<(ChildOutcome, String)>,
}

impl Thread {
    /// A new session, not created yet in the log.
    pub(crate) fn new(log: Arc<dyn EventLog>, session: SessionId, agent: AgentName, location: Location) -> Self {
        Self { agent, location, ..Self::empty(log, session) }
    }

    fn empty(log: Arc<dyn EventLog>, session: SessionId) -> Self {
        Self {
            log,
            session,
            next: Seq::ZERO,
            newest: Time(0),
            view: SessionView::default(),
            builder: RequestBuilder::default(),
            usage: UsageTotals::default(),
            requests: 0,
            agent: AgentName(String::new()),
            location: Location { directory: String::new(), workspace: None },
            model: ModelName(String::new()),
            pieces: KnownPieces::default(),
            transcriber: Transcriber::default(),
            parts: PartsOfMessages::default(),
            answers: Vec::new(),
            system: None,
            in_flight: Vec::new(),
            failed: None,
            summary: None,
            estimate: 0,
            differing: 0,
            before: (0, UsageTotals::default()),
            last: None,
            files: None,
            unrecorded_files: None,
        }
    }

    /// The files are captured: what differs was changed by the step that is open, if one is.
    pub(crate) fn files_are(&mut self, files: RecordedFiles) {
        let open = self.transcriber.open.as_mut().and_then(|open| open.end.as_mut());
        match open {
            Some(end) => (end.files, end.changed) = (Some(files.tree.to_string()), files.changed),
            None if self.files.as_ref() != Some(&files.tree) => self.unrecorded_files = Some(files.tree.clone()),
            None => {}
        }
        self.files = Some(files.tree);
    }

    /// Whether it had a request of a turn.
    pub(crate) fn has_turns(&self) -> bool {
        self.system.is_some()
    }

    /// Whether a request is one that waits for its answer, or failed: another attempt of it.
    pub(crate) fn is_retry(&self, wire: Digest) -> bool {
        let failed = self.failed.as_ref().map(|failed| failed.flight.wire);
        self.in_flight.iter().map(|flight| flight.wire).chain(failed).any(|other| other == wire)
    }

    /// Creates the session.
    pub(crate) async fn begin(&mut self, at: Time, created: SessionCreated) -> Result<(), ThreadError> {
        self.model.clone_from(&created.model);
        self.append(at, vec![created.into()]).await
    }

    /// Appends events and takes them in.
    pub(crate) async fn append(&mut self, at: Time, events: Vec<Event>) -> Result<(), ThreadError> {
        let mut events = events.into_iter().peekable();
        while events.peek().is_some() {
            let events: Vec<Event> = events.by_ref().take(BATCH_MAX).collect();
            let draft =
                Draft { session: self.session, expected: self.next, at, events, digest: None, states: Vec::new() };
            let committed = self.log.append(draft).await?;
            for record in committed.batch.records() {
                self.builder.apply(&mut self.view, &record);
                self.usage.apply(&record);
                self.next = record.seq.plus(1);
            }
            self.newest = at;
        }
        Ok(())
    }

    /// Records a request: what is new in the conversation, then the request itself.
    pub(crate) async fn request(&mut self, facts: RequestFacts, cut: CutBody<'_>) -> Result<(), ThreadError> {
        if let Some(files) = facts.files.clone() {
            self.files_are(files);
        }
        let wire = facts.wire;
        let shape = RecordedShape::of(&self.agent, &facts);
        let (mut request, mut attempt) = (facts.request, 1);
        match self.failed.take() {
            Some(failed) if failed.flight.wire == wire => {
                (request, attempt) = (failed.flight.request, failed.flight.attempt + 1);
                let cost = cost(&failed.flight.prices, failed.usage);
                let retry = RetryScheduled { attempt, at: facts.at, error: failed.error, usage: failed.usage, cost };
                self.append(facts.at, vec![retry.into()]).await?;
            }
            failed => {
                if let Some(failed) = failed {
                    self.give_up(failed).await?;
                }
                match facts.purpose {
                    Purpose::Turn => self.converse(&facts).await?,
                    Purpose::Summary => self.summarise(&facts).await?,
                    Purpose::Title | Purpose::Other => {}
                }
            }
        }
        self.append(facts.at, shape.unrecorded(&self.view)?).await?;
        self.send(facts, cut, shape, wire, request, attempt).await
    }

    async fn send(
        &mut self,
        facts: RequestFacts,
        cut: CutBody<'_>,
        shape: RecordedShape,
        wire: Digest,
        request: RequestId,
        attempt: u32,
    ) -> Result<(), ThreadError> {
        let redacted = cut.redacted();
        let mut placed = self.pieces.place(cut, self.next);
        let last = placed.events.pop().unwrap_or_default();
        let (target, recorded) = (facts.target, |recipe: String, pieces: Vec<String>, target: String, redacted| {
            let pieces = pieces.into_iter().map(Into::into).collect();
            let recipe = Json::received(recipe);
            RequestRecorded { request, attempt, target, recipe, pieces, redacted }
        });
        for pieces in placed.events.drain(..) {
            self.append(facts.at, vec![recorded("[]".to_owned(), pieces, target.clone(), None).into()]).await?;
        }
        let prompt = match facts.purpose {
            Purpose::Turn => None,
            // The messages before it are in the log.
            Purpose::Summary => Some(facts.conversation.newest_prompt().into()),
            Purpose::Title | Purpose::Other => {
                let undecoded = facts.undecoded.map(|why| format!("not decoded: {why}"));
                Some(undecoded.unwrap_or_else(|| facts.conversation.prompt()).into())
            }
        };
        // A hash of what was sent would let guesses of the secret be tested.
        let kept = redacted.is_none().then_some(wire);
        let mut sent = shape.sent(request, facts.purpose, attempt, kept, prompt)?;
        let blobs = self.log.blobs();
        sent.digest = self.builder.build(&self.view, &sent, &*blobs)?.digest();
        let body = recorded(placed.recipe.to_json(), last, target, redacted);
        self.append(facts.at, vec![body.into(), sent.into()]).await?;
        self.pieces.learn(&placed);
        self.requests += 1;
        self.in_flight.push(InFlight {
            id: facts.id,
            request,
            attempt,
            purpose: facts.purpose,
            model: facts.model,
            prices: shape.prices(),
            wire,
        });
        Ok(())
    }
}

/// What an answer costs, in nano-dollars; 0 without usage.
fn cost(prices: &Prices, usage: Option<Usage>) -> u64 {
    usage.map_or(0, |usage| prices.cost(usage))
}

impl RecordedShape {
    fn sent(
        &self,
        request: RequestId,
        purpose: Purpose,
        attempt: u32,
        wire: Option<Digest>,
        prompt: Option<annals_core::Text>,
    ) -> Result<RequestSent, ThreadError> {
        Ok(RequestSent {
            request,
            purpose,
            attempt,
            digest: Digest([0; 32]),
            wire,
            agent: self.agent.agent.clone(),
            model: self.model.model.clone(),
            agent_profile: self.agent.digest()?,
            model_profile: self.model.digest()?,
            tools: self.tools.as_ref().map(annals_core::event::ToolsRecorded::digest).transpose()?,
            options: self.options.digest()?,
            last_step: false,
            prompt,
        })
    }
}
