//! A batch as a message: headers that answer without reading it, and a payload with a checksum.

use super::api::{ApiError, StoredMessage};
use super::generation::{GENERATION, SubjectGeneration, WAS};
use crate::log::Head;
use annals_core::{Batch, Seq, SessionId, Time, codec};
use async_nats::HeaderMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use std::sync::Arc;

/// The number of the form of a payload: CRC32C of the rest, then the batch in the codec of the log.
const FORMAT: &str = "1";

pub const EXPECTED_STREAM: &str = "Nats-Expected-Stream";
pub const EXPECTED_LAST: &str = "Nats-Expected-Last-Subject-Sequence";

/// A message of a stream.
#[derive(Clone, Debug)]
pub struct StreamMessage {
    pub subject: String,
    /// Its number in the stream: the token of the next append.
    pub seq: u64,
    /// When the server stored it, as the server writes it: texts of one length, which sort like times.
    pub time: String,
    headers: Vec<(String, String)>,
    pub payload: Bytes,
}

impl StreamMessage {
    pub fn header(&self, name: &str) -> Option<&str> {
        let named = |(key, _): &&(String, String)| key.eq_ignore_ascii_case(name);
        self.headers.iter().find(named).map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.header(name)?.parse().ok()
    }

    /// The first event of the batch.
    pub fn first(&self) -> Option<Seq> {
        self.number("Sess-Seq").map(Seq)
    }

    /// Where the session ends with this batch.
    pub fn head(&self) -> Option<Head> {
        let digest = self.header("Sess-Cid")?.parse().ok()?;
        Some(Head { next: Seq(self.number("Sess-Next")?), digest, at: Time(self.number("Sess-At")?) })
    }

    /// The first event of the batch that brought the key which the session has here.
    pub fn key_at(&self) -> Option<Seq> {
        self.number("Sess-Key").map(Seq)
    }

    /// Which of its batches are copies without erased texts; `None`: nothing was erased in the session.
    pub fn generation(&self) -> Option<SubjectGeneration> {
        self.header(GENERATION)?.parse().ok()
    }

    /// Whether it is a marker, from which on a generation is in force, instead of a batch.
    pub fn is_marker(&self) -> bool {
        self.header(GENERATION).is_some() && self.header("Sess-Fmt").is_none()
    }

    /// The number under which its batch was stored first.
    pub fn was(&self) -> u64 {
        self.number(WAS).unwrap_or(self.seq)
    }

    /// The session, by the subject.
    pub fn session(&self) -> Option<SessionId> {
        self.subject.split('.').nth(3)?.parse().ok()
    }

    /// The batch, if it is what its subject and headers say.
    pub fn batch(&self) -> Option<Arc<Batch>> {
        let (checksum, body) = self.payload.split_first_chunk::<4>()?;
        if self.header("Sess-Fmt") != Some(FORMAT) || crc32c::crc32c(body) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let batch = codec::decode(body).ok()?;
        let fits = Some(batch.session) == self.session() && Some(batch.first) == self.first();
        fits.then(|| Arc::new(batch))
    }
}

/// A message that is to be published.
#[derive(Clone, Debug)]
pub struct NewMessage {
    pub subject: String,
    pub headers: HeaderMap,
    pub payload: Bytes,
}

/// The place of a message: which stream, after which message of its subject, and what holds for its session there.
pub struct PublishPlace<'a> {
    pub stream: &'a str,
    pub token: u64,
    /// The batch that brought the key.
    pub key_at: Seq,
    pub generation: Option<&'a SubjectGeneration>,
}

fn headers(place: &PublishPlace<'_>, first: Seq, head: &Head) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(EXPECTED_STREAM, place.stream);
    headers.insert(EXPECTED_LAST, place.token.to_string().as_str());
    headers.insert("Sess-Seq", first.0.to_string().as_str());
    headers.insert("Sess-Next", head.next.0.to_string().as_str());
    headers.insert("Sess-At", head.at.millis().to_string().as_str());
    headers.insert("Sess-Cid", head.digest.to_string().as_str());
    headers.insert("Sess-Key", place.key_at.0.to_string().as_str());
    if let Some(generation) = place.generation {
        headers.insert(GENERATION, generation.to_string().as_str());
    }
    headers
}

/// The headers of a marker: from here on a generation is in force, in a session that ends at `head`.
pub fn marker(place: &PublishPlace<'_>, head: &Head) -> HeaderMap {
    headers(place, head.next, head)
}

/// The headers and the payload of a copy of a batch, which was first stored as number `was`.
pub fn copied(batch: &Batch, encoded: &[u8], place: &PublishPlace<'_>, was: u64) -> (HeaderMap, Bytes) {
    let (mut headers, payload) = written(batch, encoded, place);
    headers.insert(WAS, was.to_string().as_str());
    (headers, payload)
}

/// The headers and the payload of a batch.
pub fn written(batch: &Batch, encoded: &[u8], place: &PublishPlace<'_>) -> (HeaderMap, Bytes) {
    let head = Head { next: batch.next(), digest: batch.digest, at: batch.at };
    let mut headers = headers(place, batch.first, &head);
    if let Some(prev) = batch.prev {
        headers.insert("Sess-Prev", prev.to_string().as_str());
    }
    headers.insert("Sess-Fmt", FORMAT);
    let mut payload = Vec::with_capacity(encoded.len() + 4);
    payload.extend_from_slice(&crc32c::crc32c(encoded).to_le_bytes());
    payload.extend_from_slice(encoded);
    (headers, payload.into())
}

/// A message from a replica.
pub fn from_direct(message: async_nats::Message) -> Result<StreamMessage, ApiError> {
    let missing = || ApiError::NoAnswer("a message without its headers".to_owned());
    let map = message.headers.ok_or_else(missing)?;
    let headers: Vec<(String, String)> = map
        .iter()
        .flat_map(|(name, values)| values.iter().map(move |value| (name.to_string(), value.as_str().to_owned())))
        .collect();
    let get = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let seq = get("Nats-Sequence").and_then(|seq| seq.parse().ok()).ok_or_else(missing)?;
    let subject = get("Nats-Subject").ok_or_else(missing)?;
    let time = get("Nats-Time-Stamp").unwrap_or_default();
    Ok(StreamMessage { subject, seq, time, headers, payload: message.payload })
}

/// A message from the leader.
pub fn from_leader(stored: StoredMessage) -> Result<StreamMessage, ApiError> {
    let decoded = |text: &str| {
        STANDARD.decode(text).map_err(|error| ApiError::NoAnswer(format!("a message that makes no sense: {error}")))
    };
    let lines = decoded(&stored.hdrs)?;
    let lines = String::from_utf8_lossy(&lines);
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_owned(), value.trim().to_owned()))
    };
    let headers = lines.split("\r\n").skip(1).filter_map(header).collect();
    let payload = decoded(&stored.data)?.into();
    Ok(StreamMessage { subject: stored.subject, seq: stored.seq, time: stored.time, headers, payload })
}
