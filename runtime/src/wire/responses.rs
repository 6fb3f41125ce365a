//! OpenAI Responses.

mod decoder;
mod items;

use decoder::Decoder;

/// A decoder for one answer.
pub(super) fn decoder() -> Decoder {
    Decoder::default()
}
