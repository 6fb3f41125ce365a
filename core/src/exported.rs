//! Texts in the lines of an export: what they look like, without knowing any kind of event (`fixtures/FORMAT.md`).

use crate::absent::{AbsentText, KnownText, TextState, TextStates};
use crate::canonical::{self, push_index, push_member};
use crate::commitment::{Commitment, SessionKey, TextKey};
use crate::digest::{BlobHash, Digest};
use crate::seq::Seq;
use crate::text::{BlobRef, Blobs};
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::{Value, json};

/// A text in an export line: an object with exactly the members of one of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportedText {
    /// `{"text"}`: the text, of a session whose key is in the header.
    Text(String),
    /// `{"blob", "bytes", "chars"}`: it is on a blob line before.
    Blob(BlobRef),
    /// `{"bytes", "chars", "commitment"}`: withheld or erased.
    Withheld(AbsentText),
    /// `{"key", "text"}`: the text, with the key of this text alone.
    Disclosed {
        /// The key of the text.
        key: TextKey,
        /// The text.
        text: String,
    },
}

impl ExportedText {
    /// The text that a value is; `None` for any other value.
    pub fn of(value: &Value) -> Option<Self> {
        let members = value.as_object()?;
        let text = |name| members.get(name).and_then(Value::as_str);
        let digest = |name| text(name).and_then(|text| text.parse::<Digest>().ok());
        let number = |name| members.get(name).and_then(Value::as_u64);
        match members.len() {
            1 => text("text").map(|text| Self::Text(text.into())),
            2 => Some(Self::Disclosed { key: TextKey(digest("key")?.0), text: text("text")?.into() }),
            3 => {
                let (bytes, chars) = (number("bytes")?, number("chars")?);
                match (digest("blob"), digest("commitment")) {
                    (Some(blob), _) => Some(Self::Blob(BlobRef { blob, bytes, chars })),
                    (_, Some(commitment)) => {
                        Some(Self::Withheld(AbsentText { bytes, chars, commitment, erased: false }))
                    }
                    _ => None,
                }
            }
            // No line of a file has it (it is not canonical): the log writes a batch so before it reads the erased form back.
            4 if members.get("erased") == Some(&Value::Bool(true)) => {
                let (bytes, chars, commitment) = (number("bytes")?, number("chars")?, digest("commitment")?);
                Some(Self::Withheld(AbsentText { bytes, chars, commitment, erased: true }))
            }
            _ => None,
        }
    }
}

/// What a visitor of texts returns: what replaces the text, `None` to keep it, or why the visit ends.
pub type ReplacedText<E> = Result<Option<Value>, E>;

/// Calls `visit` for every text in the events of a batch line: its Seq, its place in the event, and its kind. The text
/// that `visit` returns replaces it; `None` leaves it.
///
/// # Errors
/// The first error of `visit`.
pub fn visit_texts<E>(
    line: &mut Value,
    visit: &mut dyn FnMut(Seq, &str, ExportedText) -> ReplacedText<E>,
) -> Result<(), E> {
    let first = line.get("first").and_then(Value::as_u64).unwrap_or_default();
    let Some(Value::Array(events)) = line.get_mut("events") else { return Ok(()) };
    // A line from outside may claim any place.
    for (number, event) in events.iter_mut().enumerate() {
        let seq = Seq(first).plus(number as u64);
        walk(event, &mut String::new(), &mut |place, text| visit(seq, place, text))?;
    }
    Ok(())
}

fn walk<E>(
    value: &mut Value,
    place: &mut String,
    visit: &mut dyn FnMut(&str, ExportedText) -> ReplacedText<E>,
) -> Result<(), E> {
    let depth = place.len();
    if let Some(text) = ExportedText::of(value) {
        if let Some(other) = visit(place, text)? {
            *value = other;
        }
        return Ok(());
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                push_member(place, name);
                walk(member, place, visit)?;
                place.truncate(depth);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                push_index(place, index);
                walk(item, place, visit)?;
                place.truncate(depth);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Why the digest of a batch line cannot be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unprovable {
    /// A text has no key of its own, and the key of the session is missing or another.
    #[error("the key of the session is missing or wrong")]
    Key,
    /// A blob is missing or has another text.
    #[error("blob {0} is missing or damaged")]
    Blob(BlobHash),
}

/// The digest that a batch line must carry, by the rule of `fixtures/FORMAT.md` alone. `blobs` gives sound texts only.
///
/// # Errors
/// See [`Unprovable`].
pub fn digest_of_line(line: &Value, key: Option<&SessionKey>, blobs: &dyn Blobs) -> Result<Digest, Unprovable> {
    let mut hashed = line.clone();
    if let Value::Object(members) = &mut hashed {
        members.remove("digest");
    }
    visit_texts(&mut hashed, &mut |seq, place, text| {
        let of_session = || key.map(|key| key.text_key(seq, place)).ok_or(Unprovable::Key);
        Ok(Some(match text {
            ExportedText::Text(text) => committed(&text, of_session()?.commit(&text)),
            ExportedText::Disclosed { key, text } => committed(&text, key.commit(&text)),
            ExportedText::Blob(BlobRef { blob, bytes, chars }) => {
                let key = of_session()?;
                let commitment = key.commit(&blobs.text(&blob).ok_or(Unprovable::Blob(blob))?);
                json!({"bytes": bytes, "chars": chars, "commitment": commitment})
            }
            ExportedText::Withheld(_) => return Ok(None),
        }))
    })?;
    Ok(Digest::of(canonical::value(&hashed).as_bytes()))
}

fn committed(text: &str, commitment: Commitment) -> Value {
    json!({"bytes": text.len(), "chars": text.chars().count(), "commitment": commitment})
}

/// What a batch line says of its texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineTexts {
    /// How many there are, withheld ones included.
    pub count: u64,
    /// The blobs that they are.
    pub blobs: Vec<BlobRef>,
}

/// Makes every `{"text"}` and `{"key", "text"}` of a batch line the text alone, the form that events are read from. Gives what the
/// line says of all its texts, and of those that are withheld or disclosed.
pub(crate) fn make_plain(line: &mut Value) -> (LineTexts, TextStates) {
    let (mut found, mut states) = (LineTexts::default(), TextStates::new());
    if let Some(Value::Array(events)) = line.get_mut("events") {
        for (event, value) in (0..).zip(events) {
            plain(value, event, &mut String::new(), &mut found, &mut states);
        }
    }
    states.sort_unstable_by(|a, b| (a.event, &a.place).cmp(&(b.event, &b.place)));
    (found, states)
}

fn plain(value: &mut Value, event: u32, place: &mut String, found: &mut LineTexts, states: &mut TextStates) {
    let depth = place.len();
    match value {
        // The usual form, without a copy.
        Value::Object(members) if members.len() == 1 && members.get("text").is_some_and(Value::is_string) => {
            found.count += 1;
            if let Some(text) = members.remove("text") {
                *value = text;
            }
        }
        Value::Object(members) if members.len() <= 4 => {
            let note = |known| TextState { event, place: place.as_str().into(), known };
            let text = ExportedText::of(value);
            found.count += u64::from(text.is_some());
            match text {
                Some(ExportedText::Text(text)) => *value = Value::String(text),
                Some(ExportedText::Disclosed { key, text }) => {
                    states.push(note(KnownText::Disclosed(key)));
                    *value = Value::String(text);
                }
                Some(ExportedText::Blob(blob)) => found.blobs.push(blob),
                Some(ExportedText::Withheld(absent)) => states.push(note(KnownText::Absent(absent))),
                None => {
                    plain_members(value, event, place, found, states);
                }
            }
        }
        Value::Object(_) => plain_members(value, event, place, found, states),
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                push_index(place, index);
                plain(item, event, place, found, states);
                place.truncate(depth);
            }
        }
        _ => {}
    }
}

fn plain_members(value: &mut Value, event: u32, place: &mut String, found: &mut LineTexts, states: &mut TextStates) {
    let depth = place.len();
    for (name, member) in value.as_object_mut().into_iter().flatten() {
        if matches!(member, Value::Object(_) | Value::Array(_)) {
            push_member(place, name);
            plain(member, event, place, found, states);
            place.truncate(depth);
        }
    }
}

#[cfg(test)]
mod tests;
