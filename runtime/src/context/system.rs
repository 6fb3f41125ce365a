//! A System Context: sources in order, observed together.

use super::fault::{ContextError, Fault, caught};
use super::source::{ContextSource, Guarded, Loaded, Source};
use annals_core::Key;
use annals_core::context::{Observation, Observed};
use futures_util::future::join_all;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All facts that are shown to the model as instructions: zero or more Context Sources, in order.
///
/// ```
/// # use annals_core::context::initialize;
/// # use annals_runtime::context::{Source, SystemContext};
/// # use std::future::ready;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let one = Source::new("acme/one".parse()?, || ready(1), |n: &u32| format!("One is {n}."));
/// let two = Source::new("acme/two".parse()?, || ready(2), |n: &u32| format!("Two is {n}."));
/// let context = SystemContext::combine([one.into(), two.into()])?;
/// let observed = context.observe().await?;
/// assert_eq!(initialize(&observed.sources)?.text(), "One is 1.\n\nTwo is 2.");
/// # Ok(())
/// # }
/// ```
///
/// **Invariant**: no two sources have one key.
#[derive(Clone, Default)]
pub struct SystemContext {
    members: Vec<Member>,
}

#[derive(Clone)]
struct Member {
    source: Arc<dyn ContextSource>,
    /// The registry contribution that it came with, if any.
    contribution: Option<Key>,
}

/// One reading of all sources.
pub struct Observations {
    /// For `annals_core::context::{initialize, reconcile, replace}`, in order of composition; without sources that are absent.
    pub sources: Vec<Observation>,
    /// Why each unavailable source is, in the same order: for errors and operators, never for the model.
    pub unavailable: Vec<(Key, String)>,
}

impl SystemContext {
    /// Sources in a given order.
    ///
    /// # Errors
    /// [`ContextError::DuplicateSource`], before anything is loaded.
    pub fn new(sources: impl IntoIterator<Item = Arc<dyn ContextSource>>) -> Result<Self, ContextError> {
        Self::distinct(sources.into_iter().map(|source| Member { source, contribution: None }).collect())
    }

    /// The sources of several contexts, in the order given.
    ///
    /// # Errors
    /// [`ContextError::DuplicateSource`], before anything is loaded.
    pub fn combine(contexts: impl IntoIterator<Item = Self>) -> Result<Self, ContextError> {
        Self::distinct(contexts.into_iter().flat_map(|context| context.members).collect())
    }

    fn distinct(members: Vec<Member>) -> Result<Self, ContextError> {
        let mut seen = BTreeMap::new();
        for member in &members {
            let key = member.source.key();
            if let Some(first) = seen.insert(key.clone(), member.contributor()) {
                return Err(ContextError::DuplicateSource {
                    key: key.clone(),
                    contributors: [first, member.contributor()],
                });
            }
        }
        Ok(Self { members })
    }

    /// The same sources, known to come with a contribution.
    pub(super) fn contributed_by(mut self, contribution: &Key) -> Self {
        self.members.iter_mut().for_each(|member| member.contribution = Some(contribution.clone()));
        self
    }

    /// The keys of the sources, in order.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.members.iter().map(|member| member.source.key())
    }

    /// Loads every source exactly once, all concurrently.
    ///
    /// # Errors
    /// When a loader panics or fails; the first such source in order of composition is named.
    #[tracing::instrument(level = "debug", skip_all, fields(sources = self.members.len()))]
    pub async fn observe(&self) -> Result<Observations, ContextError> {
        let loaded = join_all(self.members.iter().map(Member::load)).await;
        self.observed(loaded)
    }

    /// The same, one source after the other in order of composition.
    pub async fn observe_in_order(&self) -> Result<Observations, ContextError> {
        let mut loaded = Vec::with_capacity(self.members.len());
        for member in &self.members {
            loaded.push(member.load().await);
            // A point where the caller can be cancelled, on every executor and log.
            tokio::task::yield_now().await;
        }
        self.observed(loaded)
    }

    fn observed(&self, loaded: Vec<Result<Loaded<Value>, Fault>>) -> Result<Observations, ContextError> {
        let mut observations = Observations { sources: Vec::new(), unavailable: Vec::new() };
        for (Member { source, .. }, loaded) in self.members.iter().zip(loaded) {
            let key = source.key().clone();
            let observed = match loaded {
                Ok(Loaded::Available(value)) => Observed::Available(value),
                Ok(Loaded::Absent) => continue,
                Ok(Loaded::Unavailable { reason }) => {
                    tracing::warn!(%key, reason, "a context source is unavailable");
                    observations.unavailable.push((key.clone(), reason));
                    Observed::Unavailable
                }
                Err(fault) => return Err(fault.of(key)),
            };
            let render = Box::new(Guarded { key: key.clone(), render: source.render() });
            observations.sources.push(Observation { key, observed, render });
        }
        Ok(observations)
    }
}

impl Member {
    async fn load(&self) -> Result<Loaded<Value>, Fault> {
        // `load` itself may panic before it gives a future.
        caught(async move { self.source.load().await }).await
    }

    fn contributor(&self) -> String {
        self.contribution.as_ref().unwrap_or(self.source.key()).to_string()
    }
}

impl Fault {
    fn of(self, key: Key) -> ContextError {
        ContextError::Source { key, fault: self }
    }
}

impl From<Arc<dyn ContextSource>> for SystemContext {
    fn from(source: Arc<dyn ContextSource>) -> Self {
        Self { members: vec![Member { source, contribution: None }] }
    }
}

impl<A: Serialize + DeserializeOwned + PartialEq + Send + Sync + 'static> From<Source<A>> for SystemContext {
    fn from(source: Source<A>) -> Self {
        Self::from(Arc::new(source) as Arc<dyn ContextSource>)
    }
}
