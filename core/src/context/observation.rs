//! One reading of all Context Sources, in order of composition.

use super::Key;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::Value;

/// A stored value that its source no longer understands (row 4 of the decision table).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecodable;

/// The codec of a Context Source, type-erased: the value travels as its JSON.
pub trait Codec {
    /// Whether `stored` decodes, and if so whether it is the same typed value as `current`.
    ///
    /// # Errors
    /// When `stored` does not decode.
    fn same(&self, stored: &Value, current: &Value) -> Result<bool, Undecodable>;
}

/// The pure renderers of a Context Source, type-erased.
pub trait Rendering {
    /// The text of the source in a baseline, and the update that introduces a new source.
    fn baseline(&self, current: &Value) -> String;
    /// The text of an update after the value changed.
    fn update(&self, previous: &Value, current: &Value) -> String;
    /// The text of an update after the source disappeared, if it may disappear.
    fn removed(&self, current: &Value) -> Option<String>;
}

/// What a source is, besides its value: a codec and renderers.
pub trait Render: Codec + Rendering + Send + Sync {}

impl<T: Codec + Rendering + Send + Sync + ?Sized> Render for T {}

/// What one source gave.
pub enum Observed {
    /// Its value, as its codec writes it.
    Available(Value),
    /// It could not be read for now: never a removal.
    Unavailable,
}

/// One reading of one source.
pub struct Observation {
    /// Which source.
    pub key: Key,
    /// What it gave.
    pub observed: Observed,
    /// Compares and renders the value.
    pub render: Box<dyn Render>,
}

impl Observation {
    /// Whether this source could not be read.
    pub fn is_unavailable(&self) -> bool {
        matches!(self.observed, Observed::Unavailable)
    }
}

/// The keys of all sources that could not be read, in order of composition.
pub(super) fn unavailable<'a>(observations: impl Iterator<Item = &'a Observation>) -> Vec<Key> {
    observations.filter(|o| o.is_unavailable()).map(|o| o.key.clone()).collect()
}
