//! Media: whether a model receives an attachment itself, or a description of it (`docs/wire.md#media`).

use annals_core::NoBlobs;
use annals_core::event::{Attachment, ModelProfile};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;

/// The largest medium, in bytes before and after its base64 encoding.
const LARGEST: usize = 20 * 1024 * 1024;
const LARGEST_ENCODED: usize = 28 * 1024 * 1024;

/// What a model is sent in the place of an attachment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Medium<'a> {
    /// A picture.
    Image(MediaLocation<'a>),
    /// A PDF.
    Document {
        /// Where it is.
        place: MediaLocation<'a>,
        /// Its file name.
        name: &'a str,
    },
    /// Speech or music.
    Audio {
        /// `wav` or `mp3`.
        format: &'static str,
        /// Base64.
        data: &'a str,
    },
    /// What it holds, or that it is there.
    Words(String),
}

/// Where a medium is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediaLocation<'a> {
    /// In the request.
    Inline {
        /// The whole `data:` URI.
        uri: &'a str,
        /// Its media type.
        mime: &'a str,
        /// Its base64.
        data: &'a str,
    },
    /// At an address that the provider fetches.
    Address(&'a str),
}

/// What a model is sent of an attachment: text as text, what it takes as it is, of anything else that it is there.
pub(super) fn medium<'a>(attachment: &'a Attachment, model: &ModelProfile) -> Medium<'a> {
    let Some(uri) = attachment.uri.inline() else { return Medium::Words(note(attachment, Some("it is missing"))) };
    let Some(inline) = uri.strip_prefix("data:") else { return remote(attachment, uri, model) };
    let Some((mime, data)) = inline.split_once(',').and_then(|(head, data)| {
        let mime = head.strip_suffix(";base64")?;
        Some((mime.split(';').next().unwrap_or(mime), data))
    }) else {
        return Medium::Words(note(attachment, Some("its data is not base64")));
    };
    let textual = is_text(&attachment.mime);
    if !is_sent(model, &attachment.mime) {
        return Medium::Words(note(attachment, None));
    }
    match checked(attachment, mime, data) {
        Err(why) => Medium::Words(note(attachment, Some(why))),
        Ok(bytes) if textual => Medium::Words(match String::from_utf8(bytes) {
            Ok(text) => format!("Attached file: {}\n{text}", attachment.name.as_deref().unwrap_or(&attachment.mime)),
            Err(_) => note(attachment, Some("it is not UTF-8")),
        }),
        Ok(_) => native(attachment, MediaLocation::Inline { uri, mime, data }),
    }
}

/// The bytes of an inline medium, if it may be sent.
fn checked(attachment: &Attachment, mime: &str, data: &str) -> Result<Vec<u8>, &'static str> {
    if !mime.eq_ignore_ascii_case(&attachment.mime) {
        return Err("its data is of another type");
    }
    if data.len() > LARGEST_ENCODED {
        return Err("it is larger than 20 MiB");
    }
    let bytes = STANDARD.decode(data).map_err(|_| "its data is not base64")?;
    if bytes.len() > LARGEST { Err("it is larger than 20 MiB") } else { Ok(bytes) }
}

fn remote<'a>(attachment: &'a Attachment, uri: &'a str, model: &ModelProfile) -> Medium<'a> {
    let fetched = uri.starts_with("https://") || uri.starts_with("http://");
    if fetched && takes(model, &attachment.mime) {
        native(attachment, MediaLocation::Address(uri))
    } else {
        Medium::Words(note(attachment, None))
    }
}

fn native<'a>(attachment: &'a Attachment, place: MediaLocation<'a>) -> Medium<'a> {
    match (attachment.mime.to_ascii_lowercase().as_str(), place) {
        ("image/png" | "image/jpeg" | "image/gif" | "image/webp", place) => Medium::Image(place),
        ("application/pdf", place) => {
            Medium::Document { place, name: attachment.name.as_deref().unwrap_or("document.pdf") }
        }
        ("audio/wav" | "audio/x-wav", MediaLocation::Inline { data, .. }) => Medium::Audio { format: "wav", data },
        ("audio/mpeg" | "audio/mp3", MediaLocation::Inline { data, .. }) => Medium::Audio { format: "mp3", data },
        _ => Medium::Words(note(attachment, None)),
    }
}

/// Whether a model receives the content of an attachment of this type, not only its description.
pub fn is_sent(model: &ModelProfile, mime: &str) -> bool {
    is_text(mime) || takes(model, mime)
}

/// Whether a model takes media of a type.
fn takes(model: &ModelProfile, mime: &str) -> bool {
    let mime = mime.to_ascii_lowercase();
    model.media.iter().any(|pattern| match pattern.strip_suffix("/*") {
        Some(kind) => mime.split_once('/').is_some_and(|(of, _)| of == kind),
        None => *pattern == mime,
    })
}

fn is_text(mime: &str) -> bool {
    let mime = mime.to_ascii_lowercase();
    mime.starts_with("text/") || matches!(mime.as_str(), "application/json" | "application/xml" | "application/toml")
}

/// That an attachment is there (`docs/reference/compaction.md#what-is-covered`), and why it is not sent.
pub(super) fn note(attachment: &Attachment, why: Option<&str>) -> String {
    let uri = attachment.uri.resolve(&NoBlobs);
    let name = attachment.name.as_deref().map(Cow::Borrowed).or((!uri.starts_with("data:")).then_some(uri));
    let named = name.map(|name| format!(": {name}")).unwrap_or_default();
    let why = why.map(|why| format!(" (not sent: {why})")).unwrap_or_default();
    format!("[Attached {}{named}{why}]", attachment.mime)
}
