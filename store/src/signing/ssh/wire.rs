//! The encoding of the SSH protocol (RFC 4251): numbers of four bytes, and strings after their length.

/// What is left of a text to decode.
pub(super) struct SshWire<'a>(pub(super) &'a [u8]);

impl<'a> SshWire<'a> {
    pub(super) fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*number))
    }

    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk()?;
        let (string, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
        self.0 = rest;
        Some(string)
    }
}

/// Encodes a string, which is shorter than 4 GiB.
pub(super) fn string(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], bytes].concat()
}
