//! Files that a user attaches to an input.

use super::image;
use annals_core::event::Attachment;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The longest text, in bytes: more fills the context of most models.
const TEXT: usize = 1024 * 1024;

/// The longest document or sound, in bytes: what a request may carry.
const MEDIUM: usize = 20 * 1024 * 1024;

/// Why a file cannot be given.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// There is no such file: mend the path.
    #[error("{}: there is no such file", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// A directory: name the files, or let the model look itself.
    #[error("{}: a directory cannot be attached; name files in it, or let the model read it with its tools", path.display())]
    Directory {
        /// The path.
        path: PathBuf,
    },
    /// A pipe, a socket or a device: what has no end cannot be given whole.
    #[error("{}: only regular files can be attached; pipe other input to stdin", path.display())]
    NoFile {
        /// The path.
        path: PathBuf,
    },
    /// More than a request may carry: give a part of it, or let the model read it itself.
    #[error(
        "{}: too large to attach (limit for {what}: {limit} bytes); attach a part of it, or let the model read it with its tools",
        path.display()
    )]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// The kind of attachment.
        what: &'static str,
        /// How much there may be, in bytes.
        limit: usize,
    },
    /// Nothing that any model is sent: convert it.
    #[error(
        "{}: neither UTF-8 text nor an image (PNG, JPEG, GIF, WebP), a PDF or a sound (WAV, MP3); no model could be sent it",
        path.display()
    )]
    Unknown {
        /// The path.
        path: PathBuf,
    },
    /// The system does not let it be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// A file as an attachment named `name`: its whole content, with the media type of its first bytes, not of its name.
/// Other content that is UTF-8 is text.
pub fn attachment(path: &Path, name: &str) -> Result<Attachment, AttachError> {
    let bytes = content(path)?;
    let kind = kind(&bytes).ok_or_else(|| AttachError::Unknown { path: path.to_owned() })?;
    if bytes.len() > kind.limit {
        return Err(AttachError::TooLarge { path: path.to_owned(), what: kind.what, limit: kind.limit });
    }
    let (mime, encoded) = (kind.mime, STANDARD.encode(bytes));
    Ok(Attachment { mime: mime.into(), name: Some(name.into()), uri: format!("data:{mime};base64,{encoded}").into() })
}

/// A text as an attachment named `name`.
pub fn text_attachment(name: &str, text: &str) -> Attachment {
    let uri = format!("data:text/plain;base64,{}", STANDARD.encode(text)).into();
    Attachment { mime: "text/plain".into(), name: Some(name.into()), uri }
}

fn content(path: &Path) -> Result<Vec<u8>, AttachError> {
    let path_of = || path.to_owned();
    let failed = |source: io::Error| match source.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => AttachError::Missing { path: path_of() },
        _ => AttachError::Unreadable { path: path_of(), source },
    };
    // Checked before it is opened: opening a pipe would wait for a writer.
    let found = path.metadata().map_err(failed)?;
    if found.is_dir() {
        return Err(AttachError::Directory { path: path_of() });
    }
    if !found.is_file() {
        return Err(AttachError::NoFile { path: path_of() });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MEDIUM as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() > MEDIUM {
        true => Err(AttachError::TooLarge { path: path_of(), what: "a file", limit: MEDIUM }),
        false => Ok(bytes),
    }
}

/// What a content is.
struct MediaKind {
    mime: &'static str,
    what: &'static str,
    limit: usize,
}

fn kind(bytes: &[u8]) -> Option<MediaKind> {
    match (image::mime(bytes), bytes) {
        (Some(mime @ "application/pdf"), _) => Some(MediaKind { mime, what: "a PDF", limit: MEDIUM }),
        (Some(mime), _) => Some(MediaKind { mime, what: "an image", limit: image::LONGEST }),
        (None, [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', ..]) => {
            Some(MediaKind { mime: "audio/wav", what: "a sound", limit: MEDIUM })
        }
        (None, [b'I', b'D', b'3', ..] | [0xff, 0xf2 | 0xf3 | 0xfb, ..]) => {
            Some(MediaKind { mime: "audio/mpeg", what: "a sound", limit: MEDIUM })
        }
        (None, bytes) if !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok() => {
            Some(MediaKind { mime: "text/plain", what: "a text", limit: TEXT })
        }
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    #[test]
    fn a_file_is_what_its_first_bytes_say() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let given = |name: &str, content: &[u8]| -> Result<Attachment, Box<dyn Error>> {
            let path = folder.path().join(name);
            std::fs::write(&path, content)?;
            Ok(attachment(&path, name)?)
        };
        let mime = |name: &str, content: &[u8]| given(name, content).map(|one| one.mime);
        assert_eq!(mime("a.md", "# é\n".as_bytes())?, "text/plain");
        assert_eq!(mime("empty", b"")?, "text/plain");
        assert_eq!(mime("is-a-picture.txt", b"\x89PNG\r\n\x1a\nrest\0")?, "image/png");
        assert_eq!(mime("a.pdf", b"%PDF-1.7\0")?, "application/pdf");
        assert_eq!(mime("a.wav", b"RIFF\0\0\0\0WAVEfmt ")?, "audio/wav");
        assert_eq!(mime("a.mp3", b"ID3\x04\0")?, "audio/mpeg");
        let text = given("src/a.rs".rsplit('/').next().unwrap_or_default(), b"fn main() {}\n")?;
        assert_eq!(text.uri.inline(), Some("data:text/plain;base64,Zm4gbWFpbigpIHt9Cg=="));
        assert_eq!(text.name.as_deref(), Some("a.rs"));
        Ok(())
    }

    #[test]
    fn what_cannot_be_given_says_why_and_what_to_do() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("latin"), b"caf\xe9")?;
        std::fs::write(at("binary"), b"a\0b")?;
        std::fs::write(at("long"), "x".repeat(TEXT + 1))?;
        std::fs::write(at("long.png"), [b"\x89PNG\r\n\x1a\n".to_vec(), vec![0; image::LONGEST]].concat())?;
        File::create(at("huge"))?.set_len(1 << 40)?;
        crate::tests::pipe(&at("pipe"))?;
        let why = |name: &str| {
            let error = attachment(&at(name), name).err().map(|error| error.to_string()).unwrap_or_default();
            error.replace(&format!("{}/", folder.path().display()), "")
        };
        assert_eq!(why("gone"), "gone: there is no such file");
        assert_eq!(why("latin/below"), "latin/below: there is no such file");
        assert!(why(".").contains("a directory cannot be attached"), "{}", why("."));
        assert!(why("pipe").starts_with("pipe: only regular files can be attached"), "{}", why("pipe"));
        assert!(why("latin").starts_with("latin: neither UTF-8 text nor an image"), "{}", why("latin"));
        assert!(why("binary").starts_with("binary: neither UTF-8 text nor an image"), "{}", why("binary"));
        assert!(why("long").contains("too large to attach (limit for a text: 1048576 bytes)"), "{}", why("long"));
        assert!(why("long.png").contains("limit for an image: 3750000 bytes"), "{}", why("long.png"));
        assert!(why("huge").contains("limit for a file: 20971520 bytes"), "{}", why("huge"));
        Ok(())
    }
}
