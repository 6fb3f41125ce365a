//! Texts that are not in a batch any more, or whose key is stored with them (`docs/reference/digest.md#withheld-and-erased-texts`).

use crate::commitment::{Commitment, SessionKey, TextKey};
use crate::digest::NO_HASH;
use crate::seq::Seq;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use serde::{Deserialize, Serialize};
use wincode::{SchemaRead, SchemaWrite};

/// A text that was withheld or erased: its lengths, and the commitment that the digest holds.
///
/// In JSON `{bytes, chars, commitment}`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, SchemaRead, SchemaWrite)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AbsentText {
    /// Length in bytes of UTF-8.
    pub bytes: u64,
    /// Length in Unicode scalar values.
    pub chars: u64,
    /// The commitment to it.
    pub commitment: Commitment,
    /// Whether it was erased from this log. Known to the log alone: an export says it by `texts.erased`.
    #[serde(default, skip_serializing)]
    pub erased: bool,
}

/// Two logs may hold the same fact, and only one of them know why the text is absent.
impl PartialEq for AbsentText {
    fn eq(&self, other: &Self) -> bool {
        (self.bytes, self.chars, self.commitment) == (other.bytes, other.chars, other.commitment)
    }
}

impl Eq for AbsentText {}

impl Hash for AbsentText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.bytes, self.chars, self.commitment).hash(state);
    }
}

impl AbsentText {
    /// What a text of this key leaves behind.
    pub fn of(text: &str, key: &TextKey) -> Self {
        let (bytes, chars) = (text.len() as u64, text.chars().count() as u64);
        Self { bytes, chars, commitment: key.commit(text), erased: false }
    }
}

impl AbsentText {
    /// Whether a field that is a string or a hash in memory holds what this text leaves there: its note, or [`NO_HASH`].
    pub(crate) fn is_left_as(&self, field: &str) -> bool {
        let of_hash = self.bytes == 64 && self.chars == 64;
        field == self.to_string() || (of_hash && field.parse() == Ok(NO_HASH))
    }
}

/// The note that views show in its place: `[withheld: 1,204 characters]`, or `[erased: 1,204 characters]`.
impl fmt::Display for AbsentText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.chars.to_string();
        f.write_str(if self.erased { "[erased: " } else { "[withheld: " })?;
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        f.write_str(if self.chars == 1 { " character]" } else { " characters]" })
    }
}

/// What a batch holds about one of its texts when the key of the session does not prove it.
#[derive(Clone, Debug, PartialEq, Eq, SchemaRead, SchemaWrite)]
pub struct TextState {
    /// Which event of the batch, from 0.
    pub event: u32,
    /// The RFC 6901 pointer of the text in the export form of the event.
    pub place: String,
    /// What is known.
    pub known: KnownText,
}

/// What is known of a text without the key of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SchemaRead, SchemaWrite)]
pub enum KnownText {
    /// The text is in the event, and this is its key.
    Disclosed(TextKey),
    /// The text was withheld or erased.
    Absent(AbsentText),
}

/// The states of the texts of a batch, in order of event and place. Empty in a session whose key is known and that erased nothing.
pub type TextStates = Vec<TextState>;

/// The state of one text.
pub(crate) fn state_of(states: &[TextState], event: u32, place: &str) -> Option<KnownText> {
    let found = states.binary_search_by(|state| (state.event, state.place.as_str()).cmp(&(event, place)));
    found.ok().and_then(|at| states.get(at)).map(|state| state.known)
}

/// The key that a text was committed with.
pub(crate) fn key_of(known: Option<KnownText>, key: Option<&SessionKey>, seq: Seq, place: &str) -> Option<TextKey> {
    match known {
        Some(KnownText::Disclosed(key)) => Some(key),
        _ => key.map(|key| key.text_key(seq, place)),
    }
}
