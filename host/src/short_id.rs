//! Ids as people type them.

use annals_core::SessionId;

/// How much of an id is shown; it names the session unless another began in the same few milliseconds.
const SHORT: usize = 12;

/// The beginning of an id that is enough to name it by.
pub fn short(session: SessionId) -> String {
    session.to_string().chars().take(SHORT).collect()
}
