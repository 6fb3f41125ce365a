//! A Batch without some of its texts (`docs/reference/digest.md#withheld-and-erased-texts`).

use crate::absent::AbsentText;
use crate::batch::Batch;
use crate::canonical::CanonicalError;
use crate::commitment::SessionKey;
use crate::event::DecodeError;
use crate::exported::{ExportedText, visit_texts};
use crate::seq::Seq;
use crate::text::Blobs;
use alloc::string::ToString;
use serde_json::{Value, json};

/// A Batch could not be rewritten without some of its texts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscloseError {
    /// A blob cannot be read, or a text has no key.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// The batch does not read back: a defect of this program.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// What shall be done with a text of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disclosure {
    /// It is kept as it is.
    Keep,
    /// It is kept, with a key of its own: for a batch that leaves the key of its session.
    Disclose,
    /// It is left out.
    Withhold,
}

/// One text of a batch, from which a caller decides what to withhold.
#[derive(Clone, Copy, Debug)]
pub struct TextAt<'a> {
    /// The event.
    pub seq: Seq,
    /// The kind of the event, such as `tool.settled`.
    pub kind: &'a str,
    /// The RFC 6901 pointer of the text in the export form of the event.
    pub place: &'a str,
    /// The text; `None` if it is withheld or erased already.
    pub text: Option<&'a str>,
}

impl Batch {
    /// The batch after `decide` chose for each text whether it is kept, disclosed with a key of its own, or left out. Its digest is
    /// the same. The key of the session is not in it any more. `blobs` gives the texts of blobs; those that are disclosed are
    /// inline in the result.
    pub fn disclose(
        &self,
        key: Option<&SessionKey>,
        blobs: &dyn Blobs,
        decide: &mut dyn FnMut(TextAt<'_>) -> Disclosure,
    ) -> Result<Self, DiscloseError> {
        let canonical = self.to_canonical_with(blobs)?;
        let unreadable = |error: serde_json::Error| CanonicalError::Unsupported(error.to_string());
        let mut line: Value = serde_json::from_str(&canonical).map_err(unreadable)?;
        visit_texts(&mut line, &mut |seq, place, found| {
            let event = self.events.get(usize::try_from(seq.0 - self.first.0).unwrap_or(usize::MAX));
            let kind = event.map_or("", |event| event.kind().name());
            let own = key.map(|key| key.text_key(seq, place));
            let (text, key) = match found {
                ExportedText::Text(text) => (text, own),
                ExportedText::Disclosed { key, text } => (text, Some(key)),
                ExportedText::Blob(named) => {
                    let text = blobs.text(&named.blob).filter(|text| text.len() as u64 == named.bytes);
                    (text.ok_or(CanonicalError::MissingBlob(named.blob))?, own)
                }
                ExportedText::Withheld(_) => {
                    decide(TextAt { seq, kind, place, text: None });
                    return Ok(None);
                }
            };
            let key = || key.ok_or(CanonicalError::NoKey);
            Ok::<_, CanonicalError>(match decide(TextAt { seq, kind, place, text: Some(&text) }) {
                Disclosure::Keep => None,
                Disclosure::Disclose => Some(json!({"key": key()?, "text": text})),
                Disclosure::Withhold => Some(json!(AbsentText::of(&text, &key()?))),
            })
        })?;
        Ok(Self::from_json(line)?)
    }
}

#[cfg(test)]
pub(crate) mod tests;
