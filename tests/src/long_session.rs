//! A session of any length, written as the runtime writes one: turns of several steps with tool calls, context updates,
//! prunes, and a compaction whenever the history reaches a size. The same length gives the same session.

use annals_core::event::*;
use annals_core::{CallId, Digest, Entry, Event, Json, Key, RequestId, Seq, SessionId, SessionKey, Time};
use annals_projections::{RequestBuilder, SessionView};
use annals_store::{AppendError, Draft, EventLog};

/// How many drafts are appended together.
const GROUP: usize = 64;

/// How a session is written.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// How many events it has at least.
    pub events: u64,
    /// A compaction follows when the history has this many bytes of text.
    pub context: u64,
    /// The median size of a tool output, in bytes; one in twenty has sixteen times as many.
    pub output: u64,
    /// When so many tool outputs are not pruned, the older half is; never with 0.
    pub prunes: usize,
    /// Whether each request is recorded with the digest that proves it; rebuilding it takes time.
    pub proved: bool,
}

impl Shape {
    /// A small history and small outputs: many compactions in few events.
    pub fn small(events: u64) -> Self {
        Self { events, context: 20_000, output: 60, prunes: 40, proved: true }
    }

    /// What long sessions of coding agents look like: compactions at some 170,000 tokens, outputs of 2 KB on average.
    pub fn usual(events: u64) -> Self {
        Self { events, context: 680_000, output: 1_000, prunes: 80, proved: true }
    }
}

/// The session that [`write()`] writes.
pub fn session() -> SessionId {
    SessionId::from_parts(1_780_488_000_000, 17)
}

struct Writer<'a> {
    log: &'a dyn EventLog,
    shape: Shape,
    view: SessionView,
    builder: RequestBuilder,
    drafts: Vec<Draft>,
    next: Seq,
    at: Time,
    /// Bytes of text in the history.
    size: u64,
    random: u64,
    agent: AgentProfile,
    model: ModelProfile,
    tools: ToolsRecorded,
    options: RequestOptions,
    /// Calls whose outputs are not pruned.
    outputs: Vec<CallId>,
}

/// Writes the session to an empty log; returns how many events it has.
///
/// # Errors
/// When the log refuses a batch.
pub async fn write(log: &dyn EventLog, shape: Shape) -> Result<u64, AppendError> {
    let mut writer = Writer::new(log, shape);
    writer.begin().await?;
    let mut turn = 0;
    while writer.next.0 < shape.events {
        writer.turn(turn).await?;
        turn += 1;
    }
    writer.flush().await?;
    Ok(writer.next.0)
}

impl<'a> Writer<'a> {
    fn new(log: &'a dyn EventLog, shape: Shape) -> Self {
        let prices = Prices { input: 3_000_000_000, output: 15_000_000_000, cache_read: 300_000_000, cache_write: 0 };
        let tool = |name: &str| ToolDefinition {
            name: name.into(),
            description: format!("Does {name}. {}", words(7, 300)).as_str().into(),
            schema: Json::received(r#"{"type":"object","properties":{"path":{"type":"string"}}}"#),
        };
        Self {
            log,
            shape,
            view: SessionView::default(),
            builder: RequestBuilder::default(),
            drafts: Vec::new(),
            next: Seq::ZERO,
            at: Time(1_780_488_000_000),
            size: 0,
            random: 0x9e37_79b9_7f4a_7c15,
            agent: AgentProfile {
                agent: "build".into(),
                system: Some("You build.".into()),
                steps: None,
                permissions: vec![],
            },
            model: ModelProfile {
                model: "test/alpha".into(),
                context: 200_000,
                output: 32_000,
                system_messages: SystemMessages::Native,
                id: String::new(),
                media: Vec::new(),
                prices,
                protocol: "scripted".into(),
                encoding: 1,
            },
            tools: ToolsRecorded { tools: ["bash", "edit", "grep", "read"].map(tool).into() },
            options: RequestOptions::default(),
            outputs: Vec::new(),
        }
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 11
    }

    fn text(&mut self, bytes: u64) -> String {
        self.size += bytes;
        let seed = self.random();
        words(seed, usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    async fn add(&mut self, events: Vec<Event>) -> Result<Seq, AppendError> {
        let (session, expected, at) = (session(), self.next, self.at);
        for (seq, event) in (expected.0..).zip(&events) {
            self.builder.apply(&mut self.view, &annals_core::Record { session, seq: Seq(seq), at, event });
        }
        self.next = Seq(expected.0 + events.len() as u64);
        self.at = self.at.plus(1_500);
        self.drafts.push(Draft { session, expected, at, events, digest: None, states: Vec::new() });
        if self.drafts.len() >= GROUP {
            self.flush().await?;
        }
        Ok(expected)
    }

    async fn flush(&mut self) -> Result<(), AppendError> {
        let appended = self.log.append_all(std::mem::take(&mut self.drafts)).await;
        appended.refused.map_or(Ok(()), Err)
    }

    async fn begin(&mut self) -> Result<(), AppendError> {
        let created = SessionCreated {
            location: location(),
            agent: self.agent.agent.clone(),
            model: self.model.model.clone(),
            policy: Policy::default(),
            title: Some("A long session".into()),
            parent: None,
            origin: None,
            process: None,
            key: SessionKey([0x0f; 32]).into(),
        };
        self.add(vec![created.into()]).await?;
        self.add(vec![
            AgentProfileRecorded { profile: self.agent.clone() }.into(),
            ModelProfileRecorded { profile: self.model.clone() }.into(),
            self.tools.clone().into(),
            OptionsRecorded { options: self.options.clone() }.into(),
        ])
        .await?;
        self.epoch(EpochCause::FirstTurn).await
    }

    async fn epoch(&mut self, cause: EpochCause) -> Result<(), AppendError> {
        let text = format!("Today is day {}. {}", self.next.0 / 5_000, words(3, 2_000));
        let entry = Entry { value: Json::received("\"here\""), removed: None };
        let started = EpochStarted {
            cause,
            agent: self.agent.agent.clone(),
            location: location(),
            parts: vec![Part { key: key(), text: text.into() }],
            entries: [(key(), entry)].into(),
            known: true,
        };
        self.add(vec![started.into()]).await.map(drop)
    }

    /// A user message and the steps that answer it.
    async fn turn(&mut self, n: u64) -> Result<(), AppendError> {
        if self.size > self.shape.context {
            self.compact().await?;
        }
        if n % 25 == 24 {
            let text = self.text(200);
            let set = [(key(), Entry { value: Json::received(format!("\"{n}\"")), removed: None })].into();
            let admitted = ContextAdmitted { keys: vec![key()], text: text.into() };
            self.add(vec![admitted.into(), SnapshotAdvanced { set, removed: vec![] }.into()]).await?;
        }
        let prompt = format!("Prompt {n}: {}", self.text(120));
        let input = annals_core::InputId(format!("in-{n}"));
        let (text, delivery) = (prompt.into(), Delivery::Steer);
        let admitted = InputAdmitted { input: input.clone(), text, attachments: vec![], delivery };
        self.add(vec![admitted.into()]).await?;
        self.add(vec![InputPromoted { input }.into()]).await?;
        let calls = 2 + self.random() % 5;
        for call in 0..calls {
            self.step(Some(format!("call-{n}-{call}").as_str().into())).await?;
        }
        self.step(None).await
    }

    async fn step(&mut self, call: Option<CallId>) -> Result<(), AppendError> {
        let sent = self.request(Purpose::Turn, None);
        self.add(vec![sent.into()]).await?;
        let text = self.text(150);
        let (agent, model) = (self.agent.agent.clone(), self.model.model.clone());
        let started = StepStarted { agent, model, files: None, answer: None };
        self.add(vec![started.into(), TextEnded { index: 0, text: text.into(), metadata: None }.into()]).await?;
        let finish = if call.is_some() { Finish::ToolCalls } else { Finish::Stop };
        if let Some(call) = call {
            let called = ToolCalled {
                index: 1,
                call: call.clone(),
                name: "read".into(),
                input: Json::received(r#"{"path":"src/lib.rs"}"#),
                hosted: false,
                metadata: None,
            };
            self.add(vec![called.into()]).await?;
            let spread = self.random();
            let long = if spread.is_multiple_of(20) { 16 } else { 1 };
            let output = self.text(self.shape.output / 2 * long + spread / 20 % self.shape.output);
            self.outputs.push(call.clone());
            let settled = ToolSettled { output: output.into(), ..ToolSettled::bare(call, ToolOutcome::Completed) };
            self.add(vec![settled.into()]).await?;
        }
        let usage = Some(Usage { input: 12, output: 300, reasoning: 0, cache_read: self.size / 4, cache_write: 700 });
        self.add(vec![StepEnded { finish, usage, cost: 0, files: None, changed: vec![] }.into()]).await?;
        if self.shape.prunes > 0 && self.outputs.len() >= self.shape.prunes {
            let calls = self.outputs.drain(..self.outputs.len() / 2).collect();
            self.add(vec![ToolOutputsPruned { calls }.into()]).await?;
        }
        Ok(())
    }

    async fn compact(&mut self) -> Result<(), AppendError> {
        let (reason, model, before) = (CompactionReason::Auto, Some(self.model.model.clone()), self.size / 4);
        self.add(vec![CompactionStarted { reason, model, estimate: before }.into()]).await?;
        let sent = self.request(Purpose::Summary, Some("Summarise.".into()));
        self.add(vec![sent.into()]).await?;
        self.size = 0;
        let summary = self.text(self.shape.context / 100 + 200);
        let (usage, cost, recent) = (None, 0, "".into());
        let ended = CompactionEnded { reason, summary: summary.into(), recent, estimate: self.size / 4, usage, cost };
        self.add(vec![ended.into()]).await?;
        self.outputs.clear();
        self.epoch(EpochCause::Compaction).await?;
        self.view.history.evict();
        Ok(())
    }

    fn request(&mut self, purpose: Purpose, prompt: Option<annals_core::Text>) -> RequestSent {
        let none = Digest([0; 32]);
        let turn = purpose == Purpose::Turn;
        let mut sent = RequestSent {
            request: RequestId::from_parts(self.at.0, u128::from(self.next.0)),
            purpose,
            attempt: 1,
            digest: none,
            wire: None,
            agent: self.agent.agent.clone(),
            model: self.model.model.clone(),
            agent_profile: self.agent.digest().unwrap_or(none),
            model_profile: self.model.digest().unwrap_or(none),
            tools: if turn { self.tools.digest().ok() } else { None },
            options: self.options.digest().unwrap_or(none),
            last_step: false,
            prompt,
        };
        if self.shape.proved
            && let Ok(request) = self.builder.build(&self.view, &sent, &*self.log.blobs())
        {
            sent.digest = request.digest();
        }
        sent
    }
}

fn location() -> Location {
    Location { directory: "/project".into(), workspace: None }
}

fn key() -> Key {
    "core/date".parse().unwrap_or_else(|_| unreachable!("a valid key"))
}

/// Lines of words and numbers, different for every seed.
fn words(seed: u64, bytes: usize) -> String {
    const WORDS: [&str; 16] = [
        "the ",
        "file ",
        "reads ",
        "fn ",
        "let ",
        "return ",
        "error: ",
        "in ",
        "line ",
        "src/lib.rs ",
        "cargo ",
        "must ",
        "self.next(",
        "); ",
        "// ",
        "\n",
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = String::with_capacity(bytes + 24);
    while out.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.push_str(WORDS.get((state >> 20) as usize % WORDS.len()).copied().unwrap_or_default());
        if state & 0x700 == 0 {
            out.push_str(&(state >> 40).to_string());
        }
    }
    out.truncate(bytes);
    out
}
