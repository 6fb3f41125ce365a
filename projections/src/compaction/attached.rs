//! The content of attached text files, as a summary request shows it.

use crate::shorten::{SHORTENED_ENDS, without_middle};
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::Blobs;
use annals_core::event::Attachment;

/// The text of an attached text file, without its middle where it is long; `None` of media and of what is not in the log.
pub(super) fn shown(attachment: &Attachment, blobs: &dyn Blobs) -> Option<String> {
    if !attachment.mime.starts_with("text/") && attachment.mime != "application/json" {
        return None;
    }
    let uri = attachment.uri.resolve(blobs);
    let (head, data) = uri.strip_prefix("data:")?.split_once(',')?;
    let text = String::from_utf8(base64(head.ends_with(";base64").then_some(data)?)?).ok()?;
    Some(without_middle(&text, SHORTENED_ENDS).unwrap_or(text))
}

/// The bytes of a base64 text of the standard alphabet; `None` of another text.
fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.chunks(4) {
        let mut bits = 0;
        for character in group {
            bits = bits << 6 | u32::from(sextet(*character)?);
        }
        let kept = group.len() - 1;
        let [_, all @ ..] = (bits << (6 * (4 - group.len()))).to_be_bytes();
        bytes.extend_from_slice(all.get(..kept).filter(|_| kept > 0)?);
    }
    Some(bytes)
}

const fn sextet(character: u8) -> Option<u8> {
    Some(match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{base64, shown};
    use alloc::string::{String, ToString};
    use annals_core::NoBlobs;
    use annals_core::event::Attachment;

    #[test]
    fn base64_of_every_length_is_read_and_nothing_else() {
        let texts =
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("w7zigqzwn5iA", "ü€😀")];
        for (encoded, text) in texts {
            assert_eq!(base64(encoded).as_deref(), Some(text.as_bytes()), "{encoded}");
        }
        for wrong in ["Z", "Zm9vY", "Zm 9v", "Zm9-"] {
            assert_eq!(base64(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_text_files_in_the_log_are_shown() {
        let of = |mime: &str, uri: &str| {
            let attachment = Attachment { mime: mime.into(), name: None, uri: uri.into() };
            shown(&attachment, &NoBlobs)
        };
        assert_eq!(of("text/plain", "data:text/plain;base64,Zm9v"), Some("foo".to_string()));
        assert_eq!(of("application/json", "data:application/json;base64,e30="), Some("{}".to_string()));
        for (mime, uri) in [
            ("image/png", "data:image/png;base64,Zm9v"),
            ("text/plain", "file:///spec.md"),
            ("text/plain", "data:text/plain,foo"),
            ("text/plain", "data:text/plain;base64,/w=="),
        ] {
            assert_eq!(of(mime, uri), None, "{uri}");
        }
        let long = of("text/plain", &alloc::format!("data:text/plain;base64,{}", "eHh4".repeat(2_000)));
        assert_eq!(long.map(|text: String| text.chars().count()), Some(4_036));
    }
}
