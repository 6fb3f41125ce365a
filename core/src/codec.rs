//! The codec form of a batch: bincode-1 bytes, written by `wincode` (`docs/reference/store.md#batches`).
//!
//! ```text
//! session [u8; 16] | first u64 | at u64 | digest [u8; 32] | prev Option<[u8; 32]> | count u64 | count x (kind u16, length u64, payload)
//! | states Vec<TextState>, if there are any
//! ```
//! All numbers little-endian; an option is one byte, then its value. The event kind precedes its length, so a
//! reader that does not know a kind can name it and knows where the next one begins.

use crate::absent::{TextState, TextStates};
use crate::batch::Batch;
use crate::canonical;
use crate::digest::Digest;
use crate::event::{DecodeError, Event, Kind, Tagging};
use crate::id::SessionId;
use crate::seq::Seq;
use crate::text::{Text, Texts};
use crate::time::Time;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use wincode::{SchemaRead, SchemaWrite};

/// The number of this form, kept in every frame.
pub const FORMAT: u8 = 1;

/// The part of an encoded batch before its events: enough to place it without decoding them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SchemaRead, SchemaWrite)]
pub struct BatchHeader {
    /// The session.
    pub session: SessionId,
    /// The Seq of its first event.
    pub first: Seq,
    /// When it was appended.
    pub at: Time,
    /// Its digest.
    pub digest: Digest,
    /// The digest before it.
    pub prev: Option<Digest>,
    /// How many events it holds.
    pub count: u64,
}

impl BatchHeader {
    /// The Seq after the last event.
    pub fn next(&self) -> Seq {
        self.first.plus(self.count)
    }
}

/// The header of a batch.
pub fn header(batch: &Batch) -> BatchHeader {
    let Batch { session, first, at, prev, ref events, digest, .. } = *batch;
    BatchHeader { session, first, at, digest, prev, count: events.len() as u64 }
}

/// A length does not fit the codec: split the batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the batch cannot be encoded: {0}")]
pub struct EncodeError(pub String);

/// Encodes a batch.
///
/// # Errors
/// When a length does not fit the format.
pub fn encode(batch: &Batch) -> Result<Vec<u8>, EncodeError> {
    let encode_error = |error: wincode::WriteError| EncodeError(error.to_string());
    let mut out = wincode::serialize(&header(batch)).map_err(encode_error)?;
    for event in &batch.events {
        out.extend_from_slice(&event.kind().number().to_le_bytes());
        let length_at = out.len();
        out.extend_from_slice(&[0; 8]);
        event.write_payload(&mut out).map_err(encode_error)?;
        let length = (out.len() - length_at - 8) as u64;
        out[length_at..length_at + 8].copy_from_slice(&length.to_le_bytes());
    }
    if !batch.states.is_empty() {
        wincode::serialize_into(&mut out, &batch.states).map_err(encode_error)?;
    }
    Ok(out)
}

/// How many bytes of the encoded batch the states of its texts take.
///
/// # Errors
/// When a length does not fit the format.
pub(crate) fn states_length(batch: &Batch) -> Result<usize, EncodeError> {
    match batch.states.is_empty() {
        true => Ok(0),
        false => {
            let size = wincode::serialized_size(&batch.states).map_err(|error| EncodeError(error.to_string()))?;
            usize::try_from(size).map_err(|error| EncodeError(error.to_string()))
        }
    }
}

/// Reads the header of an encoded batch; its events are not touched.
///
/// # Errors
/// When the bytes are too short or malformed.
pub fn decode_header(bytes: &[u8]) -> Result<BatchHeader, DecodeError> {
    wincode::deserialize(bytes).map_err(|error| malformed(error.to_string()))
}

/// The session and the first Seq of an encoded batch: its first 24 bytes, for scans that look for one session.
pub fn place(bytes: &[u8]) -> Option<(SessionId, Seq)> {
    let (session, rest) = bytes.split_first_chunk::<16>()?;
    let (first, _) = rest.split_first_chunk::<8>()?;
    Some((SessionId(*session), Seq(u64::from_le_bytes(*first))))
}

/// Decodes a batch. Does not check its digest.
///
/// # Errors
/// When an event kind is unknown, bytes are missing, left over or malformed, or the events and the states of their texts disagree.
pub fn decode(bytes: &[u8]) -> Result<Batch, DecodeError> {
    let mut rest = bytes;
    let BatchHeader { session, first, at, digest, prev, count } =
        wincode::deserialize_from(&mut rest).map_err(|error| malformed(error.to_string()))?;
    // The count is not trusted for an allocation: each event takes at least ten bytes.
    let mut events = Vec::with_capacity((count as usize).min(rest.len() / 10));
    for _ in 0..count {
        let (kind, payload);
        (kind, rest) = split(rest, 2)?;
        let kind = u16::from_le_bytes([kind[0], kind[1]]);
        let length;
        (length, rest) = split(rest, 8)?;
        let mut number = [0; 8];
        number.copy_from_slice(length);
        let length = usize::try_from(u64::from_le_bytes(number)).map_err(|error| malformed(error.to_string()))?;
        (payload, rest) = split(rest, length)?;
        let kind = Kind::of_number(kind).ok_or(DecodeError::UnknownKind(kind))?;
        events.push(Event::read_payload(kind, payload)?);
    }
    if events.is_empty() {
        return Err(malformed("no events".to_string()));
    }
    let states = if rest.is_empty() { TextStates::new() } else { decode_states(rest, count)? };
    agree(&mut events, &states)?;
    Ok(Batch { session, first, at, prev, events, digest, states })
}

/// The states behind the events: at least one, in order, of events that the batch has.
fn decode_states(bytes: &[u8], events: u64) -> Result<TextStates, DecodeError> {
    let left_over = || malformed(alloc::format!("{} bytes left over", bytes.len()));
    let states: TextStates = wincode::deserialize_exact(bytes).map_err(|_| left_over())?;
    let rising = states.windows(2).all(|pair| match pair {
        [a, b] => (a.event, &a.place) < (b.event, &b.place),
        _ => true,
    });
    match states.last() {
        Some(last) if rising && u64::from(last.event) < events => Ok(states),
        _ => Err(left_over()),
    }
}

/// Whether the events hold as withheld what the states say, and nothing else. They are not changed.
fn agree(events: &mut [Event], states: &[TextState]) -> Result<(), DecodeError> {
    if !states.is_empty() {
        return canonical::check_states(&Tagging(events), states).map_err(|error| malformed(error.to_string()));
    }
    let mut absent = false;
    events.iter_mut().for_each(|event| event.texts(&mut |text| absent |= matches!(text, Text::Absent(_))));
    match absent {
        true => Err(malformed("a text is withheld, and the batch records no commitment to it".to_string())),
        false => Ok(()),
    }
}

fn split(bytes: &[u8], at: usize) -> Result<(&[u8], &[u8]), DecodeError> {
    bytes.split_at_checked(at).ok_or_else(|| malformed("cut off".to_string()))
}

fn malformed(message: alloc::string::String) -> DecodeError {
    DecodeError::Malformed { kind: "batch", message }
}

#[cfg(test)]
mod tests;
