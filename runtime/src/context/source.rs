//! One Context Source: a typed value, its loader, and its pure renderers.

use super::fault::{Fault, panic_message};
use crate::Boxed;
use annals_core::Key;
use annals_core::context::{Codec, Render, Rendering, Undecodable};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The result of a loader. A plain value converts to [`Loaded::Available`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loaded<A> {
    /// The value as it is now.
    Available(A),
    /// It was read, and there is nothing: as if the source were not there. Where the model knows it, its removal is announced.
    Absent,
    /// It cannot be read for now: the admitted value stays in force. Never a removal.
    Unavailable {
        /// Why, for operators; it names the file or service.
        reason: String,
    },
}

impl<A> From<A> for Loaded<A> {
    fn from(value: A) -> Self {
        Self::Available(value)
    }
}

impl<A> Loaded<A> {
    /// Unavailable for a reason.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into() }
    }
}

/// A source with its type hidden, so that sources of all types compose. [`Source`] is the usual way to make one;
/// implement this for a codec that serde cannot express.
pub trait ContextSource: Send + Sync {
    /// Stable and namespaced; names its entry in the Context Snapshot.
    fn key(&self) -> &Key;

    /// Reads the value, as its codec writes it. Called exactly once per boundary.
    ///
    /// # Errors
    /// For a mistake, which fails the turn; what passes is [`Loaded::Unavailable`].
    fn load(&self) -> Boxed<'_, Result<Loaded<Value>, Fault>>;

    /// Compares and renders values.
    fn render(&self) -> Arc<dyn Render>;
}

type LoadFn<A> = Box<dyn Fn() -> Boxed<'static, Loaded<A>> + Send + Sync>;
type RenderFn<A> = Box<dyn Fn(&A) -> String + Send + Sync>;
type UpdateFn<A> = Box<dyn Fn(&A, &A) -> String + Send + Sync>;

/// One observed, typed, keyed value of the System Context. Its codec is serde; values are compared as `A`.
///
/// ```
/// # use annals_runtime::context::{Loaded, Source, SystemContext};
/// # fn branch() -> std::io::Result<String> { Ok("main".into()) }
/// let source = Source::new("acme/branch".parse()?, || async {
///     match branch() {
///         Ok(branch) => Loaded::Available(branch),
///         Err(error) => Loaded::unavailable(format!("git: {error}")),
///     }
/// }, |branch: &String| format!("The checked-out branch is {branch}."))
/// .update(|_, branch| format!("The checked-out branch is now {branch}."))
/// .removed(|_| "The checked-out branch is no longer known.".into());
/// let context = SystemContext::from(source);
/// # Ok::<(), annals_core::context::InvalidKey>(())
/// ```
pub struct Source<A> {
    key: Key,
    load: LoadFn<A>,
    render: Arc<Renderers<A>>,
}

struct Renderers<A> {
    baseline: RenderFn<A>,
    update: Option<UpdateFn<A>>,
    removed: Option<RenderFn<A>>,
}

impl<A: Serialize + DeserializeOwned + PartialEq + Send + Sync + 'static> Source<A> {
    /// A source with the text that opens an epoch. That text also announces a change, unless [`Source::update`] says
    /// otherwise; without [`Source::removed`], its disappearance begins a new epoch.
    pub fn new<L, F>(key: Key, load: L, baseline: impl Fn(&A) -> String + Send + Sync + 'static) -> Self
    where
        L: Fn() -> F + Send + Sync + 'static,
        F: Future<Output: Into<Loaded<A>>> + Send + 'static,
    {
        Self {
            key,
            load: Box::new(move || {
                let loading = load();
                Box::pin(async move { loading.await.into() })
            }),
            render: Arc::new(Renderers { baseline: Box::new(baseline), update: None, removed: None }),
        }
    }

    /// The text for a changed value, from the previous and the current one. It says what now holds, not what
    /// held before.
    #[must_use]
    pub fn update(mut self, update: impl Fn(&A, &A) -> String + Send + Sync + 'static) -> Self {
        if let Some(render) = Arc::get_mut(&mut self.render) {
            render.update = Some(Box::new(update));
        }
        self
    }

    /// The text for a source that is gone, rendered and stored while its value still exists.
    #[must_use]
    pub fn removed(mut self, removed: impl Fn(&A) -> String + Send + Sync + 'static) -> Self {
        if let Some(render) = Arc::get_mut(&mut self.render) {
            render.removed = Some(Box::new(removed));
        }
        self
    }
}

impl<A: Serialize + DeserializeOwned + PartialEq + Send + Sync + 'static> ContextSource for Source<A> {
    fn key(&self) -> &Key {
        &self.key
    }

    fn load(&self) -> Boxed<'_, Result<Loaded<Value>, Fault>> {
        Box::pin(async move {
            let value = match (self.load)().await {
                Loaded::Available(value) => value,
                Loaded::Absent => return Ok(Loaded::Absent),
                Loaded::Unavailable { reason } => return Ok(Loaded::Unavailable { reason }),
            };
            let json = serde_json::to_value(&value).map_err(|error| Fault::Codec(error.to_string()))?;
            // Otherwise the stored value would never equal the current one, and every boundary would announce it again.
            match A::deserialize(&json) {
                Ok(back) if back == value => Ok(Loaded::Available(json)),
                Ok(_) => Err(Fault::Codec("it decodes to another value".into())),
                Err(error) => Err(Fault::Codec(error.to_string())),
            }
        })
    }

    fn render(&self) -> Arc<dyn Render> {
        self.render.clone()
    }
}

impl<A: DeserializeOwned + PartialEq> Codec for Renderers<A> {
    fn same(&self, stored: &Value, current: &Value) -> Result<bool, Undecodable> {
        let decode = |value| A::deserialize(value).map_err(|_| Undecodable);
        Ok(decode(stored)? == decode(current)?)
    }
}

// `same` and `load` have decoded these values before; one that does not decode renders nothing, which is an error.
impl<A: DeserializeOwned> Rendering for Renderers<A> {
    fn baseline(&self, current: &Value) -> String {
        A::deserialize(current).map(|value| (self.baseline)(&value)).unwrap_or_default()
    }

    fn update(&self, previous: &Value, current: &Value) -> String {
        let Some(update) = &self.update else { return self.baseline(current) };
        match (A::deserialize(previous), A::deserialize(current)) {
            (Ok(previous), Ok(current)) => update(&previous, &current),
            _ => String::new(),
        }
    }

    fn removed(&self, current: &Value) -> Option<String> {
        let removed = self.removed.as_ref()?;
        Some(A::deserialize(current).map(|value| removed(&value)).unwrap_or_default())
    }
}

/// Renderers whose panics stay with them: one that panics renders nothing, and so fails the turn by its key.
pub(super) struct Guarded {
    pub(super) key: Key,
    pub(super) render: Arc<dyn Render>,
}

impl Guarded {
    fn text(&self, render: impl FnOnce() -> String) -> String {
        catch_unwind(AssertUnwindSafe(render)).unwrap_or_else(|panic| {
            tracing::error!(key = %self.key, message = panic_message(panic.as_ref()), "a context renderer panicked");
            String::new()
        })
    }
}

impl Codec for Guarded {
    fn same(&self, stored: &Value, current: &Value) -> Result<bool, Undecodable> {
        self.render.same(stored, current)
    }
}

impl Rendering for Guarded {
    fn baseline(&self, current: &Value) -> String {
        self.text(|| self.render.baseline(current))
    }

    fn update(&self, previous: &Value, current: &Value) -> String {
        self.text(|| self.render.update(previous, current))
    }

    fn removed(&self, current: &Value) -> Option<String> {
        let mut given = true;
        let text = self.text(|| {
            let text = self.render.removed(current);
            given = text.is_some();
            text.unwrap_or_default()
        });
        given.then_some(text)
    }
}
