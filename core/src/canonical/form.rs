//! How texts are written, and where in its event each one is.

use super::CanonicalError;
use super::writer::Writer;
use crate::absent::{AbsentText, KnownText, TextState, key_of, state_of};
use crate::commitment::SessionKey;
use crate::seq::Seq;
use crate::text::{BlobRef, Blobs, NoBlobs};
use alloc::string::String;
use serde::ser::Serialize;

/// How texts are written.
pub(super) enum TextForm<'w> {
    /// As strings; a blob as `{"blob", "bytes", "chars"}`. For people and for views.
    Plain,
    /// As objects that say that they are texts: for exports and digests.
    Marked(Marked<'w>),
}

/// What texts are written for, where they are written as objects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextPurpose {
    /// For an export.
    Export,
    /// For a digest: every text is written as its commitment.
    Digest,
    /// To compare the events with the states of their texts: what is written does not matter.
    Check,
}

/// How texts are written in exports and digests, and the place of the value that is written.
pub(super) struct Marked<'w> {
    purpose: TextPurpose,
    key: Option<&'w SessionKey>,
    blobs: &'w dyn Blobs,
    states: &'w [TextState],
    /// How many of the states were applied.
    applied: usize,
    /// The Seq of the first event.
    first: Seq,
    /// How many events have begun.
    begun: u32,
    /// Where in the event the value is that is written (RFC 6901).
    place: String,
    /// Whether the next string is a text.
    text: bool,
    /// How many texts were written.
    texts: u64,
}

impl<'w> TextForm<'w> {
    /// The form of exports: `{"text"}`, `{"blob", "bytes", "chars"}`, `{"key", "text"}`, `{"bytes", "chars", "commitment"}`.
    pub(super) fn exported(states: &'w [TextState], blobs: &'w dyn Blobs) -> Self {
        Self::marked(TextPurpose::Export, Seq::ZERO, None, states, blobs)
    }

    /// The form that digests are made over: `{"bytes", "chars", "commitment"}`.
    pub(super) fn committed(
        first: Seq,
        key: Option<&'w SessionKey>,
        states: &'w [TextState],
        blobs: &'w dyn Blobs,
    ) -> Self {
        Self::marked(TextPurpose::Digest, first, key, states, blobs)
    }

    /// A form that is only good for finding states that do not fit the events.
    pub(super) fn checked(states: &'w [TextState]) -> Self {
        Self::marked(TextPurpose::Check, Seq::ZERO, None, states, &NoBlobs)
    }

    fn marked(
        purpose: TextPurpose,
        first: Seq,
        key: Option<&'w SessionKey>,
        states: &'w [TextState],
        blobs: &'w dyn Blobs,
    ) -> Self {
        let place = String::with_capacity(64);
        Self::Marked(Marked { purpose, key, blobs, states, applied: 0, first, begun: 0, place, text: false, texts: 0 })
    }

    /// The form whose places are kept.
    fn placed(&mut self) -> Option<&mut Marked<'w>> {
        match self {
            Self::Marked(form) if form.purpose == TextPurpose::Digest || !form.states.is_empty() => Some(form),
            _ => None,
        }
    }

    /// Whether every state was applied to a text.
    ///
    /// # Errors
    /// The first one that was not, if a text has none of its kind.
    pub(super) fn end(&self) -> Result<(), CanonicalError> {
        match self {
            Self::Marked(form) if form.applied < form.states.len() => Err(CanonicalError::StrayState),
            _ => Ok(()),
        }
    }

    /// How many texts were written.
    pub(super) fn texts(&self) -> u64 {
        match self {
            Self::Marked(form) => form.texts,
            Self::Plain => 0,
        }
    }

    pub(super) fn is_marked(&self) -> bool {
        matches!(self, Self::Marked(_))
    }

    pub(super) fn keeps_places(&mut self) -> bool {
        self.placed().is_some()
    }

    /// An event begins: places are those in it.
    pub(super) fn begin_event(&mut self) {
        if let Self::Marked(form) = self {
            form.place.clear();
            form.begun = form.begun.saturating_add(1);
        }
    }

    /// How long the place is.
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Marked(form) => form.place.len(),
            Self::Plain => 0,
        }
    }

    /// Enters a member of an object.
    pub(super) fn enter(&mut self, member: &str) {
        if let Some(form) = self.placed() {
            push_member(&mut form.place, member);
        }
    }

    /// Enters an item of an array.
    pub(super) fn enter_item(&mut self, index: usize) {
        if let Some(form) = self.placed() {
            push_index(&mut form.place, index);
        }
    }

    /// Goes back to the place that was `depth` long.
    pub(super) fn leave(&mut self, depth: usize) {
        if let Self::Marked(form) = self {
            form.place.truncate(depth);
        }
    }

    /// The next string is a text.
    pub(super) fn next_is_text(&mut self) {
        if let Self::Marked(form) = self {
            form.text = true;
        }
    }

    /// Whether the string that comes is a text.
    pub(super) fn take_text(&mut self) -> bool {
        match self {
            Self::Marked(form) => core::mem::take(&mut form.text),
            Self::Plain => false,
        }
    }
}

impl Marked<'_> {
    /// What the batch holds about the text at the current place.
    fn known(&mut self) -> Option<KnownText> {
        self.texts += 1;
        if self.states.is_empty() {
            return None;
        }
        let known = state_of(self.states, self.begun.saturating_sub(1), &self.place);
        self.applied += usize::from(known.is_some());
        known
    }

    /// The text at the current place is not what the batch holds about it.
    fn disagrees(&self) -> CanonicalError {
        let event = u64::from(self.begun.saturating_sub(1));
        CanonicalError::StateDisagrees { event, place: self.place.clone() }
    }

    /// What the digest holds of the text at the current place.
    fn commit(&self, known: Option<KnownText>, text: &str) -> Result<AbsentText, CanonicalError> {
        let seq = self.first.plus(u64::from(self.begun.saturating_sub(1)));
        let key = key_of(known, self.key, seq, &self.place).ok_or(CanonicalError::NoKey)?;
        Ok(AbsentText::of(text, &key))
    }
}

impl Writer<'_> {
    /// Writes a text, not in [`TextForm::Plain`].
    pub(super) fn text(&mut self, text: &str) -> Result<(), CanonicalError> {
        let TextForm::Marked(form) = &mut self.form else {
            self.string(text);
            return Ok(());
        };
        match (form.known(), form.purpose) {
            (Some(KnownText::Absent(absent)), _) if absent.is_left_as(text) => self.absent(&absent),
            (Some(KnownText::Absent(_)), _) => Err(form.disagrees()),
            (known, TextPurpose::Digest) => {
                let committed = form.commit(known, text)?;
                self.absent(&committed)
            }
            (known, TextPurpose::Export | TextPurpose::Check) => self.readable(known, text),
        }
    }

    /// Writes a text that is not withheld, with its own key if it has one.
    fn readable(&mut self, known: Option<KnownText>, text: &str) -> Result<(), CanonicalError> {
        self.out.push('{');
        if let Some(KnownText::Disclosed(key)) = known {
            self.out.push_str("\"key\":");
            key.serialize(&mut *self)?;
            self.out.push(',');
        }
        self.out.push_str("\"text\":");
        self.string(text);
        self.out.push('}');
        Ok(())
    }

    /// Writes a text that is a blob, not in [`TextForm::Plain`].
    pub(super) fn blob<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        let TextForm::Marked(form) = &mut self.form else { return value.serialize(self) };
        let known = form.known();
        if let Some(KnownText::Absent(_)) = known {
            return Err(form.disagrees());
        }
        if form.purpose == TextPurpose::Check || (form.purpose == TextPurpose::Export && known.is_none()) {
            return value.serialize(self);
        }
        let unsupported = |error: serde_json::Error| CanonicalError::Unsupported(alloc::format!("{error}"));
        let named: BlobRef = serde_json::from_str(&super::own(value)?).map_err(unsupported)?;
        let text = form.blobs.text(&named.blob).ok_or(CanonicalError::MissingBlob(named.blob))?;
        if form.purpose == TextPurpose::Export {
            return self.readable(known, &text);
        }
        let committed = form.commit(known, &text)?;
        self.absent(&AbsentText { bytes: named.bytes, chars: named.chars, ..committed })
    }

    /// Writes a text that the event holds as withheld or erased, not in [`TextForm::Plain`].
    pub(super) fn absent_in_event<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        let TextForm::Marked(form) = &mut self.form else { return value.serialize(self) };
        let Some(KnownText::Absent(absent)) = form.known() else { return Err(form.disagrees()) };
        let disagrees = form.disagrees();
        let from = self.out.len();
        self.absent(&absent)?;
        let written = self.out.split_off(from);
        value.serialize(&mut *self)?;
        match self.out.get(from..) == Some(&written) {
            true => Ok(()),
            false => Err(disagrees),
        }
    }

    fn absent(&mut self, text: &AbsentText) -> Result<(), CanonicalError> {
        self.out.push_str("{\"bytes\":");
        self.whole(false, text.bytes)?;
        self.out.push_str(",\"chars\":");
        self.whole(false, text.chars)?;
        self.out.push_str(",\"commitment\":");
        text.commitment.serialize(&mut *self)?;
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
