//! The escapes of RFC 8785 in a text: found eight bytes at a time, since most of a text has none.

use alloc::string::String;
use core::fmt;

/// Writes `text` with the escapes of RFC 8785: the short ones where there are any, lower-case `\\u00xx` otherwise.
pub(super) fn escape(out: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut rest = text;
    while let Some(at) = first_escaped(rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let byte = rest.as_bytes()[at];
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            0x08 => "\\b",
            0x09 => "\\t",
            0x0a => "\\n",
            0x0c => "\\f",
            0x0d => "\\r",
            _ => "",
        };
        out.push_str(short);
        if short.is_empty() {
            out.push_str("\\u00");
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

/// The position of the first byte that JSON escapes: a control character below U+0020, a quote or a backslash.
pub(super) fn first_escaped(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let found = escaped(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let is_escaped = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    rest.iter().position(is_escaped).map(|at| words.len() * 8 + at)
}

/// The high bit of each of eight bytes that is escaped. A bit above the lowest one that is set may be wrong: the
/// subtractions borrow upwards.
const fn escaped(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let (quote, backslash) = (word ^ (ONES * b'"' as u64), word ^ (ONES * b'\\' as u64));
    (control | quote.wrapping_sub(ONES) & !quote | backslash.wrapping_sub(ONES) & !backslash) & HIGH
}

/// Escapes what is shown through it.
pub(super) struct JsonEscaper<'a>(pub(super) &'a mut String);

impl fmt::Write for JsonEscaper<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        escape(self.0, text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::first_escaped;
    use alloc::vec::Vec;

    #[test]
    fn every_byte_is_told_from_every_other_at_every_place() {
        for byte in 0..=u8::MAX {
            let is_escaped = byte < 0x20 || byte == b'"' || byte == b'\\';
            for place in 0..20 {
                for around in [0x20, b'!', b'#', b'[', b']', b'a', 0x7f, 0x80, 0xff] {
                    let mut bytes = Vec::from([around; 20]);
                    bytes[place] = byte;
                    assert_eq!(
                        first_escaped(&bytes),
                        is_escaped.then_some(place),
                        "{byte:#x} at {place} in {around:#x}"
                    );
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn the_first_escaped_byte_is_found_in_any_bytes(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..40)) {
            let first = bytes.iter().position(|byte| *byte < 0x20 || *byte == b'"' || *byte == b'\\');
            proptest::prop_assert_eq!(first_escaped(&bytes), first);
        }
    }
}
