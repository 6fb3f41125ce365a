//! Result of filling an index.

/// Result of filling an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FillReport {
    /// How many events were added.
    pub added: u64,
    /// How many it covers.
    pub events: u64,
    /// Whether it was made again: there was none, it was damaged, of another version, or of another log.
    pub anew: bool,
}
