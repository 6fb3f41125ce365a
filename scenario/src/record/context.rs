//! Recorded context as declared sources.

use super::{RecordedEvent, RecordedSession};
use annals_core::context::Entry;
use annals_core::event::{ContextAdmitted, ContextEvent, EpochCause, EpochStarted, SnapshotAdvanced};
use annals_core::{Event, Key, Snapshot};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Every source of the session, in an order that agrees with every baseline and context update.
pub(super) fn order(facts: &[RecordedEvent]) -> Vec<Key> {
    let mut order: Vec<Key> = Vec::new();
    let mut merge = |keys: &mut dyn Iterator<Item = &Key>| {
        let mut after = 0;
        for key in keys {
            match order.iter().position(|known| known == key) {
                Some(at) => after = after.max(at + 1),
                None => {
                    order.insert(after.min(order.len()), key.clone());
                    after += 1;
                }
            }
        }
    };
    for fact in facts {
        match &fact.event {
            Event::Context(ContextEvent::EpochStarted(started)) => {
                merge(&mut started.parts.iter().map(|part| &part.key));
            }
            Event::Context(ContextEvent::Admitted(admitted)) => merge(&mut admitted.keys.iter()),
            _ => {}
        }
    }
    order
}

/// The declared sources of the scenario so far.
pub(super) struct RecordedSources {
    /// The place of each source, as a contribution of its own.
    contributions: BTreeMap<Key, String>,
    /// Those that are registered now.
    registered: BTreeSet<Key>,
    /// Sources whose recorded text looks like a template: their stored value differs.
    pub tolerances: BTreeSet<Key>,
}

impl RecordedSources {
    pub fn new(order: Vec<Key>) -> Self {
        let contributions = order.into_iter().enumerate().map(|(at, key)| (key, format!("recorded/{at:04}"))).collect();
        Self { contributions, registered: BTreeSet::new(), tolerances: BTreeSet::new() }
    }

    /// The declarations that lead to the recorded epoch.
    pub fn epoch(
        &mut self,
        recording: &RecordedSession,
        started: &EpochStarted,
        before: &Snapshot,
    ) -> Result<Vec<Value>, &'static str> {
        if !started.known {
            return Err("an imported epoch without its baseline");
        }
        let mut actions = Vec::new();
        let parts: BTreeSet<&Key> = started.parts.iter().map(|part| &part.key).collect();
        let gone: Vec<Key> = self.registered.iter().filter(|key| !parts.contains(key)).cloned().collect();
        // Removing a source without a removal text is incompatible by itself.
        let mut incompatible = gone.iter().any(|key| before.0.get(key).is_some_and(|entry| entry.removed.is_none()));
        actions.extend(gone.iter().map(|key| self.close(key)));
        for part in &started.parts {
            let text = part.text.resolve(recording.blobs.as_ref()).into_owned();
            let entry = started.entries.get(&part.key);
            let stored = before.0.get(&part.key).filter(|_| started.cause == EpochCause::Incompatible && !incompatible);
            let codec = stored.zip(entry).and_then(|(old, new)| estranged(recording, old, new));
            incompatible |= codec.is_some();
            actions.push(self.declare(recording, &part.key, entry, "baseline", &text, codec));
        }
        if started.cause == EpochCause::Incompatible && !incompatible {
            return Err("which stored value was incompatible");
        }
        Ok(actions)
    }

    /// The declarations that lead to the recorded context update.
    pub fn message(
        &mut self,
        recording: &RecordedSession,
        admitted: &ContextAdmitted,
        advanced: &SnapshotAdvanced,
        before: &Snapshot,
    ) -> Result<Vec<Value>, &'static str> {
        let blobs = recording.blobs.as_ref();
        let mut text = admitted.text.resolve(blobs).into_owned();
        for key in advanced.removed.iter().rev() {
            let removal = before.0.get(key).and_then(|entry| entry.removed.as_ref()).ok_or("an unknown removal")?;
            let rest = text.strip_suffix(removal.resolve(blobs).as_ref()).ok_or("a removal with another text")?;
            text = rest.strip_suffix("\n\n").unwrap_or(rest).to_owned();
        }
        let present: Vec<&Key> = admitted.keys.iter().filter(|key| !advanced.removed.contains(key)).collect();
        // Joined again by blank lines the pieces are the text, for any division.
        let mut pieces: Vec<&str> = text.splitn(present.len().max(1), "\n\n").collect();
        if pieces.len() < present.len() || pieces.iter().any(|piece| piece.is_empty()) && !present.is_empty() {
            return Err("a message that is not one text for each source");
        }
        let mut actions = Vec::new();
        for key in present {
            let piece = pieces.remove(0).to_owned();
            let kind = if before.0.contains_key(key) { "update" } else { "baseline" };
            actions.push(self.declare(recording, key, advanced.set.get(key), kind, &piece, None));
        }
        actions.extend(advanced.removed.iter().map(|key| self.close(key)));
        Ok(actions)
    }

    fn close(&mut self, key: &Key) -> Value {
        self.registered.remove(key);
        json!({ "unregister": self.contributions.get(key) })
    }

    fn declare(
        &mut self,
        recording: &RecordedSession,
        key: &Key,
        entry: Option<&Entry>,
        kind: &str,
        text: &str,
        codec: Option<&str>,
    ) -> Value {
        let blobs = recording.blobs.as_ref();
        let mut source = Map::new();
        source.insert("key".to_owned(), json!(key));
        source.insert("contribution".to_owned(), json!(self.contributions.get(key)));
        if text.contains("{value}") || text.contains("{previous}") {
            // Rendered, a value is not searched again.
            self.tolerances.insert(key.clone());
            source.insert("value".to_owned(), json!(text));
        } else {
            source.insert("value".to_owned(), entry.map_or(Value::Null, |entry| entry.value.value(blobs)));
            source.insert(kind.to_owned(), json!(text));
        }
        if let Some(removed) = entry.and_then(|entry| entry.removed.as_ref()) {
            source.insert("removed".to_owned(), json!(removed.resolve(blobs)));
        }
        if let Some(codec) = codec {
            source.insert("codec".to_owned(), json!(codec));
        }
        self.registered.insert(key.clone());
        json!({ "source": source })
    }
}

/// A codec that understands the new value and not the old one.
fn estranged(recording: &RecordedSession, old: &Entry, new: &Entry) -> Option<&'static str> {
    let blobs = recording.blobs.as_ref();
    let (old, new) = (old.value.value(blobs), new.value.value(blobs));
    [("string", new.is_string() && !old.is_string()), ("number", new.is_number() && !old.is_number())]
        .into_iter()
        .find_map(|(codec, fits)| fits.then_some(codec))
}
