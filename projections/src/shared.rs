//! Collections whose clones share what they contain: a view that someone holds is copied only where it changes.
//!
//! All keep their items in chunks behind [`alloc::sync::Arc`]. A clone copies one pointer for each chunk; a change copies
//! one chunk, if someone else holds it. Their JSON is that of the collections of `alloc`.

pub(crate) mod arcs;
mod map;
mod packed;
mod vec;

pub use map::{SharedMap, SharedSet};
pub(crate) use packed::PackedBytes;
pub use packed::PackedVec;
pub use vec::{SharedVec, SharedVecIter};
