//! A Session that speaks to a server over HTTP, and what its log says afterwards.

use crate::server::Server;
use crate::traces;
use annals_core::event::{Failure, ModelProfile, RequestSent, StepEvent};
use annals_core::{Digest, Event, Seq};
use annals_projections::{Body, Content, rebuild};
use annals_providers::http::{Endpoint, EndpointLimits, HttpProvider, KeySource, OneEndpoint};
use annals_providers::wire::{Protocol, encode};
use annals_runtime::permission::FixedApprover;
use annals_runtime::ports::{Provider, SeededIds, now_of};
use annals_runtime::settings::{FixedDefinitions, LocationServices, bare_model};
use annals_runtime::testing::{ManualClock, MemoryOutputs};
use annals_runtime::tools::{FunctionTool, Tool, ToolOutput};
use annals_runtime::{NewInput, NewSession, Outcome, Ports, RunError, Runtime, Session, Settings};
use annals_store::exchange::{export, verify_session};
use annals_store::views::Views;
use annals_store::{EventLog, MemoryLog};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// What a test ends with: any error is a failure.
pub type Tested = Result<(), Box<dyn std::error::Error>>;

/// The key of every story. It must stand nowhere but in the header of a request.
pub const KEY: &str = "sk-planted-0123456789abcdef";

/// Nothing may take longer.
pub async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), what).await.expect("nothing hangs")
}

/// An endpoint at a server, with the key and limits that suit a test.
pub fn endpoint(server: &Server) -> Endpoint {
    let limits =
        EndpointLimits { idle: Duration::from_secs(20), total: Duration::from_secs(40), ..EndpointLimits::default() };
    let key = KeySource::Command(["echo", KEY].map(Into::into).to_vec());
    Endpoint::at(server.base()).key(key).limits(limits)
}

/// A Session, its runtime and its log.
pub struct Story {
    pub log: Arc<dyn EventLog>,
    pub clock: Arc<ManualClock>,
    pub runtime: Runtime,
    pub session: Session,
}

impl Story {
    /// A Session whose model answers at an endpoint.
    pub async fn at(endpoint: Endpoint) -> Result<Self, Box<dyn std::error::Error>> {
        let clock = Arc::new(ManualClock::at(ManualClock::SCENARIO));
        let provider = HttpProvider::new(Arc::new(OneEndpoint(endpoint)), now_of(clock.clone()));
        Self::with(Arc::new(provider), clock).await
    }

    /// A Session of a provider.
    pub async fn with(
        provider: Arc<dyn Provider>,
        clock: Arc<ManualClock>,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        traces::collect();
        let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
        let services = LocationServices::default();
        services.tools.register([style()])?.detach();
        let ports = Ports {
            log: log.clone(),
            provider,
            clock: clock.clone(),
            ids: Arc::new(SeededIds::scripted(1)),
            outputs: Arc::new(MemoryOutputs::new(clock.clone())),
            approver: Arc::new(FixedApprover::allowing("user")),
            locations: Arc::new(services),
            definitions: Arc::new(FixedDefinitions::default().model(model(Protocol::OpenAiChat))),
        };
        let runtime = Runtime::new(ports, Settings::default());
        let session = runtime.create(NewSession::at("/project", "build", "test/alpha")).await?;
        Ok(Self { log, clock, runtime, session })
    }

    /// Says something and waits for the end of the run.
    pub async fn say(&self, text: &str) -> Result<Outcome, RunError> {
        self.session.admit(NewInput::steer(text)).await.map_err(|refused| RunError::Defect(refused.to_string()))?;
        in_time(self.session.run()).await
    }

    /// Every event, in order.
    pub async fn events(&self) -> Result<Vec<Event>, Box<dyn std::error::Error>> {
        let slices = self.log.read(self.session.id(), Seq::ZERO, 100_000).await?;
        Ok(slices
            .iter()
            .flat_map(|slice| slice.records().map(|record| record.event.clone()).collect::<Vec<_>>())
            .collect())
    }

    /// The failures of steps and attempts, in order: `retry rate-limit 429 ...`, `failed transport ...`.
    pub async fn failures(&self) -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let blobs = self.session.blobs();
        let shown = |Failure { kind, message, status }: &Failure| {
            let status = status.map(|status| format!(" {status}")).unwrap_or_default();
            format!("{kind}{status}: {}", message.resolve(&*blobs))
        };
        Ok(self
            .events()
            .await?
            .iter()
            .filter_map(|event| match event {
                Event::Step(StepEvent::RetryScheduled(scheduled)) => Some(format!("retry {}", shown(&scheduled.error))),
                Event::Step(StepEvent::Failed(failed)) => Some(format!("failed {}", shown(&failed.error))),
                _ => None,
            })
            .collect())
    }

    /// What the model would see: `user hello`, `assistant stop: hi | style=completed(seen)`.
    pub async fn history(&self) -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let (view, blobs) = (self.session.view().await?, self.session.blobs());
        let line = |body: &Body| match body {
            Body::User { text, .. } => format!("user {}", text.resolve(&*blobs)),
            Body::Synthetic { .. } => "synthetic".into(),
            Body::Assistant(answer) => {
                let content: Vec<String> = answer
                    .content
                    .iter()
                    .map(|content| match content {
                        Content::Text { text, .. } => text.resolve(&*blobs).into_owned(),
                        Content::Reasoning { text, .. } => format!("({})", text.resolve(&*blobs)),
                        Content::Tool(tool) => {
                            let result = tool.error.as_ref().unwrap_or(&tool.output).resolve(&*blobs);
                            format!("{}={}({result})", tool.name, tool.status.as_str())
                        }
                    })
                    .collect();
                let finish = answer.finish.map_or("open", |finish| finish.as_str());
                format!("assistant {finish}: {}", content.join(" | "))
            }
            other => format!("{other:?}"),
        };
        Ok(view.history.selected().map(|message| line(&message.body)).collect())
    }

    /// Whatever happened: the log verifies, nothing is left open, every body that the server got is rebuilt from the log
    /// byte for byte, and the key stands neither in the log nor in traces nor in an export.
    pub async fn holds(&self, server: &Server) -> Tested {
        self.is_sound().await?;
        let view = self.session.view().await?;
        let mut bodies: Vec<Vec<u8>> = Vec::new();
        for mark in view.requests.marks.iter() {
            let (before, _) = Views::new(self.log.clone(), None).whole(self.session.id(), mark.seq).await?;
            let batch = self.log.read(self.session.id(), mark.seq, 1).await?;
            let sent: Option<Box<RequestSent>> =
                batch.iter().flat_map(|slice| slice.records()).find_map(|record| match record.event {
                    Event::Step(StepEvent::RequestSent(sent)) => Some(sent.clone()),
                    _ => None,
                });
            let sent = sent.ok_or("the mark names its event")?;
            let request = rebuild(&before, &sent, &*self.session.blobs())?;
            let body = encode(&request, self.session.id())?.ok_or("it is encoded")?;
            assert_eq!(sent.wire, Some(Digest::of(&body.bytes)));
            bodies.push(body.bytes.clone());
        }
        let received = server.received();
        assert!(received.len() <= bodies.len(), "every request that was sent is in the log");
        for (received, body) in received.iter().zip(bodies) {
            assert_eq!(received.body, body);
            assert_eq!(received.headers.get("authorization").map(String::as_str), Some(&*format!("Bearer {KEY}")));
        }
        Ok(())
    }

    /// The log verifies, nothing is left open, and the key stands nowhere.
    pub async fn is_sound(&self) -> Tested {
        let report = verify_session(&*self.log, self.session.id(), None, &mut |_| {}).await?;
        assert!(report.is_sound(), "{report:?}");
        let view = self.session.view().await?;
        assert!(view.anomalies().is_empty(), "{:?}", view.anomalies());
        assert!(view.calls.open.is_empty() && !view.calls.step_open);
        let mut exported = Vec::new();
        export(&*self.log, self.session.id(), &mut exported, &mut |_| {}).await?;
        let events = format!("{:?}", self.events().await?);
        for text in [String::from_utf8(exported)?, events, traces::all()] {
            assert!(!text.contains(KEY) && !text.contains("planted"), "the key is shown");
        }
        Ok(())
    }
}

/// A model of a protocol.
pub fn model(protocol: Protocol) -> ModelProfile {
    ModelProfile {
        id: "alpha-1".into(),
        protocol: protocol.as_str().into(),
        encoding: protocol.encoding(),
        ..bare_model(&"test/alpha".into(), 200_000, 32_000)
    }
}

fn style() -> Arc<dyn Tool> {
    let schema = serde_json::json!({"type": "object"});
    Arc::new(FunctionTool::new("look", "Looks.", &schema, |_: serde_json::Value, _| async move {
        Ok(ToolOutput::text("seen"))
    }))
}
