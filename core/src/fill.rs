//! A batch with texts that it lacked (`docs/reference/erasure.md#filling-in`).

use crate::absent::{AbsentText, KnownText, state_of};
use crate::batch::Batch;
use crate::canonical::CanonicalError;
use crate::commitment::{SessionKey, TextKey};
use crate::event::{DecodeError, Event};
use crate::exported::{ExportedText, visit_texts};
use crate::id::SessionId;
use crate::seq::Seq;
use crate::text::Blobs;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use serde_json::{Value, json};

/// A batch could not be filled in from another copy of it; it is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    /// A text is not the one that was withheld.
    #[error("session {session}, event {seq}: the text at {place} does not match its commitment")]
    Text {
        /// The session.
        session: SessionId,
        /// The event.
        seq: Seq,
        /// The RFC 6901 pointer of the text in the export form of the event.
        place: String,
    },
    /// The two are different batches, or the digest would change.
    #[error("session {session}, event {seq}: the batch has another digest")]
    Other {
        /// The session.
        session: SessionId,
        /// The first event of the batch.
        seq: Seq,
    },
    /// A blob cannot be read, or a text has no key.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// The batch does not read back: a defect of this program.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// The keys that a batch is filled in with.
#[derive(Clone, Copy, Debug, Default)]
pub struct FillKeys<'a> {
    /// The key of the session at this batch, if the filled batch may hold it: its texts then need no keys of their own.
    pub kept: Option<&'a SessionKey>,
    /// The key that proves the texts of the fuller batch.
    pub fuller: Option<&'a SessionKey>,
}

/// A batch that was filled in.
#[derive(Clone, Debug)]
pub struct FilledBatch {
    /// The batch, with the same digest.
    pub batch: Batch,
    /// How many texts it got.
    pub texts: u64,
    /// Whether it brings the key of its session and did not before.
    pub key: bool,
}

impl Batch {
    /// The batch with the withheld texts that `fuller`, another copy of it, has; `None` when there is nothing to add. Its digest is
    /// the same. A text for which `is_erased` holds, or whose state says so, is not filled in. Texts may be inline in the result that
    /// were blobs: [`Batch::pack`] moves them back.
    ///
    /// # Errors
    /// [`FillError::Text`] for a text that does not match its commitment; see [`FillError`].
    pub fn fill(
        &self,
        fuller: &Self,
        keys: FillKeys<'_>,
        blobs: &dyn Blobs,
        is_erased: &dyn Fn(Seq, &str) -> bool,
    ) -> Result<Option<FilledBatch>, FillError> {
        let (session, first) = (self.session, self.first);
        let other = FillError::Other { session, seq: first };
        if (fuller.session, fuller.first, fuller.digest) != (session, first, self.digest) {
            return Err(other);
        }
        let mut given = texts_by_place(fuller, blobs)?;
        let mut line = line_of(self, blobs)?;
        let (mut texts, event_of) = (0, |seq: Seq| u32::try_from(seq.0.saturating_sub(first.0)).unwrap_or(u32::MAX));
        visit_texts(&mut line, &mut |seq, place, found| {
            let given = given.remove(&(seq, place.to_string()));
            let absent = match found {
                ExportedText::Text(_) | ExportedText::Blob(_) => return Ok(None),
                // The key of the session proves it from now on.
                ExportedText::Disclosed { text, .. } => {
                    return Ok(keys.kept.is_some().then(|| plain(&given, &text)));
                }
                ExportedText::Withheld(absent) => absent,
            };
            let known = state_of(&self.states, event_of(seq), place);
            if matches!(known, Some(KnownText::Absent(absent)) if absent.erased) {
                let AbsentText { bytes, chars, commitment, .. } = absent;
                return Ok(Some(json!({"bytes": bytes, "chars": chars, "commitment": commitment, "erased": true})));
            }
            if is_erased(seq, place) {
                return Ok(None);
            }
            let Some((text, key)) = read(&given, keys.fuller, seq, place, blobs)? else { return Ok(None) };
            if AbsentText::of(&text, &key) != absent {
                return Err(FillError::Text { session, seq, place: place.into() });
            }
            texts += 1;
            Ok(Some(match keys.kept {
                Some(_) => plain(&given, &text),
                None => json!({"key": key, "text": text}),
            }))
        })?;
        let mut batch = Self::from_json(line)?;
        let own = self.session_key();
        let stored = batch.events.first().and_then(Event::stored_key).map(|stored| stored.hash);
        let brought = own.or(keys.kept.copied()).filter(|key| stored == Some(key.hash()));
        if let (Some(event), Some(key)) = (batch.events.first_mut(), brought) {
            event.set_key(key);
        }
        let key = brought.is_some() && own.is_none();
        if texts == 0 && !key && batch.states == self.states {
            return Ok(None);
        }
        match batch.compute_digest(keys.kept, blobs)? == self.digest {
            true => Ok(Some(FilledBatch { batch, texts, key })),
            false => Err(other),
        }
    }
}

fn line_of(batch: &Batch, blobs: &dyn Blobs) -> Result<Value, FillError> {
    let unreadable = |error: serde_json::Error| CanonicalError::Unsupported(error.to_string());
    Ok(serde_json::from_str(&batch.to_canonical_with(blobs)?).map_err(unreadable)?)
}

fn texts_by_place(batch: &Batch, blobs: &dyn Blobs) -> Result<BTreeMap<(Seq, String), ExportedText>, FillError> {
    let mut texts = BTreeMap::new();
    visit_texts(&mut line_of(batch, blobs)?, &mut |seq, place, text| {
        texts.insert((seq, place.to_string()), text);
        Ok::<_, FillError>(None)
    })?;
    Ok(texts)
}

/// A text without a key of its own, as a blob where the fuller batch has one.
fn plain(given: &Option<ExportedText>, text: &str) -> Value {
    match given {
        Some(ExportedText::Blob(named)) => json!({"blob": named.blob, "bytes": named.bytes, "chars": named.chars}),
        _ => json!({"text": text}),
    }
}

/// A text and its key; `None` where the fuller batch does not have it either.
fn read(
    given: &Option<ExportedText>,
    key: Option<&SessionKey>,
    seq: Seq,
    place: &str,
    blobs: &dyn Blobs,
) -> Result<Option<(String, TextKey)>, CanonicalError> {
    let of_session = || key.map(|key| key.text_key(seq, place)).ok_or(CanonicalError::NoKey);
    Ok(match given {
        Some(ExportedText::Text(text)) => Some((text.clone(), of_session()?)),
        Some(ExportedText::Disclosed { key, text }) => Some((text.clone(), *key)),
        Some(ExportedText::Blob(named)) => {
            let text = blobs.text(&named.blob).ok_or(CanonicalError::MissingBlob(named.blob))?;
            Some((text, of_session()?))
        }
        Some(ExportedText::Withheld(_)) | None => None,
    })
}

#[cfg(test)]
mod tests;
