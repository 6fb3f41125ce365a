//! Recordings, and which imported transcript is of the same session of an agent.

use annals_core::event::{Origin, Usage};
use annals_core::{Digest, SessionId};
use annals_projections::{Catalogue, CatalogueEntry};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a recording gave: what `annals record --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordingSummary {
    /// The sessions, in the order in which they began.
    pub sessions: Vec<RecordingEntry>,
    /// How many requests passed without being recorded.
    pub missed: u64,
    /// The first reason for that.
    pub why: Option<String>,
}

/// A session that was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordingEntry {
    /// The session.
    pub session: SessionId,
    /// The session that started it, for a sub-agent.
    pub parent: Option<SessionId>,
    /// How many of its requests this recording has.
    pub requests: u64,
    /// What the provider reported for these requests, in total.
    pub usage: Usage,
    /// What they cost, in nano-dollars.
    pub cost: u64,
    /// How many parts their bodies and the events of the log do not have in common: `annals verify --requests --wire` lists them.
    pub differing: u64,
}

/// The recording of each imported session that has one: both are of the session that their agent calls the same.
pub fn recordings(catalogue: &Catalogue) -> BTreeMap<SessionId, SessionId> {
    let named = |entry: &CatalogueEntry| Some((entry.origin.clone()?, entry.origin_id.clone()?));
    let is_recording = |entry: &CatalogueEntry| entry.origin_form.as_deref() == Some(Origin::WIRE);
    let mut recorded: BTreeMap<(String, String), (SessionId, &CatalogueEntry)> = BTreeMap::new();
    for (session, entry) in catalogue.sessions.iter().filter(|(_, entry)| is_recording(entry)) {
        let Some((agent, id)) = named(entry) else { continue };
        // A conversation of its own inside of a session is called SESSION/ID; Codex writes only the ID.
        let own = id.split_once('/').filter(|_| agent == "codex").map(|(_, own)| own.to_owned());
        for id in own.into_iter().chain([id]) {
            let known = recorded.entry((agent.clone(), id)).or_insert((*session, entry));
            if entry.updated > known.1.updated {
                *known = (*session, entry);
            }
        }
    }
    let imported = catalogue.sessions.iter().filter(|(_, entry)| !is_recording(entry));
    imported.filter_map(|(session, entry)| Some((*session, recorded.get(&named(entry)?)?.0))).collect()
}

/// The imported transcript of a recording; the newest if there are several.
pub fn transcript_of(catalogue: &Catalogue, recording: SessionId) -> Option<SessionId> {
    let all = recordings(catalogue).into_iter().filter(|(_, of)| *of == recording).map(|(imported, _)| imported);
    all.max_by_key(|imported| catalogue.sessions.get(imported).map(|entry| entry.updated))
}

/// Names a text, for comparing what two sessions contain.
pub(crate) fn name_of(kind: &str, text: &str) -> Digest {
    Digest::of(format!("{kind}\n{}", text.trim()).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_core::Time;

    fn entry(agent: &str, id: &str, form: &str, updated: u64) -> CatalogueEntry {
        let (origin, origin_id) = (Some(agent.to_owned()), Some(id.to_owned()));
        let origin_form = Some(form.to_owned());
        CatalogueEntry { origin, origin_id, origin_form, updated: Time(updated), ..CatalogueEntry::default() }
    }

    #[test]
    fn a_transcript_is_of_the_recording_with_the_same_agent_and_id() {
        let all = [
            entry("claude-code", "a", Origin::WIRE, 1),
            entry("claude-code", "a", "transcript", 2),
            entry("codex", "a", "rollout", 3),
            entry("codex", "main/sub", Origin::WIRE, 4),
            entry("codex", "sub", "rollout", 5),
            entry("claude-code", "b", "transcript", 6),
        ];
        let id = |number: u8| SessionId([number; 16]);
        let sessions = (0..).map(id).zip(all).collect();
        let catalogue = Catalogue { sessions, ..Catalogue::default() };
        assert_eq!(recordings(&catalogue), BTreeMap::from([(id(1), id(0)), (id(4), id(3))]));
        assert_eq!(transcript_of(&catalogue, id(0)), Some(id(1)));
        assert_eq!(transcript_of(&catalogue, id(5)), None);
    }
}
