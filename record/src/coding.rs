//! Content codings: the content of compressed bodies.

mod stream;

pub(crate) use stream::{ContentStream, StreamCoding};

use std::io::{self, Read};

/// Why the content of a body is not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CodingError {
    /// This build does not know the coding.
    #[error("unknown content coding {0}")]
    Unknown(String),
    /// The body is damaged, or cut off.
    #[error("the compressed body cannot be read: {0}")]
    Damaged(#[from] io::Error),
    /// The content is larger than what is recorded.
    #[error("the content of the body exceeds {0} bytes")]
    TooLarge(usize),
}

/// What a body contains, up to `limit` bytes. Of one that is cut off, what can be read; the flag says whether it is whole.
///
/// # Errors
/// When the coding is unknown, or the content is too large.
pub(crate) fn decoded(body: &[u8], coding: Option<&str>, limit: usize) -> Result<(Vec<u8>, bool), CodingError> {
    let mut content = body.to_vec();
    let mut whole = true;
    let codings = coding.unwrap_or_default().split(',').map(|one| one.trim().to_ascii_lowercase());
    for coding in codings.filter(|one| !one.is_empty() && one != "identity").collect::<Vec<_>>().iter().rev() {
        let compressed = std::mem::take(&mut content);
        let read = match coding.as_str() {
            "gzip" | "x-gzip" => read(flate2::read::MultiGzDecoder::new(&*compressed), limit, &mut content),
            "deflate" => read(flate2::read::ZlibDecoder::new(&*compressed), limit, &mut content),
            "br" => read(brotli_decompressor::Decompressor::new(&*compressed, 4096), limit, &mut content),
            "zstd" => {
                let decoder = ruzstd::decoding::StreamingDecoder::new(&*compressed).map_err(io::Error::other);
                decoder.map_err(CodingError::from).and_then(|decoder| read(decoder, limit, &mut content))
            }
            other => return Err(CodingError::Unknown(other.to_owned())),
        };
        match read {
            Ok(()) => {}
            Err(CodingError::Damaged(error)) if content.is_empty() && !compressed.is_empty() => {
                return Err(CodingError::Damaged(error));
            }
            Err(CodingError::Damaged(_)) => whole = false,
            Err(error) => return Err(error),
        }
    }
    if content.len() > limit {
        return Err(CodingError::TooLarge(limit));
    }
    Ok((content, whole))
}

fn read(mut from: impl Read, limit: usize, content: &mut Vec<u8>) -> Result<(), CodingError> {
    let mut piece = [0; 16 * 1024];
    loop {
        match from.read(&mut piece)? {
            0 => return Ok(()),
            count => content.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
        if content.len() > limit {
            return Err(CodingError::TooLarge(limit));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzipped(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn compressed_bodies_are_read() {
        let text = "a text ".repeat(100);
        assert_eq!(decoded(text.as_bytes(), None, 1 << 20).unwrap(), (text.clone().into_bytes(), true));
        assert_eq!(decoded(&gzipped(&text), Some("gzip"), 1 << 20).unwrap(), (text.clone().into_bytes(), true));
        let zstd = ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
        assert_eq!(decoded(&zstd, Some("zstd"), 1 << 20).unwrap(), (text.into_bytes(), true));
        // "hello" as an uncompressed block of brotli.
        let brotli = [0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03];
        assert_eq!(decoded(&brotli, Some("br"), 1 << 20).unwrap(), (b"hello".to_vec(), true));
    }

    #[test]
    fn what_is_unknown_damaged_or_too_large_is_an_error() {
        assert!(matches!(decoded(b"x", Some("lzma"), 9), Err(CodingError::Unknown(_))));
        assert!(matches!(decoded(b"xyz", Some("gzip"), 9), Err(CodingError::Damaged(_))));
        assert!(matches!(
            decoded(&gzipped(&"a".repeat(1 << 20)), Some("gzip"), 1000),
            Err(CodingError::TooLarge(1000))
        ));
        assert!(matches!(decoded(b"0123456789", None, 9), Err(CodingError::TooLarge(9))));
    }
}
