//! Fields that JSON leaves out when they are `None`: those that were added to a kind whose digests must not change.
//!
//! The codec form has them in any case: it is positional. In JSON `null` is an error, so that each event has one form.
//!
//! ```ignore
//! #[serde(default, serialize_with = "left_out", deserialize_with = "present")]
//! process: Option<ProcessInfo>,
//! ```

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of a value that [`crate::canonical`] leaves out with its key.
pub(crate) const LEFT_OUT: &str = "$left_out";

pub(crate) fn left_out<T: Serialize, S: Serializer>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        None if serializer.is_human_readable() => serializer.serialize_unit_struct(LEFT_OUT),
        value => value.serialize(serializer),
    }
}

/// Reads a field that is there.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    if deserializer.is_human_readable() {
        T::deserialize(deserializer).map(Some)
    } else {
        Option::deserialize(deserializer)
    }
}
