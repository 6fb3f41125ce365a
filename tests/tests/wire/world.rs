//! A world whose model answers what was recorded, in its protocol.

use crate::cli::command::Annals;
use annals_core::event::{AgentProfile, ModelProfile, Prices, RequestOptions, RequestSent, StepEvent, SystemMessages};
use annals_core::{AgentName, Digest, Event, Json, ModelName, Record, Seq, SessionId};
use annals_projections::{Projection, SessionView};
use annals_providers::wire::{Protocol, RequestBody, decoder};
use annals_runtime::permission::FixedApprover;
use annals_runtime::ports::{
    AnswerStream, Clock, Provider, ProviderError, ProviderErrorKind, ProviderEvent, ProviderRequest, SeededIds,
};
use annals_runtime::settings::{CompactionSettings, Definitions, LocationServices};
use annals_runtime::testing::{ManualClock, MemoryOutputs};
use annals_runtime::tools::{FunctionTool, Tool, ToolError, ToolOutput};
use annals_runtime::{NewInput, NewSession, Ports, RunError, Runtime, Settings};
use annals_store::exchange::export;
use annals_store::{Draft, EventLog, MemoryLog};
use futures_util::StreamExt;
use futures_util::stream;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

pub struct World {
    pub log: Arc<dyn EventLog>,
    provider: Arc<Recorded>,
    clock: Arc<ManualClock>,
    ids: Arc<SeededIds>,
    services: LocationServices,
    definitions: Fixed,
}

/// A model that answers what was recorded, one answer for each request, and keeps the bodies that it was sent.
struct Recorded {
    protocol: Protocol,
    answers: Mutex<VecDeque<Vec<String>>>,
    sent: Mutex<Vec<Arc<RequestBody>>>,
}

impl Provider for Recorded {
    fn send(&self, request: ProviderRequest) -> AnswerStream {
        self.sent.lock().unwrap().push(request.body.expect("a model with a protocol has a body"));
        let answer = self.answers.lock().unwrap().pop_front().expect("a recorded answer");
        let mut decoder = decoder(self.protocol);
        let mut events: Vec<Result<ProviderEvent, _>> = Vec::new();
        for data in &answer {
            if let Some(kind) = data.strip_prefix('!') {
                events.push(Err(failed(kind)));
                break;
            }
            match decoder.event("", data) {
                Ok(decoded) => events.extend(decoded.into_iter().map(Ok)),
                Err(error) => events.push(Err(error)),
            }
        }
        stream::iter(events).boxed()
    }
}

/// A failure of a kind.
fn failed(kind: &str) -> ProviderError {
    let kind = ProviderErrorKind::of(kind).unwrap();
    ProviderError { kind, status: None, retry_after_ms: None, message: kind.to_string() }
}

#[derive(Clone)]
struct Fixed {
    model: ModelProfile,
    options: RequestOptions,
}

impl Definitions for Fixed {
    fn agent(&self, agent: &AgentName) -> Option<AgentProfile> {
        let system = Some("You keep the inventory.".into());
        Some(AgentProfile { agent: agent.clone(), system, steps: None, permissions: Vec::new() })
    }

    fn model(&self, _: &ModelName) -> Option<ModelProfile> {
        Some(self.model.clone())
    }

    fn options(&self, _: &AgentName, _: &ModelName) -> RequestOptions {
        self.options.clone()
    }
}

/// A tool that knows one file.
fn read() -> impl Tool {
    let schema = serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}}});
    FunctionTool::new("read", "Reads a file.", &schema, |input: serde_json::Value, _| async move {
        match input["path"].as_str().unwrap_or_default() {
            "a.csv" => Ok(ToolOutput::text("item,n\nbolts,12\n")),
            path => Err(ToolError(format!("no such file: {path}"))),
        }
    })
}

impl World {
    pub fn new(protocol: Protocol, answers: Vec<Vec<String>>) -> Self {
        let services = LocationServices::default();
        services.tools.register([Arc::new(read()) as Arc<dyn Tool>]).unwrap().detach();
        let model = ModelProfile {
            model: "test/alpha".into(),
            id: "alpha-1".into(),
            context: 200_000,
            output: 8_000,
            system_messages: SystemMessages::Wrapped,
            media: vec!["image/*".into()],
            prices: Prices::default(),
            protocol: protocol.as_str().into(),
            encoding: protocol.encoding(),
        };
        Self {
            log: Arc::new(MemoryLog::new()),
            provider: Arc::new(Recorded {
                protocol,
                answers: Mutex::new(answers.into()),
                sent: Mutex::new(Vec::new()),
            }),
            clock: Arc::new(ManualClock::at(ManualClock::SCENARIO)),
            ids: Arc::new(SeededIds::scripted(1)),
            services,
            definitions: Fixed { model, options: RequestOptions::default() },
        }
    }

    pub fn model(&self) -> ModelProfile {
        self.definitions.model.clone()
    }

    /// Sets a Generation Control.
    pub fn control(&mut self, name: &str, value: &str) {
        self.definitions.options.controls.insert(name.into(), Json::received(value));
    }

    /// Every body that went out.
    pub fn sent(&self) -> Vec<Arc<RequestBody>> {
        self.provider.sent.lock().unwrap().clone()
    }

    /// A process of its own over this world.
    fn runtime(&self) -> Runtime {
        let ports = Ports {
            log: self.log.clone(),
            provider: self.provider.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            outputs: Arc::new(MemoryOutputs::new(self.clock.clone())),
            approver: Arc::new(FixedApprover::allowing("user")),
            locations: Arc::new(self.services.clone()),
            definitions: Arc::new(self.definitions.clone()),
        };
        let compaction = CompactionSettings { keep_tokens: 1, ..CompactionSettings::default() };
        Runtime::new(ports, Settings { compaction, ..Settings::default() })
    }

    pub async fn begin(&self) -> SessionId {
        self.runtime().create(NewSession::at("/project", "build", "test/alpha")).await.unwrap().id()
    }

    /// One prompt and all that follows from it, in a process of its own.
    pub async fn try_prompt(&self, session: SessionId, id: &str, text: &str) -> Result<(), RunError> {
        let runtime = self.runtime();
        let session = runtime.session(session).await.unwrap();
        let input = NewInput { id: Some(id.into()), ..NewInput::steer(text) };
        session.admit(input).await.unwrap();
        session.run().await.map(drop)
    }

    pub async fn prompt(&self, session: SessionId, id: &str, text: &str) {
        self.try_prompt(session, id, text).await.unwrap();
    }

    pub async fn compact(&self, session: SessionId) {
        let runtime = self.runtime();
        runtime.session(session).await.unwrap().compact().await.unwrap();
    }

    pub async fn fork(&self, session: SessionId) -> SessionId {
        let runtime = self.runtime();
        runtime.session(session).await.unwrap().fork(None).await.unwrap().id()
    }

    pub async fn view(&self, session: SessionId) -> SessionView {
        let mut view = SessionView::default();
        self.each(session, |record| view.apply(record)).await;
        view
    }

    /// What each request recorded of its body.
    pub async fn wires(&self, session: SessionId) -> Vec<Option<Digest>> {
        let mut wires = Vec::new();
        let keep = |record: &Record<'_>| {
            if let Event::Step(StepEvent::RequestSent(sent)) = record.event {
                wires.push(sent.wire);
            }
        };
        self.each(session, keep).await;
        wires
    }

    pub async fn append(&self, session: SessionId, events: Vec<Event>) {
        let expected = self.view(session).await.cut().next;
        let draft = Draft { session, expected, at: self.clock.now(), events, digest: None, states: Vec::new() };
        self.log.append(draft).await.unwrap();
    }

    async fn each(&self, session: SessionId, mut visit: impl FnMut(&Record<'_>)) {
        for slice in self.log.read(session, Seq::ZERO, usize::MAX).await.unwrap() {
            slice.records().for_each(|record| visit(&record));
        }
    }

    /// The only session as a file.
    pub async fn export(&self, annals: &Annals) -> String {
        let session = self.log.sessions().all().await.unwrap()[0].session;
        self.export_of(annals, session).await
    }

    pub async fn export_of(&self, annals: &Annals, session: SessionId) -> String {
        let mut out = Vec::new();
        export(&*self.log, session, &mut out, &mut |_| {}).await.unwrap();
        let path = annals.file("session.jsonl");
        std::fs::write(&path, out).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// The newest request of a session.
pub async fn last_request(world: &World, session: SessionId) -> RequestSent {
    let mut last = None;
    let keep = |record: &Record<'_>| {
        if let Event::Step(StepEvent::RequestSent(sent)) = record.event {
            last = Some((**sent).clone());
        }
    };
    world.each(session, keep).await;
    last.unwrap()
}
