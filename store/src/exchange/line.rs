//! The lines of an export. Every line is canonical JSON (RFC 8785), so a session has exactly one export.

use super::bounded_line::too_large;
use super::verify::Flaw;
use annals_core::exported::{LineTexts, Unprovable, digest_of_line};
use annals_core::{Batch, BlobHash, BlobRef, Blobs, Digest, Event, Seq, SessionId, SessionKey, canonical};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The number of this format, kept in every header.
pub const FORMAT: u32 = 2;

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
    /// The sessions that a fork inherits from, oldest first.
    pub ancestors: Vec<Ancestor>,
    /// The key of the session and of each ancestor; `None` in an export that withholds texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<BTreeMap<SessionId, SessionKey>>,
}

/// Where an export ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderHead {
    /// The Seq after the last event.
    pub next: Seq,
    /// The digest of the last batch.
    pub digest: Digest,
}

/// A Session that a fork inherits from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ancestor {
    /// The session.
    pub session: SessionId,
    /// The first Seq that is not inherited from it. The batch that holds `cut - 1` is exported whole, since its digest
    /// is that of the whole.
    pub cut: Seq,
}

impl Header {
    /// The header of an export with all its texts.
    pub fn new(
        session: SessionId,
        head: HeaderHead,
        ancestors: Vec<Ancestor>,
        keys: BTreeMap<SessionId, SessionKey>,
    ) -> Self {
        Self { annals: ANNALS.into(), format: FORMAT, session, head, ancestors, keys: Some(keys) }
    }

    /// The header of an export that withholds texts.
    pub fn withheld(session: SessionId, head: HeaderHead, ancestors: Vec<Ancestor>) -> Self {
        Self { annals: ANNALS.into(), format: FORMAT, session, head, ancestors, keys: None }
    }
}

/// A blob, before the first batch that names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlobLine {
    pub blob: BlobHash,
    pub text: String,
}

/// A line, read and checked by itself.
#[derive(Debug)]
pub(crate) enum Line {
    Header(Header),
    Blob {
        line: BlobLine,
        /// The hash of its text.
        found: Digest,
        /// The length of its text in bytes of UTF-8.
        bytes: u64,
        /// The length of its text in Unicode scalar values.
        chars: u64,
    },
    Batch {
        batch: Batch,
        /// What the line says of its texts.
        texts: LineTexts,
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
        if let Some(reason) = too_large(bytes) {
            return Err(malformed(reason.into()));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| malformed(error.to_string()))?;
        let value: Value = serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        let Value::Object(members) = &value else { return Err(malformed("not an object".into())) };
        if members.contains_key("annals") {
            let header: Header = serde_json::from_value(value).map_err(|error| malformed(error.to_string()))?;
            if header.annals == ANNALS && header.format == 1 {
                let reason = "an export of format 1, whose digests hold no commitments; export the session again";
                return Err(malformed(reason.into()));
            }
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
            let BlobRef { blob: found, bytes, chars } = BlobRef::to(&line.text);
            return Ok(Self::Blob { line, found, bytes, chars });
        }
        Self::batch(text, value)
    }

    fn batch(text: &str, value: Value) -> Result<Self, Flaw> {
        let read = Batch::from_line(value).map_err(|error| error.to_string()).and_then(|(batch, texts)| {
            match batch.to_canonical() {
                Ok(canonical) if canonical == text => Ok(Self::Batch { batch, texts }),
                Ok(_) => Err("an event does not have the members of its type".into()),
                Err(error) => Err(error.to_string()),
            }
        });
        read.or_else(|reason| {
            let value: Value = serde_json::from_str(text).map_err(|error| Flaw::Line { reason: error.to_string() })?;
            is_canonical(text, Ok(canonical::value(&value)))?;
            match Envelope::deserialize(&value) {
                Ok(envelope) => Ok(Self::Opaque { envelope, reason }),
                Err(_) => Err(Flaw::Line { reason }),
            }
        })
    }
}

/// The digest of a batch that was read from a line, with this key and these blobs.
///
/// # Errors
/// When it cannot be computed.
pub(crate) fn digest_of(batch: &Batch, key: Option<&SessionKey>, blobs: &dyn Blobs) -> Result<Digest, Unprovable> {
    match batch.compute_digest(key, blobs) {
        Ok(found) if found == batch.digest => Ok(found),
        // The rule of the format alone says what is wrong.
        _ => {
            let line = batch.to_canonical().ok().and_then(|line| serde_json::from_str(&line).ok());
            digest_of_line(&line.unwrap_or_default(), key, blobs)
        }
    }
}

/// The keys that a header gives, and which of them are in force: from the batch on whose first event names the hash of the key.
#[derive(Debug, Default)]
pub(crate) struct HeaderKeys {
    keys: BTreeMap<SessionId, SessionKey>,
    /// The hash that each session names last, if one of its batches was read.
    named: BTreeMap<SessionId, Option<Digest>>,
    /// The sessions whose key was in force.
    used: BTreeSet<SessionId>,
}

impl HeaderKeys {
    pub fn new(keys: BTreeMap<SessionId, SessionKey>) -> Self {
        Self { keys, ..Self::default() }
    }

    /// The key that proves the texts of a batch; `None` when each of them must be withheld or have a key of its own.
    pub fn take(&mut self, batch: &Batch) -> Option<SessionKey> {
        self.read(batch.session, batch.events.first().and_then(Event::stored_key).map(|stored| stored.hash))
    }

    /// The same for a batch whose events cannot be read.
    pub fn take_opaque(&mut self, session: SessionId) {
        self.read(session, None);
    }

    fn read(&mut self, session: SessionId, names: Option<Digest>) -> Option<SessionKey> {
        let named = self.named.entry(session).or_default();
        *named = names.or(*named);
        let key = self.keys.get(&session).filter(|key| named.is_none_or(|named| named == key.hash()))?;
        self.used.insert(session);
        Some(*key)
    }

    /// The sessions whose keys were never in force.
    pub fn unused(&self) -> impl Iterator<Item = SessionId> + '_ {
        self.keys.keys().filter(|session| !self.used.contains(session)).copied()
    }
}

/// A Batch line whose events this version cannot read: what is known of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Envelope {
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

#[cfg(test)]
mod tests {
    use super::{Header, HeaderHead, Line};
    use crate::conformance::material::{KEY, admitted, created, session};
    use annals_core::exported::digest_of_line;
    use annals_core::{Batch, NoBlobs, Seq, Time};

    #[test]
    fn the_digest_of_a_line_is_that_of_its_batch() {
        for text in ["plain", "\"digest\":\"", "ü\u{1}\u{7f}\u{1f600}\\"] {
            let events = vec![created(), admitted("a", text)];
            let batch = Batch::seal(&KEY, &NoBlobs, session(1), Seq(0), Time(5), None, events).unwrap().batch;
            let line = batch.to_canonical().unwrap();
            assert_eq!(batch.compute_digest(&KEY, &NoBlobs).unwrap(), batch.digest);
            let Line::Batch { batch: read, texts } = Line::read(line.as_bytes()).unwrap() else { panic!("{line}") };
            assert!(texts.blobs.is_empty() && texts.count > 0);
            let value = serde_json::from_str(&line).unwrap();
            assert_eq!(digest_of_line(&value, Some(&KEY), &NoBlobs), Ok(batch.digest));
            assert_eq!(read, batch);
        }
    }

    #[test]
    fn a_line_in_another_form_is_refused() {
        let events = vec![created()];
        let batch = Batch::seal(&KEY, &NoBlobs, session(1), Seq(0), Time(5), None, events).unwrap().batch;
        let line = batch.to_canonical().unwrap();
        for other in [line.replacen(':', ": ", 1), format!("{line} "), line.replace("\"at\":5", "\"at\":5,\"at\":5")] {
            assert!(Line::read(other.as_bytes()).is_err(), "{other}");
        }
        // Canonical, but with other members than events of this type have.
        for other in
            [line.replace("{\"text\":\"/work/project\"}", "\"/work/project\""), line.replace("\"title\":null,", "")]
        {
            assert!(other != line && matches!(Line::read(other.as_bytes()), Ok(Line::Opaque { .. })), "{other}");
        }
    }

    #[test]
    fn an_export_of_format_1_is_refused_with_one_sentence() {
        let head = HeaderHead { next: Seq(1), digest: annals_core::Digest([1; 32]) };
        let mut header = Header::new(session(1), head, Vec::new(), [(session(1), KEY)].into());
        (header.format, header.keys) = (1, None);
        let refused = Line::read(serde_json::to_string(&header).unwrap().as_bytes()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "not a line of the format: an export of format 1, whose digests hold no commitments; export the session again"
        );
    }
}
