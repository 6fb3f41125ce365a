//! Declared sources as the runtime sees them.

use super::ScriptedWorld;
use crate::Template;
use crate::action::{Action, DeclaredCodec, DeclaredSource};
use annals_core::Key;
use annals_core::canonical;
use annals_core::context::{Codec, Render, Rendering, Undecodable};
use annals_runtime::Boxed;
use annals_runtime::context::{ContextSource, Fault, Loaded};
use serde_json::Value;
use std::sync::Arc;

/// Performs the actions of an `on_load`, in the process that observes.
pub(crate) type PerformActions = Arc<dyn Fn(Vec<Action>) -> Boxed<'static, ()> + Send + Sync>;

/// A declared source with the texts of its declaration at composition; its value is loaded from the world.
pub(crate) struct ScenarioSource {
    key: Key,
    render: Arc<SourceTemplates>,
    world: Arc<ScriptedWorld>,
    perform: PerformActions,
}

impl ScenarioSource {
    /// The source `source` of `world`; `perform` runs its `on_load`.
    pub fn new(source: &DeclaredSource, world: Arc<ScriptedWorld>, perform: PerformActions) -> Self {
        let render = SourceTemplates {
            codec: source.codec,
            baseline: source.baseline.clone(),
            update: source.update.clone(),
            removed: source.removed.clone(),
        };
        Self { key: source.key.clone(), render: Arc::new(render), world, perform }
    }
}

impl ContextSource for ScenarioSource {
    fn key(&self) -> &Key {
        &self.key
    }

    fn load(&self) -> Boxed<'_, Result<Loaded<Value>, Fault>> {
        Box::pin(async move {
            let on_load = self.world.state().source(&self.key).map(|source| std::mem::take(&mut source.on_load));
            if let Some(actions) = on_load.filter(|actions| !actions.is_empty()) {
                (self.perform)(actions).await;
            }
            let now = self.world.state().source(&self.key).map(|source| (source.value.clone(), source.absent));
            Ok(match now {
                Some((Some(value), _)) => Loaded::Available(value),
                Some((None, true)) => Loaded::Absent,
                Some((None, false)) | None => Loaded::unavailable("the scenario says so"),
            })
        })
    }

    fn render(&self) -> Arc<dyn Render> {
        self.render.clone()
    }
}

struct SourceTemplates {
    codec: DeclaredCodec,
    baseline: Template,
    update: Template,
    removed: Option<Template>,
}

impl Codec for SourceTemplates {
    fn same(&self, stored: &Value, current: &Value) -> Result<bool, Undecodable> {
        if self.codec.holds(stored) { Ok(canonical::equal(stored, current)) } else { Err(Undecodable) }
    }
}

impl Rendering for SourceTemplates {
    fn baseline(&self, current: &Value) -> String {
        self.baseline.render(current, None)
    }

    fn update(&self, previous: &Value, current: &Value) -> String {
        self.update.render(current, Some(previous))
    }

    fn removed(&self, current: &Value) -> Option<String> {
        self.removed.as_ref().map(|removed| removed.render(current, None))
    }
}
