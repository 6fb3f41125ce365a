//! Canonical JSON: the RFC 8785 form that digests are made over, and the text of values that our codecs make.
//!
//! One departure is impossible to reach in our own fields and deliberate elsewhere: a whole number at or above 2^53 is
//! an error in [`own`] and is written digit for digit by [`value`], since RFC 8785 would change it.

mod escape;
mod form;
mod serializer;
mod writer;

use crate::absent::TextState;
use crate::commitment::SessionKey;
use crate::digest::BlobHash;
use crate::seq::Seq;
use crate::text::{Blobs, Json, Text};
use alloc::string::{String, ToString};
use core::fmt;
use form::TextForm;
pub(crate) use form::{push_index, push_member};
use serde::ser::{self, Serialize};
use writer::Writer;

/// What our own fields must not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// A whole number at or above 2^53 in a field of an event: the caller built a wrong value.
    #[error("the number {0} is not below 2^53")]
    NumberTooLarge(String),
    /// A number that JSON cannot hold.
    #[error("{0} is not a JSON number")]
    NotANumber(&'static str),
    /// A text is a blob that cannot be read: it cannot be committed to.
    #[error("blob {0} is not in the store, or cannot be read")]
    MissingBlob(BlobHash),
    /// A text can be committed to neither with a key of its own nor with the session's.
    #[error("the key of the session is not known")]
    NoKey,
    /// A text and what the batch holds about it disagree: one of them is withheld and the other is not, or as another text.
    #[error("the text {place} of event {event} of the batch is not in the state that the batch records")]
    StateDisagrees {
        /// Which event of the batch, from 0.
        event: u64,
        /// The RFC 6901 pointer of the text.
        place: String,
    },
    /// The batch holds something about a text that is not in its events.
    #[error("the batch records the state of a text that it does not have")]
    StrayState,
    /// A map key that is not text, or a message of a `Serialize` implementation.
    #[error("{0}")]
    Unsupported(String),
}

impl ser::Error for CanonicalError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Unsupported(message.to_string())
    }
}

/// How many bytes are reserved by default.
pub(crate) const ROOM: usize = 1024;

/// The RFC 8785 form of one of our own structures. A newtype variant is written as `{type: VARIANT, ...fields}`: the
/// JSON form of an event.
///
/// # Errors
/// When a number is not below 2^53 or a map key is not text.
pub fn own<T: Serialize + ?Sized>(value: &T) -> Result<String, CanonicalError> {
    written(value, TextForm::Plain, ROOM)
}

/// As [`own`], in the form of exports: a text is `{"text"}`, one that is a blob `{"blob", "bytes", "chars"}`, one with a state what
/// that says.
///
/// # Errors
/// As [`own`]; [`CanonicalError::MissingBlob`] for a blob that is disclosed.
pub(crate) fn exported<T: Serialize + ?Sized>(
    value: &T,
    states: &[TextState],
    blobs: &dyn Blobs,
) -> Result<String, CanonicalError> {
    written(value, TextForm::exported(states, blobs), ROOM)
}

/// As [`own`], in the form that digests are made over: a text is `{"bytes", "chars", "commitment"}`. The first event in it has
/// the Seq `first`; `room` is about how many bytes that is. Also gives the number of texts.
///
/// # Errors
/// As [`own`]; [`CanonicalError::MissingBlob`], [`CanonicalError::NoKey`].
pub(crate) fn committed<T: Serialize + ?Sized>(
    value: &T,
    first: Seq,
    key: Option<&SessionKey>,
    states: &[TextState],
    blobs: &dyn Blobs,
    room: usize,
) -> Result<(String, u64), CanonicalError> {
    let mut writer = Writer::new(true, TextForm::committed(first, key, states, blobs), room);
    value.serialize(&mut writer)?;
    writer.form.end()?;
    let texts = writer.form.texts();
    Ok((writer.finish(), texts))
}

/// Compares events with the states of their texts.
///
/// # Errors
/// [`CanonicalError::StateDisagrees`], [`CanonicalError::StrayState`]; as [`own`].
pub(crate) fn check_states<T: Serialize + ?Sized>(events: &T, states: &[TextState]) -> Result<(), CanonicalError> {
    written(events, TextForm::checked(states), ROOM).map(|_| ())
}

fn written<T: Serialize + ?Sized>(value: &T, form: TextForm<'_>, room: usize) -> Result<String, CanonicalError> {
    let mut writer = Writer::new(true, form, room);
    value.serialize(&mut writer)?;
    writer.form.end()?;
    Ok(writer.finish())
}

/// The canonical text of a JSON value: keys sorted by UTF-16 code units, no spaces, numbers as ECMAScript writes them,
/// whole numbers digit for digit.
pub fn value(value: &serde_json::Value) -> String {
    let mut writer = Writer::new(false, TextForm::Plain, 0);
    match value.serialize(&mut writer) {
        Ok(()) => writer.finish(),
        // A `Value` holds only text keys and finite numbers, so writing one cannot fail.
        Err(_) => String::new(),
    }
}

impl Json {
    /// JSON from a value: sorted keys, no spaces.
    pub fn canonical(json: &serde_json::Value) -> Self {
        Self(Text::Inline(value(json)))
    }
}

/// Whether two JSON values are equal as typed values: numbers by value, records without regard to key order.
pub fn equal(a: &serde_json::Value, b: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Number, Object};
    match (a, b) {
        (Number(x), Number(y)) => x == y || numbers_equal(x, y),
        (Array(x), Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| equal(x, y)),
        (Object(x), Object(y)) => {
            x.len() == y.len() && x.iter().all(|(key, x)| y.get(key).is_some_and(|y| equal(x, y)))
        }
        _ => a == b,
    }
}

fn numbers_equal(x: &serde_json::Number, y: &serde_json::Number) -> bool {
    if (x.is_u64() || x.is_i64()) && (y.is_u64() || y.is_i64()) {
        return false; // two whole numbers that differ as whole numbers
    }
    x.as_f64() == y.as_f64()
}

#[cfg(test)]
mod tests;
