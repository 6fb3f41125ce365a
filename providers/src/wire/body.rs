//! A body: its fields in a fixed order, and the bytes that they make.

use super::BodyError;
use crate::provider::RequestBody;
use annals_projections::Request;
use serde::Serialize;
use serde_json::value::RawValue;
use std::ops::Range;

/// The fields of a body in the order in which they were first put, written into the bytes that are sent.
#[derive(Debug, Default)]
pub(super) struct BodyFields {
    bytes: Vec<u8>,
    /// Their names, and where their values are.
    fields: Vec<(String, Range<usize>)>,
}

impl BodyFields {
    /// Fields whose values have some `bytes` in all: that many are reserved.
    pub(super) fn of_size(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), fields: Vec::new() }
    }

    /// Sets a field. One that is there keeps its place and gets the new value.
    pub(super) fn put<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), BodyError> {
        let failed = |what: String| move |error: serde_json::Error| BodyError::NotJson { what, why: error.to_string() };
        match self.fields.iter().position(|(known, _)| known == name) {
            Some(at) => {
                let value = serde_json::to_vec(value).map_err(failed(format!("field {name}")))?;
                self.replace(at, value);
            }
            None => {
                let begun = self.bytes.len();
                self.bytes.push(if begun == 0 { b'{' } else { b',' });
                serde_json::to_writer(&mut self.bytes, name).map_err(failed("the name of a field".into()))?;
                self.bytes.push(b':');
                let start = self.bytes.len();
                if let Err(error) = serde_json::to_writer(&mut self.bytes, value) {
                    self.bytes.truncate(begun);
                    return Err(failed(format!("field {name}"))(error));
                }
                self.fields.push((name.into(), start..self.bytes.len()));
            }
        }
        Ok(())
    }

    fn replace(&mut self, at: usize, value: Vec<u8>) {
        let Some(range) = self.fields.get(at).map(|(_, range)| range.clone()) else { return };
        let (before, after) = (range.len(), value.len());
        self.bytes.splice(range, value);
        for (place, (_, range)) in self.fields.iter_mut().enumerate().skip(at) {
            range.end = range.end + after - before;
            if place > at {
                range.start = range.start + after - before;
            }
        }
    }

    /// Sets a field, if there is something to say in it.
    pub(super) fn put_if<T: Serialize>(&mut self, name: &str, value: Option<T>) -> Result<(), BodyError> {
        value.map_or(Ok(()), |value| self.put(name, &value))
    }

    /// The body with these fields.
    pub(super) fn body(mut self) -> RequestBody {
        self.bytes.push(b'}');
        RequestBody::new(self.bytes)
    }
}

/// About how many bytes the body of a request has.
pub(super) fn expected_size(request: &Request) -> usize {
    let chars = usize::try_from(request.chars()).unwrap_or_default();
    chars + chars / 8 + 1_024
}

/// JSON text as it was received, to be written letter for letter.
pub(super) fn received(what: impl FnOnce() -> String, text: &str) -> Result<&RawValue, BodyError> {
    serde_json::from_str(text).map_err(|error| BodyError::NotJson { what: what(), why: error.to_string() })
}
