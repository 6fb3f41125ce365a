//! How texts are written, and where in its event each one is.

use super::CanonicalError;
use super::writer::Writer;
use crate::commitment::{Commitment, SessionKey};
use crate::seq::Seq;
use crate::text::{BlobRef, Blobs};
use alloc::string::String;
use serde::ser::Serialize;

/// How texts are written.
pub(super) enum TextForm<'w> {
    /// As strings; a blob as `{"blob", "bytes", "chars"}`. For people and for views.
    Plain,
    /// As `{"text"}`; a blob as in [`TextForm::Plain`].
    Exported {
        /// Whether the next string is a text.
        text: bool,
    },
    /// As `{"bytes", "chars", "commitment"}`.
    Committed(Committing<'w>),
}

/// What commitments are made from.
pub(super) struct Committing<'w> {
    key: &'w SessionKey,
    blobs: &'w dyn Blobs,
    /// The Seq of the event that is written.
    seq: Seq,
    /// The Seq of the event after it.
    next: Seq,
    /// Where in the event the value is that is written (RFC 6901).
    place: String,
    /// Whether the next string is a text.
    text: bool,
}

impl<'w> TextForm<'w> {
    pub(super) fn committed(first: Seq, key: &'w SessionKey, blobs: &'w dyn Blobs) -> Self {
        Self::Committed(Committing {
            key,
            blobs,
            seq: first,
            next: first,
            place: String::with_capacity(64),
            text: false,
        })
    }

    pub(super) fn keeps_places(&self) -> bool {
        matches!(self, Self::Committed(_))
    }

    /// An event begins: places are those in it.
    pub(super) fn begin_event(&mut self) {
        if let Self::Committed(form) = self {
            form.place.clear();
            form.seq = form.next;
            form.next = form.next.plus(1);
        }
    }

    /// How long the place is.
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Committed(form) => form.place.len(),
            _ => 0,
        }
    }

    /// Enters a member of an object.
    pub(super) fn enter(&mut self, member: &str) {
        if let Self::Committed(form) = self {
            push_member(&mut form.place, member);
        }
    }

    /// Enters an item of an array.
    pub(super) fn enter_item(&mut self, index: usize) {
        if let Self::Committed(form) = self {
            push_index(&mut form.place, index);
        }
    }

    /// Goes back to the place that was `depth` long.
    pub(super) fn leave(&mut self, depth: usize) {
        if let Self::Committed(form) = self {
            form.place.truncate(depth);
        }
    }

    /// The next string is a text.
    pub(super) fn next_is_text(&mut self) {
        match self {
            Self::Plain => {}
            Self::Exported { text } | Self::Committed(Committing { text, .. }) => *text = true,
        }
    }

    /// Whether the string that comes is a text.
    pub(super) fn take_text(&mut self) -> bool {
        match self {
            Self::Plain => false,
            Self::Exported { text } | Self::Committed(Committing { text, .. }) => core::mem::take(text),
        }
    }
}

impl Writer<'_> {
    /// Writes a text, not in [`TextForm::Plain`].
    pub(super) fn text(&mut self, text: &str) -> Result<(), CanonicalError> {
        if let TextForm::Committed(form) = &self.form {
            let commitment = form.key.text_key(form.seq, &form.place).commit(text);
            return self.commitment(text.len() as u64, text.chars().count() as u64, &commitment);
        }
        self.out.push_str("{\"text\":");
        self.string(text);
        self.out.push('}');
        Ok(())
    }

    /// Commits to a text that is a blob.
    pub(super) fn blob<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        let TextForm::Committed(form) = &self.form else { return value.serialize(self) };
        let unsupported = |error: serde_json::Error| CanonicalError::Unsupported(alloc::format!("{error}"));
        let named: BlobRef = serde_json::from_str(&super::own(value)?).map_err(unsupported)?;
        let text = form.blobs.text(&named.blob).ok_or(CanonicalError::MissingBlob(named.blob))?;
        let commitment = form.key.text_key(form.seq, &form.place).commit(&text);
        self.commitment(named.bytes, named.chars, &commitment)
    }

    fn commitment(&mut self, bytes: u64, chars: u64, commitment: &Commitment) -> Result<(), CanonicalError> {
        self.out.push_str("{\"bytes\":");
        self.whole(false, bytes)?;
        self.out.push_str(",\"chars\":");
        self.whole(false, chars)?;
        self.out.push_str(",\"commitment\":");
        commitment.serialize(&mut *self)?;
        self.out.push('}');
        Ok(())
    }
}

/// Adds a member of an object to an RFC 6901 pointer.
pub(crate) fn push_member(place: &mut String, member: &str) {
    place.push('/');
    for part in member.split_inclusive(['~', '/']) {
        match (part.strip_suffix('~'), part.strip_suffix('/')) {
            (Some(before), _) => {
                place.push_str(before);
                place.push_str("~0");
            }
            (_, Some(before)) => {
                place.push_str(before);
                place.push_str("~1");
            }
            _ => place.push_str(part),
        }
    }
}

/// Adds an item of an array to an RFC 6901 pointer.
pub(crate) fn push_index(place: &mut String, index: usize) {
    place.push('/');
    let (mut digits, mut at, mut rest) = ([0; 20], 20, index);
    while at == 20 || rest > 0 {
        at -= 1;
        if let Some(digit) = digits.get_mut(at) {
            *digit = b'0' + (rest % 10) as u8;
        }
        rest /= 10;
    }
    place.push_str(digits.get(at..).and_then(|digits| str::from_utf8(digits).ok()).unwrap_or_default());
}
