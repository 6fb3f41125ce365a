//! Records, batches, and the chain of digests that proves them (`docs/reference/store.md#batches`).

use crate::absent::TextStates;
use crate::canonical::{self, CanonicalError};
use crate::commitment::SessionKey;
use crate::digest::Digest;
use crate::event::{DecodeError, Event, Tagging};
use crate::exported::{LineTexts, make_plain};
use crate::id::SessionId;
use crate::seq::Seq;
use crate::text::{Blobs, Texts};
use crate::time::Time;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The largest encoded batch without the states of its texts, in bytes (`docs/reference/store.md#batches`).
pub const RECORD_MAX: usize = 64 * 1024;

/// How many bytes the states of texts may add to an encoded batch, at most.
///
/// Each state is of a text of its own, which takes at least 8 of [`RECORD_MAX`] bytes, so that there are at most 8,192 of them, with
/// 512 bytes for each: a batch without states that fits also fits with any of its texts withheld, unless the places of its texts are
/// longer than some 390 bytes on average.
pub const STATES_MAX: usize = 4 * 1024 * 1024;

/// A place between two batches where a replay may stop: everything before `next` is folded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cut {
    /// The first Seq that is not folded.
    pub next: Seq,
}

/// A fact with its place in the log: what a fold is fed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record<'a> {
    /// The session whose log holds it. For an inherited fact this is the fork's ancestor.
    pub session: SessionId,
    /// Its place.
    pub seq: Seq,
    /// When its batch was appended.
    pub at: Time,
    /// The fact.
    pub event: &'a Event,
}

/// Facts of one session that land together or not at all: 1..n events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The session.
    pub session: SessionId,
    /// The Seq of the first event; the others follow densely.
    pub first: Seq,
    /// When it was appended.
    pub at: Time,
    /// The digest of the batch before it; of the parent's for the first batch of a fork; `None` at the start of a log.
    pub prev: Option<Digest>,
    /// The facts. Never empty.
    pub events: Vec<Event>,
    /// BLAKE3 of the RFC 8785 form of `{session, first, at, prev, events}` with every text as a commitment
    /// (`docs/reference/digest.md`).
    pub digest: Digest,
    /// The texts of the events that were withheld or erased, or have keys of their own. In no digest.
    pub states: TextStates,
}

/// Its fields are declared in the order of canonical JSON, so that nothing is sorted when it is written.
#[derive(Serialize)]
struct Hashed<'a> {
    at: Time,
    events: Tagging<'a>,
    first: Seq,
    prev: Option<Digest>,
    session: SessionId,
}

/// As [`Hashed`], with the digest.
#[derive(Serialize)]
struct ExportedBatch<'a> {
    at: Time,
    digest: Digest,
    events: Tagging<'a>,
    first: Seq,
    prev: Option<Digest>,
    session: SessionId,
}

impl Batch {
    /// The digest that this batch must carry, in a session with this key. It is the same whether a text is inline, a blob, or
    /// withheld; `blobs` gives the texts of blobs.
    ///
    /// # Errors
    /// When an own number is not below 2^53, a blob cannot be read, or a text has no key.
    pub fn compute_digest<'k>(
        &self,
        key: impl Into<Option<&'k SessionKey>>,
        blobs: &dyn Blobs,
    ) -> Result<Digest, CanonicalError> {
        self.compute_digest_of_texts(key, blobs).map(|(digest, _)| digest)
    }

    /// As [`Batch::compute_digest`], with the number of texts in the batch, withheld ones included.
    ///
    /// # Errors
    /// As [`Batch::compute_digest`].
    pub fn compute_digest_of_texts<'k>(
        &self,
        key: impl Into<Option<&'k SessionKey>>,
        blobs: &dyn Blobs,
    ) -> Result<(Digest, u64), CanonicalError> {
        let Self { session, first, at, prev, ref events, ref states, .. } = *self;
        let hashed = Hashed { at, events: Tagging(events), first, prev, session };
        let room = canonical::ROOM * (1 + events.len() / 2);
        let (text, texts) = canonical::committed(&hashed, first, key.into(), states, blobs, room)?;
        Ok((Digest::of(text.as_bytes()), texts))
    }

    /// The key of the session from this batch on, if it brings one and the key is known.
    pub fn session_key(&self) -> Option<SessionKey> {
        self.events.first().and_then(|event| event.stored_key()?.key)
    }

    /// The Seq after the last event.
    pub fn next(&self) -> Seq {
        self.first.plus(self.events.len() as u64)
    }

    /// Its facts, each with its place.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = Record<'_>> {
        self.events.iter().enumerate().map(|(at, event)| Record {
            session: self.session,
            seq: self.first.plus(at as u64),
            at: self.at,
            event,
        })
    }

    /// One line of an export: the canonical JSON of `{at, digest, events, first, prev, session}`, with every text as an object
    /// that says so (`fixtures/FORMAT.md`).
    ///
    /// # Errors
    /// When an own number is not below 2^53, or a text with a key of its own is a blob ([`Batch::to_canonical_with`]).
    pub fn to_canonical(&self) -> Result<String, CanonicalError> {
        self.to_canonical_with(&crate::NoBlobs)
    }

    /// As [`Batch::to_canonical`]: a text with a key of its own is written whole, also if it is one of these blobs.
    ///
    /// # Errors
    /// When an own number is not below 2^53, or such a blob cannot be read.
    pub fn to_canonical_with(&self, blobs: &dyn Blobs) -> Result<String, CanonicalError> {
        let Self { session, first, at, prev, ref events, digest, ref states } = *self;
        canonical::exported(&ExportedBatch { at, digest, events: Tagging(events), first, prev, session }, states, blobs)
    }

    /// Reads what [`Batch::to_canonical`] wrote. Does not check the digest; the key of a session that begins is not in it.
    ///
    /// # Errors
    /// When a field is missing, unknown or malformed, or an event has an unknown type.
    pub fn from_json(json: serde_json::Value) -> Result<Self, DecodeError> {
        Self::from_line(json).map(|(batch, _)| batch)
    }

    /// As [`Batch::from_json`], with what the line says of its texts.
    ///
    /// # Errors
    /// As [`Batch::from_json`].
    pub fn from_line(mut json: serde_json::Value) -> Result<(Self, LineTexts), DecodeError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct BatchEnvelope {
            session: SessionId,
            first: Seq,
            at: Time,
            prev: Option<Digest>,
            digest: Digest,
        }
        let malformed = |message: String| DecodeError::Malformed { kind: "batch", message };
        let (texts, states) = make_plain(&mut json);
        let events = json.as_object_mut().and_then(|members| members.remove("events"));
        let Some(serde_json::Value::Array(events)) = events else {
            return Err(malformed("no list of events".into()));
        };
        let line: BatchEnvelope = serde_json::from_value(json).map_err(|error| malformed(alloc::format!("{error}")))?;
        if events.is_empty() {
            return Err(malformed("no events".into()));
        }
        let events = events.into_iter().map(Event::from_json).collect::<Result<_, _>>()?;
        let BatchEnvelope { session, first, at, prev, digest } = line;
        Ok((Self { session, first, at, prev, events, digest, states }, texts))
    }

    /// The blobs that its events name, in order, repetitions included.
    pub fn blobs(&self) -> Vec<crate::BlobRef> {
        let mut found = Vec::new();
        for event in &mut self.events.clone() {
            event.texts(&mut |text| {
                if let crate::Text::Blob(blob) = text {
                    found.push(**blob);
                }
            });
        }
        found
    }

    pub(crate) fn visit(&mut self, visit: &mut dyn FnMut(&mut crate::Text)) {
        self.events.iter_mut().for_each(|event| event.texts(visit));
    }
}

#[cfg(test)]
mod tests;
