//! Making a batch: large texts move to blobs, the rest is encoded and chained to the batch before.

use crate::absent::{KnownText, TextStates};
use crate::batch::{Batch, RECORD_MAX, STATES_MAX};
use crate::canonical::{self, CanonicalError};
use crate::codec::{self, EncodeError};
use crate::commitment::SessionKey;
use crate::digest::{BlobHash, Digest};
use crate::event::{Event, Tagging};
use crate::id::SessionId;
use crate::seq::Seq;
use crate::text::{Blobs, INLINE_MAX, Text, Texts};
use crate::time::Time;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// A Batch cannot be made from these events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// A Batch holds at least one event: do not append nothing.
    #[error("a batch needs at least one event")]
    Empty,
    /// The batch does not fit even with every text moved to blobs: split it, or shorten names and lists.
    #[error("the batch takes {bytes} bytes after its texts were moved to blobs; at most {RECORD_MAX} fit")]
    TooLarge {
        /// Encoded size in bytes.
        bytes: usize,
    },
    /// What is known of its texts takes too much room: split it, or shorten the keys of maps.
    #[error("the keys and commitments of the batch's texts take {bytes} bytes; at most {STATES_MAX} fit")]
    TooManyStates {
        /// Their encoded size, and the room of withheld texts in the events, in bytes.
        bytes: usize,
    },
    /// A number is not below 2^53, or a blob that it names cannot be read.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// The first event of a session must bring the session's key.
    #[error("the session begins without its key")]
    NoKey,
    /// A length does not fit the codec.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// What a withheld text leaves in an event is at most so much longer than an empty text, in bytes: the lengths and the commitment
/// of a [`Text`], or the note in a string.
const ABSENT_MAX: usize = 64;

/// A Batch and the texts that must be durable before it (hash, text).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Ready to append.
    pub batch: Batch,
    /// What it refers to and brings along.
    pub blobs: Vec<(BlobHash, String)>,
    /// What it refers to and does not bring along, in order, repetitions included: it must be stored already.
    pub needed: Vec<BlobHash>,
    /// The codec form of the batch: at most [`RECORD_MAX`] bytes, and at most [`STATES_MAX`] that the states of its texts add.
    pub encoded: Vec<u8>,
}

impl Batch {
    /// Makes a batch of a session with this key: chains it to `prev`, moves large texts to blobs, and encodes it. `blobs` gives
    /// the texts of blobs that it names and does not bring along.
    ///
    /// A text above [`INLINE_MAX`] bytes always becomes a blob; if the batch still exceeds [`RECORD_MAX`], its largest
    /// texts follow until it fits. A withheld text that an event quotes is the note that views show. The result depends on nothing
    /// but the arguments.
    ///
    /// # Errors
    /// See [`SealError`]. Nothing is stored by this call.
    pub fn seal(
        key: &SessionKey,
        blobs: &dyn Blobs,
        session: SessionId,
        first: Seq,
        at: Time,
        prev: Option<Digest>,
        events: Vec<Event>,
    ) -> Result<Sealed, SealError> {
        let begins = events.first().and_then(Event::stored_key);
        if begins.is_some_and(|stored| stored.key.as_ref() != Some(key) || stored.hash != key.hash()) {
            return Err(SealError::NoKey);
        }
        let (digest, states, mut events) = (Digest([0; 32]), TextStates::new(), events);
        events.iter_mut().for_each(|event| event.texts(&mut Text::quote_absent));
        Self { session, first, at, prev, events, digest, states }.seal_again(Some(key), blobs)
    }

    /// Computes the digest and encodes the batch, as [`Batch::seal`] does: for one whose texts have states. Without a key, every
    /// text must be withheld or disclosed.
    pub fn seal_again(mut self, key: Option<&SessionKey>, blobs: &dyn Blobs) -> Result<Sealed, SealError> {
        let begins = self.events.first().and_then(Event::stored_key);
        if begins.is_some_and(|stored| stored.key.is_some_and(|own| own.hash() != stored.hash)) {
            return Err(SealError::NoKey);
        }
        if !self.events.is_empty() {
            // Before texts move to blobs, so that none has to be read back.
            self.digest = self.compute_digest(key, blobs)?;
        }
        self.pack()
    }

    /// Moves large texts to blobs and encodes it, keeping its digest. Guests use this: the owner of the store seals the
    /// batch.
    pub fn pack(self) -> Result<Sealed, SealError> {
        let mut batch = self;
        if batch.events.is_empty() {
            return Err(SealError::Empty);
        }
        let (mut blobs, mut needed) = (Vec::new(), Vec::new());
        batch.events.iter_mut().for_each(|event| {
            event.texts(&mut |text| {
                if let Text::Blob(named) = text {
                    needed.push(named.blob);
                }
                blobs.extend(text.spill(INLINE_MAX));
            });
        });
        let mut encoded = codec::encode(&batch)?;
        let added = batch.added_by_states()?;
        let excess = encoded.len().saturating_sub(RECORD_MAX + added);
        if excess > 0 {
            blobs.extend(batch.spill_largest(excess));
            encoded = codec::encode(&batch)?;
        }
        if encoded.len() > RECORD_MAX + added {
            return Err(SealError::TooLarge { bytes: encoded.len() - added });
        }
        if added > STATES_MAX {
            return Err(SealError::TooManyStates { bytes: added });
        }
        if !batch.states.is_empty() {
            // A reader refuses a batch whose events and states disagree.
            canonical::check_states(&Tagging(&batch.events), &batch.states)?;
        }
        needed.retain(|named| blobs.iter().all(|(brought, _)| brought != named));
        Ok(Sealed { batch, blobs, needed, encoded })
    }

    /// How many bytes the states of texts, and what withheld texts leave in the events, may add to the encoded batch.
    fn added_by_states(&self) -> Result<usize, EncodeError> {
        let absent = self.states.iter().filter(|state| matches!(state.known, KnownText::Absent(_))).count();
        Ok(codec::states_length(self)? + absent * ABSENT_MAX)
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
}
