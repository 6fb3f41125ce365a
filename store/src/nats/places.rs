//! Where batches are in the streams, as far as it was seen.

use super::generation::SubjectGeneration;
use super::message::StreamMessage;
use crate::lineage::Birth;
use crate::log::Head;
use annals_core::{Batch, Seq, SessionId};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// How many sessions are remembered.
const SESSIONS: usize = 4096;
/// How many places of a session are remembered.
const PLACES: usize = 4096;

/// The last batch of a session.
#[derive(Clone, Debug)]
pub struct Last {
    pub message: StreamMessage,
    pub first: Seq,
    pub head: Head,
    /// Which of its batches are copies.
    pub generation: Option<SubjectGeneration>,
}

/// One subject that holds batches of a session.
#[derive(Debug)]
pub struct SubjectPart {
    pub subject: String,
    /// The number of its first message at least.
    pub low: u64,
    /// The number of its last message.
    pub high: u64,
    /// Behind its last event.
    pub until: Seq,
}

/// A batch and its number in its stream.
#[derive(Clone, Debug)]
pub struct NatsBatch {
    pub batch: Arc<Batch>,
    pub seq: u64,
}

/// Where batches of sessions are in their streams, as far as it was seen: what is stored stays where it is, until texts of the session are
/// erased.
#[derive(Debug, Default)]
pub struct KnownPlaces(Mutex<HashMap<SessionId, SessionPlaces>>);

#[derive(Clone, Debug, Default)]
struct SessionPlaces {
    birth: Option<Birth>,
    /// The generation in force when they were seen.
    generation: Option<String>,
    /// By the first event.
    at: BTreeMap<Seq, u64>,
}

impl KnownPlaces {
    fn with<T>(&self, session: SessionId, call: impl FnOnce(&mut SessionPlaces) -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= SESSIONS && !all.contains_key(&session) {
            all.clear();
        }
        call(all.entry(session).or_default())
    }

    /// How a session begins, if it is known.
    pub fn birth(&self, session: SessionId) -> Option<Birth> {
        self.with(session, |places| places.birth)
    }

    pub fn note_birth(&self, session: SessionId, birth: Birth) {
        self.with(session, |places| places.birth = Some(birth));
    }

    pub fn note(&self, session: SessionId, first: Seq, seq: u64) {
        self.with(session, |places| {
            if places.at.len() >= PLACES {
                places.at.clear();
            }
            places.at.insert(first, seq);
        });
    }

    /// Forgets places that were of another generation.
    pub fn are_of(&self, session: SessionId, generation: Option<&SubjectGeneration>) {
        self.with(session, |places| {
            let generation = generation.map(|generation| generation.id.clone());
            if places.generation != generation {
                places.at.clear();
                places.generation = generation;
            }
        });
    }

    /// The nearest places at or before an event, and after it.
    pub fn around(&self, session: SessionId, seq: Seq) -> (Option<(Seq, u64)>, Option<u64>) {
        self.with(session, |places| {
            let before = places.at.range(..=seq).next_back().map(|(first, at)| (*first, *at));
            let after = places.at.range(seq.plus(1)..).next().map(|(_, at)| *at);
            (before, after)
        })
    }
}
