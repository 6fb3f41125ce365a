//! A body: its fields in a fixed order, and the bytes that they make.

use super::BodyError;
use crate::provider::RequestBody;
use serde::Serialize;
use serde_json::value::RawValue;

/// The fields of a body in the order in which they were first put.
#[derive(Debug, Default)]
pub(super) struct BodyFields(Vec<(String, String)>);

impl BodyFields {
    /// Sets a field. One that is there keeps its place and gets the new value.
    pub(super) fn put<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), BodyError> {
        let text = serde_json::to_string(value)
            .map_err(|error| BodyError::NotJson { what: format!("field {name}"), why: error.to_string() })?;
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, value)) => *value = text,
            None => self.0.push((name.into(), text)),
        }
        Ok(())
    }

    /// Sets a field, if there is something to say in it.
    pub(super) fn put_if<T: Serialize>(&mut self, name: &str, value: Option<T>) -> Result<(), BodyError> {
        value.map_or(Ok(()), |value| self.put(name, &value))
    }

    /// Writes them.
    pub(super) fn body(self) -> Result<RequestBody, BodyError> {
        let mut bytes = Vec::with_capacity(self.0.iter().map(|(name, value)| name.len() + value.len() + 4).sum());
        for (name, value) in &self.0 {
            bytes.push(if bytes.is_empty() { b'{' } else { b',' });
            let name = serde_json::to_string(name)
                .map_err(|error| BodyError::NotJson { what: "the name of a field".into(), why: error.to_string() })?;
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(b':');
            bytes.extend_from_slice(value.as_bytes());
        }
        bytes.push(b'}');
        Ok(RequestBody::new(bytes))
    }
}

/// JSON text as it was received, to be written letter for letter.
pub(super) fn received(what: impl FnOnce() -> String, text: &str) -> Result<&RawValue, BodyError> {
    serde_json::from_str(text).map_err(|error| BodyError::NotJson { what: what(), why: error.to_string() })
}
