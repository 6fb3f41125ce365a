//! The exact bytes of a request.

use annals_core::Digest;
use std::fmt;

/// The exact bytes of a request, and their hash: what `request.sent` records as `wire`.
#[derive(Clone, PartialEq, Eq)]
pub struct RequestBody {
    /// JSON in UTF-8.
    pub bytes: Vec<u8>,
    /// BLAKE3 of the bytes.
    pub digest: Digest,
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("bytes", &self.bytes.len()).field("digest", &self.digest).finish()
    }
}

impl RequestBody {
    /// The body of some bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { digest: Digest::of(&bytes), bytes }
    }
}
