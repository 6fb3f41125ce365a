//! What the stories of questions share: imported sessions, one of our own with recorded requests, and how answers look.
#![allow(dead_code, reason = "each story file uses its part")]

use annals_cli::app::Style;
use annals_core::event::*;
use annals_core::{CallId, Digest, Entry, Event, Json, RequestId, Seq, SessionId, Time};
use annals_import::{ImportOptions, import, recognise};
use annals_inspect::SessionAt;
use annals_projections::{Projection, SessionView, rebuild};
use annals_store::{Draft, EventLog, MemoryLog};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

/// The first session of a fixture.
pub async fn imported(name: &str) -> SessionAt {
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let source = recognise(&fixtures().join(name)).unwrap();
    let report = import(&log, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
    past(&log, report.sessions[0].session).await
}

/// Every session of a fixture.
pub async fn all_of(name: &str) -> Vec<SessionAt> {
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let source = recognise(&fixtures().join(name)).unwrap();
    import(&log, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
    let heads = log.sessions().all().await.unwrap();
    heads.iter().map(|head| SessionAt::new(Arc::clone(&log), None, head.session, head.head.next)).collect()
}

pub async fn past(log: &Arc<dyn EventLog>, session: SessionId) -> SessionAt {
    let head = log.head(session).await.unwrap().unwrap();
    SessionAt::new(Arc::clone(log), None, session, head.next)
}

pub fn style() -> Style {
    Style {
        width: 100,
        colour: false,
        json: false,
        markdown: false,
        zone: jiff::tz::TimeZone::UTC,
        now: Time(1_780_488_000_000),
    }
}

/// What something draws.
pub fn drawn<E: std::fmt::Debug>(draw: impl FnOnce(&mut Vec<u8>, &Style) -> Result<(), E>) -> String {
    let mut out = Vec::new();
    draw(&mut out, &style()).unwrap();
    String::from_utf8(out).unwrap()
}

fn first_tools() -> ToolsRecorded {
    ToolsRecorded {
        tools: vec![ToolDefinition {
            name: "read".into(),
            description: "Reads a file.".into(),
            schema: Json::received(r#"{"type":"object"}"#),
        }],
    }
}

/// A Session of our own, written as the runtime writes one: every request is recorded, with the digest that proves it.
pub struct Own {
    pub log: Arc<dyn EventLog>,
    pub session: SessionId,
    view: SessionView,
    at: Time,
    requests: u128,
    agent: AgentProfile,
    model: ModelProfile,
    tools: Digest,
    options: Digest,
}

impl Own {
    pub async fn begin() -> Self {
        let model = |name: &str| ModelProfile {
            model: name.into(),
            context: 200_000,
            output: 32_000,
            system_messages: SystemMessages::Native,
            id: String::new(),
            media: Vec::new(),
            prices: Prices {
                input: 3_000_000_000,
                output: 15_000_000_000,
                cache_read: 300_000_000,
                cache_write: 3_750_000_000,
            },
            protocol: "scripted".into(),
            encoding: 1,
        };
        let agent =
            AgentProfile { agent: "build".into(), system: Some("You build.".into()), steps: None, permissions: vec![] };
        let tools = first_tools();
        let options = OptionsRecorded { options: RequestOptions::default() };
        let mut own = Self {
            log: Arc::new(MemoryLog::new()),
            session: SessionId::from_parts(1_780_488_000_000, 7),
            view: SessionView::default(),
            at: Time(1_780_488_000_000),
            requests: 0,
            tools: tools.digest().unwrap(),
            options: options.options.digest().unwrap(),
            agent,
            model: model("test/alpha"),
        };
        own.add(vec![
            SessionCreated {
                location: Location { directory: "/project".into(), workspace: None },
                agent: "build".into(),
                model: "test/alpha".into(),
                policy: Policy::default(),
                title: None,
                parent: None,
                origin: None,
                process: None,
                key: annals_core::SessionKey([0x0f; 32]).into(),
            }
            .into(),
        ])
        .await;
        let profile = own.model.clone();
        own.add(vec![
            AgentProfileRecorded { profile: own.agent.clone() }.into(),
            ModelProfileRecorded { profile }.into(),
            tools.into(),
            options.into(),
        ])
        .await;
        own
    }

    /// Appends one batch, a minute after the one before; gives the Seq of its first event.
    pub async fn add(&mut self, events: Vec<Event>) -> Seq {
        let expected = self.view.cut().next;
        let draft = Draft { session: self.session, expected, at: self.at, events, digest: None, states: Vec::new() };
        let batch = self.log.append(draft).await.unwrap().batch;
        batch.records().for_each(|record| self.view.apply(&record));
        self.at = Time(self.at.0 + 60_000);
        batch.first
    }

    pub fn wait(&mut self, ms: u64) {
        self.at = Time(self.at.0 + ms);
    }

    pub async fn epoch(&mut self, cause: EpochCause, date: &str) {
        let key: annals_core::Key = "core/date".parse().unwrap();
        let value = Entry { value: Json::received(format!("{date:?}")), removed: None };
        self.add(vec![
            EpochStarted {
                cause,
                agent: "build".into(),
                location: Location { directory: "/project".into(), workspace: None },
                parts: vec![Part { key: key.clone(), text: format!("Today is {date}.").into() }],
                entries: [(key, value)].into(),
                known: true,
            }
            .into(),
        ])
        .await;
    }

    /// A user message; gives the Seq of its promotion.
    pub async fn says(&mut self, id: &str, text: &str) -> Seq {
        let (input, delivery) = (id.into(), Delivery::Steer);
        self.add(vec![InputAdmitted { input, text: text.into(), attachments: vec![], delivery }.into()]).await;
        self.add(vec![InputPromoted { input: id.into() }.into()]).await
    }

    pub async fn told(&mut self, text: &str) {
        let key: annals_core::Key = "core/date".parse().unwrap();
        let value = Entry { value: Json::received(format!("{text:?}")), removed: None };
        let (keys, set) = (vec![key.clone()], [(key, value)].into());
        let told = ContextAdmitted { keys, text: text.into() };
        self.add(vec![told.into(), SnapshotAdvanced { set, removed: vec![] }.into()]).await;
    }

    /// Sends a turn's request that names tools which the log does not hold.
    pub async fn sends_unrecorded(&mut self) -> Seq {
        let sent = RequestSent { tools: Some(Digest([7; 32])), ..self.request() };
        self.add(vec![sent.into()]).await
    }

    /// Sends a turn's request, recorded with the digest of what the views give.
    pub async fn sends(&mut self) -> Seq {
        let mut sent = self.request();
        sent.digest = rebuild(&self.view, &sent, &*self.log.blobs()).unwrap().digest();
        self.add(vec![sent.into()]).await
    }

    fn request(&mut self) -> RequestSent {
        self.requests += 1;
        RequestSent {
            request: RequestId::from_parts(self.at.0, self.requests),
            purpose: Purpose::Turn,
            attempt: 1,
            digest: Digest([0; 32]),
            wire: None,
            agent: self.agent.agent.clone(),
            model: self.model.model.clone(),
            agent_profile: self.agent.digest().unwrap(),
            model_profile: self.model.digest().unwrap(),
            tools: Some(self.tools),
            options: self.options,
            last_step: false,
            prompt: None,
        }
    }

    /// An answer of one text, and a call that gives `output` if there is one.
    pub async fn answers(&mut self, text: &str, call: Option<(&str, &str)>, usage: Option<Usage>) {
        let started = StepStarted { agent: "build".into(), model: self.model.model.clone(), files: None, answer: None };
        let said = TextEnded { index: 0, text: text.into(), metadata: None };
        self.add(vec![started.into(), said.into()]).await;
        if let Some((id, output)) = call {
            let id: CallId = id.into();
            let called = ToolCalled {
                index: 1,
                call: id.clone(),
                name: "read".into(),
                input: Json::received(r#"{"path":"a.txt"}"#),
                hosted: false,
                metadata: None,
            };
            self.add(vec![called.into()]).await;
            let settled = ToolSettled { output: output.into(), ..ToolSettled::bare(id, ToolOutcome::Completed) };
            self.add(vec![settled.into()]).await;
        }
        let finish = if call.is_some() { Finish::ToolCalls } else { Finish::Stop };
        self.add(vec![StepEnded { finish, usage, cost: 0, files: None, changed: vec![] }.into()]).await;
    }

    pub async fn switches_model(&mut self, name: &str) {
        self.model.model = name.into();
        let profile = self.model.clone();
        self.add(vec![ModelSwitched { model: name.into() }.into(), ModelProfileRecorded { profile }.into()]).await;
    }

    /// Another agent is selected, with a text of its own.
    pub async fn switches_agent(&mut self, name: &str, system: &str) {
        self.agent.agent = name.into();
        self.add(vec![AgentSwitched { agent: name.into() }.into()]).await;
        self.redefines_agent(system).await;
    }

    /// The agent's own text is another one from here on.
    pub async fn redefines_agent(&mut self, system: &str) {
        self.agent.system = Some(system.into());
        self.add(vec![AgentProfileRecorded { profile: self.agent.clone() }.into()]).await;
    }

    /// Other tools are offered from here on.
    pub async fn offers(&mut self, names: &[&str]) {
        let tools = names.iter().map(|name| ToolDefinition {
            name: (*name).into(),
            description: format!("Does {name}.").as_str().into(),
            schema: Json::received(r#"{"type":"object"}"#),
        });
        let recorded = ToolsRecorded { tools: tools.collect() };
        self.tools = recorded.digest().unwrap();
        self.add(vec![recorded.into()]).await;
    }

    /// The tools that the session began with are offered again; the log holds them already.
    pub fn offers_again(&mut self) {
        self.tools = first_tools().digest().unwrap();
    }

    /// Other generation controls are set from here on.
    pub async fn sets(&mut self, control: &str, value: &str) {
        let controls = [(control.to_owned(), Json::received(value))].into();
        let recorded = OptionsRecorded { options: RequestOptions { controls, ..RequestOptions::default() } };
        self.options = recorded.options.digest().unwrap();
        self.add(vec![recorded.into()]).await;
    }

    /// The model takes system messages as text of the user from here on.
    pub async fn wraps_system_messages(&mut self) {
        self.model.system_messages = SystemMessages::Wrapped;
        let profile = self.model.clone();
        self.add(vec![ModelProfileRecorded { profile }.into()]).await;
    }

    pub async fn compacts(&mut self, summary: &str) -> Seq {
        self.add(vec![
            CompactionEnded {
                reason: CompactionReason::Manual,
                summary: summary.into(),
                recent: "".into(),
                estimate: 0,
                usage: None,
                cost: 0,
            }
            .into(),
        ])
        .await
    }

    pub async fn past(&self) -> SessionAt {
        past(&self.log, self.session).await
    }
}

/// A Session in which everything happens that moves what the model sees: a prune, a told context, a compaction and its
/// undoing, a model switch, a revert, a long wait.
pub async fn eventful() -> Own {
    let usage = |cache_read, cache_write| Some(Usage { input: 10, output: 5, reasoning: 0, cache_read, cache_write });
    let mut own = Own::begin().await;
    own.epoch(EpochCause::FirstTurn, "Wednesday").await;
    own.says("one", "Read a.txt, it holds the secret word.").await;
    own.sends().await;
    own.answers("I read it.", Some(("call-1", "the word is heliotrope")), usage(0, 40)).await;
    own.sends().await;
    own.answers("The word is heliotrope.", None, usage(40, 30)).await;
    own.told("Today is Thursday.").await;
    own.says("two", "And again?").await;
    own.sends().await;
    own.answers("Heliotrope.", None, usage(70, 20)).await;
    own.add(vec![ToolOutputsPruned { calls: vec!["call-1".into()] }.into()]).await;
    own.says("three", "Once more.").await;
    own.sends().await;
    own.answers("Still heliotrope.", None, usage(40, 60)).await;
    let compaction = own.compacts("The user asks for a word.").await;
    own.epoch(EpochCause::Compaction, "Thursday").await;
    own.says("four", "Which word?").await;
    own.sends().await;
    own.answers("I do not know any more.", None, usage(0, 90)).await;
    own.add(vec![CompactionUndone { compaction }.into()]).await;
    own.sends().await;
    own.answers("Heliotrope, of course.", None, usage(0, 120)).await;
    own.switches_model("test/beta").await;
    let five = own.says("five", "Thank you, beta.").await;
    own.sends().await;
    own.answers("You are welcome.", None, usage(0, 130)).await;
    own.add(vec![RevertCommitted { first_removed: five }.into()]).await;
    own.epoch(EpochCause::Reverted, "Thursday").await;
    own.says("six", "Bye.").await;
    own.sends().await;
    own.answers("Bye.", None, usage(0, 140)).await;
    own.wait(3_600_000);
    own.says("seven", "Still there?").await;
    own.sends().await;
    own.answers("Yes.", None, usage(0, 150)).await;
    own
}
