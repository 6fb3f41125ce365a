//! Where a request is marked for the provider's cache (`docs/reference/wire.md#anthropic-messages-encoding-1`): the
//! last tool, the last system text, the last text of the latest user message, and the newest result after it.

use serde::Serialize;

/// How many places a request may mark.
const MOST: usize = 4;

/// The time from which on a cache lives an hour instead of minutes, in seconds.
const LONG: u64 = 3_600;

/// A mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct CacheControl {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

/// The marks that are left.
pub(super) struct Hints {
    left: usize,
    ttl: Option<&'static str>,
}

impl Hints {
    /// No marks at all.
    pub(super) const fn none() -> Self {
        Self { left: 0, ttl: None }
    }

    /// The marks of a request some of which are taken already.
    pub(super) fn new(ttl_seconds: Option<u64>, taken: usize) -> Self {
        let ttl = ttl_seconds.filter(|seconds| *seconds >= LONG).map(|_| "1h");
        Self { left: MOST.saturating_sub(taken), ttl }
    }

    /// Takes one; `None` when none is left.
    pub(super) fn take(&mut self) -> Option<CacheControl> {
        self.left = self.left.checked_sub(1)?;
        Some(CacheControl { r#type: "ephemeral", ttl: self.ttl })
    }
}
