//! The form of saved views: positions instead of names, so that reading a large one costs little.

use super::Saved;
use annals_core::{Digest, Seq};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;

impl Saved {
    /// A view at a place, in the form that saved views have. Its types are written by position: members are
    /// neither flattened nor untagged.
    ///
    /// # Errors
    /// When the view has another form.
    pub fn of<V: Serialize>(seq: Seq, digest: Digest, view: &V) -> io::Result<Self> {
        Ok(Self { seq, digest, bytes: encode(view)? })
    }

    /// The view; `None` for bytes of another shape.
    pub fn view<V: DeserializeOwned>(&self) -> Option<V> {
        decode(&self.bytes)
    }
}

pub(crate) fn encode<V: Serialize>(view: &V) -> io::Result<Vec<u8>> {
    postcard::to_allocvec(view).map_err(io::Error::other)
}

pub(crate) fn decode<V: DeserializeOwned>(bytes: &[u8]) -> Option<V> {
    let (view, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(view)
}
