//! What is written: Batches of text that compresses about as well as a transcript does.

use annals_core::event::SyntheticAdded;
use annals_core::{Event, Seq, SessionId, Text};
use annals_store::Draft;
use annals_store::conformance::material;

const WORDS: [&str; 40] = [
    "the",
    "file",
    "reads",
    "a",
    "session",
    "and",
    "writes",
    "fn",
    "let",
    "return",
    "error",
    "in",
    "line",
    "test",
    "of",
    "store",
    "is",
    "not",
    "found",
    "struct",
    "impl",
    "match",
    "when",
    "tool",
    "call",
    "output",
    "src/lib.rs",
    "cargo",
    "build",
    "warning",
    "unused",
    "variable",
    "self",
    "await",
    "stream",
    "batch",
    "digest",
    "snapshot",
    "context",
    "to",
];

/// A text of some bytes: words and numbers, different at every place.
pub fn text(seed: u64, bytes: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = String::with_capacity(bytes + 16);
    while out.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let word = WORDS[(state >> 20) as usize % WORDS.len()];
        out.push_str(word);
        if state & 0xf00 == 0 {
            out.push_str(&(state >> 40).to_string());
        }
        out.push(' ');
    }
    out.truncate(bytes);
    out
}

/// A Batch of `events` events that takes about `bytes` bytes encoded.
pub fn draft(session: SessionId, at: Seq, events: usize, bytes: usize) -> Draft {
    if at == Seq::ZERO {
        return material::draft(session, at, vec![material::created()]);
    }
    let each = bytes.saturating_sub(120) / events;
    let event = |n: usize| -> Event {
        let text = text(at.0 * 8 + n as u64, each.saturating_sub(22).min(annals_core::text::INLINE_MAX));
        SyntheticAdded { text: Text::from(text) }.into()
    };
    material::draft(session, at, (0..events).map(event).collect())
}
