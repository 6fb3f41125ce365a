//! The services of locations: context sources, tools, skills, files. Each location is examined once.

use crate::Boxed;
use crate::settings::{LocationServices, Locations};
use crate::tools::ToolRegistry;
use annals_core::event::Location;
use annals_store::disk::StorePath;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Determines the services of a location. Asked once for each.
pub trait ServicesAt: Send + Sync {
    /// The services of a location; its own tools are registered in `tools`. Captures of files are kept in `store`. May
    /// block.
    fn services(&self, location: &Location, tools: ToolRegistry, store: &StorePath) -> LocationServices;

    /// Starts what takes a while, such as programs that offer tools, which are registered in `tools`; usually nothing.
    /// Called whenever a location is prepared. Returns remarks for the user.
    fn start<'a>(&'a self, location: &'a Location, tools: ToolRegistry) -> Boxed<'a, Vec<String>> {
        let _ = (location, tools);
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Remarks about a location for the user, before anything runs there; usually none.
    fn remarks<'a>(&'a self, location: &'a Location, store: &'a StorePath) -> Boxed<'a, Vec<String>> {
        let _ = (location, store);
        Box::pin(std::future::ready(Vec::new()))
    }
}

/// The locations of a host. Each is examined once; its services are the same afterwards.
pub struct LocationCache {
    /// The tools of every location.
    application: ToolRegistry,
    services_at: Arc<dyn ServicesAt>,
    store: StorePath,
    known: Mutex<BTreeMap<String, LocationServices>>,
}

impl LocationCache {
    /// Locations whose own tools replace tools of `application` that have the same name.
    pub fn new(application: ToolRegistry, services_at: Arc<dyn ServicesAt>, store: StorePath) -> Self {
        Self { application, services_at, store, known: Mutex::default() }
    }

    /// Remarks about a location for the user, before anything runs there.
    pub async fn remarks(&self, location: &Location) -> Vec<String> {
        self.services_at.remarks(location, &self.store).await
    }

    /// Examines a location on a thread that may block, and starts what belongs to it. Returns remarks for the user.
    pub async fn prepare(self: &Arc<Self>, location: &Location) -> Vec<String> {
        let (places, examined) = (self.clone(), location.clone());
        // A panic there occurs again, and is reported, when the location is asked for.
        match tokio::task::spawn_blocking(move || places.at(&examined)).await {
            Ok(services) => self.services_at.start(location, services.tools).await,
            Err(_) => Vec::new(),
        }
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
        // The same location always gives the same registries.
        known.entry(location.directory.clone()).or_insert(services).clone()
    }
}
