//! A rendered piece of a baseline.

use super::Key;
use crate::payload::payload;
use crate::text::Text;

payload! {
    /// One keyed piece of a Baseline System Context.
    Part {
        /// The Context Source it renders.
        key: Key,
        /// Its exact text.
        text: Text,
    } texts { text }
}
