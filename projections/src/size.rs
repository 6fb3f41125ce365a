//! Sizes in characters of JSON: what estimates are made of.

use annals_core::canonical;
use serde::Serialize;

/// Characters of the canonical JSON of a value. Keys of our structs and maps are texts, so that none is refused.
pub(crate) fn chars(json: impl Serialize) -> u64 {
    let canonical = canonical::own(&json);
    // Only what came from outside has larger numbers.
    let text = canonical.unwrap_or_else(|_| canonical::value(&serde_json::to_value(json).unwrap_or_default()));
    text.chars().count() as u64
}

/// The size of a text in characters of JSON, without the quotes.
pub(crate) fn text_chars(text: &str) -> u64 {
    // Pieces whose sums fit in 32 bits, which makes adding fast.
    let piece = |bytes: &[u8]| u64::from(bytes.iter().map(|byte| u32::from(byte_chars(*byte))).sum::<u32>());
    text.as_bytes().chunks(1 << 16).map(piece).sum()
}

/// What a byte adds to the size: the first byte of a character all of it, the others nothing.
const fn byte_chars(byte: u8) -> u8 {
    match byte {
        b'"' | b'\\' | 8 | b'\t' | b'\n' | 12 | b'\r' => 2,
        0..=31 => 6,
        0x80..=0xbf => 0,
        _ => 1,
    }
}
