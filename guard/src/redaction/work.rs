//! Counts the bytes that are looked at, so that tests can compare texts of different lengths.

#[cfg(test)]
thread_local! {
    static LOOKED_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts bytes.
#[cfg(test)]
pub(super) fn count(bytes: usize) {
    LOOKED_AT.with(|looked_at| looked_at.set(looked_at.get() + bytes));
}

#[cfg(not(test))]
pub(super) fn count(_: usize) {}

/// What was counted on this thread since the last call.
#[cfg(test)]
pub(super) fn counted() -> usize {
    LOOKED_AT.with(|looked_at| looked_at.replace(0))
}
