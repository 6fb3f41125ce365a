//! The Context Snapshot: the last value of each source that the model was given; hidden from the model.

use super::Key;
use crate::text::{Json, Text, Texts};
use alloc::collections::BTreeMap;
use serde::{Deserialize, Serialize};
use wincode::{SchemaRead, SchemaWrite};

/// The last admitted value of one Context Source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, SchemaRead, SchemaWrite)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Canonical JSON of the value, as its codec wrote it.
    pub value: Json,
    /// The text of the update when the source disappears, rendered while the value existed. Never empty.
    pub removed: Option<Text>,
}

impl Texts for Entry {
    fn texts(&mut self, visit: &mut dyn FnMut(&mut Text)) {
        self.value.texts(visit);
        self.removed.texts(visit);
    }
}

/// The Context Snapshot of an epoch, by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Snapshot(pub BTreeMap<Key, Entry>);
