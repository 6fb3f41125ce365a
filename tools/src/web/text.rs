//! The readable text of an answer.

use encoding_rs::{Encoding, UTF_8};

/// How much of a page may name its character encoding, in bytes.
const HEAD: usize = 2_048;

/// The media type and the text of a body.
///
/// # Errors
/// Its type, if it is not text.
pub(super) fn readable(content_type: &str, body: &[u8], raw: bool) -> Result<(String, String), String> {
    let media = content_type.split(';').next().unwrap_or_default().trim().to_lowercase();
    let is_html = matches!(media.as_str(), "text/html" | "application/xhtml+xml")
        || media.is_empty() && body.trim_ascii_start().to_ascii_lowercase().starts_with(b"<");
    let is_text = is_html
        || media.starts_with("text/")
        || media.ends_with("json")
        || media.ends_with("xml")
        || media.ends_with("javascript")
        || media.ends_with("yaml")
        || media.ends_with("toml")
        || (media.is_empty() || media == "application/octet-stream") && std::str::from_utf8(body).is_ok();
    if !is_text {
        let media = if media.is_empty() { "of no type" } else { &media };
        return Err(format!("is {media} ({} bytes), not text", body.len()));
    }
    let text = decoded(content_type, body, is_html).replace('\0', "\u{fffd}");
    if !is_html || raw {
        return Ok((media, text));
    }
    #[cfg(feature = "html")]
    return Ok((media, super::page_text::page_text(&text)));
    #[cfg(not(feature = "html"))]
    Err("is a web page, and this build gives only their source (the feature html): call again with format `raw`"
        .to_owned())
}

fn decoded(content_type: &str, body: &[u8], is_html: bool) -> String {
    let head = body.get(..body.len().min(HEAD)).unwrap_or_default();
    let head = if is_html { String::from_utf8_lossy(head).to_lowercase() } else { String::new() };
    let named = charset(&content_type.to_lowercase()).or_else(|| charset(&head)).unwrap_or(UTF_8);
    named.decode(body).0.into_owned()
}

fn charset(text: &str) -> Option<&'static Encoding> {
    let (_, after) = text.split_once("charset=")?;
    let name = after.trim_start_matches(['"', '\'', ' ']);
    let name = name.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | ':')).next()?;
    Encoding::for_label(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_in_another_encoding_is_decoded() -> Result<(), String> {
        assert_eq!(readable("text/plain; charset=ISO-8859-1", b"caf\xe9", false)?.1, "caf\u{e9}");
        assert_eq!(
            readable("text/html", b"<meta charset=\"windows-1252\"><p>\x93a\x94", true)?.1,
            "<meta charset=\"windows-1252\"><p>\u{201c}a\u{201d}"
        );
        Ok(())
    }

    #[test]
    fn what_is_no_text_is_named() {
        assert_eq!(readable("image/png", b"\x89PNG", false), Err("is image/png (4 bytes), not text".into()));
        assert_eq!(
            readable("application/octet-stream", b"\xff\xfe\x00", false),
            Err("is application/octet-stream (3 bytes), not text".into())
        );
    }
}
