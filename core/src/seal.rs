//! Making a batch: large texts move to blobs, the rest is encoded and chained to the batch before.

use crate::batch::{Batch, RECORD_MAX};
use crate::canonical::CanonicalError;
use crate::codec::{self, EncodeError};
use crate::commitment::SessionKey;
use crate::digest::{BlobHash, Digest};
use crate::event::Event;
use crate::id::SessionId;
use crate::seq::Seq;
use crate::text::{Blobs, INLINE_MAX, Texts};
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

/// A Batch and the texts that must be durable before it (hash, text).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Ready to append.
    pub batch: Batch,
    /// What it refers to and brings along.
    pub blobs: Vec<(BlobHash, String)>,
    /// What it refers to and does not bring along, in order, repetitions included: it must be stored already.
    pub needed: Vec<BlobHash>,
    /// The codec form of the batch, at most [`RECORD_MAX`] bytes.
    pub encoded: Vec<u8>,
}

impl Batch {
    /// Makes a batch of a session with this key: chains it to `prev`, moves large texts to blobs, and encodes it. `blobs` gives
    /// the texts of blobs that it names and does not bring along.
    ///
    /// A text above [`INLINE_MAX`] bytes always becomes a blob; if the batch still exceeds [`RECORD_MAX`], its largest
    /// texts follow until it fits. The result depends on nothing but the arguments.
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
        let mut batch = Self { session, first, at, prev, events, digest: Digest([0; 32]) };
        if !batch.events.is_empty() {
            // Before texts move to blobs, so that none has to be read back.
            batch.digest = batch.compute_digest(key, blobs)?;
        }
        batch.pack()
    }

    /// Moves large texts to blobs and encodes it, with the digest that it has: for who sends a batch to where it is sealed.
    ///
    /// # Errors
    /// See [`SealError`].
    pub fn pack(self) -> Result<Sealed, SealError> {
        let mut batch = self;
        if batch.events.is_empty() {
            return Err(SealError::Empty);
        }
        let (mut blobs, mut needed) = (Vec::new(), Vec::new());
        batch.events.iter_mut().for_each(|event| {
            event.texts(&mut |text| {
                if let crate::Text::Blob(named) = text {
                    needed.push(named.blob);
                }
                blobs.extend(text.spill(INLINE_MAX));
            });
        });
        let mut encoded = codec::encode(&batch)?;
        if encoded.len() > RECORD_MAX {
            blobs.extend(batch.spill_largest(encoded.len() - RECORD_MAX));
            encoded = codec::encode(&batch)?;
        }
        if encoded.len() > RECORD_MAX {
            return Err(SealError::TooLarge { bytes: encoded.len() });
        }
        needed.retain(|named| blobs.iter().all(|(brought, _)| brought != named));
        Ok(Sealed { batch, blobs, needed, encoded })
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
