//! What one observation decides (`docs/reference/context.md#decisions`). Pure: the sources were read before, once.

use super::Part;
use super::observation::{Observation, Observed, unavailable};
use super::{Entry, Key, Snapshot};
use crate::text::{Blobs, Json, Text};
use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde_json::Value;

/// What opens an epoch: rendered pieces in order, and the entries that go with them. May be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generation {
    /// The pieces of the Baseline System Context.
    pub parts: Vec<Part>,
    /// The Context Snapshot that it starts with.
    pub snapshot: Snapshot,
}

/// One Mid-Conversation System Message and the advance that goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The sources it speaks of, in the order of their texts.
    pub keys: Vec<Key>,
    /// The exact text: pieces joined by a blank line.
    pub text: String,
    /// Fresh entries.
    pub set: BTreeMap<Key, Entry>,
    /// Sources that no longer apply.
    pub removed: Vec<Key>,
}

/// What reconciling decides: exactly one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reconciled {
    /// Nothing changed.
    Unchanged,
    /// One context update.
    Updated(Update),
    /// A new epoch must begin, and can.
    ReplacementReady(Generation),
    /// A new epoch is due but blocked: these sources of the current one are unavailable.
    ReplacementBlocked(Vec<Key>),
}

/// What replacing decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// The new epoch.
    ReplacementReady(Generation),
    /// These sources of the current epoch are unavailable.
    ReplacementBlocked(Vec<Key>),
}

/// A baseline cannot begin: sources are unavailable. Expected and passing; the input stays pending.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("System context initialization blocked by unavailable sources: {}", joined(keys))]
pub struct InitializationBlocked {
    /// All of them, in order of composition.
    pub keys: Vec<Key>,
}

/// Which renderer gave no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderKind {
    /// The baseline renderer.
    Baseline,
    /// The update renderer.
    Update,
    /// The removal renderer.
    Removal,
}

impl core::fmt::Display for RenderKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Baseline => "baseline",
            Self::Update => "update",
            Self::Removal => "removal",
        })
    }
}

/// A decision cannot be made. Nothing is appended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReconcileError {
    /// See [`InitializationBlocked`].
    #[error(transparent)]
    Blocked(#[from] InitializationBlocked),
    /// Two sources have one key: rename one of them.
    #[error("Duplicate system context key: {0}")]
    DuplicateKey(Key),
    /// A renderer gave no text: a mistake in that source (`docs/reference/context.md#sources`).
    #[error("System context source {key} rendered an empty {kind}")]
    EmptyRendering {
        /// The key.
        key: Key,
        /// The kind.
        kind: RenderKind,
    },
}

fn joined(keys: &[Key]) -> String {
    keys.iter().map(Key::as_str).collect::<Vec<_>>().join(", ")
}

/// The first epoch of a session, of a location, or after a revert (table 3.1).
///
/// # Errors
/// When a source is unavailable (all of them are named), two share a key, or one renders nothing.
pub fn initialize(observations: &[Observation]) -> Result<Generation, ReconcileError> {
    distinct(observations)?;
    let keys = unavailable(observations.iter());
    if !keys.is_empty() {
        return Err(InitializationBlocked { keys }.into());
    }
    generation(observations)
}

/// Replaces the current epoch.
///
/// # Errors
/// When two sources share a key or one renders nothing.
pub fn replace(observations: &[Observation], snapshot: &Snapshot) -> Result<Replaced, ReconcileError> {
    distinct(observations)?;
    let keys = unavailable(observations.iter().filter(|o| snapshot.0.contains_key(&o.key)));
    if !keys.is_empty() {
        return Ok(Replaced::ReplacementBlocked(keys));
    }
    generation(observations).map(Replaced::ReplacementReady)
}

/// How one source changed since the last update that included it.
enum SourceChange<'a> {
    /// Row 1.
    New(&'a Value),
    /// Row 3.
    Changed { previous: Value, current: &'a Value },
    /// Rows 2, 5 and 6.
    Nothing,
    /// Row 4.
    Incompatible,
}

/// What changed since the snapshot (table 3.2). Stored values are resolved through `blobs`. A stored value whose blob is
/// missing does not decode; a stored removal text that is empty or missing counts as not stored: no note in the place
/// of a blob ever reaches a renderer or the model.
///
/// # Errors
/// When two sources share a key or one renders nothing.
pub fn reconcile(
    observations: &[Observation],
    snapshot: &Snapshot,
    blobs: &dyn Blobs,
) -> Result<Reconciled, ReconcileError> {
    distinct(observations)?;
    let present: BTreeSet<&Key> = observations.iter().map(|o| &o.key).collect();
    let gone: Vec<(&Key, Option<Cow<'_, str>>)> = snapshot
        .0
        .iter()
        .filter(|(key, _)| !present.contains(key))
        .map(|(key, entry)| {
            (key, entry.removed.as_ref().and_then(|text| text.read(blobs)).filter(|text| !text.is_empty()))
        })
        .collect();
    let changes: Vec<SourceChange<'_>> = observations.iter().map(|o| classify(o, snapshot, blobs)).collect();

    let incompatible = changes.iter().any(|change| matches!(change, SourceChange::Incompatible));
    if incompatible || gone.iter().any(|(_, removed)| removed.is_none()) {
        return Ok(match replace(observations, snapshot)? {
            Replaced::ReplacementReady(generation) => Reconciled::ReplacementReady(generation),
            Replaced::ReplacementBlocked(keys) => Reconciled::ReplacementBlocked(keys),
        });
    }

    let mut update = Update { keys: Vec::new(), text: String::new(), set: BTreeMap::new(), removed: Vec::new() };
    let mut texts = Vec::new();
    for (observation, change) in observations.iter().zip(changes) {
        let (text, kind, current) = match change {
            SourceChange::New(current) => (observation.render.baseline(current), RenderKind::Baseline, current),
            SourceChange::Changed { previous, current } => {
                (observation.render.update(&previous, current), RenderKind::Update, current)
            }
            SourceChange::Nothing | SourceChange::Incompatible => continue,
        };
        texts.push(filled(text, &observation.key, kind)?);
        update.keys.push(observation.key.clone());
        update.set.insert(observation.key.clone(), fresh(observation, current)?);
    }
    for (key, removed) in gone {
        if let Some(removed) = removed {
            texts.push(removed.into_owned());
            update.keys.push(key.clone());
            update.removed.push(key.clone());
        }
    }
    if texts.is_empty() {
        return Ok(Reconciled::Unchanged);
    }
    update.text = texts.join("\n\n");
    Ok(Reconciled::Updated(update))
}

fn classify<'a>(observation: &'a Observation, snapshot: &Snapshot, blobs: &dyn Blobs) -> SourceChange<'a> {
    match (&observation.observed, snapshot.0.get(&observation.key)) {
        (Observed::Unavailable, _) => SourceChange::Nothing,
        (Observed::Available(current), None) => SourceChange::New(current),
        (Observed::Available(current), Some(entry)) => {
            let Some(previous) = entry.value.read(blobs) else { return SourceChange::Incompatible };
            match observation.render.same(&previous, current) {
                Ok(true) => SourceChange::Nothing,
                Ok(false) => SourceChange::Changed { previous, current },
                Err(_) => SourceChange::Incompatible,
            }
        }
    }
}

/// Baselines in order of composition; sources that are unavailable (and in no baseline yet) are left out.
fn generation(observations: &[Observation]) -> Result<Generation, ReconcileError> {
    let mut generation = Generation::default();
    for observation in observations {
        let Observed::Available(current) = &observation.observed else { continue };
        let text = filled(observation.render.baseline(current), &observation.key, RenderKind::Baseline)?;
        generation.parts.push(Part { key: observation.key.clone(), text: Text::Inline(text) });
        generation.snapshot.0.insert(observation.key.clone(), fresh(observation, current)?);
    }
    Ok(generation)
}

fn fresh(observation: &Observation, current: &Value) -> Result<Entry, ReconcileError> {
    let removed = observation
        .render
        .removed(current)
        .map(|text| filled(text, &observation.key, RenderKind::Removal).map(Text::Inline))
        .transpose()?;
    Ok(Entry { value: Json::canonical(current), removed })
}

fn filled(text: String, key: &Key, kind: RenderKind) -> Result<String, ReconcileError> {
    if text.is_empty() { Err(ReconcileError::EmptyRendering { key: key.clone(), kind }) } else { Ok(text) }
}

fn distinct(observations: &[Observation]) -> Result<(), ReconcileError> {
    let mut seen = BTreeSet::new();
    match observations.iter().find(|o| !seen.insert(&o.key)) {
        Some(repeated) => Err(ReconcileError::DuplicateKey(repeated.key.clone())),
        None => Ok(()),
    }
}

impl Generation {
    /// The exact text of the Baseline System Context, when no part was moved to a blob yet.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| part.text.inline().map(ToString::to_string))
            .collect::<Vec<_>>()
            .join("\n\n")
    }
}
