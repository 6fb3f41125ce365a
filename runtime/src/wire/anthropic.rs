//! Anthropic Messages.

mod decoder;

use decoder::Decoder;

/// A decoder for one answer.
pub(super) fn decoder() -> Decoder {
    Decoder::default()
}
