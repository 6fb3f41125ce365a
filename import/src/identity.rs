//! Session ids derived from foreign ids, and ids that are unique within a session.

use annals_core::{Digest, SessionId};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The version of the mappings, recorded in every `origin`. Raised when a mapping changes.
pub const IMPORTER: u32 = 1;

/// How many times each foreign session was imported again as a separate session.
#[derive(Clone, Debug, Default)]
pub struct Editions(BTreeMap<(String, String), u32>);

impl Editions {
    /// The id of a foreign session: a ULID of its creation time (ms) and the first 80 bits of the BLAKE3 hash of
    /// `AGENT NUL FOREIGN-ID`, followed by `NUL EDITION` from the second edition on.
    pub fn session(&self, agent: &str, foreign: &str, created: u64) -> SessionId {
        let mut name = format!("{agent}\0{foreign}");
        if let Some(edition) = self.0.get(&(agent.to_owned(), foreign.to_owned())) {
            name.push_str(&format!("\0{}", edition + 1));
        }
        let hash = Digest::of(name.as_bytes());
        let bits = hash.0.iter().take(10).fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
        SessionId::from_parts(created, bits)
    }

    /// Selects the next edition of a foreign session.
    pub fn renew(&mut self, agent: &str, foreign: &str) {
        *self.0.entry((agent.to_owned(), foreign.to_owned())).or_insert(0) += 1;
    }
}

/// The creation time (ms) that an OpenCode id such as `ses_e0044cfdfffehAmat5QbtkIGOz` carries: 48 bits of
/// `ms * 4096 + counter`, complemented for sessions. The higher bits come from a time `near` it (ms): of all moments
/// with these low bits the last one that is not more than a day after `near`. A child needs this for its parent, whose
/// record it does not contain.
pub fn opencode_created(id: &str, near: u64) -> Option<u64> {
    const SPAN: u64 = 1 << 36;
    const DAY: u64 = 86_400_000;
    let (prefix, rest) = id.split_once('_')?;
    let value = u64::from_str_radix(rest.get(..12)?, 16).ok()?;
    let value = if prefix == "ses" { !value & 0xFFFF_FFFF_FFFF } else { value };
    let low = value >> 12;
    let limit = near.checked_add(DAY)?;
    let base = limit - limit % SPAN + low;
    Some(if base > limit { base.checked_sub(SPAN)? } else { base })
}

/// The creation time (ms) of a UUID of version 7; `None` for any other version.
pub fn uuid_created(id: &str) -> Option<u64> {
    let hex: String = id.chars().filter(|c| *c != '-').collect();
    (hex.len() == 32 && hex.get(12..13) == Some("7")).then(|| u64::from_str_radix(hex.get(..12)?, 16).ok())?
}

/// Makes foreign ids unique within a session: the id itself, then `ID~2`, `ID~3`, in order.
#[derive(Clone, Debug, Default)]
pub struct UniqueIds {
    taken: HashSet<String>,
    counts: HashMap<String, u32>,
}

impl UniqueIds {
    /// The id for the next use of `foreign`.
    pub fn next(&mut self, foreign: &str) -> String {
        let foreign = if foreign.is_empty() { "unnamed" } else { foreign };
        if self.taken.insert(foreign.to_owned()) {
            return foreign.to_owned();
        }
        let count = self.counts.entry(foreign.to_owned()).or_insert(1);
        loop {
            *count += 1;
            let id = format!("{foreign}~{count}");
            if self.taken.insert(id.clone()) {
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_follows_from_time_agent_and_foreign_id_alone() {
        let mut editions = Editions::default();
        let first = editions.session("codex", "x", 1_795_291_820_122);
        assert_eq!(first, Editions::default().session("codex", "x", 1_795_291_820_122));
        assert_eq!(first.millis(), 1_795_291_820_122);
        assert_ne!(first, editions.session("opencode", "x", 1_795_291_820_122));
        editions.renew("codex", "x");
        assert_ne!(first, editions.session("codex", "x", 1_795_291_820_122));
    }

    #[test]
    fn ids_of_opencode_carry_their_time() {
        let created = 1_795_291_820_122;
        let found = opencode_created("ses_e0044cfdfffehAmat5QbtkIGOz", created).unwrap();
        assert!(found.abs_diff(created) < 1000, "{found}");
        assert_eq!(opencode_created("ses_e0044cfdfffehAmat5QbtkIGOz", created + 3_600_000), Some(found));
        assert_eq!(opencode_created("chosen-by-hand", created), None);
        assert_eq!(uuid_created("01a1ffd0-10b7-7cd0-b3f8-d44dbe4ba901"), Some(0x01a1_ffd0_10b7));
        assert_eq!(uuid_created("b471da84-0302-402c-a732-c13db655fc4a"), None);
    }

    #[test]
    fn repeated_ids_are_told_apart_in_order() {
        let mut unique = UniqueIds::default();
        let given: Vec<String> = ["a", "a~2", "a", "a", ""].map(|id| unique.next(id)).into();
        assert_eq!(given, ["a", "a~2", "a~3", "a~4", "unnamed"]);
    }
}
