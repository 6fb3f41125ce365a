//! Shared by the examples with agents: every port of a runtime except the model.

use annals_core::event::{AgentProfile, ModelProfile};
use annals_runtime::permission::FixedApprover;
use annals_runtime::ports::{Provider, SeededIds, SystemClock};
use annals_runtime::settings::{FixedDefinitions, LocationServices};
use annals_runtime::testing::MemoryOutputs;
use annals_runtime::{Ports, Runtime, Settings};
use annals_store::EventLog;
use std::error::Error;
use std::sync::Arc;

/// A runtime over a log with one model. Its agent uses the same services everywhere and may call every tool.
///
/// # Errors
/// When the system has no entropy for ids.
pub fn runtime(
    log: Arc<dyn EventLog>,
    provider: Arc<dyn Provider>,
    services: LocationServices,
    agent: AgentProfile,
    model: ModelProfile,
) -> Result<Runtime, Box<dyn Error>> {
    let clock = Arc::new(SystemClock::local());
    let ports = Ports {
        log,
        provider,
        ids: Arc::new(SeededIds::from_entropy()?),
        outputs: Arc::new(MemoryOutputs::new(clock.clone())),
        clock,
        approver: Arc::new(FixedApprover::allowing("example")),
        locations: Arc::new(services),
        definitions: Arc::new(FixedDefinitions::default().agent(agent).model(model)),
    };
    Ok(Runtime::new(ports, Settings::default()))
}
