//! What the owner of a store and its guests say to each other: one frame a message, in the codec of the log.
//!
//! The first frame of each side is a line of text, [`hello`], in a form that never changes; the rest may change with
//! [`PROTOCOL`].

use super::messages::{GREETING_MAX, MessageCodec};
use crate::append_rules::MISPLACED;
use crate::displaced::Displaced;
use crate::log::{AppendError, Committed, Draft, Followed, Head, Position, ReadError, Slice};
use crate::store_id::StoreId;
use annals_core::{Batch, BlobHash, Digest, Kind, SealError, Seq, SessionId, Time, codec};
use std::io;
use std::sync::Arc;
use wincode::config::Configuration;
use wincode::{SchemaRead, SchemaWrite};

/// The number of this protocol.
pub const PROTOCOL: u32 = 4;

/// The largest message, in bytes: that of a blob.
pub(super) const MESSAGE_MAX: usize = 1 << 30;

/// How many batches one answer holds at most: the asking side asks again.
pub(super) const PAGE: usize = 256;

/// How many sessions one answer lists at most.
pub(super) const LISTED: usize = 10_000;

/// What a side sends first: the protocol, the kinds of events that it knows, its version for people, and the id of the store that
/// it owns or expects (`-`: none).
pub(super) fn hello(store: Option<StoreId>) -> String {
    let mut kinds = String::new();
    for kind in Kind::ALL {
        kinds.push_str(&format!("{} {}\n", kind.number(), kind.name()));
    }
    let store = store.map_or_else(|| "-".to_owned(), |store| store.to_string());
    format!("annals {PROTOCOL} {} {} {store}", Digest::of(kinds.as_bytes()).short(), env!("CARGO_PKG_VERSION"))
}

/// The id of the store that a greeting names.
pub(super) fn store_of(hello: &str) -> Option<StoreId> {
    hello.split(' ').nth(4)?.parse().ok()
}

/// Whether two sides understand each other: all but the version for people and the store is equal.
pub(super) fn understands(ours: &str, theirs: &str) -> bool {
    let meaning = |hello: &str| hello.split(' ').take(3).map(str::to_owned).collect::<Vec<_>>();
    meaning(ours) == meaning(theirs)
}

/// The messages of a connection: at first a greeting alone.
pub(super) fn greeting() -> MessageCodec {
    MessageCodec { max: GREETING_MAX }
}

/// The messages of a connection whose greetings were exchanged.
pub(super) fn greeted() -> MessageCodec {
    MessageCodec { max: MESSAGE_MAX }
}

/// A message could not be written or read: the two sides do not speak the same protocol, or something was cut off.
#[derive(Debug, thiserror::Error)]
#[error("a message between two processes is malformed: {0}")]
pub(super) struct Malformed(String);

impl From<Malformed> for io::Error {
    fn from(error: Malformed) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

#[derive(Debug, SchemaRead, SchemaWrite)]
pub(super) enum Ask {
    Append { batch: Vec<u8>, digest: Option<Digest> },
    Head { session: SessionId },
    Sessions { after: Option<SessionId>, limit: u64 },
    Read { session: SessionId, from: Seq, limit: u64 },
    ReadBack { session: SessionId, before: Seq, limit: u64 },
    FollowSession { session: SessionId, from: Seq },
    FollowAll { from: u64 },
    PutBlob { text: String },
    Blob { hash: BlobHash },
}

#[derive(Debug, SchemaRead, SchemaWrite)]
pub(super) enum Answer {
    Committed { batch: Vec<u8>, position: u64, known: bool },
    Head { head: Option<WireHead> },
    Sessions { heads: Vec<(SessionId, WireHead)>, more: bool },
    Slices { slices: Vec<WireSlice> },
    Followed { slice: WireSlice, position: Option<u64> },
    Synced,
    Stored { hash: BlobHash },
    Blob { text: Option<String> },
    Refused { refusal: WireAppendError },
    Unreadable { reason: Unreadable },
}

#[derive(Debug, SchemaRead, SchemaWrite)]
pub(super) struct WireHead {
    next: Seq,
    digest: Digest,
    at: Time,
}

#[derive(Debug, SchemaRead, SchemaWrite)]
pub(super) struct WireSlice {
    batch: Vec<u8>,
    from: Seq,
    until: Seq,
}

/// An [`AppendError`] on its way.
#[derive(Debug, SchemaRead, SchemaWrite)]
pub(super) enum WireAppendError {
    Conflict { session: SessionId, expected: Seq, actual: Seq },
    Contended { session: SessionId },
    Misplaced { session: SessionId, reason: String },
    Diverged { session: SessionId, seq: Seq, expected: Digest, found: Digest },
    MissingBlob { session: SessionId, seq: Seq, blob: BlobHash },
    Empty { session: SessionId },
    TooLarge { session: SessionId, bytes: u64 },
    Seal { session: SessionId, message: String },
    Io { fault: WireIoError },
    Removed { dir: String },
    Replaced { dir: String, expected: [u8; 16], found: Option<[u8; 16]> },
    Unknown,
    Closed,
}

/// A [`ReadError`] on its way.
#[derive(Debug, SchemaRead, SchemaWrite)]
pub(super) enum Unreadable {
    NoSession { session: SessionId },
    Damaged { session: SessionId, seq: Seq, reason: String },
    Io { fault: WireIoError },
    Closed,
}

/// An error of the system on its way: its number, if it has one, and its words.
#[derive(Debug, SchemaRead, SchemaWrite)]
pub(super) struct WireIoError {
    number: Option<i32>,
    message: String,
}

const CONFIG: Configuration<true, MESSAGE_MAX> =
    Configuration::default().with_preallocation_size_limit::<MESSAGE_MAX>();

/// How many bytes of memory are made ready for what a short message says that it holds.
const SHORT_ROOM: usize = 16 * SHORT;

/// The longest message that counts as short, in bytes.
const SHORT: usize = 1 << 20;

const SHORT_CONFIG: Configuration<true, SHORT_ROOM> =
    Configuration::default().with_preallocation_size_limit::<SHORT_ROOM>();

macro_rules! message {
    ($type:ident) => {
        impl $type {
            pub fn write(&self) -> Result<bytes::Bytes, Malformed> {
                let written = wincode::config::serialize(self, CONFIG);
                written.map(bytes::Bytes::from).map_err(|error| Malformed(error.to_string()))
            }

            pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
                // What a message says of its own parts is believed as little as its announced length.
                let read = match bytes.len() <= SHORT {
                    true => wincode::config::deserialize_exact(bytes, SHORT_CONFIG),
                    false => wincode::config::deserialize_exact(bytes, CONFIG),
                };
                read.map_err(|error| Malformed(error.to_string()))
            }
        }
    };
}
message!(Ask);
message!(Answer);

fn encode(batch: &Batch) -> Result<Vec<u8>, Malformed> {
    codec::encode(batch).map_err(|error| Malformed(error.to_string()))
}

fn decode(bytes: &[u8]) -> Result<Arc<Batch>, Malformed> {
    codec::decode(bytes).map(Arc::new).map_err(|error| Malformed(error.to_string()))
}

/// The Draft that a guest sealed: the owner chains it to the batch before it.
pub(super) fn draft_of(batch: &[u8], digest: Option<Digest>) -> Result<Draft, Malformed> {
    let Batch { session, first: expected, at, events, states, .. } =
        codec::decode(batch).map_err(|error| Malformed(error.to_string()))?;
    Ok(Draft { session, expected, at, events, digest, states })
}

impl Answer {
    pub fn committed(Committed { batch, position, known }: &Committed) -> Result<Self, Malformed> {
        Ok(Self::Committed { batch: encode(batch)?, position: position.0, known: *known })
    }

    pub fn slices(slices: &[Slice]) -> Result<Self, Malformed> {
        Ok(Self::Slices { slices: slices.iter().map(WireSlice::of).collect::<Result<_, _>>()? })
    }

    pub fn followed(followed: &Followed) -> Result<Self, Malformed> {
        Ok(match followed {
            Followed::Batch { slice, place } => {
                let position = place.as_ref().map(|place| place.position.0);
                Self::Followed { slice: WireSlice::of(slice)?, position }
            }
            Followed::Synced => Self::Synced,
        })
    }
}

pub(super) fn committed_of(batch: &[u8], position: u64, known: bool) -> Result<Committed, Malformed> {
    Ok(Committed { batch: decode(batch)?, position: Position(position), known })
}

impl WireSlice {
    fn of(slice: &Slice) -> Result<Self, Malformed> {
        Ok(Self { batch: encode(&slice.batch)?, from: slice.from, until: slice.until })
    }

    pub fn slice(&self) -> Result<Slice, Malformed> {
        Ok(Slice { batch: decode(&self.batch)?, from: self.from, until: self.until })
    }
}

impl From<Head> for WireHead {
    fn from(Head { next, digest, at }: Head) -> Self {
        Self { next, digest, at }
    }
}

impl From<WireHead> for Head {
    fn from(WireHead { next, digest, at }: WireHead) -> Self {
        Self { next, digest, at }
    }
}

impl WireIoError {
    fn of(error: &io::Error) -> Self {
        Self { number: error.raw_os_error(), message: error.to_string() }
    }

    fn error(self) -> Arc<io::Error> {
        Arc::new(self.number.map_or_else(|| io::Error::other(self.message), io::Error::from_raw_os_error))
    }
}

impl From<AppendError> for WireAppendError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::Conflict { session, expected, actual } => Self::Conflict { session, expected, actual },
            AppendError::Contended { session } => Self::Contended { session },
            AppendError::Misplaced { session, reason } => Self::Misplaced { session, reason: reason.into() },
            AppendError::Diverged { session, seq, expected, found } => Self::Diverged { session, seq, expected, found },
            AppendError::MissingBlob { session, seq, blob } => Self::MissingBlob { session, seq, blob },
            AppendError::Seal { session, source: SealError::Empty } => Self::Empty { session },
            AppendError::Seal { session, source: SealError::TooLarge { bytes } } => {
                Self::TooLarge { session, bytes: bytes as u64 }
            }
            AppendError::Seal { session, source } => Self::Seal { session, message: source.to_string() },
            AppendError::Io { source } => Self::Io { fault: WireIoError::of(&source) },
            // Only a guest gets these errors of an owner, and a guest serves no one.
            AppendError::Unknown | AppendError::OwnerHung(_) | AppendError::Displaced(Displaced::Gone { .. }) => {
                Self::Unknown
            }
            AppendError::Displaced(Displaced::Removed { dir }) => {
                Self::Removed { dir: dir.to_string_lossy().into_owned() }
            }
            AppendError::Displaced(Displaced::Replaced { dir, expected, found }) => {
                let dir = dir.to_string_lossy().into_owned();
                Self::Replaced { dir, expected: expected.0, found: found.map(|found| found.0) }
            }
            // A log that is only read is not served.
            AppendError::Closed | AppendError::ReadOnly => Self::Closed,
        }
    }
}

impl From<WireAppendError> for AppendError {
    fn from(refusal: WireAppendError) -> Self {
        match refusal {
            WireAppendError::Conflict { session, expected, actual } => Self::Conflict { session, expected, actual },
            WireAppendError::Contended { session } => Self::Contended { session },
            WireAppendError::Misplaced { session, reason } => {
                let same = MISPLACED.iter().find(|known| **known == reason);
                Self::Misplaced { session, reason: same.unwrap_or(&"the owner of the store says that it is misplaced") }
            }
            WireAppendError::Diverged { session, seq, expected, found } => {
                Self::Diverged { session, seq, expected, found }
            }
            WireAppendError::MissingBlob { session, seq, blob } => Self::MissingBlob { session, seq, blob },
            WireAppendError::Empty { session } => Self::Seal { session, source: SealError::Empty },
            WireAppendError::TooLarge { session, bytes } => {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                Self::Seal { session, source: SealError::TooLarge { bytes } }
            }
            WireAppendError::Seal { session, message } => {
                Self::Seal { session, source: SealError::Encode(annals_core::codec::EncodeError(message)) }
            }
            WireAppendError::Io { fault } => Self::Io { source: fault.error() },
            WireAppendError::Removed { dir } => Self::Displaced(Displaced::Removed { dir: dir.into() }),
            WireAppendError::Replaced { dir, expected, found } => {
                let (expected, found) = (StoreId(expected), found.map(StoreId));
                Self::Displaced(Displaced::Replaced { dir: dir.into(), expected, found })
            }
            WireAppendError::Unknown => Self::Unknown,
            WireAppendError::Closed => Self::Closed,
        }
    }
}

impl From<ReadError> for Unreadable {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NoSession(session) => Self::NoSession { session },
            ReadError::Damaged { session, seq, reason } => Self::Damaged { session, seq, reason },
            ReadError::Io { source } => Self::Io { fault: WireIoError::of(&source) },
            // A guest asks for positions, which are never foreign.
            error @ ReadError::ForeignCursor(_) => Self::Io { fault: WireIoError::of(&std::io::Error::other(error)) },
            ReadError::OwnerHung(hung_owner) => Self::Io { fault: WireIoError::of(&std::io::Error::other(hung_owner)) },
            ReadError::Closed => Self::Closed,
        }
    }
}

impl From<Unreadable> for ReadError {
    fn from(reason: Unreadable) -> Self {
        match reason {
            Unreadable::NoSession { session } => Self::NoSession(session),
            Unreadable::Damaged { session, seq, reason } => Self::Damaged { session, seq, reason },
            Unreadable::Io { fault } => Self::Io { source: fault.error() },
            Unreadable::Closed => Self::Closed,
        }
    }
}

#[cfg(test)]
mod tests;
