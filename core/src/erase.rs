//! A batch after some of its texts were erased (`docs/reference/erasure.md`).

use crate::absent::{AbsentText, KnownText, TextState, state_of};
use crate::batch::Batch;
use crate::canonical::CanonicalError;
use crate::commitment::{SessionKey, TextKey};
use crate::disclose::DiscloseError;
use crate::event::Event;
use crate::exported::{ExportedText, visit_texts};
use crate::seq::Seq;
use crate::text::Blobs;
use alloc::string::ToString;
use alloc::vec::Vec;
use serde_json::{Value, json};

impl Batch {
    /// The batch after the texts that `is_erased` names are gone. Its digest is the same: commitments take their place. Every
    /// other text gets the key of its own, and the key that the batch brings for its session is not in it any more.
    ///
    /// Texts may be inline in the result that were blobs: [`Batch::pack`] moves them back. A text that was erased or withheld before
    /// stays so. `key` is the key of the session when the batch was appended; `blobs` gives the texts of erased blobs.
    ///
    /// # Errors
    /// See [`DiscloseError`]; nothing is erased then.
    pub fn erase(
        &self,
        key: Option<&SessionKey>,
        blobs: &dyn Blobs,
        is_erased: &dyn Fn(Seq, &str) -> bool,
    ) -> Result<Self, DiscloseError> {
        let canonical = self.to_canonical_with(blobs)?;
        let unreadable = |error: serde_json::Error| CanonicalError::Unsupported(error.to_string());
        let mut line: Value = serde_json::from_str(&canonical).map_err(unreadable)?;
        let mut kept_blobs = Vec::new();
        let event_of = |seq: Seq| u32::try_from(seq.0.saturating_sub(self.first.0)).unwrap_or(u32::MAX);
        visit_texts(&mut line, &mut |seq, place, found| {
            let own = |given: Option<TextKey>| {
                given.or_else(|| key.map(|key| key.text_key(seq, place))).ok_or(CanonicalError::NoKey)
            };
            let gone = |text: &str, key: &TextKey| {
                let AbsentText { bytes, chars, commitment, .. } = AbsentText::of(text, key);
                json!({"bytes": bytes, "chars": chars, "commitment": commitment, "erased": true})
            };
            let (text, given) = match found {
                ExportedText::Text(text) => (text, None),
                ExportedText::Disclosed { key, text } => (text, Some(key)),
                ExportedText::Blob(named) if is_erased(seq, place) => {
                    let text = blobs.text(&named.blob).filter(|text| text.len() as u64 == named.bytes);
                    (text.ok_or(CanonicalError::MissingBlob(named.blob))?, None)
                }
                ExportedText::Blob(_) => {
                    kept_blobs.push(TextState {
                        event: event_of(seq),
                        place: place.into(),
                        known: KnownText::Disclosed(own(None)?),
                    });
                    return Ok(None);
                }
                ExportedText::Withheld(AbsentText { bytes, chars, commitment, .. }) => {
                    let known = state_of(&self.states, event_of(seq), place);
                    let erased = matches!(known, Some(KnownText::Absent(absent)) if absent.erased);
                    let absent = json!({"bytes": bytes, "chars": chars, "commitment": commitment, "erased": true});
                    return Ok((erased || is_erased(seq, place)).then_some(absent));
                }
            };
            let key = own(given)?;
            Ok::<_, CanonicalError>(Some(match is_erased(seq, place) {
                true => gone(&text, &key),
                false => json!({"key": key, "text": text}),
            }))
        })?;
        let mut erased = Self::from_json(line)?;
        erased.states.extend(kept_blobs);
        erased.states.sort_unstable_by(|a, b| (a.event, &a.place).cmp(&(b.event, &b.place)));
        erased.events.first_mut().into_iter().for_each(Event::drop_key);
        Ok(erased)
    }

    /// Whether it holds the same facts as `other`, as far as can be said without the key of the session: a text that is absent in
    /// one of them agrees with one that has this commitment, if the text brings a key of its own, else with one of the same length.
    pub fn agrees(&self, other: &Self, blobs: &dyn Blobs) -> Result<bool, CanonicalError> {
        let line = |batch: &Self| {
            let unreadable = |error: serde_json::Error| CanonicalError::Unsupported(error.to_string());
            let mut line: Value = serde_json::from_str(&batch.to_canonical_with(blobs)?).map_err(unreadable)?;
            line.as_object_mut().map(|members| (members.remove("digest"), members.remove("prev")));
            Ok(line)
        };
        agree(&line(self)?, &line(other)?, blobs)
    }

    /// Whether each of its texts is proved without the key of its session: erased, withheld, or with a key of its own.
    pub fn has_own_keys(&self, blobs: &dyn Blobs) -> Result<bool, CanonicalError> {
        match self.compute_digest(None, blobs) {
            Ok(_) => Ok(self.session_key().is_none()),
            Err(CanonicalError::NoKey) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn agree(a: &Value, b: &Value, blobs: &dyn Blobs) -> Result<bool, CanonicalError> {
    match (ExportedText::of(a), ExportedText::of(b)) {
        (Some(a), Some(b)) => texts_agree(&a, &b, blobs),
        (None, None) => match (a, b) {
            (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
                for (name, a) in a {
                    let Some(b) = b.get(name) else { return Ok(false) };
                    if !agree(a, b, blobs)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                for (a, b) in a.iter().zip(b) {
                    if !agree(a, b, blobs)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Ok(a == b),
        },
        _ => Ok(false),
    }
}

fn texts_agree(a: &ExportedText, b: &ExportedText, blobs: &dyn Blobs) -> Result<bool, CanonicalError> {
    use ExportedText::{Blob, Disclosed, Text, Withheld};
    let lengths = |text: &ExportedText| match text {
        Text(text) | Disclosed { text, .. } => (text.len() as u64, text.chars().count() as u64),
        Blob(named) => (named.bytes, named.chars),
        Withheld(absent) => (absent.bytes, absent.chars),
    };
    if lengths(a) != lengths(b) {
        return Ok(false);
    }
    let whole = |text: &ExportedText| match text {
        Text(text) | Disclosed { text, .. } => Ok(Some(text.clone())),
        Blob(named) => blobs.text(&named.blob).map(Some).ok_or(CanonicalError::MissingBlob(named.blob)),
        Withheld(_) => Ok(None),
    };
    match (a, b) {
        (Blob(a), Blob(b)) => Ok(a == b),
        (Withheld(a), Withheld(b)) => Ok(a == b),
        (Disclosed { key, text }, Withheld(absent)) | (Withheld(absent), Disclosed { key, text }) => {
            Ok(key.commit(text) == absent.commitment)
        }
        _ => Ok(match (whole(a)?, whole(b)?) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        }),
    }
}

#[cfg(test)]
mod tests;
