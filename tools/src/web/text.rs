//! The readable text of an answer.

use super::nesting::bounded;
use encoding_rs::{Encoding, UTF_8};

/// The width that text is laid out for: paragraphs are one line.
const WIDTH: usize = 100_000;

/// How much of a page may name its character encoding, in bytes.
const HEAD: usize = 2_048;

/// The media type and the text of a body.
///
/// # Errors
/// The media type of what is no text.
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
        return Err(if media.is_empty() { "of no type".into() } else { media });
    }
    let text = decoded(content_type, body, is_html).replace('\0', "\u{fffd}");
    if !is_html || raw {
        return Ok((media, text));
    }
    let page = html2text::config::plain().string_from_read(bounded(&text).as_bytes(), WIDTH);
    let page = page.unwrap_or(text.clone());
    let page = tidied(&page);
    let title = title(&text).filter(|title| !page.contains(title.as_str()));
    Ok((media, title.map_or(page.clone(), |title| format!("{title}\n\n{page}"))))
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

fn title(html: &str) -> Option<String> {
    let lower = html.to_ascii_lowercase();
    let open = lower.find("<title")?;
    let start = open + lower.get(open..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find("</title")?;
    let inner = bounded(html.get(start..end)?);
    let inner = html2text::config::plain().string_from_read(inner.as_bytes(), WIDTH).ok()?;
    let title = inner.split_whitespace().collect::<Vec<_>>().join(" ");
    (!title.is_empty()).then_some(title)
}

/// No white space at the ends of lines, and no more than one empty line.
fn tidied(page: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in page.lines().map(str::trim_end) {
        if !(line.is_empty() && lines.last().is_none_or(|last| last.is_empty())) {
            lines.push(line);
        }
    }
    lines.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_given_as_text_without_its_scripts() -> Result<(), String> {
        let html = "<html><head><title>Guide &amp; more</title><style>p{}</style><script>alert(1)</script></head><body>\
                    <h1>Start</h1><p>Read <a href=\"/next\">the next</a> page.</p><ul><li>one</li><li>two</li></ul></body></html>";
        let (media, text) = readable("text/html; charset=utf-8", html.as_bytes(), false)?;
        assert_eq!(media, "text/html");
        assert_eq!(text, "Guide & more\n\n# Start\n\nRead [the next][1] page.\n* one\n* two\n\n[1]: /next");
        Ok(())
    }

    #[test]
    fn a_page_in_another_encoding_is_decoded() -> Result<(), String> {
        assert_eq!(readable("text/plain; charset=ISO-8859-1", b"caf\xe9", false)?.1, "caf\u{e9}");
        assert_eq!(
            readable("text/html", b"<meta charset=\"windows-1252\"><p>\x93a\x94", false)?.1,
            "\u{201c}a\u{201d}"
        );
        Ok(())
    }

    #[test]
    fn what_is_no_text_is_named() {
        assert_eq!(readable("image/png", b"\x89PNG", false), Err("image/png".into()));
        assert_eq!(
            readable("application/octet-stream", b"\xff\xfe\x00", false),
            Err("application/octet-stream".into())
        );
    }

    #[test]
    fn a_page_that_nests_without_end_does_no_harm() {
        let deep = "<div><b>".repeat(50_000);
        assert!(readable("text/html", deep.as_bytes(), false).is_ok());
    }
}
