//! Content codings of bodies that are read while they arrive.

use std::io::{self, Write};

/// Most bytes that one piece may expand to: answers of models are smaller.
const PIECE_MAX: usize = 16 << 20;

/// A coding that gives content before the body has ended. One that is missing here, as zstd, whose decoder keeps a window back, is read
/// when the body is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamCoding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
}

impl StreamCoding {
    /// Of the header `Content-Encoding`; `None` for a coding that cannot be read so.
    pub(crate) fn of(coding: Option<&str>) -> Option<Self> {
        match coding.unwrap_or_default().trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Some(Self::Identity),
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "deflate" => Some(Self::Deflate),
            "br" => Some(Self::Brotli),
            _ => None,
        }
    }
}

/// Reads the content of a body that arrives in pieces.
pub(crate) enum ContentStream {
    Identity(ReadContent),
    Gzip(flate2::write::MultiGzDecoder<ReadContent>),
    Deflate(flate2::write::ZlibDecoder<ReadContent>),
    Brotli(Box<brotli_decompressor::DecompressorWriter<ReadContent>>),
}

impl ContentStream {
    pub(crate) fn new(coding: StreamCoding) -> Self {
        let content = ReadContent::default();
        match coding {
            StreamCoding::Identity => Self::Identity(content),
            StreamCoding::Gzip => Self::Gzip(flate2::write::MultiGzDecoder::new(content)),
            StreamCoding::Deflate => Self::Deflate(flate2::write::ZlibDecoder::new(content)),
            StreamCoding::Brotli => Self::Brotli(Box::new(brotli_decompressor::DecompressorWriter::new(content, 4096))),
        }
    }

    /// What a further piece gives.
    ///
    /// # Errors
    /// When it is damaged, or gives too much.
    pub(crate) fn push(&mut self, piece: &[u8]) -> io::Result<Vec<u8>> {
        let content = match self {
            Self::Identity(content) => {
                content.write_all(piece)?;
                content
            }
            Self::Gzip(decoder) => {
                decoder.write_all(piece)?;
                decoder.flush()?;
                decoder.get_mut()
            }
            Self::Deflate(decoder) => {
                decoder.write_all(piece)?;
                decoder.flush()?;
                decoder.get_mut()
            }
            Self::Brotli(decoder) => {
                decoder.write_all(piece)?;
                decoder.get_mut()
            }
        };
        Ok(std::mem::take(&mut content.0))
    }
}

/// What was read of one piece.
#[derive(Default)]
pub(crate) struct ReadContent(Vec<u8>);

impl Write for ReadContent {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > PIECE_MAX {
            return Err(io::Error::other("a piece gives too much"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compresses as a provider does that sends each word at once: the pieces.
    fn sent<W: Write>(words: &[&str], mut encoder: W, taken: impl Fn(&mut W) -> Vec<u8>) -> Vec<Vec<u8>> {
        let piece = |word: &&str| {
            encoder.write_all(word.as_bytes()).unwrap();
            encoder.flush().unwrap();
            taken(&mut encoder)
        };
        words.iter().map(piece).collect()
    }

    #[test]
    fn what_arrived_is_read_before_the_body_ends() {
        let words = ["Seven ", "jars ", "stand there."];
        let level = flate2::Compression::default();
        let gzip =
            sent(&words, flate2::write::GzEncoder::new(Vec::new(), level), |made| std::mem::take(made.get_mut()));
        let zlib =
            sent(&words, flate2::write::ZlibEncoder::new(Vec::new(), level), |made| std::mem::take(made.get_mut()));
        for (coding, pieces) in [("gzip", gzip), ("deflate", zlib)] {
            let mut stream = ContentStream::new(StreamCoding::of(Some(coding)).unwrap());
            for (piece, word) in pieces.iter().zip(words) {
                // However it is cut on its way.
                let (one, two) = piece.split_at(piece.len() / 2);
                let content = [stream.push(one).unwrap(), stream.push(two).unwrap()].concat();
                assert_eq!(content, word.as_bytes(), "{coding}");
            }
        }
        let mut brotli = ContentStream::new(StreamCoding::Brotli);
        // "hello" as an uncompressed block of brotli.
        let pieces = [&[0x0b, 0x02, 0x80, b'h'][..], b"el", b"lo\x03"];
        let content: Vec<u8> = pieces.iter().flat_map(|piece| brotli.push(piece).unwrap()).collect();
        assert_eq!(content, b"hello");
    }

    #[test]
    fn damage_bombs_and_unknown_codings_are_refused() {
        assert!(ContentStream::new(StreamCoding::Gzip).push(b"no gzip at all").is_err());
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&vec![0; PIECE_MAX + 1]).unwrap();
        assert!(ContentStream::new(StreamCoding::Gzip).push(&encoder.finish().unwrap()).is_err());
        assert_eq!(StreamCoding::of(Some("zstd")), None);
        assert_eq!(StreamCoding::of(Some("gzip, br")), None);
        assert_eq!(StreamCoding::of(None), Some(StreamCoding::Identity));
    }
}
