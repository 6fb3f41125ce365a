//! Files compressed with zstd, decoded as they are read.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// Whether a file begins like one that is compressed with zstd.
pub(crate) fn is_zstd(start: &[u8]) -> bool {
    start.starts_with(&[0x28, 0xB5, 0x2F, 0xFD])
}

/// The content of one frame after another.
pub(crate) struct ZstdFrames {
    file: BufReader<File>,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl ZstdFrames {
    /// Of a file, from its current position.
    pub fn new(file: BufReader<File>) -> Self {
        Self { file, decoder: FrameDecoder::new(), in_frame: false }
    }

    /// Starts the next frame; `false` at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.file.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.file) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut self.file.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(damaged(error)),
            }
        }
        Ok(false)
    }
}

impl Read for ZstdFrames {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame {
                self.in_frame = self.begin()?;
                if !self.in_frame {
                    return Ok(0);
                }
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder.decode_blocks(&mut self.file, BlockDecodingStrategy::UptoBlocks(1)).map_err(damaged)?;
            }
            match self.decoder.read(out)? {
                0 if self.decoder.is_finished() && !out.is_empty() => self.in_frame = false,
                count => return Ok(count),
            }
        }
    }
}

fn damaged(error: FrameDecoderError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the compressed data is damaged or incomplete: {error}"))
}

impl fmt::Debug for ZstdFrames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZstdFrames").field("in_frame", &self.in_frame).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    #[test]
    fn frames_follow_each_other_and_an_incomplete_one_is_an_error() -> io::Result<()> {
        let text = "one line\n".repeat(50_000);
        let frame = compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("it.zst");
        let skippable = [&[0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let read = |bytes: &[u8]| -> io::Result<String> {
            std::fs::write(&path, bytes)?;
            let mut decoded = String::new();
            ZstdFrames::new(BufReader::new(File::open(&path)?)).read_to_string(&mut decoded)?;
            Ok(decoded)
        };
        assert!(is_zstd(&frame) && read(&[&frame[..], &skippable, &frame].concat())? == text.repeat(2));
        assert_eq!(read(&frame[..frame.len() - 5]).map_err(|error| error.kind()), Err(io::ErrorKind::InvalidData));
        Ok(())
    }
}
