//! The System Context Registry of one location: who contributes sources, in key order.

use super::SystemContext;
use super::fault::{ContextError, Fault, caught};
use crate::Boxed;
use annals_core::event::Location;
use annals_core::{AgentName, Key, SessionId};
use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a producer may know of the Safe Provider-Turn Boundary that it produces for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// Whose turn it is.
    pub session: SessionId,
    /// The agent of the turn.
    pub agent: AgentName,
    /// Where the session works.
    pub location: Location,
    /// Nested instruction files discovered while the session has been at this location, in order of discovery: a fold
    /// of `instruction.discovered`.
    pub discovered: Vec<String>,
}

/// Contributes a System Context of zero or more sources, again at every boundary. A fixed [`SystemContext`] is one, and
/// so is a function from a [`Boundary`] to a future of one.
pub trait Producer: Send + Sync {
    /// Produces for a boundary.
    ///
    /// # Errors
    /// For a mistake, which fails the turn. A value that cannot be read for now is a source that is unavailable.
    fn produce<'a>(&'a self, boundary: &'a Boundary) -> Boxed<'a, Result<SystemContext, Fault>>;
}

impl Producer for SystemContext {
    fn produce<'a>(&'a self, _: &'a Boundary) -> Boxed<'a, Result<SystemContext, Fault>> {
        Box::pin(async move { Ok(self.clone()) })
    }
}

impl<P, F> Producer for P
where
    P: Fn(Boundary) -> F + Send + Sync,
    F: Future<Output = Result<SystemContext, Fault>> + Send + 'static,
{
    fn produce<'a>(&'a self, boundary: &'a Boundary) -> Boxed<'a, Result<SystemContext, Fault>> {
        Box::pin(self(boundary.clone()))
    }
}

/// A contribution of that key is there already, and stays: close it first, or choose another key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Duplicate system context entry key: {0}")]
pub struct DuplicateContribution(pub Key);

/// The contributions of one location. Clones share them.
///
/// ```
/// # use annals_runtime::context::{Boundary, Fault, Registry, Source, SystemContext};
/// # use std::future::ready;
/// let registry = Registry::default();
/// let motto = Source::new("acme/motto".parse()?, || ready("Be exact.".to_string()), |motto: &String| motto.clone());
/// let fixed = registry.register("acme/motto".parse()?, SystemContext::from(motto))?;
///
/// // A producer that contributes a source in one place only.
/// let placed = registry.register("acme/place".parse()?, |boundary: Boundary| async move {
///     if boundary.location.directory != "/work" {
///         return Ok(SystemContext::default());
///     }
///     let key = "acme/place".parse().map_err(|error| Fault::Failed(format!("{error}")))?;
///     Ok(Source::new(key, || ready(1), |n: &u32| format!("Place {n}.")).into())
/// })?;
/// drop(placed); // seen from the next boundary on
/// assert!(registry.register("acme/motto".parse()?, SystemContext::default()).is_err(), "taken");
/// # fixed.close();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    entries: Arc<Mutex<RegisteredProducers>>,
}

#[derive(Default)]
struct RegisteredProducers {
    by_key: BTreeMap<Key, (u64, Arc<dyn Producer>)>,
    registered: u64,
}

impl RegisteredProducers {
    fn put(&mut self, key: &Key, producer: Arc<dyn Producer>) -> u64 {
        self.registered += 1;
        self.by_key.insert(key.clone(), (self.registered, producer));
        self.registered
    }
}

fn locked(entries: &Mutex<RegisteredProducers>) -> MutexGuard<'_, RegisteredProducers> {
    entries.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    /// Registers a producer until the [`Registration`] is dropped. What it contributes is seen from the next boundary
    /// on. Contribution keys order rendering; they name nothing else.
    ///
    /// # Errors
    /// When the key is taken. The earlier contribution is not affected.
    pub fn register(&self, key: Key, producer: impl Producer + 'static) -> Result<Registration, DuplicateContribution> {
        let mut entries = locked(&self.entries);
        if entries.by_key.contains_key(&key) {
            return Err(DuplicateContribution(key));
        }
        let identity = entries.put(&key, Arc::new(producer));
        Ok(Registration { entries: self.entries.clone(), key, identity })
    }

    /// Runs every producer concurrently and combines what they give by contribution key. Nothing is cached.
    ///
    /// # Errors
    /// When a producer panics or fails (the first one by key is named), or two sources have one key.
    pub async fn load(&self, boundary: &Boundary) -> Result<SystemContext, ContextError> {
        let producers: Vec<(Key, Arc<dyn Producer>)> =
            locked(&self.entries).by_key.iter().map(|(key, (_, producer))| (key.clone(), producer.clone())).collect();
        let produced = join_all(producers.iter().map(|(key, producer)| async move {
            match caught(async move { producer.produce(boundary).await }).await {
                Ok(context) => Ok(context.contributed_by(key)),
                Err(fault) => Err(ContextError::Contribution { contribution: key.clone(), fault }),
            }
        }));
        SystemContext::combine(produced.await.into_iter().collect::<Result<Vec<_>, _>>()?)
    }
}

/// A contribution's scope. Dropping it removes exactly this registration, seen from the next boundary on.
#[must_use = "dropping a registration closes it"]
pub struct Registration {
    entries: Arc<Mutex<RegisteredProducers>>,
    key: Key,
    identity: u64,
}

impl Registration {
    /// The contribution key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Puts another producer in the place of this one between two boundaries, so that none meets neither.
    pub fn replace(&mut self, producer: impl Producer + 'static) {
        self.identity = locked(&self.entries).put(&self.key, Arc::new(producer));
    }

    /// Closes the scope, as dropping does.
    pub fn close(self) {}

    /// Keeps the contribution for as long as the registry lives.
    pub fn detach(mut self) {
        self.identity = 0;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut entries = locked(&self.entries);
        if entries.by_key.get(&self.key).is_some_and(|(identity, _)| *identity == self.identity) {
            entries.by_key.remove(&self.key);
        }
    }
}
