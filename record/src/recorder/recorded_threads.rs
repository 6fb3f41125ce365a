//! The conversations of a recording: to which one a request belongs, and what is appended to it.

use super::{RecorderSettings, RecordingReport, SessionRecording};
use crate::answer::answer;
use crate::anthropic;
use crate::body::PieceRedactor;
use crate::capture::{BODY_MAX, Captured, CapturedAnswer, CapturedRequest};
use crate::chat;
use crate::coding::decoded;
use crate::conversation::{DecodedAnswer, WireConversation, WireItem};
use crate::gemini;
use crate::headers::AgentIds;
use crate::protocol::RecordedProtocol;
use crate::responses;
use crate::thread::{RequestFacts, Thread};
use annals_core::event::{ChildStarted, Failure, Origin, Parent, Policy, Purpose, SessionCreated};
use annals_core::{AgentName, Digest, ModelName, SessionId};
use annals_providers::wire::Protocol;
use annals_runtime::redaction::Redactor;
use annals_store::EventLog;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tokio::sync::mpsc;

/// The form in the origin of a recorded session.
const WIRE: &str = "wire";
/// The number of this mapping from requests to events.
const MAPPING: u32 = 1;

/// A conversation and how its agent names it.
struct KnownThread {
    ids: AgentIds,
    protocol: RecordedProtocol,
    parent: Option<SessionId>,
    thread: Thread,
    /// Whether the log refused something: nothing more is appended.
    broken: bool,
}

/// All conversations of a recording.
pub(super) struct RecordedThreads {
    log: Arc<dyn EventLog>,
    settings: RecorderSettings,
    redactor: PieceRedactor,
    secrets: BTreeSet<Digest>,
    threads: Vec<KnownThread>,
    /// The conversation of each request that waits for its answer, and its protocol.
    waiting: HashMap<u64, usize>,
    missed: u64,
    why: Option<String>,
}

impl RecordedThreads {
    pub(super) fn new(log: Arc<dyn EventLog>, settings: RecorderSettings) -> Self {
        let redactor = PieceRedactor::new((*settings.redactor).clone());
        let (threads, waiting, secrets) = (Vec::new(), HashMap::new(), BTreeSet::new());
        Self { log, settings, redactor, secrets, threads, waiting, missed: 0, why: None }
    }

    pub(super) async fn run(mut self, mut received: mpsc::UnboundedReceiver<Captured>) -> RecordingReport {
        while let Some(captured) = received.recv().await {
            match captured {
                Captured::Request(request) => {
                    if let Err(why) = self.request(&request).await {
                        self.miss(why);
                    }
                }
                Captured::Answer(answer) => self.answer(&answer).await,
                Captured::End => break,
            }
        }
        self.finish().await
    }

    fn miss(&mut self, why: String) {
        self.missed += 1;
        self.why.get_or_insert(why);
    }

    /// Learns the credentials of a request, so that they are replaced wherever they are in it.
    fn learn(&mut self, secrets: &[String]) {
        for secret in secrets {
            if self.secrets.insert(Digest::of(secret.as_bytes())) {
                self.redactor.learn("credential", secret);
            }
        }
    }

    /// Records a request; gives why it cannot be recorded.
    async fn request(&mut self, captured: &CapturedRequest) -> Result<(), String> {
        let Some((protocol, counts)) = RecordedProtocol::of(&captured.target) else { return Ok(()) };
        self.learn(&captured.secrets);
        let bytes = captured.body.bytes().ok_or("a request was too large to be kept")?;
        let (content, whole) =
            decoded(bytes, captured.coding.as_deref(), BODY_MAX).map_err(|error| error.to_string())?;
        let body = String::from_utf8(content).ok().filter(|_| whole).ok_or("the body of a request is not text")?;
        // Read without secrets, as it is recorded.
        let cut = self.redactor.cut(&body);
        let json: Value =
            serde_json::from_str(&cut.recorded).map_err(|_| "the body of a request is not JSON".to_owned())?;
        let conversation = conversation(protocol, &captured.target, &json)
            .ok_or("the body of a request is not of a known protocol".to_owned())?;
        let wire = Digest::of(body.as_bytes());
        let (at, purpose) = self.place(captured, protocol, counts, &conversation, wire).await?;
        let target = format!("{} {}", captured.method, captured.target);
        let facts = RequestFacts {
            id: captured.id,
            at: captured.at,
            request: self.settings.ids.request(captured.at),
            purpose,
            target: self.redactor.redactor().redact(&target).text.into_owned(),
            body: &body,
            model: model(protocol, &captured.host, &conversation.model),
            conversation,
            protocol: protocol.as_str(),
        };
        let Some(known) = self.threads.get_mut(at) else { return Err("no session".to_owned()) };
        if known.broken {
            return Err("the log could not be written".to_owned());
        }
        if let Err(error) = known.thread.request(facts, cut).await {
            known.broken = true;
            return Err(error.to_string());
        }
        self.waiting.insert(captured.id, at);
        Ok(())
    }

    /// The conversation that a request belongs to, and what the request is for.
    async fn place(
        &mut self,
        captured: &CapturedRequest,
        protocol: RecordedProtocol,
        counts: bool,
        conversation: &WireConversation,
        wire: Digest,
    ) -> Result<(usize, Purpose), String> {
        let keyed = captured.ids.session.is_some();
        let of_agent = |known: &KnownThread| {
            known.protocol == protocol
                && known.ids.session == captured.ids.session
                && known.ids.agent == captured.ids.agent
        };
        let shared = |known: &KnownThread| known.thread.shared(conversation);
        let candidates = || self.threads.iter().enumerate().filter(|(_, known)| of_agent(known));
        if let Some((at, _)) = candidates().find(|(_, known)| known.thread.is_retry(wire)) {
            let busy = self.threads.get(at).is_some_and(|known| !known.thread.in_flight.is_empty());
            let purpose = aside(conversation, counts, captured, true).unwrap_or(Purpose::Turn);
            if !busy || purpose != Purpose::Turn {
                return Ok((at, purpose));
            }
        }
        // The longest common beginning; without ids of its agent it must contain an answer, or be all there was.
        let continued = candidates()
            .map(|(at, known)| (at, shared(known), known.thread.in_flight.is_empty()))
            .filter(|(_, (same, all), idle)| *same > 0 && *idle && (keyed || same == all || *same > 1))
            .max_by_key(|(at, (same, _), _)| (*same, std::cmp::Reverse(*at)));
        if counts {
            let nearest = continued.map(|(at, ..)| at).or_else(|| candidates().next().map(|(at, _)| at));
            return self.aside(nearest, captured, protocol, conversation, Purpose::Other).await;
        }
        if let Some((at, ..)) = continued {
            return Ok((at, Purpose::Turn));
        }
        let main = candidates().find(|(_, known)| known.thread.requests > 0).map(|(at, _)| at);
        if let Some(purpose) = aside(conversation, counts, captured, main.is_some()) {
            let nearest = main.or_else(|| candidates().next().map(|(at, _)| at));
            return self.aside(nearest, captured, protocol, conversation, purpose).await;
        }
        // A conversation that only had requests aside so far.
        if let Some((at, _)) = candidates().find(|(_, known)| {
            known.thread.shared(conversation).1 == 0 && known.thread.in_flight.iter().all(|flight| !flight.is_turn())
        }) {
            return Ok((at, Purpose::Turn));
        }
        // An agent that names its sessions replaced the history of one: it summarised.
        let replaced = main.filter(|at| {
            keyed
                && self
                    .threads
                    .get(*at)
                    .is_some_and(|known| known.thread.in_flight.is_empty() && known.thread.has_tools())
        });
        match replaced {
            Some(at) => Ok((at, Purpose::Turn)),
            None => Ok((self.begin(captured, protocol, conversation).await?, Purpose::Turn)),
        }
    }

    /// A request aside is recorded in the conversation that it is for, or in one that begins.
    async fn aside(
        &mut self,
        nearest: Option<usize>,
        captured: &CapturedRequest,
        protocol: RecordedProtocol,
        conversation: &WireConversation,
        purpose: Purpose,
    ) -> Result<(usize, Purpose), String> {
        match nearest {
            Some(at) => Ok((at, purpose)),
            None => Ok((self.begin(captured, protocol, conversation).await?, purpose)),
        }
    }

    /// Creates a session.
    async fn begin(
        &mut self,
        captured: &CapturedRequest,
        protocol: RecordedProtocol,
        conversation: &WireConversation,
    ) -> Result<usize, String> {
        let (settings, ids) = (&self.settings, &captured.ids);
        let session = settings.ids.session(captured.at);
        let agent = agent_name(settings);
        let parent = self.parent(ids);
        let mut thread = Thread::new(self.log.clone(), session, agent.clone(), settings.location.clone());
        let foreign = match (&ids.session, &ids.agent) {
            (Some(session), Some(agent)) => format!("{session}/{agent}"),
            (Some(session), None) => session.clone(),
            (None, _) => session.to_string(),
        };
        let model = model(protocol, &captured.host, &conversation.model);
        let origin = Origin {
            agent: settings.agent.clone(),
            version: None,
            id: foreign,
            form: WIRE.to_owned(),
            importer: MAPPING,
        };
        let created = SessionCreated {
            location: settings.location.clone(),
            agent: agent.clone(),
            model: model.clone(),
            policy: Policy::default(),
            title: None,
            parent: parent
                .and_then(|at| self.threads.get(at))
                .map(|known| Parent { session: known.thread.session, call: None }),
            origin: Some(origin),
            process: settings.process.clone(),
            key: settings.ids.session_key().into(),
        };
        let parent_session = created.parent.as_ref().map(|parent| parent.session);
        thread.begin(captured.at, created).await.map_err(|error| error.to_string())?;
        if let Some(known) = parent.and_then(|at| self.threads.get_mut(at)) {
            let started = ChildStarted { child: session, call: None, agent, background: false };
            known.thread.append(captured.at, vec![started.into()]).await.map_err(|error| error.to_string())?;
        }
        let (ids, broken) = (ids.clone(), false);
        self.threads.push(KnownThread { ids, protocol, parent: parent_session, thread, broken });
        Ok(self.threads.len() - 1)
    }

    /// The conversation that started a subagent.
    fn parent(&self, ids: &AgentIds) -> Option<usize> {
        ids.session.as_ref()?;
        let of_session = || self.threads.iter().enumerate().filter(|(_, known)| known.ids.session == ids.session);
        let named = ids.parent.as_ref().and_then(|parent| {
            of_session().find(|(_, known)| known.ids.agent.as_ref() == Some(parent)).map(|(at, _)| at)
        });
        let elsewhere = ids.parent.as_ref().and_then(|parent| {
            let mut all = self.threads.iter().enumerate();
            all.find(|(_, known)| known.ids.session.as_ref() == Some(parent)).map(|(at, _)| at)
        });
        named.or(elsewhere).or_else(|| of_session().find(|(_, known)| known.ids.agent.is_none()).map(|(at, _)| at))
    }

    async fn answer(&mut self, captured: &CapturedAnswer) {
        let Some(known) = self.waiting.remove(&captured.id).and_then(|at| self.threads.get_mut(at)) else { return };
        if known.broken {
            return;
        }
        let content = captured.body.bytes().map(|bytes| decoded(bytes, captured.coding.as_deref(), BODY_MAX));
        let (said, body) = match content {
            Some(Ok((content, whole))) => {
                let text = String::from_utf8_lossy(&content);
                let said = answer(known.protocol, captured, &text, captured.complete && whole);
                let (said, changed) = redacted(said, self.redactor.redactor());
                // A secret that came in pieces is not found in the stream.
                let keeps = self.settings.keep_answers && !changed && matches!(text, Cow::Borrowed(_));
                let body = keeps.then(|| self.redactor.redactor().redact(&text).text.into_owned());
                (said, body)
            }
            Some(Err(error)) => (unread(&error.to_string()), None),
            None => (unread("the answer was too large to be kept"), None),
        };
        if let Err(error) = known.thread.answer(captured, said, body).await {
            known.broken = true;
            let why = error.to_string();
            self.miss(why);
        }
    }

    async fn finish(mut self) -> RecordingReport {
        let now = self.settings.clock.now();
        let mut why = None;
        for known in self.threads.iter_mut().filter(|known| !known.broken) {
            if let Err(error) = known.thread.finish(now).await {
                why = Some(error.to_string());
            }
        }
        if let Some(why) = why {
            self.miss(why);
        }
        let sessions = self.threads.iter().map(|known| SessionRecording {
            session: known.thread.session,
            parent: known.parent,
            requests: known.thread.requests,
            usage: known.thread.usage.tokens,
            cost: known.thread.usage.cost,
        });
        RecordingReport { sessions: sessions.collect(), missed: self.missed, why: self.why.clone() }
    }
}

/// An answer that cannot be read.
fn unread(why: &str) -> DecodedAnswer {
    let error = Failure { kind: "incomplete-stream".to_owned(), message: why.into(), status: None };
    DecodedAnswer { error: Some(error), ..DecodedAnswer::default() }
}

fn agent_name(settings: &RecorderSettings) -> AgentName {
    AgentName(settings.agent.clone())
}

fn conversation(protocol: RecordedProtocol, target: &str, body: &Value) -> Option<WireConversation> {
    match protocol {
        RecordedProtocol::Spoken(Protocol::AnthropicMessages) => anthropic::conversation(body),
        RecordedProtocol::Spoken(Protocol::OpenAiResponses) => responses::conversation(body),
        RecordedProtocol::Spoken(Protocol::OpenAiChat) => chat::conversation(body),
        RecordedProtocol::Gemini => gemini::conversation(target.split('?').next().unwrap_or_default(), body),
    }
}

/// The name of a model: its provider and how that calls it.
fn model(protocol: RecordedProtocol, host: &str, id: &str) -> ModelName {
    let host = host.split(':').next().unwrap_or_default();
    let provider = if host == "openrouter.ai" { "openrouter" } else { protocol.provider() };
    ModelName(format!("{provider}/{id}"))
}

/// What a request is for that is no turn of a conversation; `None` for one that may be.
fn aside(conversation: &WireConversation, counts: bool, captured: &CapturedRequest, has_main: bool) -> Option<Purpose> {
    if counts || conversation.output_limit == Some(1) {
        return Some(Purpose::Other);
    }
    // Only of an agent whose conversations have tools is one without known to be aside.
    let keyed = captured.ids.session.is_some();
    if !keyed || !conversation.tools.is_empty() || conversation.units.len() > 1 && has_main {
        return None;
    }
    let mut system = conversation.system.iter();
    let titles = system.any(|text| text.to_lowercase().contains("title"));
    Some(if titles && has_main { Purpose::Title } else { Purpose::Other })
}

/// The same answer without secrets, and whether it had any.
fn redacted(mut answer: DecodedAnswer, redactor: &Redactor) -> (DecodedAnswer, bool) {
    let mut changed = false;
    let mut replace = |text: &mut String| {
        if let Cow::Owned(redacted) = redactor.redact(text).text {
            (*text, changed) = (redacted, true);
        }
    };
    for item in &mut answer.items {
        match item {
            WireItem::Text(text) | WireItem::Context { text, .. } | WireItem::Result { text, .. } => replace(text),
            WireItem::Reasoning { text, metadata } => {
                replace(text);
                metadata.iter_mut().for_each(&mut replace);
            }
            WireItem::Call { input, metadata, .. } => {
                replace(input);
                metadata.iter_mut().for_each(&mut replace);
            }
            WireItem::HostedResult { result, error, .. } => {
                replace(result);
                error.iter_mut().for_each(&mut replace);
            }
            WireItem::Media(_) => {}
        }
    }
    if let Some(error) = &mut answer.error
        && let Some(message) = error.message.inline()
        && let Cow::Owned(redacted) = redactor.redact(message).text
    {
        (error.message, changed) = (redacted.into(), true);
    }
    (answer, changed)
}
