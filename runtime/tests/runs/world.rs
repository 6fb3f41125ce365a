//! A scripted world around a real runtime and the memory log.

use annals_core::event::{RequestSent, StepEvent};
use annals_core::{Event, Seq};
use annals_projections::{Body, Content, rebuild};
use annals_runtime::permission::{Approver, FixedApprover};
use annals_runtime::ports::{Provider, SeededIds};
use annals_runtime::settings::{FixedDefinitions, LocationServices, bare_model};
use annals_runtime::testing::{ManualClock, MemoryOutputs, ScriptedAttempt, ScriptedProvider};
use annals_runtime::tools::{FunctionTool, Tool, ToolOutput};
use annals_runtime::{NewSession, Ports, Runtime, Session, Settings};
use annals_store::views::Views;
use annals_store::{EventLog, MemoryLog};
use std::sync::Arc;

/// What a test ends with: any error is a failure.
pub type Tested = Result<(), Box<dyn std::error::Error>>;

/// A scripted world. Clones share it; a runtime made of it dies with its last clone, the world does not.
#[derive(Clone)]
pub struct World {
    pub log: Arc<dyn EventLog>,
    /// What answers, unless a test brings its own.
    pub scripted: Arc<ScriptedProvider>,
    pub provider: Arc<dyn Provider>,
    pub clock: Arc<ManualClock>,
    pub ids: Arc<SeededIds>,
    pub services: LocationServices,
    pub approver: Arc<dyn Approver>,
    pub definitions: FixedDefinitions,
    pub settings: Settings,
}

impl World {
    /// A world whose model answers these attempts, then `ok`.
    pub fn new(attempts: impl IntoIterator<Item = ScriptedAttempt>) -> Self {
        let scripted = Arc::new(ScriptedProvider::new(attempts));
        Self {
            log: Arc::new(MemoryLog::new()),
            provider: scripted.clone(),
            scripted,
            clock: Arc::new(ManualClock::at(ManualClock::SCENARIO)),
            ids: Arc::new(SeededIds::scripted(1)),
            services: LocationServices::default(),
            approver: Arc::new(FixedApprover::allowing("user")),
            definitions: FixedDefinitions::default().model(bare_model(&"test/alpha".into(), 200_000, 32_000)),
            settings: Settings::default(),
        }
    }

    /// The same world with another provider.
    pub fn provider(self, provider: Arc<dyn Provider>) -> Self {
        Self { provider, ..self }
    }

    /// Adds a tool.
    pub fn tool(self, tool: impl Tool + 'static) -> Self {
        self.services.tools.register([Arc::new(tool) as Arc<dyn Tool>]).expect("names in tests are valid").detach();
        self
    }

    /// A process over this world.
    pub fn runtime(&self) -> Runtime {
        Runtime::new(self.ports(), self.settings.clone())
    }

    /// The ports of a process over this world.
    pub fn ports(&self) -> Ports {
        Ports {
            log: self.log.clone(),
            provider: self.provider.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            outputs: Arc::new(MemoryOutputs::new(self.clock.clone())),
            approver: self.approver.clone(),
            locations: Arc::new(self.services.clone()),
            definitions: Arc::new(self.definitions.clone()),
        }
    }

    /// A Session at `/project` with agent `build`.
    pub async fn session(&self, runtime: &Runtime) -> Result<Session, annals_runtime::LogError> {
        runtime.create(NewSession::at("/project", "build", "test/alpha")).await
    }
}

/// A tool without input that gives a text.
pub fn says(name: &str, text: &'static str) -> impl Tool + use<> {
    FunctionTool::new(
        name,
        "Says something.",
        &serde_json::json!({"type": "object"}),
        move |_: serde_json::Value, _| async move { Ok(ToolOutput::text(text)) },
    )
}

/// The history as lines: `user hello`, `assistant stop: hi | look=completed(seen)`.
pub async fn history(session: &Session) -> Result<Vec<String>, annals_runtime::LogError> {
    let (view, blobs) = (session.view().await?, session.blobs());
    let text = |text: &annals_core::Text| text.resolve(&*blobs).into_owned();
    let line = |body: &Body| match body {
        Body::User { text: said, .. } => format!("user {}", text(said)),
        Body::System { text: shown, .. } => format!("system {}", text(shown)),
        Body::Synthetic { .. } => "synthetic".into(),
        Body::Compaction { summary, .. } => format!("compaction {}", text(summary)),
        Body::Assistant(answer) => {
            let content: Vec<String> = answer
                .content
                .iter()
                .map(|content| match content {
                    Content::Text { text: said, .. } => text(said),
                    Content::Reasoning { text: thought, .. } => format!("({})", text(thought)),
                    Content::Tool(tool) => {
                        let result = tool.error.as_ref().map_or_else(|| text(&tool.output), text);
                        format!("{}={}({result})", tool.name, tool.status.as_str())
                    }
                })
                .collect();
            let finish = answer.finish.map_or("open", |finish| finish.as_str());
            let error = answer.error.as_ref().map(|error| format!(" {}", error.kind)).unwrap_or_default();
            format!("assistant {finish}{error}: {}", content.join(" | "))
        }
        other => format!("{other:?}"),
    };
    Ok(view.history.selected().map(|message| line(&message.body)).collect())
}

/// The names of all events, in order.
pub async fn events(world: &World, session: &Session) -> Result<Vec<&'static str>, annals_store::ReadError> {
    let slices = world.log.read(session.id(), Seq::ZERO, 10_000).await?;
    Ok(slices
        .iter()
        .flat_map(|slice| slice.records().map(|record| record.event.kind().name()).collect::<Vec<_>>())
        .collect())
}

/// Every request that was sent is rebuilt from the log alone.
pub async fn all_rebuilt(world: &World, session: &Session) -> Tested {
    let sent = world.scripted.received();
    let marks = session.view().await?.requests.marks.clone();
    assert_eq!(sent.len(), marks.len());
    for (mark, sent) in marks.iter().zip(sent) {
        let (before, _) = Views::new(world.log.clone(), None).whole(session.id(), mark.seq).await?;
        let batch = world.log.read(session.id(), mark.seq, 1).await?;
        let announced: Option<Box<RequestSent>> =
            batch.iter().flat_map(|slice| slice.records()).find_map(|record| match record.event {
                Event::Step(StepEvent::RequestSent(sent)) => Some(sent.clone()),
                _ => None,
            });
        let rebuilt = rebuild(&before, &*announced.ok_or("the mark names its event")?, &*session.blobs())?;
        assert_eq!(rebuilt, *sent.request);
        assert_eq!(rebuilt.digest(), mark.digest);
    }
    Ok(())
}
