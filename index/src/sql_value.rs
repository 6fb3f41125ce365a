//! Values in the answers to queries, and why a query has no answer.

use serde::{Serialize, Serializer};

/// A value in a row.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl SqlValue {
    /// How many bytes it takes in memory, without the place of the value itself.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Null | Self::Integer(_) | Self::Real(_) => 0,
            Self::Text(text) => text.len(),
            Self::Blob(bytes) => bytes.len(),
        }
    }

    /// The value as text: nothing for `Null`, hexadecimal for bytes.
    pub fn text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Integer(number) => number.to_string(),
            Self::Real(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

/// In JSON, bytes are hexadecimal text, and NaN and infinities are `null`.
impl Serialize for SqlValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Real(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Blob(_) => serializer.serialize_str(&self.text()),
        }
    }
}

/// A query gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// The query is wrong.
    #[error("{0}")]
    Query(String),
    /// What limits the query said so: see [`SqlTables::limited`](crate::SqlTables::limited).
    #[error("the query was stopped")]
    Stopped,
    /// A query may only read.
    #[error("only queries that read are allowed: nothing can be written, attached or set")]
    NotAllowed,
    /// Another process wrote to the index meanwhile.
    #[error("the index changed while it was read; run the query again")]
    Changed,
    /// The index is damaged: it is to be left out.
    #[error("the index is damaged; run annals index --rebuild")]
    Damaged,
    /// The output could not be written.
    #[error(transparent)]
    Output(#[from] std::io::Error),
}
