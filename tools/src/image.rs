//! Media that a model can be shown, recognised by their first bytes.

/// The longest medium that is shown, in bytes. Providers refuse more than 5 MB of base64.
pub(super) const LONGEST: usize = 3_750_000;

/// The media type of a content that begins so, if a model may be shown it.
pub(super) fn mime(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [b'%', b'P', b'D', b'F', b'-', ..] => Some("application/pdf"),
        _ => None,
    }
}
