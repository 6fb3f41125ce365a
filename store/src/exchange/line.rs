//! The lines of an export. Every line is canonical JSON (RFC 8785), so a Session has exactly one export.

use super::verify::Flaw;
use annals_core::{Batch, BlobHash, BlobRef, Digest, Seq, SessionId, canonical};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The number of this format, kept in every header.
pub const FORMAT: u32 = 1;

/// What a header says it is.
const ANNALS: &str = "session-log";

/// The first line of an export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Always `session-log`.
    pub annals: String,
    /// [`FORMAT`].
    pub format: u32,
    /// Whose export.
    pub session: SessionId,
    /// Where it ends: a file that does not reach this place was shortened.
    pub head: HeaderHead,
    /// The Sessions that a fork inherits from, oldest first.
    pub ancestors: Vec<Ancestor>,
}

/// Where an export ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderHead {
    /// The Seq after the last event.
    pub next: Seq,
    /// The digest of the last Batch.
    pub digest: Digest,
}

/// A Session that a fork inherits from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ancestor {
    /// Which.
    pub session: SessionId,
    /// The first Seq that is not inherited from it. The Batch that holds `cut - 1` is exported whole, since its digest
    /// is that of the whole.
    pub cut: Seq,
}

impl Header {
    /// The header of an export.
    pub fn new(session: SessionId, head: HeaderHead, ancestors: Vec<Ancestor>) -> Self {
        Self { annals: ANNALS.into(), format: FORMAT, session, head, ancestors }
    }
}

/// A blob, before the first Batch that names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlobLine {
    pub blob: BlobHash,
    pub text: String,
}

/// A line, read and checked by itself.
#[derive(Debug)]
pub(super) enum Line {
    Header(Header),
    Blob {
        line: BlobLine,
        /// The hash of its text.
        found: Digest,
    },
    Batch {
        batch: Batch,
        /// The digest of its content.
        found: Digest,
        /// The blobs that it names.
        named: Vec<BlobRef>,
    },
    /// A Batch with an event that is not one of the catalogue.
    Opaque {
        envelope: Envelope,
        reason: String,
    },
}

impl Line {
    /// Reads a line, without its line feed.
    pub fn read(bytes: &[u8]) -> Result<Self, Flaw> {
        let malformed = |reason: String| Flaw::Line { reason };
        let text = std::str::from_utf8(bytes).map_err(|error| malformed(error.to_string()))?;
        let value: Value = serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        let Value::Object(members) = &value else { return Err(malformed("not an object".into())) };
        if members.contains_key("annals") {
            let header: Header = serde_json::from_value(value).map_err(|error| malformed(error.to_string()))?;
            if header.annals != ANNALS || header.format != FORMAT {
                return Err(malformed(format!(
                    "{} of format {}; this version reads {ANNALS} of format {FORMAT}",
                    header.annals, header.format
                )));
            }
            is_canonical(text, canonical::own(&header))?;
            return Ok(Self::Header(header));
        }
        if members.contains_key("blob") {
            let line: BlobLine = serde_json::from_value(value).map_err(|error| malformed(error.to_string()))?;
            is_canonical(text, canonical::own(&line))?;
            let found = Digest::of(line.text.as_bytes());
            return Ok(Self::Blob { line, found });
        }
        Self::batch(text, value)
    }

    fn batch(text: &str, value: Value) -> Result<Self, Flaw> {
        let envelope = Envelope::deserialize(&value);
        match (Batch::from_json(value), envelope) {
            (Ok(batch), _) => {
                is_canonical(text, batch.to_canonical())?;
                let found = digest_of_line(text, &batch.digest)
                    .ok_or_else(|| Flaw::Line { reason: "its digest is not in its place".into() })?;
                let named = named_in(text, &batch);
                Ok(Self::Batch { batch, found, named })
            }
            (Err(error), Ok(envelope)) => Ok(Self::Opaque { envelope, reason: error.to_string() }),
            (Err(error), Err(_)) => Err(Flaw::Line { reason: error.to_string() }),
        }
    }
}

/// A Batch line whose events this version cannot read: what is known of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Envelope {
    pub session: SessionId,
    pub first: Seq,
    #[serde(rename = "at")]
    _at: u64,
    #[serde(rename = "prev")]
    _prev: Option<Digest>,
    pub events: Vec<IgnoredAny>,
    pub digest: Digest,
}

fn is_canonical(text: &str, canonical: Result<String, canonical::CanonicalError>) -> Result<(), Flaw> {
    match canonical {
        Ok(canonical) if canonical == text => Ok(()),
        Ok(_) => Err(Flaw::Line { reason: "not in canonical form (RFC 8785)".into() }),
        Err(error) => Err(Flaw::Line { reason: error.to_string() }),
    }
}

/// The blobs that a Batch names, given its canonical text: most name none, and their text says so at once.
pub(super) fn named_in(text: &str, batch: &Batch) -> Vec<BlobRef> {
    if text.contains("{\"blob\":\"") { batch.blobs() } else { Vec::new() }
}

/// The digest of a canonical Batch line: the hash of its text without the member `digest`. The same as
/// [`Batch::compute_digest`], without writing the Batch again.
pub(super) fn digest_of_line(text: &str, digest: &Digest) -> Option<Digest> {
    let member = format!("\"digest\":\"{digest}\",");
    let at = text.find(&member)?;
    let rest = text.get(at + member.len()..)?;
    Some(Digest::of([text.get(..at)?, rest].concat().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{Digest, Line, digest_of_line};
    use crate::conformance::material::{admitted, created, session};
    use annals_core::{Batch, Seq, Time};

    #[test]
    fn the_digest_of_a_line_is_the_hash_of_its_text_without_the_digest() {
        for text in ["plain", "\"digest\":\"", "ü\u{1}\u{7f}\u{1f600}\\"] {
            let events = vec![created(), admitted("a", text)];
            let batch = Batch::seal(session(1), Seq(0), Time(5), None, events).unwrap().batch;
            let line = batch.to_canonical().unwrap();
            assert_eq!(digest_of_line(&line, &batch.digest), Some(batch.digest));
            assert_eq!(batch.compute_digest().unwrap(), batch.digest);
            let Line::Batch { batch: read, found, named } = Line::read(line.as_bytes()).unwrap() else {
                panic!("{line}")
            };
            assert!(named.is_empty());
            assert_eq!((read, found), (batch.clone(), batch.digest));
        }
        assert_eq!(digest_of_line("{}", &Digest([0; 32])), None);
    }

    #[test]
    fn a_line_in_another_form_is_refused() {
        let batch = Batch::seal(session(1), Seq(0), Time(5), None, vec![created()]).unwrap().batch;
        let line = batch.to_canonical().unwrap();
        for other in [line.replacen(':', ": ", 1), format!("{line} "), line.replace("\"at\":5", "\"at\":5,\"at\":5")] {
            assert!(Line::read(other.as_bytes()).is_err(), "{other}");
        }
    }
}
