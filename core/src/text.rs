//! Values: text and JSON, inline or by reference to a blob (`docs/reference/events.md#forms`).
//!
//! A fold never reads a blob: it carries the [`BlobRef`] with every length that it needs, and the [`Blobs`] port
//! resolves it at the edge, when a view is shown or a request is built.

mod as_text;
mod serial;

pub(crate) use as_text::{as_text, from_text};

use crate::absent::AbsentText;
use crate::digest::BlobHash;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use wincode::{SchemaRead, SchemaWrite};

/// The largest value that is inline in an event, in bytes of UTF-8.
pub const INLINE_MAX: usize = 8 * 1024;

/// A reference to text kept as a content-addressed file of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, SchemaRead, SchemaWrite)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BlobRef {
    /// Hash of its bytes.
    pub blob: BlobHash,
    /// Length in bytes of UTF-8.
    pub bytes: u64,
    /// Length in Unicode scalar values: what token estimates are made of.
    pub chars: u64,
}

impl BlobRef {
    /// The reference to a text.
    pub fn to(text: &str) -> Self {
        Self { blob: BlobHash::of(text.as_bytes()), bytes: text.len() as u64, chars: text.chars().count() as u64 }
    }
}

/// Text in an event: inline up to [`INLINE_MAX`], otherwise a blob; or what is left of it when it was withheld or erased.
///
/// In JSON a string, `{blob, bytes, chars}`, or `{bytes, chars, commitment}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, SchemaRead, SchemaWrite)]
pub enum Text {
    /// The text itself.
    Inline(String),
    /// Where it is, and how long. Boxed: most texts are short, and every event pays for the larger variant.
    Blob(Box<BlobRef>),
    /// It was withheld or erased.
    Absent(Box<AbsentText>),
}

/// JSON as text: as received when it came from outside, canonical when the runtime encoded it. Never re-written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, SchemaRead, SchemaWrite)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Json(pub Text);

/// Where blobs are read. A missing one is an anomaly that a view shows in its place, never an error of the fold.
pub trait Blobs {
    /// The text of a blob, or `None` when it is not there.
    fn text(&self, hash: &BlobHash) -> Option<String>;
}

/// No blobs at all: for logs whose values are all inline.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoBlobs;

impl Blobs for NoBlobs {
    fn text(&self, _: &BlobHash) -> Option<String> {
        None
    }
}

impl Blobs for BTreeMap<BlobHash, String> {
    fn text(&self, hash: &BlobHash) -> Option<String> {
        self.get(hash).cloned()
    }
}

impl<B: Blobs + ?Sized> Blobs for &B {
    fn text(&self, hash: &BlobHash) -> Option<String> {
        (**self).text(hash)
    }
}

impl Text {
    /// Length in bytes of UTF-8, without reading a blob.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Inline(text) => text.len() as u64,
            Self::Blob(blob) => blob.bytes,
            Self::Absent(absent) => absent.bytes,
        }
    }

    /// Length in Unicode scalar values, without reading a blob.
    pub fn chars(&self) -> u64 {
        match self {
            Self::Inline(text) => text.chars().count() as u64,
            Self::Blob(blob) => blob.chars,
            Self::Absent(absent) => absent.chars,
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// The text, if it is inline.
    pub fn inline(&self) -> Option<&str> {
        match self {
            Self::Inline(text) => Some(text),
            Self::Blob(_) | Self::Absent(_) => None,
        }
    }

    /// The text, or `None` when its blob is not there, or it was withheld or erased.
    pub fn read<'a>(&'a self, blobs: &dyn Blobs) -> Option<Cow<'a, str>> {
        match self {
            Self::Inline(text) => Some(Cow::Borrowed(text)),
            Self::Blob(blob) => blobs.text(&blob.blob).map(Cow::Owned),
            Self::Absent(_) => None,
        }
    }

    /// The text, resolved. A missing blob reads as a visible note in its place: `[missing blob HASH, N bytes]`;
    /// one that was withheld or erased as `[withheld: N characters]`.
    pub fn resolve<'a>(&'a self, blobs: &dyn Blobs) -> Cow<'a, str> {
        match self {
            Self::Inline(text) => Cow::Borrowed(text),
            Self::Blob(reference) => {
                let BlobRef { blob, bytes, .. } = &**reference;
                self.read(blobs).unwrap_or_else(|| Cow::Owned(alloc::format!("[missing blob {blob}, {bytes} bytes]")))
            }
            Self::Absent(absent) => Cow::Owned(alloc::format!("{absent}")),
        }
    }

    /// Moves an inline text longer than `limit` bytes out of the event; gives what must be stored under the hash.
    pub(crate) fn spill(&mut self, limit: usize) -> Option<(BlobHash, String)> {
        let Self::Inline(text) = self else { return None };
        if text.len() <= limit {
            return None;
        }
        let text = core::mem::take(text);
        let blob = BlobRef::to(&text);
        *self = Self::Blob(Box::new(blob));
        Some((blob.blob, text))
    }

    /// Replaces a withheld or erased text by the note that views show: for a new event that quotes one.
    pub(crate) fn quote_absent(&mut self) {
        if let Self::Absent(absent) = self {
            *self = Self::Inline(absent.to_string());
        }
    }

    /// Turns an inline text of any length into the reference that it would have as a blob.
    pub(crate) fn refer(&mut self) {
        if let Self::Inline(text) = self {
            *self = Self::Blob(Box::new(BlobRef::to(text)));
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::Inline(String::new())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::Inline(text.into())
    }
}

impl From<BlobRef> for Text {
    fn from(blob: BlobRef) -> Self {
        Self::Blob(Box::new(blob))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::Inline(text)
    }
}

impl Json {
    /// JSON as it was received, letter for letter.
    pub fn received(text: impl Into<String>) -> Self {
        Self(Text::Inline(text.into()))
    }

    /// The value, if its text is inline and JSON: what a fold may look at, since folds read no blobs.
    pub fn inline(&self) -> Option<serde_json::Value> {
        serde_json::from_str(self.0.inline()?).ok()
    }

    /// The value, or `None` when its blob is not there or it is not JSON.
    pub fn read(&self, blobs: &dyn Blobs) -> Option<serde_json::Value> {
        serde_json::from_str(&self.0.read(blobs)?).ok()
    }

    /// The value, resolved and parsed. What is not JSON (or a missing blob) reads as a JSON string of the text.
    pub fn value(&self, blobs: &dyn Blobs) -> serde_json::Value {
        let text = self.0.resolve(blobs);
        serde_json::from_str(&text).unwrap_or_else(|_| serde_json::Value::String(text.into_owned()))
    }
}

/// Everything that contains texts that may move to blobs.
pub trait Texts {
    /// Visits every text in a fixed order.
    fn texts(&mut self, visit: &mut dyn FnMut(&mut Text));
}

impl Texts for Text {
    fn texts(&mut self, visit: &mut dyn FnMut(&mut Text)) {
        visit(self);
    }
}

impl Texts for Json {
    fn texts(&mut self, visit: &mut dyn FnMut(&mut Text)) {
        visit(&mut self.0);
    }
}

impl<T: Texts> Texts for Option<T> {
    fn texts(&mut self, visit: &mut dyn FnMut(&mut Text)) {
        if let Some(inner) = self {
            inner.texts(visit);
        }
    }
}

impl<T: Texts> Texts for Vec<T> {
    fn texts(&mut self, visit: &mut dyn FnMut(&mut Text)) {
        self.iter_mut().for_each(|inner| inner.texts(visit));
    }
}

impl<K, T: Texts> Texts for BTreeMap<K, T> {
    fn texts(&mut self, visit: &mut dyn FnMut(&mut Text)) {
        self.values_mut().for_each(|inner| inner.texts(visit));
    }
}

/// The name that a text is serialized under as a newtype, so that [`crate::canonical`] finds it; other writers of JSON see the
/// text alone.
pub(crate) const TEXT: &str = "$text";

/// As [`TEXT`], for a text that is a blob: the value is its [`BlobRef`].
pub(crate) const BLOB: &str = "$blob";

/// As [`TEXT`], for a text that was withheld or erased: the value is its [`AbsentText`].
pub(crate) const ABSENT: &str = "$absent";
