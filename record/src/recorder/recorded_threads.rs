//! The conversations of a recording: the one that a request belongs to, and what is appended to it.

mod beginning;
mod earlier;
mod files;
mod forking;
mod placing;
mod postponed;

use super::live_answers::LiveAnswers;
use super::redacted_answer::redacted;
use super::{RecorderSettings, RecordingReport, SessionRecording};
use crate::answer::answer;
use crate::body::{BodyText, PieceRedactor};
use crate::capture::{BODY_MAX, Captured, CapturedAnswer, CapturedRequest};
use crate::coding::decoded;
use crate::files::RecordedFiles;
use crate::headers::AgentIds;
use crate::thread::{RequestFacts, Thread};
use annals_core::event::{ChildOutcome, CompactionReason, Failure, Purpose, Usage};
use annals_core::{Digest, ModelName, SessionId};
use annals_projections::estimate;
use annals_providers::recorded::{DecodedAnswer, RecordedProtocol, WireConversation, conversation};
use annals_runtime::host::Lease;
use annals_store::EventLog;
use earlier::EarlierSessions;
use placing::Placing;
use postponed::PostponedRequest;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tokio::sync::mpsc;

/// A conversation and how its agent names it.
struct KnownThread {
    ids: AgentIds,
    protocol: RecordedProtocol,
    parent: Option<SessionId>,
    thread: Thread,
    /// Whether the log refused something: nothing more is appended.
    broken: bool,
    /// No other recorder continues the session meanwhile.
    _lease: Option<Arc<Lease>>,
}

/// A request, and what it says.
struct ReadRequest {
    captured: Box<CapturedRequest>,
    protocol: RecordedProtocol,
    /// Whether it only counts tokens.
    counts: bool,
    body: BodyText,
    /// Why the body is not decoded, if it is not.
    undecoded: Option<String>,
    conversation: WireConversation,
    files: Option<RecordedFiles>,
}

impl ReadRequest {
    fn placing(&self) -> Placing<'_> {
        let wire = self.body.digest();
        let Self { captured, protocol, counts, conversation, undecoded, .. } = self;
        let is_decoded = undecoded.is_none();
        Placing { captured, protocol: *protocol, counts: *counts, conversation, is_decoded, wire }
    }
}

/// All conversations of a recording.
pub(crate) struct RecordedThreads {
    log: Arc<dyn EventLog>,
    settings: RecorderSettings,
    redactor: PieceRedactor,
    secrets: BTreeSet<Digest>,
    threads: Vec<KnownThread>,
    /// The conversation of each request that waits for its answer, and its protocol.
    waiting: HashMap<u64, (usize, RecordedProtocol)>,
    /// The sessions of earlier recordings, by agent and how that calls them; read when it is first needed.
    earlier: Option<EarlierSessions>,
    /// Requests aside whose conversation is not known yet.
    postponed: Vec<PostponedRequest>,
    live: LiveAnswers,
    missed: u64,
    why: Option<String>,
}

impl RecordedThreads {
    pub(crate) fn new(log: Arc<dyn EventLog>, settings: RecorderSettings) -> Self {
        let redactor = PieceRedactor::new((*settings.redactor).clone());
        let live = LiveAnswers::of(settings.observer.clone());
        Self {
            live,
            log,
            settings,
            redactor,
            secrets: BTreeSet::new(),
            threads: Vec::new(),
            waiting: HashMap::new(),
            earlier: None,
            postponed: Vec::new(),
            missed: 0,
            why: None,
        }
    }

    pub(crate) async fn run(mut self, mut received: mpsc::UnboundedReceiver<Captured>) -> RecordingReport {
        while let Some(captured) = received.recv().await {
            match captured {
                Captured::Request(mut request) => {
                    if received.is_empty() {
                        request.until_answered().await;
                    }
                    if let Err(why) = self.request(request).await {
                        self.miss(why);
                    }
                }
                Captured::Piece(piece) => self.live.piece(&piece, self.redactor.redactor()),
                Captured::Answer(answer) => {
                    let id = answer.id;
                    self.answer(answer).await;
                    self.live.end(id);
                }
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

    /// Records a request, or keeps it until its conversation is known; gives why it cannot be recorded.
    async fn request(&mut self, captured: Box<CapturedRequest>) -> Result<(), String> {
        let Some(mut request) = self.read(captured)? else { return Ok(()) };
        let Some((at, purpose)) = self.place(&request.placing()).await? else {
            self.postpone(request);
            return Ok(());
        };
        if self.has_postponed() {
            self.record_postponed(at, request.captured.at).await;
        }
        if let (Purpose::Turn, Some(tree)) = (purpose, request.captured.files.take()) {
            // Without a tree the capture failed.
            request.files = match tree.await {
                Ok(tree) => self.files(at, tree).await,
                Err(_) => None,
            };
        }
        self.record(request, at, purpose).await
    }

    /// Reads what a request says, without secrets; `None` if it is not a request to a model.
    fn read(&mut self, captured: Box<CapturedRequest>) -> Result<Option<ReadRequest>, String> {
        let Some((protocol, counts)) = RecordedProtocol::of(&captured.target) else { return Ok(None) };
        self.learn(&captured.secrets);
        let too_large = |size: u64| {
            let (size, most) = (thousands(size), thousands(BODY_MAX as u64));
            format!("a request of {size} bytes is larger than the {most} that are kept")
        };
        let Some(bytes) = captured.body.bytes() else { return Err(too_large(captured.body.size())) };
        let (content, whole) =
            decoded(bytes, captured.coding.as_deref(), BODY_MAX).map_err(|error| error.to_string())?;
        if !whole {
            return Err(too_large(content.len() as u64));
        }
        let body = BodyText::of(content);
        let recorded = self.redactor.cut(&body).recorded;
        let json = match body.bad_byte() {
            Some(at) => Err(format!("bad UTF-8 at byte {}", thousands(at as u64))),
            None => json(&recorded),
        };
        let read = json.and_then(|json| {
            let read = conversation(protocol, &captured.target, &json);
            read.ok_or_else(|| format!("it is not a request of {}", protocol.as_str()))
        });
        let (conversation, undecoded) = match read {
            Ok(conversation) => (conversation, None),
            Err(why) => (WireConversation { model: "unknown".to_owned(), ..WireConversation::default() }, Some(why)),
        };
        Ok(Some(ReadRequest { captured, protocol, counts, body, undecoded, conversation, files: None }))
    }

    /// Records a request in its conversation.
    async fn record(&mut self, request: ReadRequest, at: usize, purpose: Purpose) -> Result<(), String> {
        let ReadRequest { captured, protocol, body, undecoded, conversation, files, .. } = request;
        let cut = self.redactor.cut(&body);
        let target = format!("{} {}", captured.method, captured.target);
        let sent = self.settings.ids.request(captured.at);
        let facts = RequestFacts {
            id: captured.id,
            at: captured.at,
            request: sent,
            purpose,
            files,
            target: self.redactor.redactor().redact(&target).text.into_owned(),
            wire: body.digest(),
            undecoded,
            compaction: captured.compaction.unwrap_or(CompactionReason::Unknown),
            estimate: estimate(cut.recorded.chars().count() as u64),
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
        let session = known.thread.session;
        self.waiting.insert(captured.id, (at, protocol));
        self.live.expect(captured.id, session, sent, protocol);
        Ok(())
    }

    async fn answer(&mut self, captured: Box<CapturedAnswer>) {
        let Some(captured) = self.answer_postponed(captured) else { return };
        let Some((at, protocol)) = self.waiting.remove(&captured.id) else { return };
        let Some(known) = self.threads.get_mut(at) else { return };
        if known.broken {
            return;
        }
        let content = captured.body.bytes().map(|bytes| decoded(bytes, captured.coding.as_deref(), BODY_MAX));
        let (arrived, body) = match content {
            Some(Ok((content, whole))) => {
                let text = String::from_utf8_lossy(&content);
                let arrived = answer(protocol, &captured, &text, captured.complete && whole);
                let (arrived, changed) = redacted(arrived, self.redactor.redactor());
                // A secret that came in pieces is not found in the stream.
                let keeps = self.settings.keep_answers && !changed && matches!(text, Cow::Borrowed(_));
                let body = keeps.then(|| self.redactor.redactor().redact(&text).text.into_owned());
                (arrived, body)
            }
            Some(Err(error)) => (unread(&error.to_string()), None),
            None => (unread("the answer was too large to be kept"), None),
        };
        if let Err(error) = known.thread.answer(&captured, arrived, body).await {
            known.broken = true;
            let why = error.to_string();
            self.miss(why);
        }
    }

    async fn finish(mut self) -> RecordingReport {
        self.begin_postponed().await;
        self.last_files().await;
        let now = self.settings.clock.now();
        let mut why = None;
        let ended: HashMap<SessionId, (ChildOutcome, String)> =
            self.threads.iter().map(|known| (known.thread.session, known.thread.ended())).collect();
        for known in self.threads.iter_mut().filter(|known| !known.broken) {
            if let Err(error) = known.thread.finish(now, &ended).await {
                why = Some(error.to_string());
            }
        }
        if let Some(why) = why {
            self.miss(why);
        }
        let sessions = self.threads.iter().map(|known| SessionRecording {
            session: known.thread.session,
            parent: known.parent,
            requests: known.thread.requests - known.thread.before.0,
            usage: since(known.thread.usage.tokens, known.thread.before.1.tokens),
            cost: known.thread.usage.cost.saturating_sub(known.thread.before.1.cost),
            differing: known.thread.differing,
        });
        RecordingReport { sessions: sessions.collect(), missed: self.missed, why: self.why.clone() }
    }
}

/// The JSON of a body, or why it is none.
fn json(body: &str) -> Result<Value, String> {
    let text = body.strip_prefix('\u{feff}').unwrap_or(body);
    serde_json::from_str(text).map_err(|error| {
        let before: usize = text.split('\n').take(error.line().saturating_sub(1)).map(|line| line.len() + 1).sum();
        let at = thousands((body.len() - text.len() + before + error.column().saturating_sub(1)) as u64);
        let message = error.to_string();
        match () {
            () if message.contains("surrogate") || message.contains("unexpected end of hex escape") => {
                format!("lone surrogate at byte {at}")
            }
            () if message.contains("recursion") => format!("nested too deeply at byte {at}"),
            () => format!("no JSON at byte {at}"),
        }
    })
}

/// A number with commas between thousands.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// An answer that cannot be read.
fn unread(why: &str) -> DecodedAnswer {
    let error = Failure { kind: "incomplete-stream".to_owned(), message: why.into(), status: None };
    DecodedAnswer { error: Some(error), ..DecodedAnswer::default() }
}

/// What was used since the recording began.
fn since(now: Usage, before: Usage) -> Usage {
    Usage {
        input: now.input.saturating_sub(before.input),
        output: now.output.saturating_sub(before.output),
        reasoning: now.reasoning.saturating_sub(before.reasoning),
        cache_read: now.cache_read.saturating_sub(before.cache_read),
        cache_write: now.cache_write.saturating_sub(before.cache_write),
    }
}

/// The name of a model: its provider and how that calls it.
fn model(protocol: RecordedProtocol, host: &str, id: &str) -> ModelName {
    let host = host.split(':').next().unwrap_or_default();
    let provider = if host == "openrouter.ai" { "openrouter" } else { protocol.provider() };
    ModelName(format!("{provider}/{id}"))
}
