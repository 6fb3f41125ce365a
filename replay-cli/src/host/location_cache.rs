//! What is there at a Location: Context Sources, tools, skills, files.

use super::parts::ServicesAt;
use annals_core::event::Location;
use annals_runtime::settings::{LocationServices, Locations};
use annals_runtime::tools::ToolRegistry;
use annals_store::disk::StorePath;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The Locations of a host. Each is looked at once; what is there is the same afterwards.
pub struct LocationCache {
    /// The tools that are there everywhere.
    application: ToolRegistry,
    services_at: Arc<dyn ServicesAt>,
    store: StorePath,
    known: Mutex<BTreeMap<String, LocationServices>>,
}

impl LocationCache {
    /// LocationCache whose tools stand over those of `application`.
    pub fn new(application: ToolRegistry, services_at: Arc<dyn ServicesAt>, store: StorePath) -> Self {
        Self { application, services_at, store, known: Mutex::default() }
    }

    /// What a person should know of a Location before anything runs there.
    pub(super) async fn remarks(&self, location: &Location) -> Vec<String> {
        self.services_at.remarks(location).await
    }

    /// Looks at a Location on a thread where that may take its time.
    pub(super) async fn prepare(self: &Arc<Self>, location: &Location) {
        let (places, location) = (self.clone(), location.clone());
        // A panic there shows again, and is told, when the Location is asked for.
        drop(tokio::task::spawn_blocking(move || places.at(&location)).await);
    }
}

impl Locations for LocationCache {
    fn at(&self, location: &Location) -> LocationServices {
        let known = |directory: &str| self.known.lock().unwrap_or_else(PoisonError::into_inner).get(directory).cloned();
        if let Some(services) = known(&location.directory) {
            return services;
        }
        let tools = ToolRegistry::over(&self.application);
        let services = self.services_at.services(location, tools, &self.store);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // The same Location gives the same registries, whoever was first.
        known.entry(location.directory.clone()).or_insert(services).clone()
    }
}
