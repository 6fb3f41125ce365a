//! Records, Batches, and the chain of digests that proves them (DESIGN section 2).

use crate::canonical::{self, CanonicalError};
use crate::codec;
use crate::digest::{BlobHash, Digest};
use crate::event::{Event, Tagging};
use crate::id::SessionId;
use crate::text::{INLINE_MAX, Texts};
use crate::time::Time;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;
use serde::{Deserialize, Serialize};
use wincode::{SchemaRead, SchemaWrite};

/// The largest encoded Batch, in bytes (DESIGN section 3).
pub const RECORD_MAX: usize = 64 * 1024;

/// About how many bytes the canonical form takes for what stands beside the events.
const JSON_HEADER: usize = 256;

/// The place of an event in its Session: dense, from 0. The only order there is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, SchemaRead, SchemaWrite,
)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The first place.
    pub const ZERO: Self = Self(0);

    /// The place `n` further on.
    pub const fn plus(self, n: u64) -> Self {
        Self(self.0.saturating_add(n))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A place between two Batches where a replay may stop: everything before `next` is folded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cut {
    /// The first Seq that is not folded.
    pub next: Seq,
}

/// A fact with its place in the log: what a fold is fed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record<'a> {
    /// The Session whose log holds it. For an inherited fact this is the fork's ancestor.
    pub session: SessionId,
    /// Its place.
    pub seq: Seq,
    /// When its Batch was appended.
    pub at: Time,
    /// The fact.
    pub event: &'a Event,
}

/// Facts of one Session that land together or not at all: 1..n events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Whose.
    pub session: SessionId,
    /// The Seq of the first event; the others follow densely.
    pub first: Seq,
    /// When it was appended.
    pub at: Time,
    /// The digest of the Batch before it; of the parent's for the first Batch of a fork; `None` at the start of a log.
    pub prev: Option<Digest>,
    /// The facts. Never empty.
    pub events: Vec<Event>,
    /// BLAKE3 of the RFC 8785 form of `{session, first, at, prev, events}`.
    pub digest: Digest,
}

/// A Batch cannot be made from these events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// A Batch holds at least one event: do not append nothing.
    #[error("a batch needs at least one event")]
    Empty,
    /// The Batch does not fit even with every text moved to blobs: split it, or shorten names and lists.
    #[error("the batch takes {bytes} bytes after its texts were moved to blobs; at most {RECORD_MAX} fit")]
    TooLarge {
        /// Encoded size in bytes.
        bytes: usize,
    },
    /// A number of ours is not below 2^53.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// A length does not fit the codec.
    #[error("the batch cannot be encoded: {0}")]
    Encode(String),
}

/// A Batch and the texts that must be durable before it (hash, text).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Ready to append.
    pub batch: Batch,
    /// What it refers to and brings along.
    pub blobs: Vec<(BlobHash, String)>,
    /// What it refers to and does not bring along, in order, repetitions included: it must be stored already.
    pub needed: Vec<BlobHash>,
    /// The codec form of the Batch, at most [`RECORD_MAX`] bytes.
    pub encoded: Vec<u8>,
}

/// Its fields stand in the order in which they are written: then nothing is put in order behind them.
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
struct Exported<'a> {
    at: Time,
    digest: Digest,
    events: Tagging<'a>,
    first: Seq,
    prev: Option<Digest>,
    session: SessionId,
}

impl Batch {
    /// Makes a Batch: moves large texts to blobs, encodes it, and chains it to `prev`.
    ///
    /// A text above [`INLINE_MAX`] bytes always becomes a blob; if the Batch still exceeds [`RECORD_MAX`], its largest
    /// texts follow until it fits. The result depends on nothing but the arguments.
    ///
    /// # Errors
    /// See [`SealError`]. Nothing is stored by this call.
    pub fn seal(
        session: SessionId,
        first: Seq,
        at: Time,
        prev: Option<Digest>,
        mut events: Vec<Event>,
    ) -> Result<Sealed, SealError> {
        if events.is_empty() {
            return Err(SealError::Empty);
        }
        let (mut blobs, mut needed) = (Vec::new(), Vec::new());
        events.iter_mut().for_each(|event| {
            event.texts(&mut |text| {
                if let crate::Text::Blob(named) = text {
                    needed.push(named.blob);
                }
                blobs.extend(text.spill(INLINE_MAX));
            });
        });
        let mut batch = Self { session, first, at, prev, events, digest: Digest([0; 32]) };
        let mut encoded = codec::encode(&batch)?;
        if encoded.len() > RECORD_MAX {
            blobs.extend(batch.spill_largest(encoded.len() - RECORD_MAX));
            encoded = codec::encode(&batch)?;
        }
        if encoded.len() > RECORD_MAX {
            return Err(SealError::TooLarge { bytes: encoded.len() });
        }
        batch.digest = batch.digest_of_about(encoded.len() + encoded.len() / 8 + JSON_HEADER)?;
        codec::set_digest(&mut encoded, &batch);
        needed.retain(|named| blobs.iter().all(|(brought, _)| brought != named));
        Ok(Sealed { batch, blobs, needed, encoded })
    }

    /// The digest that this Batch must carry.
    ///
    /// # Errors
    /// When a number of ours is not below 2^53.
    pub fn compute_digest(&self) -> Result<Digest, CanonicalError> {
        self.digest_of_about(canonical::ROOM)
    }

    /// The digest over a canonical form of about `room` bytes.
    fn digest_of_about(&self, room: usize) -> Result<Digest, CanonicalError> {
        let Self { session, first, at, prev, ref events, .. } = *self;
        canonical::own_of(&Hashed { at, events: Tagging(events), first, prev, session }, room)
            .map(|text| Digest::of(text.as_bytes()))
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

    /// One line of an export: the canonical JSON of `{at, digest, events, first, prev, session}`.
    ///
    /// # Errors
    /// When a number of ours is not below 2^53.
    pub fn to_canonical(&self) -> Result<String, CanonicalError> {
        let Self { session, first, at, prev, ref events, digest } = *self;
        canonical::own(&Exported { at, digest, events: Tagging(events), first, prev, session })
    }

    /// Reads what [`Batch::to_canonical`] wrote. Does not check the digest.
    ///
    /// # Errors
    /// When a field is missing, unknown or malformed, or an event has an unknown type.
    pub fn from_json(json: serde_json::Value) -> Result<Self, crate::event::DecodeError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Line {
            session: SessionId,
            first: Seq,
            at: Time,
            prev: Option<Digest>,
            events: Vec<serde_json::Value>,
            digest: Digest,
        }
        let malformed = |message: String| crate::event::DecodeError::Malformed { kind: "batch", message };
        let line: Line = serde_json::from_value(json).map_err(|error| malformed(alloc::format!("{error}")))?;
        if line.events.is_empty() {
            return Err(malformed("no events".into()));
        }
        let events = line.events.into_iter().map(Event::from_json).collect::<Result<_, _>>()?;
        Ok(Self { session: line.session, first: line.first, at: line.at, prev: line.prev, events, digest: line.digest })
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

    /// Moves the largest inline texts to blobs (of equal ones the first), as few as save `excess` bytes.
    fn spill_largest(&mut self, excess: usize) -> Vec<(BlobHash, String)> {
        let mut inline = Vec::new();
        let mut place = 0;
        self.visit(&mut |text| {
            inline.extend(text.inline().map(|inline| (Reverse(inline.len()), place)));
            place += 1;
        });
        inline.sort_unstable();
        let mut saved = 0;
        let chosen: BTreeSet<usize> = inline
            .into_iter()
            .take_while(|(Reverse(bytes), _)| {
                // A text takes its length and its bytes (8 + n), a reference 48: moving a small one saves nothing.
                let moves = saved < excess && *bytes > 64;
                saved += bytes.saturating_sub(40);
                moves
            })
            .map(|(_, place)| place)
            .collect();
        let mut spilled = Vec::new();
        place = 0;
        self.visit(&mut |text| {
            if chosen.contains(&place) {
                spilled.extend(text.spill(0));
            }
            place += 1;
        });
        spilled
    }

    fn visit(&mut self, visit: &mut dyn FnMut(&mut crate::Text)) {
        self.events.iter_mut().for_each(|event| event.texts(visit));
    }
}

#[cfg(test)]
mod tests;
