//! A runtime over a store on this machine, with the ports that every host of it needs.

use super::{Leases, LocationCache, ServicesAt};
use crate::permission::Approver;
use crate::ports::Clock as _;
use crate::ports::outputs::HOUR_MS;
use crate::ports::{NoEntropy, OutputFolder, Provider, SeededIds, SystemClock, keep_swept, sweep};
use crate::settings::{Definitions, Ports, Settings};
use crate::state::Runtime;
use crate::subagents::{Subagents, TaskTool};
use crate::tools::{RegistrationError, Tool, ToolRegistry};
use annals_core::event::Location;
use annals_store::EventLog;
use annals_store::cache::ViewCache;
use annals_store::disk::StorePath;
use std::sync::Arc;
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

/// The folder of a store where whole tool outputs are kept for a while.
pub const OUTPUTS: &str = "outputs";

/// What a host consists of besides the store: what configuration and the caller decide.
pub struct HostParts {
    /// Sends requests to models.
    pub provider: Arc<dyn Provider>,
    /// The definitions of agents and models.
    pub definitions: Arc<dyn Definitions>,
    /// Limits and behaviour.
    pub settings: Settings,
    /// Determines the services of a location.
    pub services_at: Arc<dyn ServicesAt>,
    /// Agents that tasks may be given to; without one there is no tool for tasks.
    pub subagents: Subagents,
    /// The clock.
    pub clock: Arc<SystemClock>,
    /// Answers permission questions.
    pub approver: Arc<dyn Approver>,
}

/// A host cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenHostError {
    /// The system gives no entropy for ids.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
    /// The tool for tasks cannot be offered.
    #[error(transparent)]
    Tools(#[from] RegistrationError),
}

/// A runtime over a store.
pub struct StoreHost {
    /// Runs sessions.
    pub runtime: Runtime,
    /// The right to run them.
    pub leases: Leases,
    locations: Arc<LocationCache>,
    outputs: Arc<OutputFolder>,
    clock: Arc<SystemClock>,
    /// The task that removes output files as they expire; started with the first location.
    sweeping: OnceCell<AbortOnDrop>,
}

/// A task that ends with this.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl StoreHost {
    /// A runtime over `log`, which is kept in the folder `store`, helped by saved views.
    ///
    /// # Errors
    /// When the system gives no entropy for ids, or the tool for tasks cannot be offered.
    pub fn open(
        log: Arc<dyn EventLog>,
        saved: Option<Arc<ViewCache>>,
        store: StorePath,
        parts: HostParts,
    ) -> Result<Self, OpenHostError> {
        let application = ToolRegistry::default();
        let HostParts { provider, definitions, settings, services_at, subagents, clock, approver } = parts;
        let locations = Arc::new(LocationCache::new(application.clone(), services_at, store.clone()));
        let outputs = Arc::new(OutputFolder::at(store.join(OUTPUTS)));
        let ports = Ports {
            log,
            provider,
            clock: clock.clone(),
            ids: Arc::new(SeededIds::from_entropy()?),
            outputs: outputs.clone(),
            approver,
            locations: locations.clone(),
            definitions,
        };
        let leases = Leases::of(&*ports.log, store);
        let runtime = Runtime::new(ports, Settings { views: saved, ..settings });
        if !subagents.agents.is_empty() {
            let task: Arc<dyn Tool> = Arc::new(TaskTool::of(&runtime, subagents));
            application.register([task])?.detach();
        }
        Ok(Self { runtime, leases, locations, outputs, clock, sweeping: OnceCell::new() })
    }

    /// Examines a location before anything runs there; returns what a person should know of it. Output files that have
    /// expired are removed now and then every hour.
    pub async fn prepare_location(&self, location: &Location) -> Vec<String> {
        self.sweeping
            .get_or_init(|| async {
                sweep(&*self.outputs, &*self.clock).await;
                let (outputs, clock) = (self.outputs.clone(), self.clock.clone());
                AbortOnDrop(tokio::spawn(async move {
                    clock.sleep_until(clock.now().plus(HOUR_MS)).await;
                    keep_swept(&*outputs, &*clock).await;
                }))
            })
            .await;
        let mut remarks = self.locations.prepare(location).await;
        remarks.extend(self.locations.remarks(location).await);
        remarks
    }
}
